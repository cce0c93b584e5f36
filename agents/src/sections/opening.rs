//! The tools by which a model opens sections, and reads them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use mcp_bindgen_model::{nearest, printable};
use mcp_bindgen_runtime::{Content, ToolReply, ToolResult};
use serde_json::{Value, json};

use super::function::SectionTool;
pub(super) use super::names::{OPEN_SECTIONS, READ_SECTION};
use super::params::PromptParams;
use super::placed::Inner;
use super::state::{PromptState, Visibility};
use super::template::listed;
use super::view::{Seen, View};
use super::{offered, text};
use crate::lock::locked;

/// How much of a key that there is not is shown.
const LONGEST_KEY: usize = 120;

/// The outcome of a model's request to open sections.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Opened {
    /// The new state of the conversation: render the prompt with it to get the new tools. Unchanged if nothing was
    /// opened.
    pub state: PromptState,
    /// The reply for the model, with the text of the sections.
    pub reply: ToolReply,
    /// The sections that were opened.
    pub opened: Vec<String>,
    /// The reason that the model gave.
    pub reason: String,
}

/// The state that a rendered prompt needs to open sections.
pub(super) struct Opener {
    inner: Arc<Inner>,
    params: PromptParams,
    /// The state with all sections opened since.
    latest: Mutex<PromptState>,
}

/// Returns those of the two tools that the model needs, each with the call since which it is needed. A tool stays even
/// if all sections are open, because removing it would invalidate the provider's cache.
pub(super) fn tools(view: &View<'_>, seen: &[Seen<'_>], opener: &Arc<Opener>) -> Vec<(usize, SectionTool)> {
    let (mut open, mut read) = (None, None);
    for seen in seen.iter().filter(|seen| seen.is_for_the_model) {
        let needed = if view.has_tools(seen.node) { &mut open } else { &mut read };
        let since = needed.get_or_insert(seen.appeared);
        *since = seen.appeared.min(*since);
    }
    let open = open.map(|since| (since, opener.clone().open_tool()));
    let read = read.map(|since| (since, opener.clone().read_tool()));
    open.into_iter().chain(read).collect()
}

impl Opener {
    pub(super) fn new(inner: Arc<Inner>, params: PromptParams, state: PromptState) -> Self {
        Self { inner, params, latest: Mutex::new(state) }
    }

    fn open_tool(self: Arc<Self>) -> SectionTool {
        let description = "Opens summarized sections of the instructions. The result is their full text; their tools \
                           are available from your next turn on.";
        let schema = json!({
            "type": "object",
            "properties": {
                "section_keys": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "The section keys, as shown in parentheses in their headings."
                },
                "reason": { "type": "string", "description": "The reason for opening them." }
            },
            "required": ["section_keys", "reason"],
            "additionalProperties": false
        });
        SectionTool::raw(OPEN_SECTIONS, description, schema, move |arguments| {
            // The toolset has checked the arguments.
            let keys = arguments.get("section_keys").and_then(Value::as_array).into_iter().flatten();
            self.open(&keys.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()).2
        })
    }

    fn read_tool(self: Arc<Self>) -> SectionTool {
        let description = "Shows the full text of a summarized section of the instructions.";
        let schema = json!({
            "type": "object",
            "properties": {
                "section_key": {
                    "type": "string",
                    "description": "The section key, as shown in parentheses in its heading."
                }
            },
            "required": ["section_key"],
            "additionalProperties": false
        });
        SectionTool::raw(READ_SECTION, description, schema, move |arguments| {
            self.read(arguments.get("section_key").and_then(Value::as_str).unwrap_or_default())
        })
    }

    /// Opens sections. Returns the new state, the sections that were opened, and the words for the model.
    pub(super) fn open(&self, keys: &[String]) -> (PromptState, Vec<String>, Result<String, String>) {
        let (opened, told) = match self.viewed(|view, closed| opened(view, closed, keys)) {
            Ok((opened, message)) => (opened, Ok(message)),
            Err(message) => (Vec::new(), Err(message)),
        };
        tracing::debug!(?keys, ?opened, error = told.as_ref().err(), "a model asked to open sections");
        let mut latest = locked(&self.latest);
        latest.open = std::mem::take(&mut latest.open).with(opened.iter().map(String::as_str));
        (latest.clone(), opened, told)
    }

    /// Returns the text of a closed section, as if it were open.
    pub(super) fn read(&self, key: &str) -> Result<String, String> {
        self.viewed(|view, closed| match find(view, key, closed)? {
            Seen { is_for_the_model: true, .. } => full_text(view, &[key]),
            Seen { .. } => Err(format!("`{key}` is open: its text is in the instructions")),
        })
    }

    /// Returns the state of the conversation.
    pub(super) fn state(&self) -> PromptState {
        locked(&self.latest).clone()
    }

    /// Looks at the conversation as it is now, with the keys that can be opened. Predicates belong to the program, so no
    /// lock is held while they run.
    fn viewed<T>(&self, look: impl FnOnce(&View<'_>, &[&str]) -> Result<T, String>) -> Result<T, String> {
        let state = self.state();
        let held = self.inner.resolve(&self.params).map_err(|error| error.to_string())?;
        let view = View { inner: &self.inner, held: &held, state: &state };
        let seen = view.seen().map_err(|error| error.to_string())?;
        let closed = seen.iter().filter(|seen| seen.visibility == Visibility::Summary && seen.is_for_the_model);
        look(&view, &closed.map(|seen| seen.node.path.as_str()).collect::<Vec<_>>())
    }
}

/// Opens sections, and makes the reply for the model.
fn opened(view: &View<'_>, closed: &[&str], keys: &[String]) -> Result<(Vec<String>, String), String> {
    if keys.is_empty() {
        return Err(format!("`section_keys` is empty; {}", said_of(closed)));
    }
    // Parents come first, so that one call can open a section and a section inside it.
    let wanted: BTreeSet<(usize, &str)> = keys.iter().map(|key| (key.matches('.').count(), key.as_str())).collect();
    let (mut opened, mut opened_before, mut always_open) = (Vec::new(), Vec::new(), Vec::new());
    let mut next = view.state.clone();
    for (_, key) in wanted {
        let kind = match find(&View { state: &next, ..*view }, key, closed)? {
            Seen { visibility: Visibility::Full, is_for_the_model: true, .. } => &mut opened_before,
            Seen { visibility: Visibility::Full, .. } => &mut always_open,
            Seen { .. } => &mut opened,
        };
        kind.push(key);
        next.open = view.state.open.clone().with(opened.iter().copied());
    }
    let in_instructions = format!("{} already open: the text is in the instructions", are(&always_open));
    let shown = [opened.as_slice(), opened_before.as_slice()].concat();
    if shown.is_empty() {
        return Err(format!("{in_instructions}, and the tools are available"));
    }
    let text = full_text(&View { state: &next, ..*view }, &shown)?;
    let mut message = match opened.is_empty() {
        true => format!("{} already open, and the tools are available", are(&shown)),
        false => format!("{} open now; the tools are available from the next turn on", are(&shown)),
    };
    if !always_open.is_empty() {
        message = format!("{message}; {in_instructions}");
    }
    Ok((opened.into_iter().map(str::to_owned).collect(), format!("{message}\n\n{text}")))
}

/// Returns the text of these sections and their children, as if they were open.
fn full_text(view: &View<'_>, keys: &[&str]) -> Result<String, String> {
    let state = PromptState { open: view.state.open.clone().with(keys.iter().copied()), ..view.state.clone() };
    let view = View { state: &state, ..*view };
    let is_wanted = |seen: &Seen<'_>| {
        let path = seen.node.path.as_str();
        keys.iter().any(|key| path.strip_prefix(*key).is_some_and(|below| below.is_empty() || below.starts_with('.')))
    };
    let text = || {
        let mut seen = view.seen()?;
        // Tools that the policies of these sections deny are omitted.
        let admitted = offered::admitted(&view, &seen)?;
        seen.retain(is_wanted);
        text::text(&view, &seen, &admitted)
    };
    text().map_err(|error| error.to_string())
}

/// Finds a section that is open, or that the model can open.
fn find<'v>(view: &View<'v>, key: &str, closed: &[&str]) -> Result<Seen<'v>, String> {
    let seen = view.seen().map_err(|error| error.to_string())?;
    match seen.into_iter().find(|seen| seen.node.path == key) {
        Some(seen) if seen.visibility == Visibility::Full || seen.is_for_the_model => Ok(seen),
        Some(_) => Err(format!("`{key}` is not available now")),
        None => Err(hidden(view, key, closed)),
    }
}

/// Explains why a section is not shown. Disabled sections are unknown to the model.
fn hidden(view: &View<'_>, key: &str, closed: &[&str]) -> String {
    let is_above = |above: &&&str| key.strip_prefix(**above).is_some_and(|below| below.starts_with('.'));
    if let Some(above) = closed.iter().find(is_above).filter(|above| view.children_below(above, key)) {
        return format!("`{key}` is inside `{above}`, which is closed; open that section first");
    }
    let shown = printable(&key.chars().take(LONGEST_KEY).collect::<String>());
    let near = match nearest(&shown, closed.iter().copied()).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => said_of(closed),
    };
    format!("unknown section `{shown}`; {near}")
}

fn said_of(closed: &[&str]) -> String {
    match closed.is_empty() {
        true => "all sections are open".to_owned(),
        false => format!("available sections: {}", listed(closed.iter().copied())),
    }
}

fn are(keys: &[&str]) -> String {
    format!("{} {}", listed(keys.iter().copied()), if keys.len() == 1 { "is" } else { "are" })
}

pub(super) fn reply(tool: &'static str, told: Result<String, String>) -> ToolReply {
    let mut result = ToolResult::new("sections", tool);
    result.is_error = told.is_err();
    result.content = vec![Content::text(told.unwrap_or_else(|message| message))];
    result.into()
}
