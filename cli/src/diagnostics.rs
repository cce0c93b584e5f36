//! Diagnostics of the generator, shown at their places in the snapshot.

use std::path::Path;

use mcp_bindgen_codegen::{Diagnostic, Listed, Severity};
use mcp_bindgen_model::{DiagnosticLevels, printable};
use serde_json::{Value, json};

use crate::output::Output;
use crate::source::Bound;

/// How much of a long line is shown.
const WIDTH: usize = 100;
/// How much of it before the place in question.
const BEFORE: usize = 40;

/// The file of a diagnostic, with its text and the line and column.
struct Place<'a> {
    path: &'a Path,
    text: &'a str,
    position: Option<(usize, usize)>,
}

fn place<'a>(diagnostic: &Diagnostic, bound: &'a Bound) -> Place<'a> {
    let overrides = bound.overrides.as_ref().filter(|_| diagnostic.listed == Listed::Tool);
    let overridden = overrides.and_then(|overrides| {
        let position = overrides.position(&diagnostic.tool, &diagnostic.pointer)?;
        Some(Place { path: overrides.path()?, text: overrides.source(), position: Some(position) })
    });
    let (path, text) = (&*bound.path, &*bound.text);
    overridden.unwrap_or_else(|| Place { path, text, position: diagnostic.position(text) })
}

/// Returns the file and the line of a diagnostic.
pub(crate) fn line<'a>(diagnostic: &Diagnostic, bound: &'a Bound) -> (&'a Path, Option<usize>) {
    let place = place(diagnostic, bound);
    (place.path, place.position.map(|(line, _)| line))
}

/// Returns `true` if the configuration does not want to hear of it.
pub(crate) fn is_allowed(diagnostic: &Diagnostic, levels: &DiagnosticLevels) -> bool {
    levels.allow.iter().any(|code| code == diagnostic.code.id) && !is_denied(diagnostic, levels)
}

pub(crate) fn is_denied(diagnostic: &Diagnostic, levels: &DiagnosticLevels) -> bool {
    levels.deny.iter().any(|code| code == diagnostic.code.id)
}

/// Shows diagnostics according to their levels. Returns `true` if one is denied.
pub(crate) fn show<'a>(
    diagnostics: impl IntoIterator<Item = &'a Diagnostic>,
    bound: &Bound,
    output: &mut Output,
) -> bool {
    let mut denied = false;
    for diagnostic in diagnostics {
        denied |= is_denied(diagnostic, &bound.levels);
        if let Some(shown) = shown(diagnostic, bound) {
            output.diagnostic(&shown.severity, &shown.text);
        }
    }
    denied
}

/// A diagnostic as it is shown.
pub(crate) struct Shown {
    pub(crate) severity: String,
    pub(crate) text: String,
}

/// Returns a diagnostic as it is shown, or `None` if its level hides it.
pub(crate) fn shown(diagnostic: &Diagnostic, bound: &Bound) -> Option<Shown> {
    let is_denied = is_denied(diagnostic, &bound.levels);
    if !is_denied && (is_allowed(diagnostic, &bound.levels) || diagnostic.code.severity == Severity::Note) {
        return None;
    }
    let severity = if is_denied { Severity::Error } else { diagnostic.code.severity };
    Some(Shown { severity: format!("{severity}[{}]", diagnostic.code.id), text: rendered(diagnostic, bound) })
}

fn rendered(diagnostic: &Diagnostic, bound: &Bound) -> String {
    let Place { path, text, position } = place(diagnostic, bound);
    let (tool, pointer) = (printable(&diagnostic.tool), printable(&diagnostic.pointer));
    let inside = if pointer.is_empty() { tool } else { format!("{tool}, {pointer}") };
    let place = position.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default();
    let (line, column) = position.unwrap_or_default();
    let margin = " ".repeat(line.to_string().len());
    let excerpt = excerpt(text, line, column);
    let excerpt = excerpt.map(|(line_part, caret)| format!("\n{margin} |\n{line} | {line_part}\n{margin} | {caret}"));
    format!(
        "{}\n{margin}--> {}{place} ({} {inside}){}\n{margin} = help: {}",
        diagnostic.summary(),
        path.display(),
        diagnostic.listed,
        excerpt.unwrap_or_default(),
        diagnostic.code.help
    )
}

/// Returns the line, or the part of it around the column, and carets under the key that begins there.
fn excerpt(text: &str, line: usize, column: usize) -> Option<(String, String)> {
    let line: Vec<char> = text.lines().nth(line.checked_sub(1)?)?.chars().collect();
    let at = column.checked_sub(1)?;
    let from = if line.len() > WIDTH { at.saturating_sub(BEFORE) } else { 0 };
    let to = line.len().min(from + WIDTH);
    let part = |from: usize, to: usize| line.get(from..to).map(|part| printable(&part.iter().collect::<String>()));
    let key = match line.get(at)? {
        '"' => line.iter().skip(at + 1).position(|c| *c == '"').map_or(1, |length| length + 2),
        _ => 1,
    };
    let (before, key) = (part(from, at)?, part(at, (at + key).min(to))?);
    let caret = format!("{}{}", " ".repeat(before.chars().count()), "^".repeat(key.chars().count().max(1)));
    Some((part(from, to)?, caret))
}

/// Returns a diagnostic for machines.
pub(crate) fn to_json(diagnostic: &Diagnostic, bound: &Bound) -> Value {
    let (line, column) = place(diagnostic, bound).position.unzip();
    json!({
        "code": diagnostic.code.id,
        "severity": diagnostic.code.severity.to_string(),
        "title": diagnostic.code.title,
        "message": diagnostic.message,
        "pointer": diagnostic.pointer,
        "line": line,
        "column": column,
        "help": diagnostic.code.help,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carets_mark_the_key() {
        let text = "{\n  \"läbels\": 1\n}";
        assert_eq!(excerpt(text, 2, 3), Some(("  \"läbels\": 1".to_owned(), "  ^^^^^^^^".to_owned())));
        assert_eq!(excerpt(text, 2, 13), Some(("  \"läbels\": 1".to_owned(), "            ^".to_owned())));
        assert_eq!(excerpt(text, 9, 1), None);
        assert_eq!(excerpt("\u{202e}\"a\"", 1, 2), Some(("\\u{202e}\"a\"".to_owned(), "        ^^^".to_owned())));
    }

    #[test]
    fn long_lines_are_truncated_around_the_fault() {
        let text = format!("{}\"key\":{}", "x".repeat(500), "y".repeat(500));
        let (line, caret) = excerpt(&text, 1, 501).unwrap();
        assert_eq!(line, format!("{}\"key\":{}", "x".repeat(BEFORE), "y".repeat(54)));
        assert_eq!(caret, format!("{}^^^^^", " ".repeat(BEFORE)));
    }
}
