//! Reports as annotations of a GitHub workflow.

use mcp_model::{locate, pointer_segment, printable};
use mcp_schema::drift::{Change, Class};
use serde_json::Value;

use super::{Entry, Status, counted};
use crate::git;

/// How many of a level GitHub shows of a step, those that come first.
const SHOWN: usize = 10;
const LEVELS: [&str; 3] = ["error", "warning", "notice"];

/// One line each, the worst first: `::error file=mcp/github.json,line=212,title=..::..`. One for each tool of a server, and of
/// each level as many as are shown, the last of which counts the rest: that is in the summary.
pub(crate) fn annotations(entries: &[Entry]) -> Vec<String> {
    let mut all: Vec<(usize, String)> = Vec::new();
    for entry in entries {
        let file = entry.path.as_deref().map(|path| git::from_root(path.as_ref()).unwrap_or_else(|| path.to_owned()));
        let said = |rank: usize, line, title: &str, message: &str| {
            (rank, annotation(rank, file.as_deref(), line, title, message))
        };
        for text in entry.error.iter().chain(&entry.faults).chain(&entry.misfits) {
            all.push(said(0, None, &format!("{} failed", entry.server), text));
        }
        match entry.status {
            Status::Missing => {
                let message = format!("run `mcp-bindgen sync {}`", entry.server);
                all.push(said(0, None, &format!("{} has no snapshot", entry.server), &message));
            }
            Status::Broken | Status::OutOfDate if entry.changes.is_empty() && entry.error.is_none() => {
                let message = format!("run `mcp-bindgen sync {}`", entry.server);
                let title = format!("{} is not what its snapshot says", entry.server);
                all.push(said(0, None, &title, &message));
            }
            _ => {}
        }
        let mut told: Vec<&str> = Vec::new();
        let mut changes: Vec<&Change> = entry.changes.iter().collect();
        changes.sort_by_key(|change| change.class);
        for change in changes {
            if told.contains(&change.tool.as_str()) {
                continue;
            }
            told.push(&change.tool);
            let more = entry.changes.iter().filter(|other| other.tool == change.tool).count() - 1;
            let rank = match change.class {
                Class::Breaking => 0,
                Class::Source => 1,
                _ => 2,
            };
            let tool = if change.tool.is_empty() { "the server" } else { &change.tool };
            let mut message = format!("{tool} {}: {}", change.pointer, change.detail);
            if let Some(witness) = &change.witness {
                message.push_str(&format!("\n{witness}"));
            }
            if more > 0 {
                message.push_str(&format!("\nand {} of this tool", counted(more, "more change")));
            }
            let line = entry.text.as_deref().and_then(|text| line_of(text, change));
            all.push(said(rank, line, &format!("{}: {} change", entry.server, change.class), &message));
        }
    }
    let mut lines = Vec::new();
    for (rank, level) in LEVELS.iter().enumerate() {
        let of_level: Vec<String> = all.iter().filter(|(of, _)| *of == rank).map(|(_, line)| line.clone()).collect();
        let shown = if of_level.len() > SHOWN { SHOWN - 1 } else { of_level.len() };
        let hidden = of_level.len() - shown;
        lines.extend(of_level.into_iter().take(shown));
        if hidden > 0 {
            let more = format!("and {}: they are in the summary of the job", counted(hidden, &format!("more {level}")));
            lines.push(annotation(rank, None, None, "mcp-bindgen", &more));
        }
    }
    lines
}

/// The line of the snapshot that the change is about; that of the tool where it is not in there.
fn line_of(text: &str, change: &Change) -> Option<usize> {
    let snapshot: Value = serde_json::from_str(text).ok()?;
    let tools = snapshot.get("tools")?.as_array()?;
    let index = tools.iter().position(|tool| tool.get("name").and_then(Value::as_str) == Some(&change.tool))?;
    let tool = format!("/tools/{}", pointer_segment(&index.to_string()));
    locate(text, &format!("{tool}{}", change.pointer)).or_else(|| locate(text, &tool)).map(|(line, _)| line)
}

fn annotation(rank: usize, file: Option<&str>, line: Option<usize>, title: &str, message: &str) -> String {
    let mut properties = Vec::new();
    properties.extend(file.map(|file| format!("file={}", property(file))));
    properties.extend(file.and(line).map(|line| format!("line={line}")));
    properties.push(format!("title={}", property(&printable(title))));
    let message: Vec<_> = message.split('\n').map(printable).collect();
    let level = LEVELS.get(rank).copied().unwrap_or("notice");
    format!("::{level} {}::{}", properties.join(","), data(&message.join("\n")))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use mcp_model::Snapshot;
    use mcp_schema::drift;
    use serde_json::json;

    use super::*;

    #[test]
    fn no_more_are_printed_than_are_shown_and_the_last_counts_the_rest() {
        let entry = |index: usize| {
            let mut entry = Entry::new(&format!("s{index}"), Status::Failed);
            entry.error = Some("gone".to_owned());
            entry
        };
        let of = |count: usize| annotations(&(0..count).map(entry).collect::<Vec<_>>());
        assert_eq!(of(10).len(), 10);
        let lines = of(25);
        assert_eq!(lines.len(), 10);
        assert_eq!(lines[8], "::error title=s8 failed::gone");
        assert_eq!(lines[9], "::error title=mcp-bindgen::and 16 more errors: they are in the summary of the job");
        let tools = |count: usize| {
            let tools = (0..count).map(|n| json!({ "name": format!("t{n}"), "inputSchema": { "type": "object" } }));
            Snapshot { tools: tools.collect(), ..Snapshot::default() }
        };
        let changed = |old: usize, new: usize| {
            let mut entry = Entry::new("s", Status::OutOfDate);
            entry.changes = drift::diff(&tools(old), &tools(new));
            entry
        };
        let lines = annotations(&[changed(0, 12), changed(11, 0)]);
        let levels: Vec<&str> = lines.iter().filter_map(|line| line.split([':', ' ']).nth(2)).collect();
        assert_eq!(levels, [["error"; 10], ["notice"; 10]].concat());
        assert!(lines[19].ends_with("and 3 more notices: they are in the summary of the job"), "{}", lines[19]);
    }

    #[test]
    fn nothing_that_strangers_say_is_a_command() {
        let line = annotation(0, Some("a,b:c.json"), Some(3), "x: y", "one\n::add-mask::two % \u{1b}[31m");
        assert_eq!(line.lines().count(), 1);
        assert_eq!(line, "::error file=a%2Cb%3Ac.json,line=3,title=x%3A y::one%0A::add-mask::two %25 \\u{1b}[31m");
    }
}
