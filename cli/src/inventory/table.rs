//! The inventory of a server for a terminal.

use mcp_bindgen_model::{printable, side_by_side};
use unicode_width::UnicodeWidthStr;

use super::{Item, Parameter, Server, WORTH_A_THREAD};
use crate::text::{sentence, wrapped};

/// Without a terminal.
const COLUMNS: usize = 80;
/// Narrower is not readable.
const FEWEST_COLUMNS: usize = 40;
const INDENT: usize = 4;

/// Formats tools, prompts and resource templates: the binding on an unindented line, and the server's description below
/// it. Without a terminal the binding is not wrapped, so that programs can parse it.
pub(crate) fn lines(server: &Server, columns: Option<usize>) -> Vec<String> {
    let columns = columns.map(|columns| columns.max(FEWEST_COLUMNS));
    let width = columns.unwrap_or(COLUMNS);
    let rows = side_by_side(&server.items, WORTH_A_THREAD, |item| {
        let remark = item.overridden.clone().or_else(|| item.offer.map(|list| list.to_string()));
        let remark = remark.map(|remark| format!("  ({remark})")).unwrap_or_default();
        let name = format!("{}/{}", server.name, printable(&item.name));
        (name, format!("{}{remark}", item.signature), details(item, width))
    });
    let name_width = rows.iter().map(|(name, ..)| name.width()).max().unwrap_or_default();
    let mut lines = Vec::new();
    for (name, bound, details) in rows {
        let pad = " ".repeat(name_width - name.width());
        let forms = [format!("{name}{pad}  {bound}"), format!("{name}  {bound}")];
        match forms.into_iter().find(|line| columns.is_none_or(|columns| line.width() <= columns)) {
            Some(line) => lines.push(line),
            None => {
                lines.extend(wrapped(&name, width, 0, INDENT));
                lines.extend(wrapped(&bound, width, INDENT, INDENT + 2));
            }
        }
        lines.extend(details);
    }
    lines.extend(of_server(server, width));
    lines
}

fn details(item: &Item, width: usize) -> Vec<String> {
    let said = |text: String| wrapped(&printable(&text), width, INDENT, INDENT);
    let prefixed = item.prefixed.iter().map(|name| format!("prefixed name: {name}"));
    let types = item.inner_types.iter().map(|(part, types)| format!("types in {part}: {}", types.join(", ")));
    let answers = item.answers.iter().map(|answers| format!("-> {answers}"));
    let flags = [&*item.demands, &*item.claims].concat().join("; ");
    let above = item.sentence().into_iter().chain([flags]).chain(item.notes.iter().cloned());
    let mut lines: Vec<String> = above.flat_map(said).collect();
    lines.extend(item.parameters.iter().flat_map(|parameter| of_parameter(parameter, width)));
    lines.extend(prefixed.chain(types).chain(answers).flat_map(said));
    for change in &item.changes {
        let change = printable(&format!("{}: {}", change.class, change.in_words()));
        lines.extend(wrapped(&change, width, INDENT, INDENT + 2));
    }
    lines
}

/// Formats a parameter: `title (string, required): The title of the issue`.
fn of_parameter(Parameter { name, kind, required, description }: &Parameter, width: usize) -> Vec<String> {
    let required = if *required { ", required" } else { "" };
    let said = description.as_deref().map(sentence).filter(|said| !said.is_empty());
    let said = said.map(|said| format!(": {said}")).unwrap_or_default();
    let text = format!("{} ({}{required}){said}", printable(name), printable(kind));
    wrapped(&text, width, INDENT + 2, INDENT + 4)
}

/// Describes the server itself, if there is more than its tools.
fn of_server(server: &Server, width: usize) -> Vec<String> {
    let said = |text: String| wrapped(&text, width, INDENT, INDENT);
    let itself = server.itself(printable);
    let itself = if itself.is_empty() { String::new() } else { format!(" ({})", itself.join(", ")) };
    let mut lines = wrapped(&format!("{}{itself}: {}", server.name, server.counts()), width, 0, INDENT);
    if let Some(instructions) = &server.instructions {
        lines.extend(said(format!("says: {}", sentence(instructions))));
    }
    for (tool, by) in &server.left_out {
        lines.extend(said(format!("left out by `{by}`: {}", printable(tool))));
    }
    if let Some(since) = &server.since {
        lines.extend(said(format!("since {}: {}", printable(&since.revision), since.in_words("no difference"))));
        let others = server.other_changes().map(|change| printable(&change.to_string()));
        lines.extend(others.flat_map(|change| wrapped(&change, width, INDENT + 2, INDENT + 4)));
    }
    lines
}
