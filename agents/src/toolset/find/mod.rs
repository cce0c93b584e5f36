//! Deferred toolsets, whose tools a model searches because they are too many for a context.

mod rank;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::sync::Arc;

use mcp_bindgen_model::{matches_glob, nearest, printable};
use mcp_bindgen_runtime::ToolReply;
use mcp_bindgen_schema::visible_texts;
use serde_json::{Map, Value, json};

use self::rank::Index;
use super::entry::TOOLS;
use super::error::{ToolsetError, ToolsetFault};
use super::{Entry, Function, Functions, Handler, NameStyle, Running, Toolset};
use crate::json::bytes;
use crate::provider::{Answers, Arguments, ModelCall, Provider};
use crate::text::{head, label};

const MOST_FOUND: usize = 5;
/// The limit on the parameters in one search result, in bytes of JSON.
const MOST_PARAMETERS: usize = 50_000;
/// The limit on the parameters of the best match, in bytes of JSON.
const LARGEST_PARAMETERS: usize = 200_000;
const LONGEST_QUERY: usize = 1000;
/// The longest part of a wrong key that is shown.
const LONGEST_NAME: usize = 100;
const MOST_SERVERS: usize = 20;

/// A toolset of which models see only two tools: one that finds the others, and one that calls them. Returned by
/// [`Toolset::deferred`].
///
/// Send the definitions of [`listed`](Self::listed) in the request, and make calls with [`dispatch`](Self::dispatch)
/// and [`turn`](Self::turn) of this type. The definitions never change, so that the provider's cache stays valid.
#[derive(Clone, Debug)]
pub struct Deferred {
    all: Toolset,
    listed: Toolset,
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
        let [finder, caller] = ["find_tools", "call_tool"].map(|name| free_name(self, name));
        let meta = [find_tools(self, &finder, &caller), call_tool(self, &finder, &caller)].map(Arc::new);
        // The prompt, or a shortened result, asks the model to call them by name.
        let ours = self.entries.iter().filter(|entry| entry.opens_sections() || self.reads_results(entry));
        let listed = self.with_entries(meta.iter().chain(ours).cloned());
        let listed = Toolset { style: NameStyle::default(), left_out: Arc::default(), ..listed };
        Deferred { all: self.clone(), listed }
    }
}

impl Deferred {
    /// Also shows these tools to the model from the start: names in the toolset, or globs.
    ///
    /// # Errors
    /// Fails if a pattern matches no tool.
    pub fn pinned<P: AsRef<str>>(self, patterns: impl IntoIterator<Item = P>) -> Result<Self, ToolsetError> {
        let mut pinned: BTreeSet<&str> = self.listed.names().collect();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let mut fitting = self.all.names().filter(|name| matches_glob(pattern, name)).peekable();
            if fitting.peek().is_none() {
                return Err(ToolsetFault::no_such_pattern(pattern, self.all.names()).into());
            }
            pinned.extend(fitting);
        }
        let meta = self.listed.entries.iter().filter(|entry| self.all.entry(&entry.public).is_none());
        let kept = self.all.entries.iter().filter(|entry| pinned.contains(&*entry.public));
        let listed = self.listed.with_entries(meta.chain(kept).cloned());
        Ok(Self { listed, ..self })
    }

    /// Returns the toolset with a value that all its calls carry; see [`Toolset::with_extension`].
    #[must_use]
    pub fn with_extension<T: Any + Clone + Send + Sync>(&self, value: T) -> Self {
        Self { all: self.all.with_extension(value.clone()), listed: self.listed.with_extension(value) }
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
        let search = provider.format().facts().search?;
        let listed: BTreeSet<&str> = self.listed.names().collect();
        for definition in definitions.iter_mut().filter_map(Value::as_object_mut) {
            if definition.get("name").and_then(Value::as_str).is_some_and(|name| !listed.contains(name)) {
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
        self.set_of(name).dispatch(name, arguments)
    }

    /// Makes calls like [`Toolset::turn`]. Calls through `call_tool` are ordered like calls of the tool itself.
    pub async fn turn(&self, calls: Vec<ModelCall>) -> Answers {
        Toolset::turn_by(calls, |name| self.set_of(name)).await
    }

    /// Returns the toolset by which a tool is called. Functions see all tools in it, and not the two.
    fn set_of(&self, name: &str) -> &Toolset {
        let is_of_the_two = self.all.entry(name).is_none() && self.listed.entry(name).is_some();
        if is_of_the_two { &self.listed } else { &self.all }
    }
}

/// Returns a name that no tool of the set has.
pub(super) fn free_name(all: &Toolset, name: &str) -> String {
    let mut free = name.to_owned();
    while all.entry(&free).is_some() {
        free.push('_');
    }
    free
}

fn find_tools(all: &Toolset, finder: &str, caller: &str) -> Entry {
    let description = format!(
        "Finds tools by their purpose; call the found tool with {caller}. There are {} tools, of {}.",
        all.len(),
        servers(all)
    );
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["query"],
        "properties": {"query": {"type": "string", "description": "A few words that describe the task, or a tool name."}},
    });
    let (all, index) = (all.clone(), Index::of(&all.entries));
    let find = move |_, arguments: Map<String, Value>| -> Running {
        let query = arguments.get("query").and_then(Value::as_str).unwrap_or_default();
        Box::pin(ready(Ok(found(&all, &index, head(query, LONGEST_QUERY)).into())))
    };
    reading(finder, &description, schema, Arc::new(find))
}

/// Returns a tool of the toolset itself that changes nothing.
pub(super) fn reading(name: &str, description: &str, schema: Value, function: Function) -> Entry {
    let handler = Handler::Function(Functions::alone(TOOLS, name, function));
    let mut entry = meta(name, description, schema, handler);
    entry.annotations.read_only = Some(true);
    entry
}

fn call_tool(all: &Toolset, finder: &str, caller: &str) -> Entry {
    let description = format!("Calls a tool found by {finder}, by its name, with arguments that match its parameters.");
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["name", "arguments"],
        "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
    });
    meta(caller, &description, schema, Handler::Caller(all.clone()))
}

fn meta(name: &str, description: &str, schema: Value, handler: Handler) -> Entry {
    let entry = Entry::new(TOOLS, name, schema, handler);
    Entry { public: name.to_owned(), description: Some(description.into()), ..entry }
}

/// Returns the servers with how many tools each has, by name.
fn servers(all: &Toolset) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in &*all.entries {
        *counts.entry(&entry.server).or_default() += 1;
    }
    let shown = counts.iter().take(MOST_SERVERS).map(|(server, count)| format!("{} ({count})", label(server)));
    let mut shown: Vec<String> = shown.collect();
    if counts.len() > MOST_SERVERS {
        shown.push(format!("{} more servers", counts.len() - MOST_SERVERS));
    }
    shown.join(", ")
}

/// Returns the tools that fit a query, with their parameters.
fn found(all: &Toolset, index: &Index, query: &str) -> Value {
    let entries = &all.entries;
    let mut best = index.best(query, MOST_FOUND);
    // An exact name comes first.
    let named = entries.iter().position(|entry| [entry.public.as_str(), &entry.tool].contains(&query.trim()));
    if let Some(named) = named {
        best.retain(|place| *place != named);
        best.insert(0, named);
        best.truncate(MOST_FOUND);
    }
    if best.is_empty() {
        let near = nearest(query, all.names());
        return json!({
            "tools": [], "nearest_names": near,
            "note": format!("no match; try other words. There are tools of {}", servers(all)),
        });
    }
    let mut room = MOST_PARAMETERS;
    let found = best.iter().filter_map(|place| entries.get(*place)).enumerate();
    let described = found.map(|(rank, entry)| {
        let size = bytes(&*entry.input_schema);
        // The first match is the likeliest target, so it has the larger limit.
        let most = if rank == 0 { LARGEST_PARAMETERS } else { room };
        let parameters = if size <= most {
            room = room.saturating_sub(size);
            let mut parameters = Value::clone(&entry.input_schema);
            visible_texts(&mut parameters);
            parameters
        } else if size > LARGEST_PARAMETERS {
            format!("omitted, {size} bytes: over the limit").into()
        } else {
            format!("omitted, {size} bytes: search for `{}` to see them", entry.public).into()
        };
        json!({"name": entry.public, "description": entry.sentence(), "parameters": parameters})
    });
    json!({"tools": described.collect::<Vec<_>>()})
}

/// Reads a call through the second tool: the name and the arguments. These may be text as well, since some models send
/// them so.
///
/// # Errors
/// Fails with a message for the model if it names no tool.
pub(super) fn asked(arguments: Arguments) -> Result<(String, Arguments), String> {
    let mut fields = arguments.object().map_err(|error| error.to_string())?;
    let arguments = fields.remove("arguments").map_or_else(|| "".into(), Arguments::from);
    let name = match fields.remove("name") {
        Some(Value::String(name)) => name,
        Some(_) => return Err("expected a string at `/name`".to_owned()),
        None => return Err("`name` is required: the name of the tool to call".to_owned()),
    };
    match fields.keys().next() {
        None => Ok((name, arguments)),
        Some(stray) => {
            let stray = printable(stray);
            let stray = head(&stray, LONGEST_NAME);
            Err(format!("only `name` and `arguments` are accepted; move `{stray}` into `arguments`"))
        }
    }
}
