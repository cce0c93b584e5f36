//! The second stage: the bindings through rustc, every warning an error, into programs that use the types.

use std::collections::{BTreeMap, BTreeSet};

use mcp_samples::Fallible;
use mcp_samples::corpus::Origin;

use crate::corpus::batches::Batches;
use crate::corpus::cargo::{self, Complaint};
use crate::corpus::generate::{Bound, regenerate};
use crate::corpus::report::{Fault, Report};
use crate::corpus::tell;

/// An error can hide others; after so many rounds, what is left of a list is left out.
const ROUNDS: usize = 6;

pub(crate) fn run(batches: &Batches, bound: &mut [Bound], report: &mut Report) -> Fallible<()> {
    let mut left_out: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for round in 1.. {
        batches.write_bindings(bound)?;
        let outcome = cargo::build(&batches.scratch)?;
        let first = outcome.complaints.first().map(|complaint| complaint.rendered.clone());
        let complaints = by_list(bound, outcome.complaints);
        if complaints.is_empty() {
            if outcome.succeeded {
                break;
            }
            let reason = first.unwrap_or(outcome.log);
            return Err(format!("the bindings do not compile, and rustc blames none of them:\n{reason}").into());
        }
        tell(&format!("compile: {} lists with errors in round {round}", complaints.len()));
        for (place, complaints) in complaints {
            let Some(list) = bound.get_mut(place) else { continue };
            let without = left_out.entry(place).or_default();
            without.extend(blame(list, &complaints, round, report));
            regenerate(list, without)?;
        }
    }
    figures(bound, Origin::Corpus, report);
    figures(bound, Origin::Suite, report);
    Ok(())
}

/// Records the complaints about a list; says which tools they are about.
fn blame(bound: &Bound, complaints: &[Complaint], round: usize, report: &mut Report) -> BTreeSet<usize> {
    let mut blamed = BTreeSet::new();
    for complaint in complaints {
        if let Some(index) = tool_at(bound, complaint.line).filter(|_| round < ROUNDS)
            && blamed.insert(index)
        {
            let first = complaint.rendered.lines().next().unwrap_or_default();
            tell(&format!("compile: {} {:?}: {first}", bound.list.name, bound.list.tool_name(index)));
            report.fault(&bound.list, index, Fault::NotCompiled(complaint.rendered.clone()));
        }
    }
    if let (true, Some(complaint)) = (blamed.is_empty(), complaints.first()) {
        for tool in &bound.tools {
            report.fault(&bound.list, tool.index, Fault::NotCompiled(complaint.rendered.clone()));
            blamed.insert(tool.index);
        }
    }
    blamed
}

/// The complaints about each list, by its place in the slice.
fn by_list(bound: &[Bound], complaints: Vec<Complaint>) -> BTreeMap<usize, Vec<Complaint>> {
    let places: BTreeMap<&str, usize> =
        bound.iter().enumerate().map(|(place, list)| (list.file.as_str(), place)).collect();
    let mut found: BTreeMap<usize, Vec<Complaint>> = BTreeMap::new();
    for complaint in complaints {
        if let Some(place) = complaint.file.as_deref().and_then(|file| places.get(file)) {
            found.entry(*place).or_default().push(complaint);
        }
    }
    found
}

/// The tool that a line of the bindings belongs to: the nearest one above whose types are named.
fn tool_at(bound: &Bound, line: usize) -> Option<usize> {
    let stems: BTreeMap<&str, usize> = bound
        .tools
        .iter()
        .map(|tool| {
            let name = tool.params.rsplit("::").next().unwrap_or(&tool.params);
            (name.strip_suffix("Params").unwrap_or(name), tool.index)
        })
        .collect();
    let lines: Vec<&str> = bound.source.lines().take(line).collect();
    lines.into_iter().rev().find_map(|line| {
        let words = line.split(|character: char| !character.is_alphanumeric() && character != '_');
        words.filter_map(|word| longest_stem(&stems, word)).next()
    })
}

fn longest_stem(stems: &BTreeMap<&str, usize>, word: &str) -> Option<usize> {
    let ends = word.char_indices().map(|(start, character)| start + character.len_utf8());
    ends.rev().find_map(|end| stems.get(word.get(..end)?).copied())
}

fn figures(bound: &[Bound], origin: Origin, report: &mut Report) {
    let compiled = bound.iter().filter(|list| list.list.origin == origin).map(|list| list.tools.len()).sum();
    let tools = report.tools(origin);
    if tools > 0 {
        report.share(origin, "tools that compile without a warning", compiled, tools);
    }
}
