//! Reports as the body of a comment on a pull request.

use std::fmt::Write;

use mcp_bindgen_model::printable;
use mcp_bindgen_schema::drift::{self, Change};

use super::{Difference, Entry, Fault, Since, Status, and_more, classes, counted, summary, to_review};
use crate::args::Denied;
use crate::output::{lines_printable, markup};
use crate::text::shortened;

/// By it a program that comments finds its own comment again.
const MARKER: &str = "<!-- mcp-bindgen check -->";
/// The limit of GitHub, in characters, less the note that there is more.
const LONGEST: usize = 65_536 - 400;
const LONGEST_CELL: usize = 300;
const LONGEST_BLOCK: usize = 4000;
/// The room below a table that is cut.
const BELOW_TABLE: usize = 300;
/// The most room around the rows of a table.
const AROUND_TABLE: usize = 1000;
/// The maximum number of listed faults of a server.
const MOST_FAULTS: usize = 10;
/// The maximum number of named tools in a row; the count includes all.
const MOST_NAMED: usize = 100;
/// The maximum number of rows; the count includes all servers.
const MOST_ROWS: usize = 200;

/// Formats the comment. Untrusted text is always inside code, where it cannot be a mention, a link or an image.
pub(crate) fn comment(entries: &[Entry], denied: Denied) -> String {
    let is_bad = |since: &Since| since.is_refused(denied) || matches!(since.difference, Difference::Unknown(_));
    let verdict = match entries.iter().all(|entry| entry.is_fine() && !entry.since.as_ref().is_some_and(is_bad)) {
        false => "MCP snapshots need attention",
        true if entries.iter().any(Entry::is_accepted) => "All changes of MCP servers are accepted",
        true if entries.iter().any(|entry| entry.status == Status::Valid) => "All MCP snapshots are valid",
        true => "All MCP snapshots are up to date",
    };
    let to_review = to_review(entries, code).map(|said| format!("; {said}")).unwrap_or_default();
    let mut text = format!("{MARKER}\n**{verdict}{to_review}**: {}.\n", summary(entries));
    text.push_str(&table(entries));
    let mut left = 0;
    for entry in entries {
        let room = LONGEST.saturating_sub(text.chars().count());
        let section = section(entry, room);
        if section.chars().count() <= room {
            text.push_str(&section);
        } else {
            left += 1;
        }
    }
    if left > 0 {
        let _ = writeln!(
            text,
            "\nThe details of {} were omitted; run `mcp-bindgen check --format json` to see them.",
            counted(left, "server")
        );
    }
    text
}

/// Returns the comment on a check that came to nothing.
pub(crate) fn failure_comment(message: &str) -> String {
    format!("{MARKER}\n**MCP snapshots could not be checked**:\n\n{}\n", block(message))
}

/// Formats the state of each server; empty if there is nothing to report.
fn table(entries: &[Entry]) -> String {
    let is_shown =
        |since: &&Since| !matches!(since.difference, Difference::Unknown(_)) && !since.in_words("").is_empty();
    let compared = entries.iter().filter_map(|entry| entry.since.as_ref()).find(is_shown);
    if compared.is_none() && entries.iter().all(|entry| entry.changes.is_empty() && entry.status.is_good()) {
        return String::new();
    }
    let (title, rule) = match compared {
        Some(since) => (format!(" since {} |", code(&since.revision)), "---|"),
        None => (String::new(), ""),
    };
    let mut text = format!("\n| server | snapshot | what changed |{title}\n|---|---|---|{rule}\n");
    for entry in entries.iter().take(MOST_ROWS) {
        let state = if entry.is_faulty() { "with faults".to_owned() } else { entry.status.name().replace('-', " ") };
        let _ = write!(text, "| {} | {state} | {} |", code(&entry.server), classes(&entry.changes));
        if compared.is_some() {
            let _ = write!(text, " {} |", entry.since.as_ref().map(|since| since.in_words("")).unwrap_or_default());
        }
        text.push('\n');
    }
    if let Some(more) = and_more(entries.len().saturating_sub(MOST_ROWS), "server") {
        let _ = writeln!(text, "\n{more}.");
    }
    text
}

/// Writes the section of one server, with tables of at most `room` characters.
fn section(entry: &Entry, room: usize) -> String {
    let mut text = String::new();
    let faults: Vec<&Fault> = entry.error.iter().chain(&entry.faults).chain(&entry.misfits).collect();
    for fault in faults.iter().take(MOST_FAULTS) {
        let _ = write!(text, "\n{}\n", block(&fault.text));
    }
    if let Some(more) = and_more(faults.len().saturating_sub(MOST_FAULTS), "fault") {
        let _ = writeln!(text, "\n{more}.");
    }
    let below = BELOW_TABLE + entry.since.as_ref().map_or(0, |_| AROUND_TABLE);
    let left = |text: &str, below: usize| room.saturating_sub(text.chars().count() + below);
    text.push_str(&details("What the server changed", &entry.server, &entry.changes, left(&text, below)));
    if let Some(Since { revision, difference }) = &entry.since {
        let (server, shown) = (code(&entry.server), code(revision));
        text.push_str(&match difference {
            Difference::Added => format!("\n{server} was added since {shown}.\n"),
            Difference::Removed => format!("\n{server} was removed since {shown}.\n"),
            Difference::Unknown(error) => format!("\nFailed to compare {server} with {shown}:\n\n{}\n", block(error)),
            Difference::Changes(changes) => {
                let title = format!("Since <code>{}</code>", markup(revision));
                details(&title, &entry.server, changes, left(&text, BELOW_TABLE))
            }
        });
    }
    if !entry.status.is_good() && !entry.is_accepted() {
        let run = |command: &str| code(&format!("mcp-bindgen {command} {}", entry.server));
        let accept = format!(", and {} to write the snapshot", run("sync"));
        let accept = if entry.status == Status::Failed { "" } else { &accept };
        let _ = write!(text, "\nRun {} for details{accept}.\n", run("check"));
    }
    text
}

/// Formats a table of changes with at most `room` characters: it ends between two rows, and counts the omitted ones.
fn details(title: &str, server: &str, changes: &[Change], room: usize) -> String {
    if changes.is_empty() {
        return String::new();
    }
    // A silent change stays open, since no compiler reports it.
    let is_open = changes.iter().any(|change| change.class.is_loud());
    let mut text = format!(
        "\n<details{}><summary>{title}: <code>{}</code>, {}</summary>\n\n| class | where | what | proof |\n|---|---|---|---|\n",
        if is_open { " open" } else { "" },
        markup(server),
        classes(changes)
    );
    let mut length = text.chars().count();
    let mut shown = 0;
    for group in drift::grouped(changes) {
        let row = row(&group);
        length += row.chars().count();
        if length > room {
            break;
        }
        text.push_str(&row);
        shown += group.len();
    }
    if let Some(more) = and_more(changes.len() - shown, "change") {
        let _ = writeln!(text, "\n{more}, omitted here.");
    }
    text.push_str("\n</details>\n");
    text
}

/// Returns the row of a change, which several tools may share: it names them, as far as there is room.
fn row(group: &[&Change]) -> String {
    let Some(change) = group.first() else { return String::new() };
    let notes = change.notes().map(|note| code(&note)).collect::<Vec<_>>().join("<br>");
    let mut what = code(&change.detail);
    let of = match group {
        [only] if only.tool.is_empty() => "server".to_owned(),
        [only] => only.tool.clone(),
        several => {
            let names: Vec<String> = several.iter().take(MOST_NAMED).map(|change| code(&change.tool)).collect();
            let more = and_more(several.len() - names.len(), "tool").map(|more| format!(" {more}"));
            let _ = write!(what, ": {}{}", names.join(", "), more.unwrap_or_default());
            counted(several.len(), "tool")
        }
    };
    let place = format!("{of} {}", change.pointer);
    format!("| {} | {} | {what} [{}] | {notes} |\n", change.class.name(), code(place.trim_end()), change.kind.id())
}

/// Returns a code span for a cell of a table: fenced by more backticks than there are in it.
pub(crate) fn code(text: &str) -> String {
    let text = shortened(&printable(text), LONGEST_CELL, "..").replace('|', "\\|");
    let fence = "`".repeat(longest_run(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Returns a block of code.
fn block(text: &str) -> String {
    let text = shortened(&lines_printable(text), LONGEST_BLOCK, "..");
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}text\n{text}\n{fence}")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use mcp_bindgen_model::Snapshot;
    use serde_json::json;

    use super::*;

    fn comment(entries: &[Entry]) -> String {
        super::comment(entries, Denied { deny: None })
    }

    /// Creates an entry in which each tool has a new property with a distinct name.
    fn changed(server: usize, tools: usize) -> Entry {
        let described = "a long name that is cut ".repeat(20);
        let list = |has_property: bool| {
            let properties = |n: usize| if has_property { json!({ format!("p{n}"): {} }) } else { json!({}) };
            let schema = |n| json!({ "type": "object", "properties": properties(n), "additionalProperties": {} });
            let tools = (0..tools).map(|n| json!({ "name": format!("{n} {described}"), "inputSchema": schema(n) }));
            Snapshot { tools: tools.collect(), ..Snapshot::default() }
        };
        let mut entry = Entry::new(&format!("s{server}"), Status::OutOfDate);
        entry.changes = drift::diff(&list(false), &list(true));
        entry
    }

    #[test]
    fn change_shared_by_tools_is_one_row() {
        let list = |count: usize, required: &[&str]| {
            let schema =
                json!({ "type": "object", "properties": { "id": { "type": "string" } }, "required": required });
            let tools = (0..count).map(|n| json!({ "name": format!("t{n}"), "inputSchema": schema }));
            Snapshot { tools: tools.collect(), ..Snapshot::default() }
        };
        let of = |count: usize| {
            let mut entry = Entry::new("s", Status::OutOfDate);
            entry.changes = drift::diff(&list(count, &[]), &list(count, &["id"]));
            comment(&[entry])
        };
        let row = "| breaking | `3 tools /inputSchema/properties/id` | `required now`: `t0`, `t1`, `t2` [MCPD0012] | `may be sent, and is \
                   refused now: {}` |";
        let said = of(3);
        assert!(said.lines().any(|line| line == row) && said.contains(", 3 breaking</summary>"), "{said}");
        assert_eq!(said.lines().filter(|line| line.starts_with("| breaking |")).count(), 1, "{said}");
        assert!(of(150).contains("` and 50 more tools [MCPD0012] | `may be sent"));
    }

    #[test]
    fn comment_fits_the_limit_and_is_truncated_between_tools() {
        let one = comment(&[changed(0, 400)]);
        assert!(one.chars().count() <= 65_536 && one.chars().count() > 60_000, "{}", one.chars().count());
        let rows = one.lines().filter(|line| line.starts_with("| compatible |")).count();
        assert!(one.contains(&format!("\nand {} more changes, omitted here.\n\n</details>", 400 - rows)));
        assert!(
            one.ends_with("Run `mcp-bindgen check s0` for details, and `mcp-bindgen sync s0` to write the snapshot.\n"),
            "{one}"
        );
        let many: Vec<Entry> = (0..2000).map(|server| changed(server, 1)).collect();
        let many = comment(&many);
        assert!(many.chars().count() <= 65_536, "{}", many.chars().count());
        assert!(
            many.contains("**: 2000 servers checked: 2000 out of date.") && many.contains("\nand 1800 more servers.")
        );
        assert!(many.ends_with("were omitted; run `mcp-bindgen check --format json` to see them.\n"));
        let mut failed = Entry::new("s", Status::Failed);
        failed.error = Some(Fault::new("`".repeat(70_000)));
        assert!(comment(&[failed]).contains("\nRun `mcp-bindgen check s`"));
    }

    #[test]
    fn markdown_code_cannot_be_closed_by_its_content() {
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(code("``x`"), "``` ``x` ```");
        assert_eq!(code("\u{202e}@name"), "`\\u{202e}@name`");
        assert!(block("a\n````\n@b").starts_with("`````text\n"));
        assert!(code(&"x".repeat(1000)).len() < 310);
    }
}
