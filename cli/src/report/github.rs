//! Reports as annotations of a GitHub workflow.

use std::collections::BTreeMap;
use std::path::Path;

use mcp_bindgen_model::{locate, pointer_segment, printable};
use mcp_bindgen_schema::drift::{self, Change, Class};
use serde_json::Value;

use super::{Entry, Fault, Status, counted};
use crate::flags::name_of;
use crate::git;

/// How many of a level GitHub shows of a step, those that come first.
const SHOWN: usize = 10;
const ERROR: &str = "error";
const WARNING: &str = "warning";
const NOTICE: &str = "notice";

/// Something to annotate.
struct Said<'a> {
    level: &'static str,
    entry: &'a Entry,
    place: Place<'a>,
    title: String,
    message: String,
}

/// The position of an annotation.
enum Place<'a> {
    Snapshot,
    Change(&'a Change),
    Fault(&'a Fault),
}

/// Formats annotations, the worst first: `::error file=mcp/github.json,line=212,title=..::..`. There is one for each
/// tool, or one for all tools with the same change. Each level has as many as GitHub shows, and the last one counts the
/// rest.
pub(crate) fn annotations(entries: &[Entry]) -> Vec<String> {
    let all: Vec<Said> = entries.iter().flat_map(of_entry).collect();
    let mut places = Places::default();
    let mut lines = Vec::new();
    for level in [ERROR, WARNING, NOTICE] {
        let of_level: Vec<&Said> = all.iter().filter(|said| said.level == level).collect();
        let shown = if of_level.len() > SHOWN { SHOWN - 1 } else { of_level.len() };
        let hidden = of_level.len() - shown;
        for said in of_level.into_iter().take(shown) {
            let (file, line) = places.of(said);
            lines.push(annotation(level, file.as_deref(), line, &said.title, &said.message));
        }
        if hidden > 0 {
            let more = counted(hidden, &format!("more {level}"));
            let more = format!("and {more}; run `mcp-bindgen check --format json` for all");
            lines.push(annotation(level, None, None, "mcp-bindgen", &more));
        }
    }
    lines
}

/// Formats the annotation of a failed check.
pub(crate) fn failure_annotation(message: &str) -> String {
    annotation(ERROR, None, None, "mcp-bindgen", message)
}

fn of_entry(entry: &Entry) -> Vec<Said<'_>> {
    let server = &entry.server;
    let said = |level, place, title: String, message: String| Said { level, entry, place, title, message };
    let run_sync = format!("run `mcp-bindgen sync {server}`");
    let mut all = Vec::new();
    if let Some(error) = &entry.error {
        all.push(match entry.status {
            Status::Broken => {
                let title = format!("failed to read the snapshot of {server}");
                said(ERROR, Place::Fault(error), title, format!("{}\n{run_sync} to write it again", error.text))
            }
            _ => said(ERROR, Place::Fault(error), format!("{server} failed"), error.text.clone()),
        });
    }
    for fault in &entry.faults {
        all.push(said(ERROR, Place::Fault(fault), format!("{server} does not build"), fault.text.clone()));
    }
    for misfit in &entry.misfits {
        let title = format!("{server} does not build with its current tools");
        all.push(said(ERROR, Place::Fault(misfit), title, misfit.text.clone()));
    }
    match entry.status {
        Status::Missing => all.push(said(ERROR, Place::Snapshot, format!("{server} has no snapshot"), run_sync)),
        Status::OutOfDate if entry.changes.is_empty() => {
            let title = format!("the snapshot of {server} is not formatted as `sync` writes it");
            all.push(said(ERROR, Place::Snapshot, title, run_sync));
        }
        _ => {}
    }
    for (change, message) in by_tool(&entry.changes) {
        let level = match change.class {
            class if class.is_loud() => ERROR,
            Class::Source => WARNING,
            _ => NOTICE,
        };
        all.push(said(level, Place::Change(change), format!("{server}: {} change", change.class), message));
    }
    let Some(since) = &entry.since else { return all };
    let revision = &since.revision;
    if let Some(error) = &since.error {
        all.push(said(ERROR, Place::Snapshot, format!("{server} cannot be compared with {revision}"), error.clone()));
    }
    if since.is_new {
        let message = format!("{revision} has no snapshot of it");
        all.push(said(NOTICE, Place::Snapshot, format!("{server} was added"), message));
    }
    if since.is_gone {
        let message = format!("{revision} has it: code that uses it no longer builds");
        all.push(said(WARNING, Place::Snapshot, format!("{server} was removed"), message));
    }
    // Changes in the pull request are under review, and no error.
    for (change, message) in by_tool(&since.changes) {
        let level = if change.class.is_loud() { WARNING } else { NOTICE };
        let title = format!("{server}: {} change since {revision}", change.class);
        all.push(said(level, Place::Change(change), title, message));
    }
    all
}

/// Returns the worst change of each tool and its message, the worst first. A change that several tools share is one of
/// them.
fn by_tool(changes: &[Change]) -> Vec<(&Change, String)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for change in changes {
        *counts.entry(&change.tool).or_default() += 1;
    }
    let mut groups = drift::grouped(changes);
    groups.sort_by_key(|group| group.first().map(|change| change.class));
    let mut told = Vec::new();
    for group in &groups {
        // The tools without an annotation so far.
        let fresh: Vec<(&Change, usize)> =
            group.iter().filter_map(|change| Some((*change, counts.remove(change.tool.as_str())?))).collect();
        let Some((change, _)) = fresh.first() else { continue };
        let more = fresh.iter().map(|(_, count)| count - 1).sum();
        told.push((*change, in_words(change, group, more)));
    }
    told
}

/// Says a change, of the tools that share it, and how many more these have.
fn in_words(change: &Change, group: &[&Change], more: usize) -> String {
    let names: Vec<&str> = group.iter().map(|change| change.tool.as_str()).collect();
    let (of, names) = match names.as_slice() {
        [""] => ("the server".to_owned(), String::new()),
        [tool] => ((*tool).to_owned(), String::new()),
        several => (counted(several.len(), "tool"), format!(": {}", several.join(", "))),
    };
    let mut message = format!("{of} {}: {}{names} [{}]", change.pointer, change.detail, change.kind.id());
    for note in change.notes() {
        message.push_str(&format!("\n{note}"));
    }
    if more > 0 {
        let of = if group.len() == 1 { "this tool" } else { "these tools" };
        message.push_str(&format!("\nand {} of {of}", counted(more, "more change")));
    }
    message
}

/// The cached texts and snapshots for looking up positions.
#[derive(Default)]
struct Places<'a> {
    files: BTreeMap<&'a Path, String>,
    snapshots: BTreeMap<&'a str, Option<Value>>,
}

impl<'a> Places<'a> {
    fn of(&mut self, said: &Said<'a>) -> (Option<String>, Option<usize>) {
        let entry = said.entry;
        let own = entry.path.as_deref().map(Path::new);
        match said.place {
            Place::Snapshot => (self.file(own), None),
            Place::Fault(fault) => (self.file(fault.path.as_deref().or(own)), fault.line),
            Place::Change(change) => (self.file(own), self.line(entry, change)),
        }
    }

    fn file(&mut self, path: Option<&'a Path>) -> Option<String> {
        let path = path?;
        let file = || git::from_root(path).unwrap_or_else(|| path.display().to_string());
        Some(self.files.entry(path).or_insert_with(file).clone())
    }

    /// Returns the snapshot's line of a change, or that of its tool if the snapshot lacks it.
    fn line(&mut self, entry: &'a Entry, change: &Change) -> Option<usize> {
        let text = entry.text.as_deref()?;
        let parsed = self.snapshots.entry(&entry.server).or_insert_with(|| serde_json::from_str(text).ok());
        let tools = parsed.as_ref()?.get("tools")?.as_array()?;
        let index = tools.iter().position(|tool| name_of(tool) == Some(&change.tool))?;
        let tool = format!("/tools/{}", pointer_segment(&index.to_string()));
        locate(text, &format!("{tool}{}", change.pointer)).or_else(|| locate(text, &tool)).map(|(line, _)| line)
    }
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
    use mcp_bindgen_model::Snapshot;
    use serde_json::json;

    use super::*;

    #[test]
    fn annotations_are_limited_and_the_last_counts_the_rest() {
        let entry = |index: usize| {
            let mut entry = Entry::new(&format!("s{index}"), Status::Failed);
            entry.error = Some(Fault::new("gone"));
            entry
        };
        let of = |count: usize| annotations(&(0..count).map(entry).collect::<Vec<_>>());
        assert_eq!(of(10).len(), 10);
        let lines = of(25);
        assert_eq!(lines.len(), 10);
        assert_eq!(lines[8], "::error title=s8 failed::gone");
        assert_eq!(
            lines[9],
            "::error title=mcp-bindgen::and 16 more errors; run `mcp-bindgen check --format json` for all"
        );
        // Each tool has a property of its own name.
        let list = |count: usize, of: &str| {
            let schema = |n: usize| json!({ "type": "object", "properties": { format!("p{n}"): { "type": of } } });
            let tools = (0..count).map(|n| json!({ "name": format!("t{n}"), "inputSchema": schema(n) }));
            Snapshot { tools: tools.collect(), ..Snapshot::default() }
        };
        let changed = |count: usize, old: &str, new: &str| {
            let mut entry = Entry::new("s", Status::OutOfDate);
            entry.changes = drift::diff(&list(count, old), &list(count, new));
            entry
        };
        let loosened = |count: usize| {
            let mut entry = Entry::new("s", Status::OutOfDate);
            entry.changes = drift::diff(&Snapshot::default(), &list(count, "string"));
            for (index, change) in entry.changes.iter_mut().enumerate() {
                change.pointer = format!("/{index}");
            }
            entry
        };
        let lines = annotations(&[loosened(12), changed(11, "string", "integer")]);
        let levels: Vec<&str> = lines.iter().filter_map(|line| line.split([':', ' ']).nth(2)).collect();
        assert_eq!(levels, [["error"; 10], ["notice"; 10]].concat());
        assert!(
            lines[19].ends_with("and 3 more notices; run `mcp-bindgen check --format json` for all"),
            "{}",
            lines[19]
        );
    }

    #[test]
    fn silent_changes_are_errors_and_warnings_since_a_revision() {
        let copies = |required: [&str; 2]| {
            let text = json!({ "type": "string" });
            let schema = json!({ "type": "object", "properties": { "a": text, "b": text }, "required": required });
            Snapshot { tools: vec![json!({ "name": "copy", "inputSchema": schema })], ..Snapshot::default() }
        };
        let changes = drift::diff(&copies(["a", "b"]), &copies(["b", "a"]));
        let mut entry = Entry::new("s", Status::OutOfDate);
        entry.changes.clone_from(&changes);
        entry.since = Some(super::super::Since::new("main", changes));
        let lines = annotations(&[entry]);
        assert!(lines[0].starts_with("::error title=s%3A silent change::copy /inputSchema/required"), "{lines:?}");
        assert!(lines[1].starts_with("::warning title=s%3A silent change since main::"), "{lines:?}");
        assert!(lines[0].ends_with("is new(b: impl Into<String>, a: impl Into<String>)"), "{lines:?}");
    }

    #[test]
    fn change_shared_by_tools_is_one_annotation() {
        let list = |required: &[&str], other: &str| {
            let properties = json!({ "id": { "type": "string" }, "q": { "type": other } });
            let schema = json!({ "type": "object", "properties": properties, "required": required });
            let tools = (0..3).map(|n| json!({ "name": format!("t{n}"), "inputSchema": schema }));
            Snapshot { tools: tools.collect(), ..Snapshot::default() }
        };
        let mut entry = Entry::new("s", Status::OutOfDate);
        entry.changes = drift::diff(&list(&[], "string"), &list(&["id"], "integer"));
        let lines = annotations(&[entry]);
        assert_eq!(
            lines,
            [
                "::error title=s%3A breaking change::3 tools /inputSchema/properties/id: required now: t0, t1, t2 [MCPD0012]%0Amay be sent, \
              and is refused now: {}%0Aand 3 more changes of these tools"
            ]
        );
    }

    #[test]
    fn annotations_of_long_lists_take_bounded_time() {
        let tools = |of: &str| {
            let property = |n| json!({ format!("p{n}"): { "type": of } });
            let tool =
                |n| json!({ "name": format!("t{n}"), "inputSchema": { "type": "object", "properties": property(n) } });
            Snapshot { tools: (0..2_000).map(tool).collect(), ..Snapshot::default() }
        };
        let mut entry = Entry::new("s", Status::OutOfDate);
        (entry.path, entry.text) = (Some("mcp/s.json".to_owned()), Some(tools("string").to_text()));
        entry.changes = drift::diff(&tools("string"), &tools("integer"));
        let begun = std::time::Instant::now();
        let lines = annotations(&[entry]);
        // Parsing the text for each of them takes minutes.
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
        assert_eq!(lines.len(), 10);
        assert!(lines[8].contains(",line="), "{}", lines[8]);
    }

    #[test]
    fn annotation_text_cannot_contain_workflow_commands() {
        let line = annotation(ERROR, Some("a,b:c.json"), Some(3), "x: y", "one\n::add-mask::two % \u{1b}[31m");
        assert_eq!(line.lines().count(), 1);
        assert_eq!(line, "::error file=a%2Cb%3Ac.json,line=3,title=x%3A y::one%0A::add-mask::two %25 \\u{1b}[31m");
    }
}
