//! Checks whether the tools of a live server are those of the bindings.

mod verdict;

use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_model::{Drift, ServerConfig};
use serde_json::{Map, Value};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep};

pub(crate) use self::verdict::Reported;
use self::verdict::{Budget, LONGEST_FOR_A_LIST, Verdict, is_same};
use super::changes::{Changes, reports_changes};
use super::name_of;
use crate::connect::connection::Connection;
use crate::ground::deadline::Patience;
use crate::ground::redact::Redactor;
use crate::ground::sync::{awaited, count, lock};
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
#[derive(Clone)]
pub(crate) enum Bound {
    /// The tool of generated bindings.
    Spec(&'static ToolSpec),
    /// The tool at an index of a snapshot.
    Listed(Arc<Vec<Value>>, usize),
}

impl Bound {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Spec(spec) => spec.name,
            Self::Listed(tools, index) => tools.get(*index).and_then(name_of).unwrap_or_default(),
        }
    }

    /// Returns the tool as the server declared it.
    ///
    /// # Errors
    /// Fails if a schema of bindings is not JSON, as generated ones are.
    fn declared(&self) -> Result<Value, serde_json::Error> {
        let spec = match self {
            Self::Spec(spec) => spec,
            Self::Listed(tools, index) => return Ok(tools.get(*index).cloned().unwrap_or_default()),
        };
        let mut tool = Map::new();
        tool.insert("name".to_owned(), spec.name.into());
        tool.insert("inputSchema".to_owned(), serde_json::from_str(spec.declared_input_schema())?);
        if let Some(output) = spec.declared_output_schema() {
            tool.insert("outputSchema".to_owned(), serde_json::from_str(output)?);
        }
        if let Some(mut texts) = spec.declared_texts() {
            tool.append(&mut texts);
            return Ok(tool.into());
        }
        for (key, text) in &[("title", spec.title), ("description", spec.description)] {
            if let Some(text) = text {
                tool.insert((*key).to_owned(), (*text).into());
            }
        }
        tool.insert("annotations".to_owned(), spec.annotations.to_json());
        Ok(tool.into())
    }
}

impl PartialEq for Bound {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            // The texts of schemas are long, and nearly always the address is the same.
            (Self::Spec(one), Self::Spec(other)) => std::ptr::eq(*one, *other) || one == other,
            (Self::Listed(one, at), Self::Listed(other, place)) => {
                (Arc::ptr_eq(one, other) && at == place) || one.get(*at) == other.get(*place)
            }
            _ => false,
        }
    }
}

/// A value for each of the bound tools, sorted by their names.
#[derive(Default)]
struct PerTool<T>(Vec<(Bound, T)>);

impl<T> PerTool<T> {
    /// Returns the place of a tool, or the one where it belongs as an error.
    fn place(&self, bound: &Bound) -> Result<usize, usize> {
        let mut place = self.0.partition_point(|(known, _)| known.name() < bound.name());
        while let Some((known, _)) = self.0.get(place)
            && known.name() == bound.name()
        {
            if known == bound {
                return Ok(place);
            }
            place += 1;
        }
        Err(place)
    }

    /// Adds a tool; returns `false` if it is there already.
    fn insert(&mut self, bound: &Bound, value: T) -> bool {
        let Err(place) = self.place(bound) else { return false };
        self.0.insert(place, (bound.clone(), value));
        true
    }
}

/// The tools that calls of a client without bindings of their own are compared with.
#[derive(Clone)]
pub(crate) enum Baseline {
    Bindings(&'static ServerSpec),
    /// The tools of a snapshot.
    Snapshot(Arc<Vec<Value>>),
}

impl Baseline {
    pub(crate) fn bindings(&self) -> Option<&'static ServerSpec> {
        if let Self::Bindings(server) = self { Some(server) } else { None }
    }

    pub(crate) fn find(&self, tool: &str) -> Option<Bound> {
        match self {
            Self::Bindings(server) => server.tools.iter().find(|spec| spec.name == tool).map(Bound::Spec),
            Self::Snapshot(tools) => {
                let index = tools.iter().position(|listed| name_of(listed) == Some(tool))?;
                Some(Bound::Listed(tools.clone(), index))
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
    listed: Mutex<Option<Arc<Listed>>>,
    /// Taken while listing; others wait for the same list.
    listing: Semaphore,
    /// The tools that are called over this connection, and the rest of their bindings.
    bound: Mutex<PerTool<()>>,
    /// Counts what there is to compare: bound tools, and lists that calls requested.
    news: watch::Sender<u64>,
}

/// The tools as they were listed once.
struct Listed {
    config: Arc<ServerConfig>,
    reported: Arc<Reported>,
    redactor: Redactor,
    /// The count of changes when the list was requested.
    list_changes: u64,
    /// The count when the list arrived: some servers report a change after every request.
    end: u64,
    tools: Map<String, Value>,
    verdicts: Mutex<PerTool<Arc<Verdict>>>,
    budget: Budget,
}

impl LiveTools {
    pub(crate) fn new(config: Arc<ServerConfig>, connection: Arc<Connection>, reported: Arc<Reported>) -> Self {
        let (listed, bound, news) = Default::default();
        Self { config, connection, reported, listed, listing: Semaphore::new(1), bound, news }
    }

    /// Records the tool that a call is bound to, and the rest of its bindings.
    pub(crate) fn bind(&self, bound: &Bound, bindings: Option<&'static ServerSpec>) {
        let mut known = lock(&self.bound);
        if known.insert(bound, ()) {
            for tool in bindings.map_or(&[][..], |server| server.tools) {
                known.insert(&Bound::Spec(tool), ());
            }
            drop(known);
            count(&self.news);
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
            let verdict = listed.verdict(bound);
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
        let known = || lock(&self.listed).clone().filter(|listed| self.is_current(listed));
        if let Some(listed) = known() {
            return Ok(listed);
        }
        let Some(_one_at_a_time) = patience.first.bound(self.listing.acquire()).await else {
            let message = format!("no answer to `tools/list` within {:?}", patience.timeout);
            return Err(self.error(Kind::Timeout, message));
        };
        if let Some(listed) = known() {
            return Ok(listed);
        }
        let changes = &self.connection.link.ledger.list_changes;
        let list_changes = changes.count();
        let mut tools = Map::new();
        for mut tool in super::tools(&self.config.name, &self.connection, patience).await? {
            // The snapshot holds redacted descriptions, so the live tool is redacted too.
            self.connection.link.notes.redactor().description(&mut tool);
            if let Some(name) = name_of(&tool).map(str::to_owned) {
                tools.entry(name).or_insert(tool);
            }
        }
        let budget = Budget::new(tokio::sync::Mutex::new(LONGEST_FOR_A_LIST));
        let (config, reported) = (self.config.clone(), self.reported.clone());
        let (redactor, verdicts) = (self.connection.link.notes.redactor().clone(), Mutex::default());
        let end = changes.count();
        let listed = Arc::new(Listed { config, reported, redactor, list_changes, end, tools, verdicts, budget });
        *lock(&self.listed) = Some(listed.clone());
        if refuses(&self.config) {
            count(&self.news);
        }
        Ok(listed)
    }

    fn error(&self, kind: Kind, message: impl Into<String>) -> ConnectError {
        ConnectError::new(&self.config.name, kind, message)
    }
}

impl Listed {
    /// Returns the differences of a tool. The first caller compares them, and the first that receives them reports them.
    async fn verdict(self: &Arc<Self>, bound: &Bound) -> Arc<Verdict> {
        let verdict = match self.known(bound) {
            Some(verdict) => verdict,
            None => self.compared(bound).await,
        };
        self.reported.report(&self.config, bound.name(), &verdict);
        verdict
    }

    fn known(&self, bound: &Bound) -> Option<Arc<Verdict>> {
        let verdicts = lock(&self.verdicts);
        let (_, verdict) = verdicts.0.get(verdicts.place(bound).ok()?)?;
        Some(verdict.clone())
    }

    fn keep(&self, bound: &Bound, verdict: Verdict) -> Arc<Verdict> {
        let verdict = Arc::new(verdict);
        lock(&self.verdicts).insert(bound, verdict.clone());
        verdict
    }

    async fn compared(self: &Arc<Self>, bound: &Bound) -> Arc<Verdict> {
        let live = self.tools.get(bound.name());
        let is_live = |declared: Value| live.is_some_and(|live| is_same(&declared, live, &self.config));
        if bound.declared().is_ok_and(is_live) {
            return self.keep(bound, Verdict::default());
        }
        // Other callers wait.
        let mut left = self.budget.clone().lock_owned().await;
        if let Some(verdict) = self.known(bound) {
            return verdict;
        }
        // The schema is untrusted, and may take long. The thread keeps the verdict and frees the budget itself, because its
        // caller may be gone, or not be polled.
        let (listed, tool) = (self.clone(), bound.clone());
        let comparing = tokio::task::spawn_blocking(move || {
            let live = listed.tools.get(tool.name());
            listed.keep(&tool, Verdict::of(&tool, live, &listed.config, &listed.redactor, &mut left))
        });
        let failed = |_| self.keep(bound, Verdict::breaking("its declaration cannot be compared"));
        comparing.await.unwrap_or_else(failed)
    }
}

/// Compares the tools of a connection with the bound tools, once a bound tool was called, and after each change of the
/// list. If calls wait for the comparison, they list the tools themselves.
pub(crate) async fn watch(live: &LiveTools, changes: &Changes, patience: impl Fn() -> Patience) -> Infallible {
    let (connection, refuses) = (&live.connection, refuses(&live.config));
    if !compares(&live.config) {
        return pending().await;
    }
    let (mut news, mut list_changes) = (live.news.subscribe(), connection.link.ledger.list_changes.count.subscribe());
    awaited(&mut news, &mut |news| *news > 0).await;
    let mut pause = HEAD_START;
    sleep(pause).await;
    // A server that only reports changes on request is asked first, so that no change is missed.
    changes.watch();
    if !refuses
        && connection.is_modern()
        && reports_changes(connection, "tools")
        && list_changes.borrow_and_update().eq(&0)
    {
        let _ = tokio::time::timeout(PATIENCE_FOR_SUBSCRIBING, list_changes.changed()).await;
    }
    loop {
        news.borrow_and_update();
        list_changes.borrow_and_update();
        let list = match refuses {
            true => Ok(lock(&live.listed).clone()),
            false => live.current(patience()).await.map(Some),
        };
        if let Err(error) = &list
            && connection.is_open()
        {
            let server = &*live.config.name;
            tracing::warn!(server, "cannot compare its tools with the bindings: {}", error.message);
        }
        if let Ok(Some(list)) = list {
            let tools = lock(&live.bound).0.clone();
            for (tool, ()) in tools {
                list.verdict(&tool).await;
                // Bindings may be many, and calls have their turn.
                tokio::task::yield_now().await;
            }
        }
        let compared = Instant::now();
        // Their senders live as long as `live`.
        tokio::select! {
            _ = news.changed() => {}
            _ = list_changes.changed(), if !refuses => {}
        }
        // A server may report a change after every listing, so the pause grows unless the list was calm.
        let is_calm = compared.elapsed() > pause.saturating_mul(8);
        pause = if is_calm { HEAD_START } else { pause.saturating_mul(2).min(LONGEST_PAUSE) };
        sleep(pause).await;
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt;
    use serde_json::json;

    use super::*;
    use crate::call::events::Observer;

    /// Three bound tools, of which only the first is equal to the live one.
    fn listed(left: Duration) -> (Arc<Listed>, [Bound; 3]) {
        let tool = |name: &str, input: Value| json!({ "name": name, "inputSchema": input });
        let bound = Arc::new(["a", "b", "c"].map(|name| tool(name, json!({ "type": "object" }))).to_vec());
        let mut tools = Map::from_iter(["b", "c"].map(|name| (name.to_owned(), tool(name, json!({})))));
        tools.insert("a".to_owned(), bound[0].clone());
        let config = Arc::new(ServerConfig::stdio("s", "x"));
        let reported = Arc::new(Reported::new(Arc::new(Observer::new(&config, false))));
        let (redactor, verdicts, budget) = (Redactor::default(), Mutex::default(), Budget::new(left.into()));
        let listed = Listed { config, reported, redactor, list_changes: 0, end: 0, tools, verdicts, budget };
        (Arc::new(listed), [0, 1, 2].map(|index| Bound::Listed(bound.clone(), index)))
    }

    #[tokio::test]
    async fn equal_tool_is_accepted_at_once_without_a_budget() {
        let (exhausted, [equal, changed, _]) = listed(Duration::ZERO);
        let refusal = exhausted.verdict(&changed).await.refusal();
        assert!(refusal.is_some_and(|refusal| refusal.starts_with("not compared: ")));
        assert_eq!(exhausted.verdict(&equal).now_or_never().map(|verdict| verdict.refusal()), Some(None));
        let (held, [equal, changed, _]) = listed(LONGEST_FOR_A_LIST);
        let _held = held.budget.lock().await;
        assert!(held.verdict(&changed).now_or_never().is_none());
        assert_eq!(held.verdict(&equal).now_or_never().map(|verdict| verdict.refusal()), Some(None));
    }

    #[tokio::test]
    async fn caller_that_is_not_polled_again_does_not_hold_the_budget() {
        let (listed, [_, first, second]) = listed(LONGEST_FOR_A_LIST);
        let mut unpolled = pin!(listed.verdict(&first));
        let _ = unpolled.as_mut().now_or_never();
        let others = async { (listed.verdict(&first).await, listed.verdict(&second).await) };
        tokio::time::timeout(Duration::from_secs(20), others).await.expect("the budget is free");
    }

    #[test]
    fn bound_tool_with_several_addresses_is_compared_once() {
        static TOOLS: [ToolSpec; 4] =
            [ToolSpec::new("b", "{}"), ToolSpec::new("a", "{}"), ToolSpec::new("b", "{}"), ToolSpec::new("a", "true")];
        let mut known = PerTool::default();
        let inserted = [&TOOLS, &TOOLS].map(|tools| tools.each_ref().map(|tool| known.insert(&Bound::Spec(tool), ())));
        assert_eq!(inserted, [[true, true, false, true], [false; 4]]);
        let names: Vec<&str> = known.0.iter().map(|(bound, ())| bound.name()).collect();
        assert_eq!(names, ["a", "a", "b"]);
    }
}
