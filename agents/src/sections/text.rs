//! The text of a prompt.

use serde_json::{Value, json};

use super::RenderError;
use super::check::Placed;
use super::inventory::Admitted;
use super::names::{OPEN_SECTIONS, READ_SECTION};
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
            Visibility::Full => body(view, seen, admitted)?,
            Visibility::Summary => summary(view, seen)?,
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

fn body(view: &View<'_>, seen: &Seen<'_>, admitted: &Admitted) -> Result<String, RenderError> {
    let parts = &seen.node.parts;
    match (&parts.inventory, parts.template.as_deref()) {
        (Some(inventory), None) => Ok(inventory.listing((seen.node.depth + 3).min(DEEPEST_HEADING), admitted)),
        (Some(inventory), Some(template)) => rendered(view, seen, "template", template, &inventory.variables(admitted)),
        (None, template) => of_params(view, seen, "template", template.unwrap_or_default()),
    }
}

/// Returns the summary, and which call shows more.
fn summary(view: &View<'_>, seen: &Seen<'_>) -> Result<String, RenderError> {
    let node = seen.node;
    let text = of_params(view, seen, "summary", node.parts.summary.as_deref().unwrap_or_default())?;
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

/// Returns the text of a template for the parameters of the section.
fn of_params(view: &View<'_>, seen: &Seen<'_>, what: &'static str, source: &str) -> Result<String, RenderError> {
    if source.is_empty() {
        return Ok(String::new());
    }
    let section = seen.node.path.clone();
    let values = seen.held.printed().map_err(|message| RenderError::Params { section, message })?;
    rendered(view, seen, what, source, &values)
}

fn rendered(
    view: &View<'_>,
    seen: &Seen<'_>,
    what: &'static str,
    source: &str,
    values: &Value,
) -> Result<String, RenderError> {
    let section = seen.node.path.clone();
    template::render(&view.inner.environment, source, values).map_err(|message| RenderError::Template {
        section,
        what,
        message,
    })
}
