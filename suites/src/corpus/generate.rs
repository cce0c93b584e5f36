//! The first stage: every list through the generator.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use mcp_bindgen_codegen::{Bindings, Coverage, Diagnostics, Options, Severity, format};
use mcp_bindgen_model::{Snapshot, UnknownKeys};
use mcp_samples::corpus::{List, Origin};

use crate::corpus::report::{Fault, Report};

/// A list with its bindings.
pub(crate) struct Bound {
    pub(crate) list: List,
    say: Say,
    /// The file with the bindings in their crate, and the module that it is.
    pub(crate) file: String,
    pub(crate) source: String,
    pub(crate) tools: Vec<BoundTool>,
}

/// The types of a tool, as paths inside the file.
pub(crate) struct BoundTool {
    pub(crate) index: usize,
    pub(crate) params: String,
    pub(crate) output: Option<String>,
}

/// The options of the user for the bindings.
#[derive(Clone, Copy)]
pub(crate) struct Say {
    pub(crate) unknown: UnknownKeys,
    /// All switches are on.
    pub(crate) switches: bool,
}

struct Generated {
    source: String,
    tools: Vec<BoundTool>,
    diagnostics: Diagnostics,
    coverage: Coverage,
    generating: Duration,
}

pub(crate) fn run(lists: Vec<List>, say: Say, report: &mut Report) -> Vec<Bound> {
    let mut files = HashSet::new();
    let mut figures = BTreeMap::new();
    let mut bound = Vec::new();
    for list in lists {
        let file = file_name(&list.name, &mut files);
        let figures: &mut Figures = figures.entry(list.origin).or_default();
        figures.lists += 1;
        figures.tools += list.snapshot.tools.len();
        report.count_tools(&list);
        match generate(&list, say, &BTreeSet::new()) {
            Ok(generated) => {
                figures.add(&list, &generated);
                for index in missing(&list, &generated) {
                    report.fault(&list, index, Fault::NotGenerated("the generator does not bind it".to_owned()));
                }
                let Generated { source, tools, .. } = generated;
                bound.push(Bound { list, say, file, source, tools });
            }
            Err(error) => {
                figures.lost += 1;
                for index in 0..list.snapshot.tools.len() {
                    report.fault(&list, index, Fault::NotGenerated(error.clone()));
                }
            }
        }
    }
    for (origin, figures) in figures {
        figures.report(origin, report);
    }
    bound
}

/// Generates a list again, leaving out some of its tools.
pub(crate) fn regenerate(bound: &mut Bound, without: &BTreeSet<usize>) -> Result<(), String> {
    let Generated { source, tools, .. } = generate(&bound.list, bound.say, without)?;
    bound.source = source;
    bound.tools = tools;
    Ok(())
}

fn generate(list: &List, say: Say, without: &BTreeSet<usize>) -> Result<Generated, String> {
    let mut snapshot = list.snapshot.clone();
    let mut index = 0..;
    snapshot.tools.retain(|_| index.next().is_some_and(|index| !without.contains(&index)));
    catch_unwind(AssertUnwindSafe(|| generate_snapshot(list, say, without, &snapshot)))
        .unwrap_or_else(|panic| Err(format!("the generator panics: {}", panic_text(panic.as_ref()))))
}

fn generate_snapshot(
    list: &List,
    say: Say,
    without: &BTreeSet<usize>,
    snapshot: &Snapshot,
) -> Result<Generated, String> {
    let options = Options::new(server_name(&list.name)).unknown(say.unknown);
    let options = options.setters(say.switches).named(say.switches).checked(say.switches);
    let started = Instant::now();
    let (tokens, diagnostics) = Bindings::generate(snapshot, &options);
    let generating = started.elapsed();
    let (bindings, _) = Bindings::describe(snapshot, &options);

    let kept: Vec<usize> = (0..list.snapshot.tools.len()).filter(|index| !without.contains(index)).collect();
    let mut tools = Vec::new();
    for binding in bindings {
        let index = kept.get(binding.index).copied().ok_or_else(|| format!("no tool {}", binding.index))?;
        if binding.diagnostics.iter().all(|diagnostic| diagnostic.code.severity < Severity::Error) {
            let path = |name: String| format!("{}::{name}", binding.module);
            tools.push(BoundTool { index, params: path(binding.params_type), output: binding.output_type.map(path) });
        }
    }
    let coverage = Bindings::coverage(snapshot, &options);
    let source = format(tokens).map_err(|error| format!("the bindings do not parse: {error}"))?;
    Ok(Generated { source, tools, diagnostics, coverage, generating })
}

fn missing(list: &List, generated: &Generated) -> Vec<usize> {
    let bound: BTreeSet<_> = generated.tools.iter().map(|tool| tool.index).collect();
    (0..list.snapshot.tools.len()).filter(|index| !bound.contains(index)).collect()
}

#[derive(Default)]
struct Figures {
    lists: usize,
    tools: usize,
    generated: usize,
    lost: usize,
    generating: Duration,
    slowest: (Duration, String),
    lines: usize,
    declared: usize,
    untyped: usize,
    by_code: BTreeMap<&'static str, (usize, &'static str)>,
}

impl Figures {
    fn add(&mut self, list: &List, generated: &Generated) {
        self.generated += generated.tools.len();
        self.generating += generated.generating;
        self.slowest = self.slowest.clone().max((generated.generating, list.name.clone()));
        self.lines += generated.source.lines().count();
        self.declared += generated.coverage.declared;
        self.untyped += generated.coverage.untyped;
        for diagnostic in &generated.diagnostics {
            self.by_code.entry(diagnostic.code.id).or_insert((0, diagnostic.code.title)).0 += 1;
        }
    }

    fn report(&self, origin: Origin, report: &mut Report) {
        let milliseconds = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
        report.figure(origin, "lists", self.lists);
        report.figure(origin, "tools", self.tools);
        report.share(origin, "tools generated", self.generated, self.tools);
        report.none_of(origin, "lists lost to a panic or to code that does not parse", self.lost);
        report.figure(origin, "time in the generator", milliseconds(self.generating));
        let (time, name) = &self.slowest;
        report.figure(origin, "slowest list", format!("{} ({name})", milliseconds(*time)));
        report.figure(origin, "lines generated", self.lines);
        for (id, (count, title)) in &self.by_code {
            report.figure(origin, &format!("{id} {title}"), *count);
        }
        let untyped = "properties with a declared type that became Value";
        match origin {
            Origin::Corpus => report.at_most(origin, untyped, self.untyped, self.declared, 0.005),
            Origin::Suite => report.figure(origin, untyped, self.untyped),
        }
    }
}

/// Server names are lower-case letters, digits, `_` and `-`, at most 64 of them.
fn server_name(list: &str) -> String {
    let valid = |character: char| character.is_ascii_alphanumeric() || character == '-' || character == '_';
    let name: String = list.chars().map(|character| if valid(character) { character } else { '_' }).take(64).collect();
    name.trim_start_matches(['-', '_']).to_ascii_lowercase()
}

fn file_name(list: &str, taken: &mut HashSet<String>) -> String {
    let name = server_name(list);
    let words: Vec<&str> = name.split(['-', '_']).filter(|word| !word.is_empty()).collect();
    let base = format!("list_{}", words.join("_"));
    let mut file = base.clone();
    let mut count = 1;
    while !taken.insert(file.clone()) {
        count += 1;
        file = format!("{base}_{count}");
    }
    file
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a message".to_owned())
}
