//! The suite of what providers of models take: every real tool rewritten for each of them, what comes out judged by a
//! checker of their rules, and every sample value sent as a model would and brought back.

mod checker;
mod damage;
mod hard;
mod refusals;
mod report;
mod rewritten;
mod samples;
mod send;

use std::io::{self, Write};

use checker::{Provider, beyond_ceilings};
use clap::Args;
use mcp_bindgen_model::Snapshot;
use mcp_bindgen_schema::Role;
use mcp_samples::corpus::{Samples, json_files, stem};
use mcp_samples::{Fallible, repository};
use report::Report;
use rewritten::Rewritten;

use crate::selection::Selection;

/// Rewrites real tools for each provider of models, and checks the results against the providers' rules.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// The number of damaged and random schemas that are rewritten.
    #[arg(long, value_name = "COUNT", default_value_t = 2400)]
    mutations: usize,
    /// Damages other places.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// The number of failures of each kind that are printed.
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    show: usize,
}

pub(crate) fn run(arguments: &Arguments) -> Fallible<bool> {
    let mut report = Report::showing(arguments.show);
    let (known, wrong) = refusals::judge();
    report.pass(known);
    report.line(format!("{known} schemas that providers are known to refuse or to take, judged as known"));
    for failure in wrong {
        report.fail("known refusals", || failure);
    }

    let lists = arguments.selection.read()?;
    let mut figures = samples::Figures::default();
    let mut schemas = Vec::new();
    let mut beyond = 0;
    for list in &lists {
        let mut strict = Vec::new();
        let mut lines = list.samples.iter().map(|line| Samples::parse(line)).collect::<Fallible<Vec<_>>>()?;
        lines.retain(|samples| samples.role == Role::Input);
        for index in 0..list.snapshot.tools.len() {
            let Some(schema) = list.schema(index, Role::Input) else {
                report.fail("a tool without an inputSchema", || format!("{}/{index}", list.name));
                continue;
            };
            let name = format!("{} / {}", list.name, list.tool_name(index));
            let rewritten = Rewritten::of(&name, schema, &mut report, true);
            for samples in lines.iter().filter(|samples| samples.index == index) {
                figures.judge(&rewritten, &samples.valid, &mut report);
            }
            let anthropic = rewritten.each.iter().find(|(provider, ..)| *provider == Provider::Anthropic);
            strict.extend(anthropic.and_then(|(_, exact, _)| Some(exact.as_ref()?.schema.clone())));
            schemas.push(schema);
        }
        beyond += usize::from(!beyond_ceilings(&strict).is_empty());
    }
    report.line(format!(
        "{beyond} of {} servers would break a ceiling of Anthropic's were all that can be strict, alone in a request",
        lists.len()
    ));
    figures.report(&mut report);

    let mut hostile = 0;
    for path in json_files(&repository().join("fixtures/hostile"))? {
        let snapshot = Snapshot::load(&path)?;
        for tool in &snapshot.tools {
            let schema = tool.get("inputSchema").cloned().unwrap_or_default();
            drop(Rewritten::of(&format!("hostile {}", stem(&path)), &schema, &mut report, false));
            hostile += 1;
        }
    }
    report.line(format!("{hostile} hostile tools rewritten for each provider"));
    hard::judge(&mut report);
    damage::judge(&schemas, arguments, &mut report);
    if !arguments.selection.is_partial() && lists.is_empty() {
        return Err("there are no lists".into());
    }
    io::stdout().write_all(report.to_text().as_bytes())?;
    Ok(report.succeeded())
}
