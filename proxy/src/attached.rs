//! A server in a scope: its client with layers, its lists and their changes, and its notifications.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::join_all;
use mcp_bindgen_model::{printable, visible};
pub(crate) use mcp_bindgen_runtime::__private::Listing as Kind;
use mcp_bindgen_runtime::__private::rpc::{MethodCall, Session};
use mcp_bindgen_runtime::{
    CallOptions, Client, ConnectError, ConnectErrorKind, ConnectionState, Notification, Notifications, ToolChanges,
};
use mcp_bindgen_schema::{viewed_tool, visible_texts};
use rmcp::model::RequestId;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::context::is_modern;
use super::lock::lock;
use super::resources::Linked;
use super::setup::{Calls, Upstream};

/// Slower servers are listed later, so that others are not delayed.
const PATIENCE_FOR_LISTS: Duration = Duration::from_secs(20);
/// A server that could not be reached is left alone so long.
const PAUSE_BEFORE_ASKING_AGAIN: Duration = Duration::from_secs(5);
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(1);
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The maximum number of items; longer lists fit no context.
const MOST_ITEMS: usize = 100_000;
pub(super) const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
pub(super) const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
pub(super) const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
const LOGGED: &str = "notifications/message";

/// Returns the notification of a changed list, and the key that identifies its items.
pub(super) fn notification_and_key(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Tools => (TOOLS_CHANGED, "name"),
        Kind::Prompts => (PROMPTS_CHANGED, "name"),
        Kind::Resources | Kind::Skills => (RESOURCES_CHANGED, "uri"),
        Kind::ResourceTemplates => (RESOURCES_CHANGED, "uriTemplate"),
    }
}

/// A signal for each notification of a changed list. Several changes before a reader looks are one.
pub(super) type News = Arc<BTreeMap<&'static str, watch::Sender<()>>>;

pub(super) fn news() -> News {
    let signals = [TOOLS_CHANGED, PROMPTS_CHANGED, RESOURCES_CHANGED].map(|method| (method, watch::Sender::default()));
    Arc::new(BTreeMap::from(signals))
}

/// The changed lists of servers, for notifying other instances of the proxy.
pub(super) type Changes = Arc<Mutex<HashSet<(Arc<str>, Kind)>>>;

/// One list of a server.
#[derive(Default)]
pub(super) struct List {
    items: Option<Arc<[Value]>>,
    /// The list that clients of the proxy last saw, even an empty one; a different list is a change.
    told: Option<Arc<[Value]>>,
    failed: Option<(Instant, ConnectError)>,
    flight: Option<Flight>,
    /// `true` if the server reported a change that the pending listing may lack.
    is_stale: bool,
    /// `true` once a task follows the changes of the list.
    is_followed: bool,
}

impl List {
    fn pending(&self) -> Option<Flight> {
        self.flight.clone().filter(|flight| flight.done.has_changed().is_ok())
    }
}

/// A pending listing.
#[derive(Clone)]
pub(super) struct Flight {
    /// The deadline for waiting callers.
    pub(super) until: tokio::time::Instant,
    /// Closed at the end.
    pub(super) done: watch::Receiver<()>,
}

pub(super) struct Attached {
    pub(super) name: Arc<str>,
    pub(super) client: Client,
    pub(super) calls: Calls,
    /// The pending requests of the proxy's client at this server: a question of the server belongs to one of them.
    pub(super) open: Open,
    /// The resources in its results.
    pub(super) linked: Linked,
    pub(super) upstream: Arc<Upstream>,
    pub(super) lists: Mutex<HashMap<Kind, List>>,
    pub(super) news: News,
    pub(super) changes: Changes,
    /// The tasks that list and listen. They end with this value, and so must not hold a strong reference.
    pub(super) tasks: Mutex<JoinSet<()>>,
}

impl Attached {
    /// Runs a task, no longer than this value lives.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Records that the server reported a change.
    pub(super) fn announce(&self, kind: Kind) {
        lock(&self.changes).insert((self.name.clone(), kind));
    }

    /// Returns the known part of a list.
    pub(super) fn known(&self, kind: Kind) -> Option<Arc<[Value]>> {
        lock(&self.lists).get(&kind)?.items.clone()
    }

    /// Returns the known part of a list for a client of the proxy, which is then notified of changes.
    pub(super) fn told(&self, kind: Kind) -> Option<Arc<[Value]>> {
        let mut lists = lock(&self.lists);
        let list = lists.entry(kind).or_default();
        let items = list.items.clone();
        list.told.get_or_insert_with(|| items.clone().unwrap_or_default());
        items
    }

    /// Returns the pending listing, or starts one. Returns `None` for known tools, which follow changes, and shortly after
    /// a failed listing.
    pub(super) fn flight(self: &Arc<Self>, kind: Kind) -> Option<Flight> {
        let mut lists = lock(&self.lists);
        let list = lists.entry(kind).or_default();
        if kind == Kind::Tools && list.items.is_some() {
            return None;
        }
        let has_just_failed = || list.failed.as_ref().is_some_and(|(at, _)| at.elapsed() < PAUSE_BEFORE_ASKING_AGAIN);
        match list.pending() {
            None if has_just_failed() => None,
            None => Some(self.start(kind, list)),
            pending => pending,
        }
    }

    /// Lists again after the server reports a change, if clients saw the list. A pending listing is repeated at its end.
    pub(super) fn changed(self: &Arc<Self>, kind: Kind) {
        let mut lists = lock(&self.lists);
        if let Some(list) = lists.get_mut(&kind).filter(|list| list.told.is_some()) {
            list.is_stale = true;
            if list.pending().is_none() {
                self.start(kind, list);
            }
        }
    }

    /// Starts a listing, which continues even if no caller waits.
    fn start(self: &Arc<Self>, kind: Kind, list: &mut List) -> Flight {
        // A server that did not respond last time is not awaited again.
        let is_slow = list.failed.as_ref().is_some_and(|(_, error)| error.kind == ConnectErrorKind::Timeout);
        let patience = if is_slow { Duration::ZERO } else { PATIENCE_FOR_LISTS };
        let (pending, done) = watch::channel(());
        let flight = Flight { until: tokio::time::Instant::now() + patience, done };
        list.flight = Some(flight.clone());
        let is_announced = std::mem::take(&mut list.is_stale);
        let follows = kind == Kind::Tools && !std::mem::replace(&mut list.is_followed, true);
        // Subscribed before listing, so that no change is missed.
        let changes = follows.then(|| self.client.tool_changes());
        let (attached, client) = (Arc::downgrade(self), self.client.clone());
        self.spawn(async move {
            let has_failed = keep_listing(&attached, &client, kind, is_announced).await;
            drop((pending, client));
            if let Some(changes) = changes {
                watch_tools(attached, changes, has_failed).await;
            }
        });
        flight
    }

    /// Takes in the outcome of a listing. Returns `true` if the server reported a change meanwhile, so that it is listed
    /// again.
    fn listed(&self, kind: Kind, listed: Result<Vec<Value>, ConnectError>, is_announced: bool) -> bool {
        let failed = listed.map(|items| self.set(kind, items, is_announced)).err();
        let mut lists = lock(&self.lists);
        let list = lists.entry(kind).or_default();
        if let Some(error) = failed {
            tracing::warn!(server = &*self.name, "failed to list it, retrying later: {error}");
            list.failed = Some((Instant::now(), error));
        }
        let is_stale = std::mem::take(&mut list.is_stale);
        if !is_stale {
            list.flight = None;
        }
        is_stale
    }

    /// Returns `true` if the last listing of tools failed.
    pub(super) fn has_failed(&self) -> bool {
        lock(&self.lists).get(&Kind::Tools).is_some_and(|list| list.items.is_none() && list.failed.is_some())
    }

    /// Stores a list, and announces it if clients saw another one. Lists of servers that report no changes are not
    /// announced: they may differ each time, and each announcement causes another listing.
    fn set(&self, kind: Kind, items: Vec<Value>, is_announced: bool) {
        let items = self.upstream.once(kind.method(), self.fit(kind, items));
        let mut lists = lock(&self.lists);
        let list = lists.entry(kind).or_default();
        list.failed = None;
        let was_missing = list.items.replace(items.clone()).is_none();
        let (notification, key) = notification_and_key(kind);
        let may_be_news = is_announced || was_missing;
        if may_be_news && list.told.as_ref().is_some_and(|told| !are_same(key, told, &items)) {
            list.told = Some(items);
            drop(lists);
            if let Some(signal) = self.news.get(notification) {
                signal.send_replace(());
            }
        }
    }

    /// Returns the items of a list that can be served: each thing once, and no tool that would be refused whatever its arguments.
    fn fit(&self, kind: Kind, mut items: Vec<Value>) -> Arc<[Value]> {
        let (_, key) = notification_and_key(kind);
        let listed = items.len();
        items.retain(|item| text(item, key).is_some());
        items.truncate(MOST_ITEMS);
        if matches!(kind, Kind::Tools | Kind::Prompts) {
            items.sort_by(|a, b| text(a, key).cmp(&text(b, key)));
            items.dedup_by(|a, b| text(a, key) == text(b, key));
        }
        if items.len() < listed {
            tracing::warn!(
                server = &*self.name,
                "{} entries of its {kind:?} have no unique `{key}`",
                listed - items.len()
            );
        }
        if kind == Kind::Tools {
            let offer = self.calls.offer_dyn();
            items.retain(|tool| text(tool, key).is_some_and(|name| offer.admits(name)));
            items.retain_mut(|tool| self.fits_view(tool));
        }
        let config = self.client.config();
        items.retain(|item| match (kind, text(item, key)) {
            (Kind::Prompts, Some(name)) => config.selects_prompt(name),
            (Kind::Resources | Kind::ResourceTemplates | Kind::Skills, Some(uri)) => config.selects_resource(uri),
            _ => true,
        });
        items.iter_mut().for_each(visible_item);
        items.into()
    }

    /// Shows a tool as its view does; returns `false` if the view does not fit it.
    fn fits_view(&self, tool: &mut Value) -> bool {
        let name = text(tool, "name").unwrap_or_default();
        let Some(view) = self.client.config().views.get(name) else { return true };
        match viewed_tool(tool, view) {
            Ok(seen) => *tool = seen,
            Err(faults) => {
                let faults = faults.iter().map(|fault| printable(&fault.message)).collect::<Vec<_>>().join("; ");
                tracing::warn!(server = &*self.name, "the view of tool `{}` does not fit: {faults}", printable(name));
                return false;
            }
        }
        true
    }
}

fn text<'v>(item: &'v Value, key: &str) -> Option<&'v str> {
    item.get(key).and_then(Value::as_str)
}

/// Returns `true` if two lists have the same, in whatever order.
fn are_same(key: &str, one: &[Value], other: &[Value]) -> bool {
    let [one, other] = [one, other].map(|items| {
        let mut items: Vec<&Value> = items.iter().collect();
        items.sort_by(|a, b| text(a, key).cmp(&text(b, key)));
        items
    });
    one == other
}

/// Removes from an item of a list what people cannot see: from its texts, and from those of its schemas, arguments and annotations.
fn visible_item(item: &mut Value) {
    let Value::Object(members) = item else { return };
    for (key, value) in members {
        match (key.as_str(), value) {
            ("title" | "description", Value::String(text)) => *text = visible(text),
            ("inputSchema" | "outputSchema" | "annotations" | "arguments", value) => visible_texts(value),
            _ => {}
        }
    }
}

/// Lists as long as the server reports a change meanwhile. Returns `true` if the last listing failed.
async fn keep_listing(attached: &Weak<Attached>, client: &Client, kind: Kind, mut is_announced: bool) -> bool {
    loop {
        let listed = match kind {
            Kind::Tools => client.list_tools_raw().await,
            Kind::Prompts => client.list_prompts_raw().await,
            Kind::Resources => client.list_resources_raw().await,
            Kind::ResourceTemplates => client.list_resource_templates_raw().await,
            Kind::Skills => client.list_skills_raw().await,
        };
        let has_failed = listed.is_err();
        let is_stale = attached.upgrade().is_some_and(|attached| attached.listed(kind, listed, is_announced));
        if !is_stale {
            return has_failed;
        }
        is_announced = true;
    }
}

/// Keeps the list of tools up to date while the server is attached. A failed listing is retried until it succeeds,
/// because no event reports that a server has recovered.
async fn watch_tools(attached: Weak<Attached>, mut changes: ToolChanges, mut is_behind: bool) {
    let mut pause = FIRST_PAUSE;
    loop {
        if is_behind {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        let Some(client) = attached.upgrade().map(|attached| attached.client.clone()) else { return };
        let changed = if is_behind { client.list_tools_raw().await } else { changes.changed().await };
        let Some(attached) = attached.upgrade() else { return };
        is_behind = changed.is_err();
        match changed {
            Ok(tools) => {
                pause = FIRST_PAUSE;
                attached.announce(Kind::Tools);
                attached.set(Kind::Tools, tools, true);
            }
            Err(error) if error.kind == ConnectErrorKind::ShutDown => return,
            Err(error) => tracing::debug!(server = &*attached.name, "cannot receive changes to its tools: {error}"),
        }
    }
}

/// The open requests of a client of the proxy; clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Open(Arc<Mutex<Vec<Weak<RequestId>>>>);

impl Open {
    /// Begins a request, which is open as long as the returned value is held.
    pub(super) fn begin(&self, id: RequestId) -> Arc<RequestId> {
        let (id, mut open) = (Arc::new(id), lock(&self.0));
        open.retain(|other| other.strong_count() > 0);
        open.push(Arc::downgrade(&id));
        id
    }

    /// Returns the open request that began last.
    pub(super) fn last(&self) -> Option<RequestId> {
        lock(&self.0).iter().rev().find_map(Weak::upgrade).map(Arc::unwrap_or_clone)
    }
}

/// Handles the notifications of a server: lists again what has changed, and passes log messages to the client of the
/// connection.
pub(super) async fn hear(attached: Weak<Attached>, mut told: Notifications, session: Option<Session>) {
    while let Some(Notification { method, params, missed, .. }) = told.next().await {
        let kinds = [Kind::Prompts, Kind::Resources, Kind::ResourceTemplates].into_iter();
        // Changes of any list may be among the lost ones.
        let changed = kinds.filter(|kind| missed > 0 || notification_and_key(*kind).0 == method);
        {
            let Some(attached) = attached.upgrade() else { return };
            if missed > 0 {
                tracing::warn!(
                    server = &*attached.name,
                    "lost {missed} notifications of the server: the queue was full"
                );
            }
            for kind in changed {
                attached.announce(kind);
                attached.changed(kind);
            }
        }
        if let (LOGGED, Some(session)) = (method.as_str(), &session)
            && session.notify(MethodCall::new(LOGGED, params)).await.is_err()
        {
            return;
        }
    }
}

/// Notifies a client of changed lists from now on.
pub(super) fn tell(news: &News, session: Session) -> impl Future<Output = ()> + use<> {
    let told = news.iter().map(|(method, signal)| {
        let (method, mut signal, session) = (*method, signal.subscribe(), session.clone());
        async move {
            let notify = || session.notify(MethodCall::new(method, Map::new()));
            while signal.changed().await.is_ok() && notify().await.is_ok() {}
        }
    });
    join_all(told).map(drop)
}

/// Keeps the log level of a server equal to that of the client, on each new connection too. A server without a log is
/// not told.
pub(super) async fn keep_level(client: Client, mut level: watch::Receiver<Option<Value>>) {
    let mut state = client.watch_state();
    loop {
        tokio::select! {
            Some(_) = state.changed() => {}
            Ok(()) = level.changed() => {}
            else => return,
        }
        let wanted = level.borrow_and_update().clone().filter(|_| client.is_connected());
        let Some(level) = wanted else { continue };
        let Ok(declared) = client.declared().await else { continue };
        if declared.capabilities.is_some_and(|all| all.get("logging").is_some_and(Value::is_object)) {
            let params = Map::from_iter([("level".to_owned(), level)]);
            if let Err(error) = client.request("logging/setLevel", params, CallOptions::new()).await {
                tracing::debug!("failed to set the log level of a server: {error}");
            }
        }
    }
}

/// Logs once that requests of a server cannot be passed to clients without a session.
pub(super) async fn tell_of_era(client: Client) {
    let mut state = client.watch_state();
    while let Some(state) = state.changed().await {
        let declared = if state == ConnectionState::Connected { client.declared().await.ok() } else { None };
        let Some(version) = declared.map(|declared| declared.protocol_version) else { continue };
        if !is_modern(&version) {
            tracing::info!(
                server = client.name(),
                "the server uses {version}: its requests are not passed to clients without a session"
            );
        }
        return;
    }
}
