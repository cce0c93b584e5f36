//! The inventory of a server for a terminal.

use mcp_bindgen_codegen::Listed;
use mcp_bindgen_model::{printable, side_by_side};
use unicode_width::UnicodeWidthStr;

use super::{About, Offer, Parameter, Server, Tool, WORTH_A_THREAD};
use crate::text::{sentence, wrapped};

/// Without a terminal.
const COLUMNS: usize = 80;
/// Narrower is not readable.
const FEWEST_COLUMNS: usize = 40;
const INDENT: usize = 4;

/// Formats tools, prompts and resource templates: the binding on an unindented line, and the server's description below
/// it. Without a terminal the binding is not wrapped, so that programs can parse it.
pub(crate) fn lines(server: &Server, columns: Option<usize>) -> Vec<String> {
    let table = Table { columns: columns.unwrap_or(COLUMNS).max(FEWEST_COLUMNS), is_fitted: columns.is_some() };
    let mut rows: Vec<(String, String, Vec<String>)> = side_by_side(&server.tools, WORTH_A_THREAD, |tool| {
        let overridden = tool.overridden().map_or_else(String::new, |said| format!("  ({said})"));
        let bound = format!("{}{overridden}", tool.signature());
        (format!("{}/{}", server.name, printable(&tool.binding.tool)), bound, table.tool(tool))
    });
    for offer in &server.offers {
        let bound = format!("{}  ({})", offer.signature(), offer.binding.listed);
        rows.push((format!("{}/{}", server.name, printable(&offer.binding.name)), bound, table.offer(offer)));
    }
    let name_width = rows.iter().map(|(name, ..)| name.width()).max().unwrap_or_default();
    let mut lines = Vec::new();
    for (name, bound, details) in rows {
        table.head(&name, &bound, name_width, &mut lines);
        lines.extend(details);
    }
    lines.extend(table.server(server));
    lines
}

struct Table {
    columns: usize,
    /// `true` if lines are limited to the width.
    is_fitted: bool,
}

impl Table {
    /// Formats the name, with the binding after or below it.
    fn head(&self, name: &str, bound: &str, name_width: usize, lines: &mut Vec<String>) {
        let pad = " ".repeat(name_width.saturating_sub(name.width()));
        let whole = format!("{name}{pad}  {bound}");
        let short = format!("{name}  {bound}");
        match [whole, short].into_iter().find(|line| !self.is_fitted || line.width() <= self.columns) {
            Some(line) => lines.push(line),
            None => {
                lines.extend(wrapped(name, self.columns, 0, INDENT));
                lines.extend(wrapped(bound, self.columns, INDENT, INDENT + 2));
            }
        }
    }

    fn said(&self, text: &str) -> Vec<String> {
        wrapped(text, self.columns, INDENT, INDENT)
    }

    fn tool(&self, tool: &Tool) -> Vec<String> {
        let mut lines = self.about(&tool.about);
        let flags: Vec<String> = tool.demands().map(|demand| printable(&demand)).chain(tool.says()).collect();
        lines.extend(self.said(&flags.join("; ")));
        lines.extend(tool.view().iter().flat_map(|line| self.said(&printable(line))));
        lines.extend(tool.about.parameters.iter().flat_map(|parameter| self.parameter(parameter)));
        lines.extend(self.said(&format!("prefixed name: {}", tool.binding.prefixed)));
        for (part, types) in tool.inner_types() {
            lines.extend(self.said(&format!("types in {part}: {}", types.join(", "))));
        }
        lines.extend(tool.answers.iter().flat_map(|answers| self.said(&printable(&format!("-> {answers}")))));
        for change in &tool.changes {
            let change = printable(&format!("{}: {}", change.class, change.in_words()));
            lines.extend(wrapped(&change, self.columns, INDENT, INDENT + 2));
        }
        lines
    }

    fn offer(&self, offer: &Offer) -> Vec<String> {
        let mut lines = self.about(&offer.about);
        if let (Listed::ResourceTemplate, Some(template)) = (offer.binding.listed, &offer.binding.uri_template) {
            lines.extend(self.said(&printable(template)));
        }
        lines.extend(offer.about.parameters.iter().flat_map(|parameter| self.parameter(parameter)));
        lines
    }

    fn about(&self, about: &About) -> Vec<String> {
        self.said(&about.said().map(sentence).unwrap_or_default())
    }

    /// Formats a parameter: `title (string, required): The title of the issue`.
    fn parameter(&self, parameter: &Parameter) -> Vec<String> {
        let Parameter { name, kind, required, description } = parameter;
        let required = if *required { ", required" } else { "" };
        let said = description.as_deref().map(sentence).filter(|said| !said.is_empty());
        let said = said.map_or_else(String::new, |said| format!(": {said}"));
        let text = format!("{} ({}{required}){said}", printable(name), printable(kind));
        wrapped(&text, self.columns, INDENT + 2, INDENT + 4)
    }

    /// Describes the server itself, if there is more than its tools.
    fn server(&self, server: &Server) -> Vec<String> {
        let itself = server.itself(printable);
        let itself = if itself.is_empty() { String::new() } else { format!(" ({})", itself.join(", ")) };
        let mut lines = wrapped(&format!("{}{itself}: {}", server.name, server.counts()), self.columns, 0, INDENT);
        if let Some(instructions) = &server.instructions {
            lines.extend(self.said(&format!("says: {}", sentence(instructions))));
        }
        for left_out in &server.left_out {
            lines.extend(self.said(&format!("left out by `{}`: {}", left_out.by, printable(&left_out.name))));
        }
        if let Some(since) = &server.since {
            lines.extend(self.said(&format!("since {}: {}", printable(&since.revision), since.in_words())));
            let others = server.other_changes().map(|change| printable(&change.to_string()));
            lines.extend(others.flat_map(|change| wrapped(&change, self.columns, INDENT + 2, INDENT + 4)));
        }
        lines
    }
}
