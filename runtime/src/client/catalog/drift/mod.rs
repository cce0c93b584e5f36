//! Checks whether the tools of a live server are those of the bindings.

mod verdict;

use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_model::{Drift, ServerConfig};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

pub(crate) use self::verdict::Reported;
use self::verdict::{Verdict, is_same};
use super::changes::{Changes, reports_changes};
use super::name_of;
use crate::connect::connection::Connection;
use crate::ground::deadline::Patience;
use crate::ground::redact::Redactor;
use crate::ground::sync::{awaited, count, lock};
use crate::{ClientOptions, ConnectError, ConnectErrorKind as Kind, ServerSpec, ToolSpec};

/// The time for comparing all tools of one list. Each comparison has a budget; this limits hundreds of them.
const LONGEST_FOR_A_LIST: Duration = Duration::from_secs(30);
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

/// A tool as it was when it was bound. Tools are compared by value, because one constant may have several addresses.
#[derive(Clone, PartialEq)]
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
        let mut tool = Map::new();
        if let Some(texts) = spec.declared_texts() {
            tool = texts;
        } else {
            let (title, description) = (spec.title.into(), spec.description.into());
            let annotations = spec.annotations.to_json();
            for (key, text) in [("title", title), ("description", description), ("annotations", annotations)] {
                tool.insert(key.to_owned(), text);
            }
        }
        tool.insert("name".to_owned(), spec.name.into());
        tool.insert("inputSchema".to_owned(), serde_json::from_str(spec.declared_input_schema())?);
        if let Some(output) = spec.declared_output_schema() {
            tool.insert("outputSchema".to_owned(), serde_json::from_str(output)?);
        }
        Ok(tool.into())
    }

    /// Adds the tool to a list that is sorted by names; returns `false` if it is there already.
    fn add_to(&self, tools: &mut Vec<Self>) -> bool {
        let mut place = tools.partition_point(|known| known.name() < self.name());
        while let Some(known) = tools.get(place)
            && known.name() == self.name()
        {
            if known == self {
                return false;
            }
            place += 1;
        }
        tools.insert(place, self.clone());
        true
    }
}

/// The tools of one connection, and how they differ from those that were bound.
pub(crate) struct LiveTools {
    connection: Arc<Connection>,
    reported: Arc<Reported>,
    /// The last list.
    listed: Mutex<Option<Arc<Listed>>>,
    /// Locked while listing, so that others wait for the same list. A current list is read without it, because a caller
    /// that waits for it may not be polled again.
    listing: tokio::sync::Mutex<()>,
    /// The tools that are called over this connection, and the rest of their bindings, sorted by names.
    bound: Mutex<Vec<Bound>>,
    /// Counts what there is to compare: bound tools, and lists that calls requested.
    news: watch::Sender<u64>,
}

/// The tools as they were listed once.
struct Listed {
    reported: Arc<Reported>,
    redactor: Redactor,
    /// The count of changes when the list was requested.
    list_changes: u64,
    /// The count when the list arrived: some servers report a change after every request.
    end: u64,
    tools: Map<String, Value>,
    verdicts: Mutex<Vec<(Bound, Arc<Verdict>)>>,
    /// The time left to compare the tools. A comparison locks it, so only one runs at a time.
    budget: Arc<tokio::sync::Mutex<Duration>>,
}

impl LiveTools {
    pub(crate) fn new(connection: Arc<Connection>, reported: Arc<Reported>) -> Self {
        let (listed, listing, bound, news) = Default::default();
        Self { connection, reported, listed, listing, bound, news }
    }

    /// Records the tool that a call is bound to, and the rest of its bindings.
    pub(crate) fn bind(&self, bound: &Bound, bindings: Option<&'static ServerSpec>) {
        let mut known = lock(&self.bound);
        if bound.add_to(&mut known) {
            for tool in bindings.map_or(&[][..], |server| server.tools) {
                Bound::Spec(tool).add_to(&mut known);
            }
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
            let late = || self.late("its tools are still being compared");
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
        let Some(_one_at_a_time) = patience.first.bound(self.listing.lock()).await else {
            return Err(self.late(&format!("no answer to `tools/list` within {:?}", patience.timeout)));
        };
        if let Some(listed) = known() {
            return Ok(listed);
        }
        let (redactor, changes) = (self.connection.link.notes.redactor(), &self.connection.link.ledger.list_changes);
        let list_changes = changes.count();
        let mut tools = Map::new();
        for mut tool in super::tools(&self.reported.config.name, &self.connection, patience).await? {
            // The snapshot holds redacted descriptions, so the live tool is redacted too.
            redactor.description(&mut tool);
            if let Some(name) = name_of(&tool).map(str::to_owned) {
                tools.entry(name).or_insert(tool);
            }
        }
        let listed = Arc::new(Listed {
            reported: self.reported.clone(),
            redactor: redactor.clone(),
            list_changes,
            end: changes.count(),
            tools,
            verdicts: Mutex::default(),
            budget: Arc::new(LONGEST_FOR_A_LIST.into()),
        });
        *lock(&self.listed) = Some(listed.clone());
        if refuses(&self.reported.config) {
            count(&self.news);
        }
        Ok(listed)
    }

    fn late(&self, message: &str) -> ConnectError {
        ConnectError::new(&self.reported.config.name, Kind::Timeout, message)
    }
}

impl Listed {
    /// Returns the differences of a tool. The first caller compares them, and the first that receives them reports them.
    async fn verdict(self: &Arc<Self>, bound: &Bound) -> Arc<Verdict> {
        let verdict = match self.known(bound) {
            Some(verdict) => verdict,
            None => self.compared(bound).await,
        };
        self.reported.report(bound.name(), &verdict);
        verdict
    }

    fn known(&self, bound: &Bound) -> Option<Arc<Verdict>> {
        let verdicts = lock(&self.verdicts);
        let is_known = |(known, _): &&(Bound, _)| known.name() == bound.name() && known == bound;
        verdicts.iter().find(is_known).map(|(_, verdict)| verdict.clone())
    }

    fn keep(&self, bound: &Bound, verdict: Verdict) -> Arc<Verdict> {
        let verdict = Arc::new(verdict);
        lock(&self.verdicts).push((bound.clone(), verdict.clone()));
        verdict
    }

    async fn compared(self: &Arc<Self>, bound: &Bound) -> Arc<Verdict> {
        let declared = match bound.declared() {
            Ok(declared) => declared,
            Err(error) => {
                let fault = format!("its bindings contain a schema that is not JSON: {error}");
                return self.keep(bound, Verdict::breaking(fault));
            }
        };
        let live = self.tools.get(bound.name());
        if live.is_some_and(|live| is_same(&declared, live, &self.reported.config)) {
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
            let verdict = Verdict::of(&declared, live, &listed.reported.config, &listed.redactor, &mut left);
            listed.keep(&tool, verdict)
        });
        let failed = |_| self.keep(bound, Verdict::breaking("its declaration cannot be compared".to_owned()));
        comparing.await.unwrap_or_else(failed)
    }
}

/// Compares the tools of a connection with the bound tools, once a bound tool was called, and after each change of the
/// list. If calls wait for the comparison, they list the tools themselves.
pub(crate) async fn watch(live: &LiveTools, changes: &Changes, options: &ClientOptions) -> Infallible {
    let (connection, config) = (&live.connection, &*live.reported.config);
    // A recorded session has no requests that no program makes.
    #[cfg(feature = "cassette")]
    if options.cassette.is_some() {
        return pending().await;
    }
    if !compares(config) {
        return pending().await;
    }
    let (refuses, list_changes) = (refuses(config), &connection.link.ledger.list_changes.count);
    let (mut news, mut list_changes) = (live.news.subscribe(), list_changes.subscribe());
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
            true => lock(&live.listed).clone(),
            false => {
                let list = live.current(options.call_patience(config.timeout)).await;
                if let Err(error) = &list
                    && connection.is_open()
                {
                    let server = &*config.name;
                    tracing::warn!(server, "cannot compare its tools with the bindings: {}", error.message);
                }
                list.ok()
            }
        };
        if let Some(list) = list {
            let tools = lock(&live.bound).clone();
            for tool in tools {
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
    #[cfg(feature = "stdio")]
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

    use super::*;
    use crate::call::events::Observer;

    /// Three bound tools, of which only the first is equal to the live one.
    fn listed(left: Duration) -> (Arc<Listed>, [Bound; 3]) {
        let tool = |name: &str, input: Value| json!({ "name": name, "inputSchema": input });
        let bound = ["a", "b", "c"].map(|name| tool(name, json!({ "type": "object" })));
        let mut tools = Map::from_iter(["b", "c"].map(|name| (name.to_owned(), tool(name, json!({})))));
        tools.insert("a".to_owned(), bound[0].clone());
        let config = Arc::new(ServerConfig::stdio("s", "x"));
        let reported = Arc::new(Reported::new(config.clone(), Arc::new(Observer::new(&config, false))));
        let (redactor, verdicts, budget) = (Redactor::default(), Mutex::default(), Arc::new(left.into()));
        let listed = Listed { reported, redactor, list_changes: 0, end: 0, tools, verdicts, budget };
        (Arc::new(listed), bound.map(|tool| Bound::Listed(Arc::new(tool))))
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

    #[cfg(feature = "stdio")]
    #[tokio::test]
    async fn caller_that_is_not_polled_again_does_not_hold_the_list() {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (read, write) = tokio::io::split(near);
        let client = crate::Client::over(read, write);
        let (read, mut write) = tokio::io::split(far);
        let mut lines = BufReader::new(read).lines();
        let mut answer = async |method: &str, result: Value| loop {
            let line = lines.next_line().await.expect("a line").expect("it is open");
            let request: Value = serde_json::from_str(&line).expect("JSON");
            if request["method"] == method {
                let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
                return write.write_all(format!("{answer}\n").as_bytes()).await.expect("it is read");
            }
        };
        let about = json!({ "name": "s", "version": "1" });
        let agreed = json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": about });
        tokio::join!(client.connect(), answer("initialize", agreed)).0.expect("a connection");
        let opened = client.supervisor.open_connection().expect("it is open");
        let current = || opened.live_tools.current(Patience::strictly(Duration::from_secs(20)));
        let (mut first, mut unpolled) = (pin!(current()), pin!(current()));
        assert!(first.as_mut().now_or_never().is_none() && unpolled.as_mut().now_or_never().is_none());
        let (listed, ()) = tokio::join!(first, answer("tools/list", json!({ "tools": [] })));
        assert!(listed.is_ok() && current().now_or_never().is_some_and(|listed| listed.is_ok()));
    }

    #[test]
    fn bound_tool_with_several_addresses_is_compared_once() {
        static TOOLS: [ToolSpec; 4] =
            [ToolSpec::new("b", "{}"), ToolSpec::new("a", "{}"), ToolSpec::new("b", "{}"), ToolSpec::new("a", "true")];
        let mut known = Vec::new();
        let added = [&TOOLS, &TOOLS].map(|tools| tools.each_ref().map(|tool| Bound::Spec(tool).add_to(&mut known)));
        assert_eq!(added, [[true, true, false, true], [false; 4]]);
        let names: Vec<&str> = known.iter().map(Bound::name).collect();
        assert_eq!(names, ["a", "a", "b"]);
    }
}
