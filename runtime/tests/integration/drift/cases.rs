//! Kinds of change to a tool, and the expected report of each, from `cases.txt`.

use std::sync::LazyLock;

use mcp_bindgen_model::Pin;

pub(crate) struct Case {
    /// The tool's name, too.
    pub(crate) name: &'static str,
    /// The tool in the bindings, without its name.
    pub(crate) before: String,
    /// The tool on the server now; `None` if it was removed.
    pub(crate) now: Option<String>,
    pub(crate) said: Said,
}

/// The expected report of a change, with its witness if the change is breaking.
#[derive(Clone, Copy)]
pub(crate) enum Said {
    Nothing,
    /// Only where the tool is pinned to the word.
    Worded(&'static str),
    Compatible(&'static str),
    Breaking(&'static str),
}

impl Case {
    fn read(text: &'static str) -> Self {
        let [name, before, now, said] = text.lines().collect::<Vec<_>>()[..] else { panic!("not a case: {text}") };
        let before = tool(before).unwrap_or_else(|| panic!("no tool: {text}"));
        let said = match parts(said) {
            ("nothing", "") => Said::Nothing,
            ("worded", said) => Said::Worded(said),
            ("compatible", said) => Said::Compatible(said),
            ("breaking", said) => Said::Breaking(said),
            _ => panic!("no report: {text}"),
        };
        Self { name, before, now: tool(now), said }
    }

    pub(crate) fn is_told(&self, pin: Pin) -> bool {
        match self.said {
            Said::Nothing => false,
            Said::Worded(_) => pin == Pin::All,
            Said::Compatible(_) | Said::Breaking(_) => true,
        }
    }
}

/// The first word of a line, and the rest.
fn parts(line: &'static str) -> (&'static str, &'static str) {
    line.trim_start().split_once(' ').unwrap_or((line.trim_start(), ""))
}

/// A tool as JSON; `None` if it was removed.
fn tool(line: &'static str) -> Option<String> {
    match parts(line) {
        ("removed", "") => None,
        ("tool", json) => Some(json.to_owned()),
        ("input", members) => Some(format!(r#"{{"inputSchema": {{"type": "object", {members}}}}}"#)),
        ("output", members) => {
            let output = format!(r#"{{"type": "object", {members}}}"#);
            Some(format!(r#"{{"inputSchema": {{"type": "object"}}, "outputSchema": {output}}}"#))
        }
        _ => panic!("not a tool: {line}"),
    }
}

pub(crate) static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let blocks = include_str!("cases.txt").split("\n\n");
    blocks.filter(|block| !block.starts_with('#')).map(|block| Case::read(block.trim_end_matches('\n'))).collect()
});
