//! The report of a run: figures as a table, faults by tool, and the verdict.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use mcp_bindgen_schema::Role;
use mcp_samples::corpus::{List, Origin};
use mcp_samples::role_name;
use serde_json::Value;

use crate::corpus::exceptions::Exceptions;

/// Enough to see what is wrong with a tool.
const FAULTS_PER_TOOL: usize = 3;
const TOOLS_IN_TEXT: usize = 60;
const EXCEPTIONS_AT_MOST: usize = 5;

/// A fault of a tool.
#[derive(Debug)]
pub(crate) enum Fault {
    NotGenerated(String),
    NotCompiled(String),
    /// There is a schema, but no type for it.
    Untyped(Role),
    Refused {
        role: Role,
        label: Option<String>,
        value: Value,
        error: String,
    },
    Changed {
        role: Role,
        value: Value,
        /// The first place where the printed value is not the given one.
        pointer: String,
        given: Option<Value>,
        printed: Option<Value>,
    },
    /// Validation lets an invalid value pass.
    Accepted {
        role: Role,
        label: Option<String>,
        value: Value,
    },
    /// Validation cannot use the schema.
    NotValidated {
        role: Role,
        reason: String,
    },
}

#[derive(Default)]
struct ToolFaults {
    count: usize,
    first: Vec<Fault>,
}

struct Figure {
    origin: Option<Origin>,
    label: String,
    value: Value,
    missed: bool,
}

/// Origin, list, place in the list, name.
type Tool = (Origin, String, usize, String);

#[derive(Default)]
pub(crate) struct Report {
    /// `true` if some lists were left out.
    pub(crate) is_partial: bool,
    /// `true` if faults are only counted, because not every value must be read.
    pub(crate) only_counts: bool,
    figures: Vec<Figure>,
    tools: BTreeMap<Origin, usize>,
    faults: BTreeMap<Tool, ToolFaults>,
    excepted: BTreeSet<Tool>,
    /// Invalid arguments that the types accept: how many, and the first with the reason why it is invalid.
    let_through: BTreeMap<Tool, (usize, Value, String)>,
    failures: Vec<String>,
}

impl Report {
    pub(crate) fn took(&mut self, stage: &str, seconds: f64) {
        self.push(None, &format!("time of stage {stage}"), format!("{seconds:.1} s").into(), false);
    }

    pub(crate) fn count_tools(&mut self, list: &List) {
        *self.tools.entry(list.origin).or_default() += list.snapshot.tools.len();
    }

    pub(crate) fn tools(&self, origin: Origin) -> usize {
        self.tools.get(&origin).copied().unwrap_or_default()
    }

    pub(crate) fn figure(&mut self, origin: Origin, label: &str, value: impl Into<Value>) {
        self.push(Some(origin), label, value.into(), false);
    }

    /// A share that ought to be the whole; the tools that are wanting have faults of their own.
    pub(crate) fn share(&mut self, origin: Origin, label: &str, part: usize, whole: usize) {
        self.budget(origin, label, part, whole, 0.0);
    }

    pub(crate) fn budget(&mut self, origin: Origin, label: &str, part: usize, whole: usize, at_least: f64) {
        let share = ratio(part, whole);
        let text = format!("{part} of {whole} ({:.3} %)", share * 100.0);
        self.push(Some(origin), label, text.into(), whole == 0 || share < at_least);
    }

    pub(crate) fn at_most(&mut self, origin: Origin, label: &str, part: usize, whole: usize, at_most: f64) {
        let share = ratio(part, whole);
        let text = format!("{part} of {whole} ({:.3} %)", share * 100.0);
        self.push(Some(origin), label, text.into(), whole == 0 || share > at_most);
    }

    pub(crate) fn none_of(&mut self, origin: Origin, label: &str, count: usize) {
        self.push(Some(origin), label, count.into(), count > 0);
    }

    fn push(&mut self, origin: Option<Origin>, label: &str, value: Value, missed: bool) {
        self.figures.push(Figure { origin, label: label.to_owned(), value, missed });
    }

    pub(crate) fn fault(&mut self, list: &List, index: usize, fault: Fault) {
        let faults = self.faults.entry(tool(list, index)).or_default();
        faults.count += 1;
        if faults.first.len() < FAULTS_PER_TOOL {
            faults.first.push(fault);
        }
    }

    /// Returns `true` if the tool has no types to put values through.
    pub(crate) fn is_left_out(&self, list: &List, index: usize) -> bool {
        let left_out = |fault: &Fault| matches!(fault, Fault::NotGenerated(_) | Fault::NotCompiled(_));
        self.faults.get(&tool(list, index)).is_some_and(|faults| faults.first.iter().any(left_out))
    }

    pub(crate) fn let_through(&mut self, list: &List, index: usize, value: &Value, reason: &str) {
        let first = || (0, value.clone(), reason.to_owned());
        self.let_through.entry(tool(list, index)).or_insert_with(first).0 += 1;
    }

    pub(crate) fn failure(&mut self, text: String) {
        self.failures.push(text);
    }

    pub(crate) fn require_that_something_ran(&mut self, origin: Origin) {
        if self.tools(origin) == 0 {
            self.failure(format!("no tool of the {} ran", origin_name(origin)));
        }
    }

    /// Sets the known exceptions apart; in a full run, one that no longer fails is a failure.
    pub(crate) fn settle(&mut self, exceptions: &Exceptions, partial: bool) {
        let mut stale: BTreeSet<_> = exceptions.keys().collect();
        for found in self.faults.keys() {
            let (_, list, _, name) = found;
            let key = (list.clone(), name.clone());
            if exceptions.contains_key(&key) {
                stale.remove(&key);
                self.excepted.insert(found.clone());
            }
        }
        if exceptions.len() > EXCEPTIONS_AT_MOST {
            self.failures.push(format!("{} exceptions, at most {EXCEPTIONS_AT_MOST}", exceptions.len()));
        }
        if !partial {
            let stale = stale.into_iter().map(|(list, tool)| format!("the exception {list} | {tool} no longer fails"));
            self.failures.extend(stale);
        }
    }

    pub(crate) fn passed(&self) -> bool {
        self.failures.is_empty()
            && self.figures.iter().all(|figure| !figure.missed)
            && (self.only_counts || self.faults.keys().all(|tool| self.excepted.contains(tool)))
    }

    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        let width = self.figures.iter().map(|figure| figure.label.chars().count()).max().unwrap_or_default();
        for origin in [Some(Origin::Corpus), Some(Origin::Suite), None] {
            let figures: Vec<_> = self.figures.iter().filter(|figure| figure.origin == origin).collect();
            if let (Some(origin), false) = (origin, figures.is_empty()) {
                let _ = writeln!(text, "{}", origin_name(origin));
            }
            for figure in figures {
                let value = figure.value.as_str().map_or_else(|| figure.value.to_string(), str::to_owned);
                let mark = if figure.missed { "  <- missed" } else { "" };
                let _ = writeln!(text, "  {:width$}  {value}{mark}", figure.label);
            }
        }
        self.write_faults(&mut text);
        if self.figures.iter().any(|figure| figure.missed) {
            for ((_, list, index, name), (count, value, reason)) in self.let_through.iter().take(TOOLS_IN_TEXT) {
                let value = excerpt(value);
                let _ = writeln!(
                    text,
                    "{list} {name:?} (tool {index}): {count} invalid values accepted, as {value}: {reason}"
                );
            }
        }
        for failure in &self.failures {
            let _ = writeln!(text, "error: {failure}");
        }
        let of_corpus = |tool: &&Tool| tool.0 == Origin::Corpus;
        let faulty = self.faults.keys().filter(of_corpus).count();
        let excepted = self.excepted.iter().filter(of_corpus).count();
        let _ = writeln!(text, "{excepted} known exceptions");
        let _ = writeln!(text, "{} passed, {} failed", self.tools(Origin::Corpus) - faulty, faulty - excepted);
        text
    }

    fn write_faults(&self, text: &mut String) {
        for (tool, faults) in self.faults.iter().take(TOOLS_IN_TEXT) {
            let (_, list, index, name) = tool;
            let known = if self.excepted.contains(tool) { ", known" } else { "" };
            let _ = writeln!(text, "{list} {name:?} (tool {index}): {} faults{known}", faults.count);
            for fault in &faults.first {
                let _ = writeln!(text, "    {}", fault.to_text().trim_end().replace('\n', "\n    "));
            }
        }
        if self.faults.len() > TOOLS_IN_TEXT {
            let _ = writeln!(text, "... and {} more tools", self.faults.len() - TOOLS_IN_TEXT);
        }
    }
}

impl Fault {
    fn to_text(&self) -> String {
        match self {
            Self::NotGenerated(reason) => format!("not generated: {reason}"),
            Self::NotCompiled(error) => format!("does not compile: {error}"),
            Self::Untyped(role) => format!("{}: no type for the schema", role_name(*role)),
            Self::Refused { role, label, value, error } => {
                format!("{}: refused{}: {}: {error}", role_name(*role), bracketed(label.as_ref()), excerpt(value))
            }
            Self::Accepted { role, label, value } => {
                format!("{}: validation accepts{}: {}", role_name(*role), bracketed(label.as_ref()), excerpt(value))
            }
            Self::NotValidated { role, reason } => format!("{}: not validated: {reason}", role_name(*role)),
            Self::Changed { role, value, pointer, given, printed } => {
                let show = |value: &Option<Value>| value.as_ref().map_or_else(|| "absent".to_owned(), excerpt);
                let (given, printed) = (show(given), show(printed));
                format!("{}: changed at {pointer:?}: {given} became {printed} in {}", role_name(*role), excerpt(value))
            }
        }
    }
}

fn tool(list: &List, index: usize) -> Tool {
    (list.origin, list.name.clone(), index, list.tool_name(index).to_owned())
}

fn origin_name(origin: Origin) -> &'static str {
    match origin {
        Origin::Corpus => "corpus",
        Origin::Suite => "suites",
    }
}

fn bracketed(label: Option<&String>) -> String {
    label.map(|label| format!(" ({label})")).unwrap_or_default()
}

fn excerpt(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
