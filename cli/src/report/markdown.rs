//! Reports as the body of a comment on a pull request.

use std::fmt::Write;

use mcp_model::printable;
use mcp_schema::drift::Change;

use super::{Entry, Since, Status, classes, counted, summary};

/// By it a program that comments finds its own comment again.
const MARKER: &str = "<!-- mcp-bindgen check -->";
/// What GitHub takes, in characters, less what says that there is more.
const LONGEST: usize = 65_536 - 400;
const LONGEST_CELL: usize = 300;

/// The comment. What strangers say stands in code alone, where nothing of it is a mention, a link or an image.
pub(crate) fn comment(entries: &[Entry]) -> String {
    let verdict = if entries.iter().all(|entry| entry.status.is_good() && entry.faults.is_empty()) {
        "Every MCP snapshot is as it should be"
    } else {
        "MCP snapshots need attention"
    };
    let mut text = format!("{MARKER}\n**{verdict}**: {}.\n", summary(entries));
    if entries.iter().any(|entry| !entry.changes.is_empty() || !entry.status.is_good()) {
        text.push_str("\n| server | snapshot | what changed |\n|---|---|---|\n");
        for entry in entries {
            let said = if entry.changes.is_empty() { String::new() } else { classes(&entry.changes) };
            let _ = writeln!(text, "| {} | {} | {said} |", code(&entry.server), entry.status.name().replace('-', " "));
        }
    }
    let mut left = 0;
    for entry in entries {
        let section = section(entry);
        if text.chars().count() + section.chars().count() <= LONGEST {
            text.push_str(&section);
        } else {
            left += 1;
        }
    }
    if left > 0 {
        let _ = writeln!(
            text,
            "\nThe details of {} have no room here; `mcp-bindgen check` has them.",
            counted(left, "server")
        );
    }
    text
}

fn section(entry: &Entry) -> String {
    let mut text = String::new();
    for said in entry.error.iter().chain(&entry.faults).chain(&entry.misfits) {
        let _ = write!(text, "\n{}\n", block(said));
    }
    text.push_str(&details("What the server changed", &entry.server, &entry.changes));
    if let Some(Since { revision, is_new, changes }) = &entry.since {
        match is_new {
            true => {
                let _ = write!(text, "\n{} is new since {}.\n", code(&entry.server), code(revision));
            }
            false => text.push_str(&details(&format!("Since {}", code(revision)), &entry.server, changes)),
        }
    }
    let command = match entry.status {
        Status::UpToDate | Status::Valid => None,
        Status::Failed => Some("check"),
        Status::OutOfDate | Status::Missing | Status::Broken => Some("sync"),
    };
    if let Some(command) = command {
        let server = &entry.server;
        let _ = write!(text, "\nRun {} and look at what it says.\n", code(&format!("mcp-bindgen {command} {server}")));
    }
    text
}

fn details(title: &str, server: &str, changes: &[Change]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\n<details><summary>{title}: <code>{}</code>, {}</summary>\n\n| class | where | what | witness |\n|---|---|---|---|\n",
        escaped(server),
        classes(changes)
    );
    for change in changes {
        let tool = if change.tool.is_empty() { "server" } else { &change.tool };
        let witness = change.witness.as_ref().map(|witness| code(&witness.to_string())).unwrap_or_default();
        let place = format!("{tool} {}", change.pointer);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {witness} |",
            change.class.name(),
            code(place.trim_end()),
            code(&change.detail)
        );
    }
    text.push_str("\n</details>\n");
    text
}

/// A code span for a cell of a table: fenced by more backticks than there are in it.
pub(crate) fn code(text: &str) -> String {
    let text = cut(&printable(text)).replace('|', "\\|");
    let fence = "`".repeat(longest_run(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// A block of code.
fn block(text: &str) -> String {
    let text = crate::output::lines_printable(text);
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}text\n{text}\n{fence}")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_CELL) {
        Some((end, _)) => format!("{}..", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn escaped(text: &str) -> String {
    printable(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_stay_in_their_code() {
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(code("``x`"), "``` ``x` ```");
        assert_eq!(code("\u{202e}@name"), "`\\u{202e}@name`");
        assert!(block("a\n````\n@b").starts_with("`````text\n"));
        assert!(code(&"x".repeat(1000)).len() < 310);
    }
}
