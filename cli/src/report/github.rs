//! Reports as annotations of a GitHub workflow.

use std::collections::BTreeMap;
use std::path::Path;

use mcp_bindgen_model::{locate, printable};
use mcp_bindgen_schema::drift::{self, Change, Class};
use serde_json::Value;

use super::{Difference, Entry, Fault, Status, and_more, counted};
use crate::args::Denied;
use crate::flags::name_of;
use crate::git;
use crate::output::lines_printable;

/// How many of a level GitHub shows of a step, those that come first.
const SHOWN: usize = 10;
const ERROR: &str = "error";
const WARNING: &str = "warning";
const NOTICE: &str = "notice";

/// An annotation.
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
pub(crate) fn annotations(entries: &[Entry], denied: Denied) -> Vec<String> {
    let all: Vec<Said> = entries.iter().flat_map(|entry| of_entry(entry, denied)).collect();
    let (mut lines, mut seen) = (Vec::new(), Seen::default());
    for level in [ERROR, WARNING, NOTICE] {
        let of_level: Vec<&Said> = all.iter().filter(|said| said.level == level).collect();
        let shown = if of_level.len() > SHOWN { SHOWN - 1 } else { of_level.len() };
        // Positions are only looked up for those that are shown, because each takes a look into the snapshot.
        lines.extend(of_level.iter().take(shown).map(|said| said.line(&mut seen)));
        if let Some(more) = and_more(of_level.len() - shown, level) {
            let more = format!("{more}; run `mcp-bindgen check --format json` for all");
            lines.push(annotation(level, None, None, "mcp-bindgen", &more));
        }
    }
    lines
}

/// Formats the annotation of a failed check.
pub(crate) fn failure_annotation(message: &str) -> String {
    annotation(ERROR, None, None, "mcp-bindgen", message)
}

fn of_entry(entry: &Entry, denied: Denied) -> Vec<Said<'_>> {
    let server = &entry.server;
    let run_sync = format!("run `mcp-bindgen sync {server}`");
    let mut all = Vec::new();
    let mut say = |level, place, title: String, message: String| all.push(Said { level, entry, place, title, message });
    match &entry.error {
        Some(error) if entry.status == Status::Broken => {
            let message = format!("{}\n{run_sync} to write it again", error.text);
            say(ERROR, Place::Fault(error), format!("failed to read the snapshot of {server}"), message);
        }
        Some(error) => say(ERROR, Place::Fault(error), format!("{server} failed"), error.text.clone()),
        None => {}
    }
    for fault in &entry.faults {
        say(ERROR, Place::Fault(fault), format!("{server} does not build"), fault.text.clone());
    }
    for misfit in &entry.misfits {
        let title = format!("{server} does not build with its current tools");
        say(ERROR, Place::Fault(misfit), title, misfit.text.clone());
    }
    match entry.status {
        Status::Missing => say(ERROR, Place::Snapshot, format!("{server} has no snapshot"), run_sync),
        Status::OutOfDate if entry.changes.is_empty() => {
            let title = format!("the snapshot of {server} is not formatted as `sync` writes it");
            say(ERROR, Place::Snapshot, title, run_sync);
        }
        _ => {}
    }
    for (change, message) in by_tool(&entry.changes) {
        let level = match change.class {
            class if class.is_loud() || denied.refuses(change) => ERROR,
            Class::Source => WARNING,
            _ => NOTICE,
        };
        say(level, Place::Change(change), format!("{server}: {} change", change.class), message);
    }
    let Some(since) = &entry.since else { return all };
    let revision = &since.revision;
    match &since.difference {
        Difference::Unknown(error) => {
            say(ERROR, Place::Snapshot, format!("{server} cannot be compared with {revision}"), error.clone());
        }
        Difference::Added => {
            let message = format!("{revision} has no snapshot of it");
            say(NOTICE, Place::Snapshot, format!("{server} was added"), message);
        }
        Difference::Removed => {
            let message = format!("{revision} has it: code that uses it no longer builds");
            let level = if since.is_refused(denied) { ERROR } else { WARNING };
            say(level, Place::Snapshot, format!("{server} was removed"), message);
        }
        // Changes in the pull request are under review, and no error unless they are denied.
        Difference::Changes(changes) => by_tool(changes).into_iter().for_each(|(change, message)| {
            let level = match change.class {
                _ if denied.refuses(change) => ERROR,
                class if class.is_loud() => WARNING,
                _ => NOTICE,
            };
            say(level, Place::Change(change), format!("{server}: {} change since {revision}", change.class), message);
        }),
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
    let told = groups.iter().filter_map(|group| {
        // The tools without an annotation so far.
        let fresh: Vec<(&Change, usize)> =
            group.iter().filter_map(|change| Some((*change, counts.remove(change.tool.as_str())?))).collect();
        let (change, _) = fresh.first()?;
        let more = fresh.iter().map(|(_, count)| count - 1).sum();
        Some((*change, in_words(change, group, more)))
    });
    told.collect()
}

/// Says a change, of the tools that share it, and how many more these have.
fn in_words(change: &Change, group: &[&Change], more: usize) -> String {
    let names: Vec<&str> = group.iter().map(|change| change.tool.as_str()).collect();
    let (of, names) = match names.as_slice() {
        [""] => ("the server".to_owned(), String::new()),
        [tool] => ((*tool).to_owned(), String::new()),
        several => (counted(several.len(), "tool"), format!(": {}", several.join(", "))),
    };
    let notes: String = change.notes().map(|note| format!("\n{note}")).collect();
    let these = if group.len() == 1 { "this tool" } else { "these tools" };
    let more = and_more(more, "change").map(|more| format!("\n{more} of {these}")).unwrap_or_default();
    let place = format!("{of} {}", change.pointer);
    format!("{}: {}{names} [{}]{notes}{more}", place.trim_end(), change.detail, change.kind.id())
}

/// The paths and snapshots that several annotations share.
#[derive(Default)]
struct Seen<'a> {
    files: BTreeMap<&'a Path, String>,
    snapshots: BTreeMap<&'a str, Option<Value>>,
}

impl<'a> Said<'a> {
    fn line(&self, seen: &mut Seen<'a>) -> String {
        let own = self.entry.path.as_deref().map(Path::new);
        let (path, line) = match self.place {
            Place::Snapshot => (own, None),
            Place::Fault(fault) => (fault.path.as_deref().or(own), fault.line),
            Place::Change(change) => (own, seen.line_of(change, self.entry)),
        };
        let from_root = |path: &Path| git::from_root(path).unwrap_or_else(|| path.display().to_string());
        let file = path.map(|path| seen.files.entry(path).or_insert_with(|| from_root(path)).as_str());
        annotation(self.level, file, line, &self.title, &self.message)
    }
}

impl<'a> Seen<'a> {
    /// Returns the line of a change in a snapshot, or that of its tool if the snapshot lacks it.
    fn line_of(&mut self, change: &Change, entry: &'a Entry) -> Option<usize> {
        let text = entry.text.as_deref()?;
        let snapshot = self.snapshots.entry(&entry.server).or_insert_with(|| serde_json::from_str(text).ok());
        let tools = snapshot.as_ref()?.get("tools")?.as_array()?;
        let index = tools.iter().position(|tool| name_of(tool) == Some(&change.tool))?;
        let places = [format!("/tools/{index}{}", change.pointer), format!("/tools/{index}")];
        places.iter().find_map(|place| locate(text, place)).map(|(line, _)| line)
    }
}

fn annotation(level: &str, file: Option<&str>, line: Option<usize>, title: &str, message: &str) -> String {
    let line = line.map(|line| format!("line={line},")).unwrap_or_default();
    let place = file.map(|file| format!("file={},{line}", property(file))).unwrap_or_default();
    let message = data(&lines_printable(message));
    format!("::{level} {place}title={}::{message}", property(&printable(title)))
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

    use super::super::Since;
    use super::*;

    #[test]
    fn annotations_are_limited_and_the_last_counts_the_rest() {
        let entry = |index: usize| {
            let mut entry = Entry::new(&format!("s{index}"), Status::Failed);
            entry.error = Some(Fault::new("gone"));
            entry
        };
        let of = |count: usize| annotations(&(0..count).map(entry).collect::<Vec<_>>(), Denied { deny: None });
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
        let lines = annotations(&[loosened(12), changed(11, "string", "integer")], Denied { deny: None });
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
        entry.since = Some(Since::new("main", Difference::Changes(changes)));
        let entries = [entry];
        let lines = annotations(&entries, Denied { deny: None });
        assert!(lines[0].starts_with("::error title=s%3A silent change::copy /inputSchema/required"), "{lines:?}");
        assert!(lines[1].starts_with("::warning title=s%3A silent change since main::"), "{lines:?}");
        assert!(lines[0].ends_with("is new(b: impl Into<String>, a: impl Into<String>)"), "{lines:?}");
        let mut added = Entry::new("s", Status::OutOfDate);
        added.changes = drift::diff(&Snapshot::default(), &copies(["a", "b"]));
        let lines = annotations(&[added], Denied { deny: Some(Class::Compatible) });
        assert!(lines.len() == 1 && lines[0].starts_with("::error title=s%3A compatible change::copy"), "{lines:?}");
        let since = |class| annotations(&entries, Denied { deny: Some(class) }).remove(1);
        assert!(since(Class::Breaking).starts_with("::warning title=s%3A silent change since main::"));
        assert!(since(Class::Silent).starts_with("::error title=s%3A silent change since main::"));
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
        let lines = annotations(&[entry], Denied { deny: None });
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
        let lines = annotations(&[entry], Denied { deny: None });
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
