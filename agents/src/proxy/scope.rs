//! The connections that belong together: those of one client with a session, or those that all without one share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Map, Value};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

use super::attached::{Attached, Kind, News};
use super::catalog::{Named, named};
use super::routes;
use crate::toolset::NameStyle;

/// Who takes longer to list something is listed when it has: the others are not held up.
const PATIENCE_FOR_LISTS: Duration = Duration::from_secs(20);

type List = Option<Arc<[Value]>>;
/// The lists of all servers, in their order.
type Lists = Vec<List>;

/// Who has what, by the names that clients of the proxy know: made anew when one of the lists is another.
#[derive(Default)]
struct Index {
    lists: Lists,
    by_name: HashMap<String, (Arc<Attached>, String)>,
}

impl Index {
    fn is_of(&self, lists: &Lists) -> bool {
        let same = |(own, other): (&List, &List)| match (own, other) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        };
        self.lists.len() == lists.len() && self.lists.iter().zip(lists).all(same)
    }
}

pub(super) struct Scope {
    pub(super) upstreams: Vec<Arc<Attached>>,
    pub(super) news: Arc<watch::Sender<News>>,
    style: NameStyle,
    tools_by_name: Mutex<Index>,
    prompts_by_name: Mutex<Index>,
    /// What listens to servers and asks them; it ends with the scope.
    tasks: Mutex<JoinSet<()>>,
}

impl Scope {
    pub(super) fn new(
        upstreams: Vec<Arc<Attached>>,
        news: Arc<watch::Sender<News>>,
        style: NameStyle,
        listening: JoinSet<()>,
    ) -> Self {
        Self {
            upstreams,
            news,
            style,
            tools_by_name: Mutex::default(),
            prompts_by_name: Mutex::default(),
            tasks: Mutex::new(listening),
        }
    }

    /// Has what of all servers is not known listed, side by side.
    async fn ask(&self, kind: Kind) {
        let asked = self.upstreams.iter().filter(|attached| kind != Kind::Tools || attached.known(kind).is_none());
        let listings = asked.map(|attached| {
            let own = attached.clone();
            let (done, is_done) = oneshot::channel::<()>();
            let listing = async move {
                // What fails is said where it does.
                let _ = if kind == Kind::Tools { own.tools().await } else { own.listed_anew(kind).await };
                drop(done);
            };
            // On a task of its own, which goes on where nobody waits any more, and no longer than the scope.
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            while tasks.try_join_next().is_some() {}
            tasks.spawn(listing);
            async move {
                if tokio::time::timeout(PATIENCE_FOR_LISTS, is_done).await.is_err() {
                    tracing::warn!(server = &*attached.name, "it takes long to say what it has, and is served without");
                }
            }
        });
        join_all(listings).await;
    }

    /// The tools under the names that clients of the proxy know.
    pub(super) async fn tools(&self) -> Vec<Value> {
        self.ask(Kind::Tools).await;
        self.named(Kind::Tools, Attached::told).into_iter().map(|named| named.item()).collect()
    }

    /// The prompts, likewise.
    pub(super) async fn prompts(&self) -> Vec<Value> {
        self.ask(Kind::Prompts).await;
        self.named(Kind::Prompts, Attached::told).into_iter().map(|named| named.item()).collect()
    }

    /// Resources, or their templates. What two servers have is that of the first.
    pub(super) async fn resources(&self, kind: Kind) -> Vec<Value> {
        self.ask(kind).await;
        let lists: Vec<_> = self.upstreams.iter().filter_map(|attached| attached.told(kind)).collect();
        routes::merged(lists.iter().map(|list| &**list), kind)
    }

    fn named(&self, kind: Kind, of: impl Fn(&Attached, Kind) -> Option<Arc<[Value]>>) -> Vec<Named> {
        named(self.upstreams.iter().filter_map(|attached| Some((attached, of(attached, kind)?))), self.style)
    }

    /// The server of a tool or prompt, and what it calls it. Where nobody has asked for lists, this does.
    pub(super) async fn find(&self, kind: Kind, public: &str) -> Option<(Arc<Attached>, String)> {
        if let Some(found) = self.find_known(kind, public) {
            return Some(found);
        }
        if kind == Kind::Tools && self.upstreams.iter().all(|attached| attached.known(kind).is_some()) {
            return None;
        }
        self.ask(kind).await;
        self.find_known(kind, public)
    }

    fn find_known(&self, kind: Kind, public: &str) -> Option<(Arc<Attached>, String)> {
        let lists: Lists = self.upstreams.iter().map(|attached| attached.known(kind)).collect();
        let index = if kind == Kind::Tools { &self.tools_by_name } else { &self.prompts_by_name };
        let mut index = index.lock().unwrap_or_else(PoisonError::into_inner);
        if !index.is_of(&lists) {
            let named = self.named(kind, Attached::known);
            *index = Index { by_name: named.into_iter().map(Named::found).collect(), lists };
        }
        index.by_name.get(public).cloned()
    }

    /// What a tool wants.
    pub(super) async fn input_schema(&self, public: &str) -> Option<Arc<Map<String, Value>>> {
        let (attached, tool) = self.find(Kind::Tools, public).await?;
        let tools = attached.known(Kind::Tools)?;
        let tool = tools.iter().find(|item| item.get("name").and_then(Value::as_str) == Some(&*tool))?;
        tool.get("inputSchema")?.as_object().cloned().map(Arc::new)
    }

    /// The servers that could not be asked for their tools.
    pub(super) fn failed(&self) -> Vec<Arc<str>> {
        self.upstreams.iter().filter(|attached| attached.has_failed()).map(|attached| attached.name.clone()).collect()
    }

    /// The server that has a resource: the one that lists it, or one of whose templates it fits, or the only one that there is.
    pub(super) async fn owner(&self, uri: &str) -> Option<Arc<Attached>> {
        if let [only] = &*self.upstreams {
            return Some(only.clone());
        }
        if let Some(owner) = self.known_owner(uri) {
            return Some(owner);
        }
        tokio::join!(self.ask(Kind::Resources), self.ask(Kind::ResourceTemplates));
        self.known_owner(uri)
    }

    fn known_owner(&self, uri: &str) -> Option<Arc<Attached>> {
        let lists = |kind| self.upstreams.iter().map(move |attached| attached.known(kind).unwrap_or_default());
        let resources: Vec<_> = lists(Kind::Resources).collect();
        let templates: Vec<_> = lists(Kind::ResourceTemplates).collect();
        let index = routes::owner(&resources, &templates, uri)?;
        self.upstreams.get(index).cloned()
    }

    /// Closes all connections.
    pub(super) async fn close(&self) {
        join_all(self.upstreams.iter().map(|attached| attached.client.close())).await;
    }
}

impl std::fmt::Debug for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope").field("upstreams", &self.upstreams).finish_non_exhaustive()
    }
}
