//! Lists too long for a context: a model searches them, and calls what it has found.

mod meta;
mod native;
mod rank;

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use mcp_bindgen_model::{matches_glob, nearest};
use mcp_bindgen_runtime::ToolReply;
use serde_json::Value;

use self::meta::{asked, call_tool, find_tools, free_name};
use self::rank::Index;
use super::turn::{Order, turn};
use super::{Carried, Entry, NameStyle, Toolset};
use crate::provider::{Answers, Arguments, ModelCall, Provider};

/// A toolset of which models are told two tools alone: one that finds the others, and one that calls what was found. Made by
/// [`Toolset::deferred`].
///
/// [`listed`](Self::listed) has what goes into the request; calls go to [`dispatch`](Self::dispatch) and
/// [`turn`](Self::turn) of this. The list is the same whatever is found, so that a provider's cache of it holds.
#[derive(Clone, Debug)]
pub struct Deferred {
    all: Toolset,
    listed: Toolset,
    index: Arc<Index>,
    pinned: Arc<BTreeSet<String>>,
    /// The name of the tool that calls.
    caller: Arc<str>,
    /// The name of the tool that finds.
    finder: Arc<str>,
}

/// A pattern that no tool of the set fits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no tool of this set matches `{pattern}`{}", meant(.nearest))]
#[non_exhaustive]
pub struct NothingPinned {
    /// The pattern.
    pub pattern: String,
    /// The names that are most like it.
    pub nearest: Vec<String>,
}

fn meant(nearest: &[String]) -> String {
    nearest.first().map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

impl Toolset {
    /// The same tools behind two of them, `find_tools` and `call_tool`, for lists that are too long for a context: the list
    /// costs the same whether there are ten tools or a thousand.
    ///
    /// `find_tools` gives the names, first sentences and parameters of the tools that fit a few words best, ranked by BM25
    /// over the parts of names, descriptions and parameters. `call_tool` calls one of them just as
    /// [`dispatch`](Self::dispatch) does: whatever stands around a client, policies and approvals, holds for it as well.
    /// Where a tool of the set has one of these names already, they end in `_`.
    ///
    /// ```
    /// # async fn run(toolset: &mcp_bindgen_agents::Toolset) -> Result<(), mcp_bindgen_agents::NothingPinned> {
    /// let deferred = toolset.deferred().pinned(["files_read"])?;
    /// let found = deferred.dispatch("find_tools", r#"{"query": "close an issue"}"#).await;
    /// println!("{}", found.message);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn deferred(&self) -> Deferred {
        let index = Arc::new(Index::of(self.entries()));
        let [finder, caller] = ["find_tools", "call_tool"].map(|name| Arc::from(free_name(self, name)));
        Deferred::new(self.clone(), index, BTreeSet::new(), finder, caller)
    }

    /// A set of these entries, whose names are told apart.
    pub(super) fn listing(entries: Vec<Arc<Entry>>) -> Self {
        Self::of(entries, NameStyle::default(), Arc::default(), Carried::default())
    }
}

impl Deferred {
    fn new(all: Toolset, index: Arc<Index>, mut pinned: BTreeSet<String>, finder: Arc<str>, caller: Arc<str>) -> Self {
        // The prompt tells the model to call them by their names.
        let ours = all.entries().iter().filter(|entry| entry.opens_sections());
        pinned.extend(ours.map(|entry| entry.public.clone()));
        let meta = [find_tools(&all, &index, &finder, &caller), call_tool(&all, &finder, &caller)];
        let kept = all.entries().iter().filter(|entry| pinned.contains(&entry.public)).cloned();
        let listed = Toolset::listing(meta.into_iter().map(Arc::new).chain(kept).collect());
        let listed = Toolset { carried: all.carried.clone(), ..listed };
        Self { all, listed, index, pinned: Arc::new(pinned), caller, finder }
    }

    /// Has the model told of these tools from the beginning as well: public names, or globs of them.
    ///
    /// # Errors
    /// Where no tool fits one of the patterns.
    pub fn pinned<P: AsRef<str>>(self, patterns: impl IntoIterator<Item = P>) -> Result<Self, NothingPinned> {
        let mut pinned = BTreeSet::clone(&self.pinned);
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let mut fitting = self.all.public_names().filter(|name| matches_glob(pattern, name)).peekable();
            if fitting.peek().is_none() {
                let nearest = nearest(pattern, self.all.public_names()).into_iter().map(str::to_owned).collect();
                return Err(NothingPinned { pattern: pattern.to_owned(), nearest });
            }
            pinned.extend(fitting.map(str::to_owned));
        }
        Ok(Self::new(self.all, self.index, pinned, self.finder, self.caller))
    }

    /// The same tools for one conversation, whose calls carry a value; see [`Toolset::with_extension`]. Nothing is indexed
    /// anew.
    #[must_use]
    pub fn with_extension<T: Any + Clone + Send + Sync>(&self, value: T) -> Self {
        let Self { index, finder, caller, .. } = self.clone();
        Self::new(self.all.with_extension(value), index, BTreeSet::clone(&self.pinned), finder, caller)
    }

    /// The tools that the model is told of: the two, those that are pinned, and those by which it opens and reads sections of
    /// its prompt.
    #[must_use]
    pub fn listed(&self) -> &Toolset {
        &self.listed
    }

    /// The tools that can be found and called.
    #[must_use]
    pub fn all(&self) -> &Toolset {
        &self.all
    }

    /// The whole list for providers that search it themselves: takes the definitions of [`all`](Self::all), marks those
    /// that are not pinned with `defer_loading`, and puts the provider's own search before them. All definitions are sent
    /// then, and only what is found takes part of the context. None where the provider has no search: OpenAI's Chat
    /// Completions and Gemini.
    ///
    /// Calls of tools that the model found so have their names; [`dispatch`](Self::dispatch) and [`turn`](Self::turn) answer
    /// them as well.
    #[must_use]
    pub fn searched_by(&self, provider: Provider, definitions: Vec<Value>) -> Option<Vec<Value>> {
        native::searched_by(provider, definitions, |name| self.pinned.contains(name))
    }

    /// As [`Toolset::dispatch`], for the two tools and for all others. A tool that the model has not found, but calls by
    /// its right name, is called: it may remember it from an earlier conversation.
    pub fn dispatch(&self, name: &str, arguments: impl Into<Arguments>) -> impl Future<Output = ToolReply> + Send {
        let arguments = arguments.into();
        async move {
            let is_of_the_two = [&*self.finder, &*self.caller].contains(&name);
            let set = if is_of_the_two { &self.listed } else { &self.all };
            set.dispatch(name, arguments).await
        }
    }

    /// As [`Toolset::turn`]. A call through `call_tool` is in order where that of the tool itself would be.
    pub async fn turn(&self, calls: Vec<ModelCall>) -> Answers {
        let order = |call: &ModelCall| {
            let inner = (call.name == *self.caller).then(|| asked(call.arguments.clone()).ok()).flatten();
            let name = inner.as_ref().map_or(call.name.as_str(), |asked| asked.name.as_str());
            self.all.entry(name).map_or(Order::Any, |entry| Order::of(entry))
        };
        turn(&calls, order, |call| Box::pin(self.dispatch(&call.name, call.arguments.clone()))).await
    }
}
