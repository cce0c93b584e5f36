//! `sync`: makes the changes that `check` reports.

use std::path::Path;

use serde_json::{Value, json};

use super::{faults, findings};
use crate::args::Servers;
use crate::exit::{Exit, Failure};
use crate::live::{self, Found};
use crate::output::{Output, joined, present};
use crate::plan::{Plan, SnapshotFile, Step};
use crate::project;
use crate::report::{self, Fault, counted};

pub(crate) async fn run(config: Option<&Path>, servers: &Servers, output: &mut Output) -> Result<Exit, Failure> {
    let config = project::load(config, output)?;
    let servers = project::servers(&config, &servers.servers)?;
    let mut exits = Vec::new();
    let mut report: Vec<(String, Value)> = Vec::new();
    live::snapshots(&config, servers, output, |output, found| {
        let name = found.server.name.clone();
        let entry = match save(&config, found) {
            Ok((plan, misfits)) => {
                // They stop the next build.
                exits.push(if misfits.is_empty() { Exit::Done } else { Exit::Failed });
                told(&plan, &misfits, output)
            }
            Err(failure) => {
                exits.push(output.failure(&failure));
                json!({ "server": name, "status": "failed", "error": failure.message })
            }
        };
        report.push((name, entry));
        Ok(())
    })
    .await?;
    report.sort_by(|a, b| a.0.cmp(&b.0));
    let count = |wanted: &str| report.iter().filter(|(_, entry)| entry.get("status") == Some(&json!(wanted))).count();
    let said: Vec<String> = ["created", "updated", "unchanged", "failed"]
        .into_iter()
        .filter(|status| count(status) > 0)
        .map(|status| format!("{} {status}", count(status)))
        .collect();
    output.status("Finished", &format!("{} asked: {}", counted(report.len(), "server"), said.join(", ")));
    output.report(&report.into_iter().map(|(_, entry)| entry).collect())?;
    Ok(Exit::of_all(exits))
}

/// Writes the live snapshot, and returns the faults of bindings.
fn save(config: &mcp_bindgen_model::Config, found: Found) -> Result<(Plan, Vec<Fault>), Failure> {
    let live = found.live.map_err(|error| live::failure(error, &found.server))?;
    let misfits = faults::of_live(config, &found.server.name, &live);
    let file = SnapshotFile::read(config, &found.server.name)?;
    let plan = Plan::new(&found.server.name, &found.server.drift_rules, &file, live)?;
    if !matches!(plan.step, Step::Keep) {
        project::still_has(config, &plan.server)?;
    }
    plan.apply()?;
    Ok((plan, misfits))
}

fn told(plan: &Plan, misfits: &[Fault], output: &mut Output) -> Value {
    let (word, status) = match plan.step {
        Step::Keep => ("Unchanged", "unchanged"),
        Step::Create => ("Created", "created"),
        Step::Replace(_) | Step::Update { .. } => ("Updated", "updated"),
    };
    let (path, tools) = (plan.path.display().to_string(), plan.tools);
    output.status(word, &format!("{path} ({} of {})", counted(tools, "tool"), plan.server));
    findings::changes(plan.changes(), output);
    findings::misfits(&plan.server, misfits, output);
    let changes: Value = plan.changes().iter().map(report::change_json).collect();
    let entry = json!({ "server": plan.server, "status": status, "path": path, "tools": tools, "changes": changes });
    let misfits = (!misfits.is_empty()).then(|| misfits.iter().map(|misfit| json!(misfit.text)).collect());
    joined(entry, present([("misfits", misfits)]))
}
