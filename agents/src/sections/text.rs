//! The text of a prompt.

use serde_json::json;

use super::RenderError;
use super::check::Placed;
use super::inventory::Admitted;
use super::names::{OPEN_SECTIONS, READ_SECTION};
use super::section::Body;
use super::state::Visibility;
use super::template::{self, listed};
use super::view::{Seen, View};

/// Markdown has no deeper headings; the number says the rest.
const DEEPEST_HEADING: usize = 6;

/// Returns the sections, joined by blank lines.
pub(super) fn text(view: &View<'_>, seen: &[Seen<'_>], admitted: &Admitted) -> Result<String, RenderError> {
    let mut blocks = Vec::new();
    for seen in seen {
        blocks.push(heading(seen.node));
        let body = match seen.visibility {
            Visibility::Full => body(view, seen.node, admitted)?,
            Visibility::Summary => summary(view, *seen)?,
        };
        if !body.is_empty() {
            blocks.push(body);
        }
    }
    Ok(blocks.join("\n\n"))
}

fn heading(node: &Placed) -> String {
    let level = (node.depth + 2).min(DEEPEST_HEADING);
    format!("{} {}. {} ({})", "#".repeat(level), node.number, node.parts.title.trim(), node.path)
}

fn body(view: &View<'_>, node: &Placed, admitted: &Admitted) -> Result<String, RenderError> {
    match &node.parts.body {
        Body::Template(source) => rendered(view, node, "template", source),
        Body::Inventory(inventory) => {
            let level = (node.depth + 3).min(DEEPEST_HEADING);
            let wrong = |message| RenderError::Template { section: node.path.clone(), what: "template", message };
            inventory.text(&view.inner.environment, level, admitted).map_err(wrong)
        }
    }
}

/// Returns the summary, and which call shows more.
fn summary(view: &View<'_>, seen: Seen<'_>) -> Result<String, RenderError> {
    let node = seen.node;
    let source = node.parts.summary.as_deref().unwrap_or_default();
    let text = rendered(view, node, "summary", source)?;
    if !seen.is_for_the_model {
        return Ok(text);
    }
    let path = &node.path;
    let how = if view.has_tools(node) {
        let call = json!({ "section_keys": [path], "reason": "..." });
        format!("To open this section and get its tools, call `{OPEN_SECTIONS}` with `{call}`.")
    } else {
        let call = json!({ "section_key": path });
        format!("To read this section, call `{READ_SECTION}` with `{call}`.")
    };
    let children = view.children(node);
    let within = match children.is_empty() {
        true => String::new(),
        false => format!(" It contains {}.", listed(children.iter().map(|child| child.path.as_str()))),
    };
    Ok(format!("{text}\n\n{how}{within}"))
}

fn rendered(view: &View<'_>, node: &Placed, what: &'static str, source: &str) -> Result<String, RenderError> {
    let section = || node.path.clone();
    let Some(held) = view.held.get(node.index).filter(|_| !source.is_empty()) else { return Ok(String::new()) };
    let values = held.printed().map_err(|message| RenderError::Params { section: section(), message })?;
    template::render(&view.inner.environment, source, &values).map_err(|message| RenderError::Template {
        section: section(),
        what,
        message,
    })
}
