//! Reports as annotations of a GitHub workflow.

use mcp_model::{locate, pointer_segment, printable};
use mcp_schema::drift::{Change, Class};
use serde_json::Value;

use super::{Entry, Status, counted};
use crate::git;

/// How many of a level GitHub shows of a step.
const SHOWN: usize = 10;

/// One line each, the worst first: `::error file=mcp/github.json,line=212,title=..::..`. One for each tool of a server: the
/// rest is in the summary.
pub(crate) fn annotations(entries: &[Entry]) -> Vec<String> {
    let mut all: Vec<(usize, String)> = Vec::new();
    for entry in entries {
        let file = entry.path.as_deref().map(|path| git::from_root(path.as_ref()).unwrap_or_else(|| path.to_owned()));
        let said = |level, line, title: &str, message: &str| annotation(level, file.as_deref(), line, title, message);
        for text in entry.error.iter().chain(&entry.faults).chain(&entry.misfits) {
            all.push((0, said("error", None, &format!("{} failed", entry.server), text)));
        }
        match entry.status {
            Status::Missing => {
                let message = format!("run `mcp-bindgen sync {}`", entry.server);
                all.push((0, said("error", None, &format!("{} has no snapshot", entry.server), &message)));
            }
            Status::Broken | Status::OutOfDate if entry.changes.is_empty() && entry.error.is_none() => {
                let message = format!("run `mcp-bindgen sync {}`", entry.server);
                let title = format!("{} is not what its snapshot says", entry.server);
                all.push((0, said("error", None, &title, &message)));
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
            let (rank, level) = match change.class {
                Class::Breaking => (0, "error"),
                Class::Source => (1, "warning"),
                _ => (2, "notice"),
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
            all.push((rank, said(level, line, &format!("{}: {} change", entry.server, change.class), &message)));
        }
    }
    all.sort_by_key(|(rank, _)| *rank);
    let hidden: usize = (0..3).map(|rank| all.iter().filter(|(of, _)| *of == rank).count().saturating_sub(SHOWN)).sum();
    let mut lines: Vec<String> = all.into_iter().map(|(_, line)| line).collect();
    if hidden > 0 {
        lines.push(annotation(
            "notice",
            None,
            None,
            "mcp-bindgen",
            &format!("{} are in the summary", counted(hidden, "more annotation")),
        ));
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

fn annotation(level: &str, file: Option<&str>, line: Option<usize>, title: &str, message: &str) -> String {
    let mut properties = Vec::new();
    properties.extend(file.map(|file| format!("file={}", property(file))));
    properties.extend(file.and(line).map(|line| format!("line={line}")));
    properties.push(format!("title={}", property(&printable(title))));
    let message: Vec<_> = message.split('\n').map(printable).collect();
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
    use super::*;

    #[test]
    fn nothing_that_strangers_say_is_a_command() {
        let line = annotation("error", Some("a,b:c.json"), Some(3), "x: y", "one\n::add-mask::two % \u{1b}[31m");
        assert_eq!(line.lines().count(), 1);
        assert_eq!(line, "::error file=a%2Cb%3Ac.json,line=3,title=x%3A y::one%0A::add-mask::two %25 \\u{1b}[31m");
    }
}
