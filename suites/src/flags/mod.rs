//! The suite of flags: every sample value of every tool printed as flags and read back, in the shortest form, and in the
//! one of JSON that each property has under the name that help gives it.

mod program;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use mcp_bindgen_schema::Role;
use mcp_bindgen_schema::flags::{Flags, OwnOption};
use mcp_samples::Fallible;
use mcp_samples::corpus::{List, Samples};
use program::Program;
use serde_json::{Map, Value};

use crate::selection::Selection;

/// So many lists go through the program.
const PROGRAM_LISTS: usize = 20;

/// The options that the command line keeps for itself.
const OWN: [&str; 9] = ["format", "config", "color", "quiet", "verbose", "dry-run", "timeout", "yes", "help"];

fn own_options() -> [OwnOption; 9] {
    OWN.map(OwnOption::new)
}

/// Formats every sample value as flags of its tool, and parses them.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// The number of failures that are printed.
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    show: usize,
    /// The command line, which then calls every tool of 20 lists, each with `--dry-run` and without.
    #[arg(long, value_name = "FILE", requires = "server")]
    program: Option<PathBuf>,
    /// The fixture server, which serves those lists.
    #[arg(long, value_name = "FILE", requires = "program")]
    server: Option<PathBuf>,
}

#[derive(Default)]
struct Report {
    tools: usize,
    /// Tools of which every sample value has a plain form: no JSON, no other name.
    plain_tools: usize,
    values: usize,
    failed: usize,
    /// By the form that a word has: how many.
    forms: BTreeMap<&'static str, usize>,
    forced: usize,
    /// Calls of the program, and of how many lists.
    called: usize,
    called_lists: usize,
    failures: Vec<String>,
    show: usize,
}

impl Report {
    fn fail(&mut self, detail: impl FnOnce() -> String) {
        self.failed += 1;
        if self.failures.len() < self.show {
            self.failures.push(detail());
        }
    }

    fn to_text(&self) -> Fallible<String> {
        let mut text = String::new();
        for (form, count) in &self.forms {
            writeln!(text, "{count} flags {form}")?;
        }
        writeln!(text, "{} values written as JSON for each property, by the names of the help", self.forced)?;
        writeln!(text, "{} tools, {} of them without JSON in any flag", self.tools, self.plain_tools)?;
        if self.called > 0 {
            writeln!(
                text,
                "{} tools of {} replayed lists called through the program, with `--dry-run` and without",
                self.called, self.called_lists
            )?;
        }
        for failure in &self.failures {
            writeln!(text, "FAILED {failure}")?;
        }
        writeln!(text, "{} passed, {} failed", (self.values + self.called).saturating_sub(self.failed), self.failed)?;
        Ok(text)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Fallible<bool> {
    let mut report = Report { show: arguments.show, ..Report::default() };
    let lists = arguments.selection.read()?;
    for list in &lists {
        judge(list, &mut report)?;
    }
    if let (Some(program), Some(server)) = (&arguments.program, &arguments.server) {
        let program = Program { path: program.canonicalize()?, server: server.canonicalize()? };
        program.judge(&lists, PROGRAM_LISTS, &arguments.selection.corpus.canonicalize()?, &mut report)?;
    }
    if report.values == 0 {
        return Err("there are no sample values".into());
    }
    io::stdout().write_all(report.to_text()?.as_bytes())?;
    Ok(report.failed == 0)
}

fn judge(list: &List, report: &mut Report) -> Fallible<()> {
    let samples = samples(list)?;
    for index in 0..list.snapshot.tools.len() {
        let schema = list.schema(index, Role::Input).cloned().unwrap_or_default();
        let flags = Flags::new(&schema, own_options());
        report.tools += 1;
        let mut is_plain = true;
        for value in samples.get(&index).into_iter().flatten() {
            let Value::Object(arguments) = value else { continue };
            report.values += 1;
            let words = flags.print(arguments);
            is_plain &= count_forms(&words, report);
            let show = |words: &[String], what: &str| {
                format!("{} / {}: {value}\n  {words:?}\n  {what}", list.name, list.tool_name(index))
            };
            match read_back(&flags, &words) {
                Ok(read) if is_same(&read, arguments) => {}
                Ok(read) => report.fail(|| show(&words, &format!("became {}", Value::Object(read)))),
                Err(faults) => report.fail(|| show(&words, &faults)),
            }
            let words = forced(&flags, arguments);
            match read_back(&flags, &words) {
                Ok(read) if is_same(&read, arguments) => report.forced += 1,
                Ok(read) => report.fail(|| show(&words, &format!("became {}", Value::Object(read)))),
                Err(faults) => report.fail(|| show(&words, &faults)),
            }
        }
        report.plain_tools += usize::from(is_plain);
    }
    Ok(())
}

/// The valid sample values of each tool.
fn samples(list: &List) -> Fallible<BTreeMap<usize, Vec<Value>>> {
    let mut samples: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
    for line in &list.samples {
        let read = Samples::parse(line)?;
        if read.role == Role::Input {
            samples.entry(read.index).or_default().extend(read.valid);
        }
    }
    Ok(samples)
}

/// Of each tool the longest of its sample values that can be used.
fn longest_values(list: &List, can_use: impl Fn(&str) -> bool) -> Fallible<Vec<(usize, Map<String, Value>)>> {
    let mut longest = Vec::new();
    for (index, values) in samples(list)? {
        let usable = values.into_iter().map(|value| (value.to_string(), value)).filter(|(text, _)| can_use(text));
        if let Some((_, Value::Object(arguments))) = usable.max_by_key(|(text, _)| text.len()) {
            longest.push((index, arguments));
        }
    }
    Ok(longest)
}

fn read_back(flags: &Flags, words: &[String]) -> Result<Map<String, Value>, String> {
    flags.parse(words, &mut |file| Err(format!("{file:?} is not to be read"))).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        faults.join("; ")
    })
}

/// Returns `true` if both are equal to the last digit, in any order.
fn is_same(left: &Map<String, Value>, right: &Map<String, Value>) -> bool {
    left == right
}

/// Each property as JSON, under the name that the help gives it, or under any that `--arg` takes.
fn forced(flags: &Flags, arguments: &Map<String, Value>) -> Vec<String> {
    let listed = |name: &str| flags.list().iter().find(|flag| flag.path == [name]);
    let words = arguments.iter().flat_map(|(name, value)| match listed(name) {
        Some(flag) => match flag.name.split_once(' ') {
            Some((option, name)) => vec![option.to_owned(), format!("{name}:={value}")],
            None => vec![format!("{}:={value}", flag.name)],
        },
        None => vec!["--arg".to_owned(), format!("{}:={value}", Value::from(name.as_str()))],
    });
    words.collect()
}

/// Counts the forms of flags, and says whether all of them are plain.
fn count_forms(words: &[String], report: &mut Report) -> bool {
    let mut is_plain = true;
    for word in words.iter().filter(|word| word.starts_with("--")) {
        let name = word.split('=').next().unwrap_or_default();
        let form = if name == "--args" {
            "that are `--args`"
        } else if name == "--arg" {
            "that are `--arg`"
        } else if name.ends_with(':') {
            "that are JSON"
        } else if name.contains('.') {
            "into objects"
        } else {
            "that are plain"
        };
        is_plain &= !form.contains("JSON") && !form.contains("arg");
        *report.forms.entry(form).or_default() += 1;
    }
    is_plain
}
