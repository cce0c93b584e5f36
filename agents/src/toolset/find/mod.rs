//! Deferred toolsets, whose tools a model searches because they are too many for a context.

mod meta;
mod rank;

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use mcp_bindgen_model::matches_glob;
use mcp_bindgen_runtime::ToolReply;
use serde_json::Value;

pub(super) use self::meta::{Asked, asked, free_name, reading};
use self::meta::{call_tool, find_tools};
use self::rank::Index;
use super::error::{ToolsetError, ToolsetFault};
use super::turn::{Order, turn};
use super::{Entry, Handler, NameStyle, Toolset};
use crate::provider::{Answers, Arguments, ModelCall, Provider};

/// A toolset of which models see only two tools: one that finds the others, and one that calls them. Returned by
/// [`Toolset::deferred`].
///
/// Send the definitions of [`listed`](Self::listed) in the request, and make calls with [`dispatch`](Self::dispatch)
/// and [`turn`](Self::turn) of this type. The definitions never change, so that the provider's cache stays valid.
#[derive(Clone, Debug)]
pub struct Deferred {
    all: Toolset,
    listed: Toolset,
    index: Arc<Index>,
    pinned: Arc<BTreeSet<String>>,
}

impl Toolset {
    /// Hides the tools behind two, `find_tools` and `call_tool`, if there are too many for a context: the definitions
    /// have the same size for ten tools and for a thousand.
    ///
    /// `find_tools` returns the names, first sentences and parameters of the tools that best match some words, ranked
    /// by BM25 over the words of names, descriptions and parameters. `call_tool` calls one of them as
    /// [`dispatch`](Self::dispatch) does, including layers such as policies and approvals. If the toolset has a tool
    /// with one of these names, a `_` is appended to them.
    ///
    /// ```
    /// # async fn run(toolset: &mcp_bindgen_agents::Toolset) -> Result<(), mcp_bindgen_agents::ToolsetError> {
    /// let deferred = toolset.deferred().pinned(["files_read"])?;
    /// let found = deferred.dispatch("find_tools", r#"{"query": "close an issue"}"#).await;
    /// println!("{}", found.message);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn deferred(&self) -> Deferred {
        Deferred::new(self.clone(), Arc::new(Index::of(self.entries())), BTreeSet::new())
    }
}

impl Deferred {
    fn new(all: Toolset, index: Arc<Index>, mut pinned: BTreeSet<String>) -> Self {
        let [finder, caller] = ["find_tools", "call_tool"].map(|name| free_name(&all, name));
        // The prompt, or a shortened result, asks the model to call them by name.
        let ours = all.entries().iter().filter(|entry| entry.opens_sections() || all.reads_results(entry));
        pinned.extend(ours.map(|entry| entry.public.clone()));
        let meta = [find_tools(&all, &index, &finder, &caller), call_tool(&all, &finder, &caller)];
        let kept = all.entries().iter().filter(|entry| pinned.contains(&entry.public)).cloned();
        let listed = meta.into_iter().map(Arc::new).chain(kept).collect();
        let listed = Toolset::of(listed, NameStyle::default(), Arc::default(), all.carried.clone());
        Self { all, listed, index, pinned: Arc::new(pinned) }
    }

    /// Also shows these tools to the model from the start: names in the toolset, or globs.
    ///
    /// # Errors
    /// Fails if a pattern matches no tool.
    pub fn pinned<P: AsRef<str>>(self, patterns: impl IntoIterator<Item = P>) -> Result<Self, ToolsetError> {
        let mut pinned = BTreeSet::clone(&self.pinned);
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let mut fitting = self.all.names().filter(|name| matches_glob(pattern, name)).peekable();
            if fitting.peek().is_none() {
                return Err(ToolsetFault::no_such_pattern(pattern, self.all.names()).into());
            }
            pinned.extend(fitting.map(str::to_owned));
        }
        Ok(Self::new(self.all, self.index, pinned))
    }

    /// Returns the toolset with a value that all its calls carry; see [`Toolset::with_extension`]. The index is
    /// shared.
    #[must_use]
    pub fn with_extension<T: Any + Clone + Send + Sync>(&self, value: T) -> Self {
        Self::new(self.all.with_extension(value), self.index.clone(), BTreeSet::clone(&self.pinned))
    }

    /// Returns the tools that the model sees: the two, the pinned ones, and those that open and read sections of its
    /// prompt.
    #[must_use]
    pub fn listed(&self) -> &Toolset {
        &self.listed
    }

    /// Returns the tools that can be found and called.
    #[must_use]
    pub fn all(&self) -> &Toolset {
        &self.all
    }

    /// Returns the definitions for providers with a search of their own: takes the definitions of [`all`](Self::all),
    /// sets `defer_loading` on those that are not pinned, and adds the provider's search tool. All definitions are
    /// sent, but only found ones use context. Returns `None` for OpenAI's Chat Completions and Gemini, which have no
    /// search.
    ///
    /// [`dispatch`](Self::dispatch) and [`turn`](Self::turn) accept calls of tools that were found this way.
    #[must_use]
    pub fn searched_by(&self, provider: Provider, mut definitions: Vec<Value>) -> Option<Vec<Value>> {
        let search = provider.format().search?;
        for definition in definitions.iter_mut().filter_map(Value::as_object_mut) {
            if definition.get("name").and_then(Value::as_str).is_some_and(|name| !self.pinned.contains(name)) {
                definition.insert("defer_loading".to_owned(), true.into());
                // Anthropic refuses both at once.
                definition.remove("cache_control");
            }
        }
        definitions.insert(0, search());
        Some(definitions)
    }

    /// Dispatches a call like [`Toolset::dispatch`], for the two tools and all others. A tool can be called by its name
    /// without being found first: the model may know it from an earlier conversation.
    pub fn dispatch(&self, name: &str, arguments: impl Into<Arguments>) -> impl Future<Output = ToolReply> + Send {
        let arguments = arguments.into();
        async move {
            let is_of_the_two = self.all.entry(name).is_none() && self.listed.entry(name).is_some();
            let set = if is_of_the_two { &self.listed } else { &self.all };
            set.dispatch(name, arguments).await
        }
    }

    /// Makes calls like [`Toolset::turn`]. Calls through `call_tool` are ordered like calls of the tool itself.
    pub async fn turn(&self, calls: Vec<ModelCall>) -> Answers {
        let order = |call: &ModelCall| {
            let calls = |entry: &&Arc<Entry>| matches!(entry.handler, Handler::Caller(_));
            let caller = self.listed.entry(&call.name).filter(calls);
            let inner = caller.and_then(|_| asked(call.arguments.clone()).ok());
            let name = inner.as_ref().map_or(call.name.as_str(), |asked| asked.name.as_str());
            self.all.entry(name).map_or(Order::Any, |entry| Order::of(entry))
        };
        turn(&calls, order, |call| Box::pin(self.dispatch(&call.name, call.arguments.clone()))).await
    }
}
