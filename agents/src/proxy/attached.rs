//! One server as one scope has it: a client, what calls through it, and what it offers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mcp_model::{Prefix, printable};
use mcp_runtime::{Client, ConnectError, ConnectErrorKind, ToolChanges};
use rmcp::model::RequestId;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::upstream::Calls;

/// A server that could not be reached is left alone so long.
const PAUSE_BEFORE_ASKING_AGAIN: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// More are no list for anybody's context.
const MOST_ITEMS: usize = 100_000;

/// How often each of the lists has changed since somebody was told of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    pub(super) tools: u64,
    pub(super) prompts: u64,
    pub(super) resources: u64,
}

/// What of a server is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Tools,
    Prompts,
    Resources,
    ResourceTemplates,
}

impl News {
    fn note(&mut self, kind: Kind) {
        let count = match kind {
            Kind::Tools => &mut self.tools,
            Kind::Prompts => &mut self.prompts,
            Kind::Resources | Kind::ResourceTemplates => &mut self.resources,
        };
        *count += 1;
    }
}

/// One list of a server.
#[derive(Default)]
struct List {
    items: Option<Arc<[Value]>>,
    /// Whether a client of the proxy has been told what there is, be it nothing.
    is_told: bool,
    failed: Option<(Instant, ConnectError)>,
}

#[derive(Default)]
struct Lists {
    tools: List,
    prompts: List,
    resources: List,
    templates: List,
}

impl Lists {
    fn get(&mut self, kind: Kind) -> &mut List {
        match kind {
            Kind::Tools => &mut self.tools,
            Kind::Prompts => &mut self.prompts,
            Kind::Resources => &mut self.resources,
            Kind::ResourceTemplates => &mut self.templates,
        }
    }
}

pub(super) struct Attached {
    pub(super) name: Arc<str>,
    pub(super) client: Client,
    pub(super) calls: Calls,
    /// The requests of the proxy's client that this server works on: what it asks meanwhile belongs to one of them.
    pub(super) open: Open,
    lists: Mutex<Lists>,
    turn: tokio::sync::Mutex<()>,
    news: Arc<watch::Sender<News>>,
    /// Ends with this, and so holds nothing but what it needs.
    watching: Mutex<Option<JoinSet<()>>>,
}

impl Attached {
    pub(super) fn new(
        name: Arc<str>,
        (client, calls): (Client, Calls),
        open: Open,
        news: Arc<watch::Sender<News>>,
    ) -> Self {
        Self {
            name,
            client,
            calls,
            open,
            lists: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            news,
            watching: Mutex::default(),
        }
    }

    /// What the names of its tools and prompts begin with.
    pub(super) fn prefix(&self) -> &str {
        match &self.client.config().prefix {
            Prefix::ServerName => &self.name,
            Prefix::Named(prefix) => prefix,
            Prefix::None => "",
        }
    }

    /// What is known of a list.
    pub(super) fn known(&self, kind: Kind) -> Option<Arc<[Value]>> {
        self.lists().get(kind).items.clone()
    }

    /// The same, for one who tells a client of the proxy: of changes it is told from now on.
    pub(super) fn told(&self, kind: Kind) -> Option<Arc<[Value]>> {
        let mut lists = self.lists();
        let list = lists.get(kind);
        list.is_told = true;
        list.items.clone()
    }

    /// The tools that may be called at all, by name. They are asked for once, and again when the server says that they changed.
    pub(super) async fn tools(self: &Arc<Self>) -> Result<Arc<[Value]>, ConnectError> {
        let _turn = self.turn.lock().await;
        if let Some(known) = self.known(Kind::Tools) {
            return Ok(known);
        }
        self.may_ask(Kind::Tools)?;
        // Before they are listed, so that nothing is missed.
        let changes = self.client.tool_changes();
        let listed = self.client.list_tools_raw().await;
        let tools = self.listed(Kind::Tools, listed)?;
        let mut watching = JoinSet::new();
        watching.spawn(watch_tools(Arc::downgrade(self), changes));
        *self.watching.lock().unwrap_or_else(PoisonError::into_inner) = Some(watching);
        Ok(tools)
    }

    /// One of the other lists, asked for anew.
    pub(super) async fn listed_anew(&self, kind: Kind) -> Result<Arc<[Value]>, ConnectError> {
        self.may_ask(kind)?;
        let listed = match kind {
            Kind::Tools => self.client.list_tools_raw().await,
            Kind::Prompts => self.client.list_prompts_raw().await,
            Kind::Resources => self.client.list_resources_raw().await,
            Kind::ResourceTemplates => self.client.list_resource_templates_raw().await,
        };
        self.listed(kind, listed)
    }

    fn may_ask(&self, kind: Kind) -> Result<(), ConnectError> {
        match &self.lists().get(kind).failed {
            Some((when, error)) if when.elapsed() < PAUSE_BEFORE_ASKING_AGAIN => Err(error.clone()),
            _ => Ok(()),
        }
    }

    fn listed(&self, kind: Kind, listed: Result<Vec<Value>, ConnectError>) -> Result<Arc<[Value]>, ConnectError> {
        match listed {
            Ok(items) => Ok(self.set(kind, items)),
            Err(error) => {
                tracing::warn!(server = &*self.name, "nothing of it is listed, and it is asked again later: {error}");
                self.lists().get(kind).failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    /// Why the last listing of tools failed.
    pub(super) fn has_failed(&self) -> bool {
        let mut lists = self.lists();
        let list = lists.get(Kind::Tools);
        list.items.is_none() && list.failed.is_some()
    }

    /// Keeps a list, and tells of it where it is not what was there before.
    fn set(&self, kind: Kind, items: Vec<Value>) -> Arc<[Value]> {
        let items = self.fit(kind, items);
        let mut lists = self.lists();
        let list = lists.get(kind);
        list.failed = None;
        let before = list.items.replace(items.clone());
        let is_news = list.is_told && before.as_deref().unwrap_or_default() != &*items;
        drop(lists);
        if is_news {
            self.news.send_modify(|news| news.note(kind));
        }
        items
    }

    /// What of a list can be served: each thing once, and no tool that would be refused whatever its arguments.
    fn fit(&self, kind: Kind, mut items: Vec<Value>) -> Arc<[Value]> {
        let key = match kind {
            Kind::Tools | Kind::Prompts => "name",
            Kind::Resources => "uri",
            Kind::ResourceTemplates => "uriTemplate",
        };
        fn text<'v>(item: &'v Value, key: &str) -> Option<&'v str> {
            item.get(key).and_then(Value::as_str)
        }
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
                "{} entries of its {kind:?} have no `{key}` of their own",
                listed - items.len()
            );
        }
        if kind == Kind::Tools {
            let offer = self.calls.offer_dyn();
            items.retain(|tool| text(tool, key).is_some_and(|name| offer.admits(name)));
        }
        items.into()
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What of a list changed, the server has said.
    pub(super) async fn changed(&self, kind: Kind) {
        let is_known = self.lists().get(kind).is_told;
        if is_known && let Err(error) = self.listed_anew(kind).await {
            tracing::debug!(server = &*self.name, "its list changed and cannot be asked for: {error}");
        }
    }
}

impl std::fmt::Debug for Attached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attached").field("name", &printable(&self.name)).finish_non_exhaustive()
    }
}

/// Keeps the list of tools as the server has it, as long as it is attached.
async fn watch_tools(attached: std::sync::Weak<Attached>, mut changes: ToolChanges) {
    let mut pause = FIRST_PAUSE;
    loop {
        let changed = changes.changed().await;
        let Some(attached) = attached.upgrade() else { return };
        match changed {
            Ok(tools) => {
                pause = FIRST_PAUSE;
                attached.set(Kind::Tools, tools);
                continue;
            }
            Err(error) if error.kind == ConnectErrorKind::ShutDown => return,
            Err(error) => tracing::debug!(server = &*attached.name, "cannot hear of changes to its tools: {error}"),
        }
        drop(attached);
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// The open requests of a client of the proxy; clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Open(Arc<Mutex<Vec<RequestId>>>);

impl Open {
    pub(super) fn begin(&self, id: RequestId) -> Working {
        self.ids().push(id.clone());
        Working { open: self.clone(), id }
    }

    /// The request that began last.
    pub(super) fn last(&self) -> Option<RequestId> {
        self.ids().last().cloned()
    }

    fn ids(&self) -> MutexGuard<'_, Vec<RequestId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request as long as it is open.
pub(super) struct Working {
    open: Open,
    id: RequestId,
}

impl Drop for Working {
    fn drop(&mut self) {
        let mut ids = self.open.ids();
        if let Some(at) = ids.iter().rposition(|id| *id == self.id) {
            ids.remove(at);
        }
    }
}
