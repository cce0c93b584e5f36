//! Checks whether the tools of a live server are those of the bindings.

mod verdict;

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::future::pending;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_model::{Drift, ServerConfig};
use serde_json::{Map, Value};
use tokio::sync::{OnceCell, watch};
use tokio::time::{Instant, sleep};

pub(crate) use self::verdict::Reported;
use self::verdict::{Budget, LONGEST_FOR_A_LIST, Verdict};
use super::changes::Changes;
use super::name_of;
use crate::connect::connection::Connection;
use crate::ground::deadline::Patience;
use crate::ground::sync::lock;
use crate::{ConnectError, ConnectErrorKind as Kind, ServerSpec, ToolSpec};

/// The delay that lets the triggering call go first.
const HEAD_START: Duration = Duration::from_millis(10);
/// The longest pause before the next list of a server that reports changes all the time.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The time for a server to accept a subscription before its tools are compared anyway.
const PATIENCE_FOR_SUBSCRIBING: Duration = Duration::from_secs(2);

/// Returns `true` if the configuration compares bound tools with those of the server.
pub(crate) fn compares(config: &ServerConfig) -> bool {
    config.drift != Some(Drift::Ignore)
}

/// Returns `true` if the configuration refuses calls of tools that have changed.
pub(crate) fn refuses(config: &ServerConfig) -> bool {
    config.drift == Some(Drift::Deny)
}

/// A tool as it was when it was bound. One constant may have several addresses, so that equal tools are the same.
#[derive(Clone, Debug, Eq)]
pub(crate) enum Bound {
    /// The tool of generated bindings.
    Spec(&'static ToolSpec),
    /// The tool of a snapshot.
    Listed(Arc<Value>),
}

impl Bound {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Spec(spec) => spec.name,
            Self::Listed(tool) => name_of(tool).unwrap_or_default(),
        }
    }

    /// Returns the tool as the server declared it.
    ///
    /// # Errors
    /// Fails if a schema of bindings is not JSON, as generated ones are.
    fn declared(&self) -> Result<Value, serde_json::Error> {
        let spec = match self {
            Self::Spec(spec) => spec,
            Self::Listed(tool) => return Ok(Value::clone(tool)),
        };
        let mut tool = Map::from_iter([("name".to_owned(), spec.name.into())]);
        tool.insert("inputSchema".to_owned(), serde_json::from_str(spec.declared_input_schema())?);
        if let Some(output) = spec.declared_output_schema() {
            tool.insert("outputSchema".to_owned(), serde_json::from_str(output)?);
        }
        tool.extend(spec.declared_texts().unwrap_or_else(|| {
            let texts = [("title", spec.title), ("description", spec.description)];
            let texts = texts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?.into())));
            texts.chain([("annotations".to_owned(), spec.annotations.to_json())]).collect()
        }));
        Ok(tool.into())
    }
}

impl PartialEq for Bound {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            // The texts of schemas are long, and nearly always the address is the same.
            (Self::Spec(one), Self::Spec(other)) => std::ptr::eq(*one, *other) || one == other,
            (Self::Listed(one), Self::Listed(other)) => Arc::ptr_eq(one, other) || one == other,
            _ => false,
        }
    }
}

impl Hash for Bound {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.name().hash(hasher);
    }
}

/// The tools that calls of a client without bindings of their own are compared with.
#[derive(Clone, Debug)]
pub(crate) enum Baseline {
    Bindings(&'static ServerSpec),
    Snapshot(Arc<[Arc<Value>]>),
}

impl Baseline {
    pub(crate) fn bindings(&self) -> Option<&'static ServerSpec> {
        if let Self::Bindings(server) = self { Some(server) } else { None }
    }

    pub(crate) fn find(&self, tool: &str) -> Option<Bound> {
        match self {
            Self::Bindings(server) => server.tools.iter().find(|spec| spec.name == tool).map(Bound::Spec),
            Self::Snapshot(tools) => {
                tools.iter().find(|listed| name_of(listed) == Some(tool)).cloned().map(Bound::Listed)
            }
        }
    }
}

/// The tools of one connection, and how they differ from those that were bound.
pub(crate) struct LiveTools {
    config: Arc<ServerConfig>,
    connection: Arc<Connection>,
    reported: Arc<Reported>,
    /// The last list.
    listed: watch::Sender<Option<Arc<Listed>>>,
    /// Held while listing; others wait for the same list.
    listing: tokio::sync::Mutex<()>,
    /// The tools that are called over this connection, and the rest of their bindings.
    bound: watch::Sender<HashSet<Bound>>,
}

/// The tools as they were listed once.
struct Listed {
    /// The count of changes when the list was requested.
    list_changes: u64,
    /// The count when the list arrived: some servers report a change after every request.
    end: u64,
    tools: HashMap<String, Value>,
    verdicts: Mutex<HashMap<Bound, Arc<OnceCell<Arc<Verdict>>>>>,
    budget: Budget,
}

impl LiveTools {
    pub(crate) fn new(config: Arc<ServerConfig>, connection: Arc<Connection>, reported: Arc<Reported>) -> Self {
        let (listed, listing, bound) = Default::default();
        Self { config, connection, reported, listed, listing, bound }
    }

    /// Records the tool that a call is bound to, and the rest of its bindings.
    pub(crate) fn bind(&self, bound: &Bound, bindings: Option<&'static ServerSpec>) {
        if !self.bound.borrow().contains(bound) {
            let others = bindings.into_iter().flat_map(|server| server.tools).map(Bound::Spec);
            self.bound.send_modify(|known| known.extend(others.chain([bound.clone()])));
        }
    }

    /// Compares a tool before it is called. Lists the tools first if they are unknown or may have changed. Returns the
    /// count of changes to the list for which the call is allowed, or the reason to refuse it.
    ///
    /// # Errors
    /// Fails if the tools cannot be listed.
    pub(crate) async fn allows(&self, bound: &Bound, patience: Patience) -> Result<Result<u64, String>, ConnectError> {
        let mut has_looked_again = false;
        loop {
            let listed = self.current(patience).await?;
            // Schemas of strangers are compared in bounded time, but not always in a call's.
            let verdict = self.verdict(&listed, bound);
            let late = || self.error(Kind::Timeout, "its tools are still being compared");
            let refusal = patience.renewed().first.bound(verdict).await.ok_or_else(late)?.refusal();
            if self.is_current(&listed) || has_looked_again {
                return Ok(refusal.map_or(Ok(listed.end), Err));
            }
            has_looked_again = true;
        }
    }

    fn is_current(&self, listed: &Listed) -> bool {
        listed.list_changes == self.connection.link.ledger.list_changes.count()
    }

    /// Returns the list of tools as it is now. One caller requests it, and the others wait.
    async fn current(&self, patience: Patience) -> Result<Arc<Listed>, ConnectError> {
        let known = || self.listed.borrow().clone().filter(|listed| self.is_current(listed));
        if let Some(listed) = known() {
            return Ok(listed);
        }
        let Some(_one_at_a_time) = patience.first.bound(self.listing.lock()).await else {
            let message = format!("no answer to `tools/list` within {:?}", patience.timeout);
            return Err(self.error(Kind::Timeout, message));
        };
        if let Some(listed) = known() {
            return Ok(listed);
        }
        let count = || self.connection.link.ledger.list_changes.count();
        let list_changes = count();
        let mut tools = HashMap::new();
        for mut tool in super::tools(&self.config.name, &self.connection, patience).await? {
            // The snapshot holds redacted descriptions, so the live tool is redacted too.
            self.connection.link.notes.redactor().description(&mut tool);
            if let Some(name) = name_of(&tool).map(str::to_owned) {
                tools.entry(name).or_insert(tool);
            }
        }
        let budget = Budget::new(tokio::sync::Mutex::new(LONGEST_FOR_A_LIST));
        let listed = Arc::new(Listed { list_changes, end: count(), tools, verdicts: Mutex::default(), budget });
        self.listed.send_replace(Some(listed.clone()));
        Ok(listed)
    }

    /// Returns the differences of a tool. The first caller compares and reports them.
    async fn verdict(&self, listed: &Listed, bound: &Bound) -> Arc<Verdict> {
        let one = lock(&listed.verdicts).entry(bound.clone()).or_default().clone();
        let compare = async || {
            let verdict = match bound.declared() {
                Ok(declared) => {
                    let live = listed.tools.get(bound.name()).cloned();
                    let aids = (self.connection.link.notes.redactor(), &listed.budget);
                    Verdict::of(declared, live, &self.config, aids).await
                }
                Err(error) => Verdict::unknown(&error),
            };
            self.reported.report(&self.config, bound.name(), &verdict);
            Arc::new(verdict)
        };
        // Other callers wait; if the comparing caller runs out of time, the next one compares.
        one.get_or_init(compare).await.clone()
    }

    fn error(&self, kind: Kind, message: impl Into<String>) -> ConnectError {
        ConnectError::new(&self.config.name, kind, message)
    }
}

/// Compares the tools of a connection with the bound tools, once a bound tool was called, and after each change of the
/// list. If calls wait for the comparison, they list the tools themselves.
pub(crate) async fn watch(live: &LiveTools, changes: &Changes, patience: impl Fn() -> Patience) -> Infallible {
    let (connection, refuses) = (&live.connection, refuses(&live.config));
    let (mut bound, mut listed) = (live.bound.subscribe(), live.listed.subscribe());
    let mut list_changes = connection.link.ledger.list_changes.count.subscribe();
    if !compares(&live.config) || bound.wait_for(|tools| !tools.is_empty()).await.is_err() {
        return pending().await;
    }
    let mut pause = HEAD_START;
    sleep(pause).await;
    // A server that only reports changes on request is asked first, so that no change is missed.
    if changes.ask_for(connection) && !refuses && list_changes.borrow_and_update().eq(&0) {
        let _ = tokio::time::timeout(PATIENCE_FOR_SUBSCRIBING, list_changes.changed()).await;
    }
    loop {
        list_changes.borrow_and_update();
        let list = match refuses {
            true => Ok(listed.borrow_and_update().clone()),
            false => live.current(patience()).await.map(Some),
        };
        if let Err(error) = &list
            && connection.is_open()
        {
            let server = &*live.config.name;
            tracing::warn!(server, "cannot compare its tools with the bindings: {}", error.message);
        }
        let mut tools: Vec<Bound> = bound.borrow_and_update().iter().cloned().collect();
        tools.sort_by(|one, other| one.name().cmp(other.name()));
        if let Ok(Some(list)) = list {
            for tool in tools {
                live.verdict(&list, &tool).await;
                // Bindings may be many, and calls have their turn.
                tokio::task::yield_now().await;
            }
        }
        let compared = Instant::now();
        let changed = tokio::select! {
            changed = bound.changed() => changed,
            changed = list_changes.changed(), if !refuses => changed,
            changed = listed.changed(), if refuses => changed,
        };
        if changed.is_err() {
            return pending().await;
        }
        // A server may report a change after every listing, so the pause grows unless the list was calm.
        let is_calm = compared.elapsed() > pause.saturating_mul(8);
        pause = if is_calm { HEAD_START } else { pause.saturating_mul(2).min(LONGEST_PAUSE) };
        sleep(pause).await;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn bound_tool_with_several_addresses_is_compared_once() {
        static TOOLS: [ToolSpec; 3] = [ToolSpec::new("a", "{}"), ToolSpec::new("b", "{}"), ToolSpec::new("a", "{}")];
        let known: HashSet<Bound> = TOOLS.iter().chain(&TOOLS).map(Bound::Spec).collect();
        let names: BTreeSet<&str> = known.iter().map(Bound::name).collect();
        assert_eq!((names, known.len()), (BTreeSet::from(["a", "b"]), 2));
    }
}
