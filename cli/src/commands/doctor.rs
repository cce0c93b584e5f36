//! `doctor`: reports problems of the environment, with their solutions.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::doctor::{self, ERROR, FINE, Finding, Live, WARNING};
use crate::exit::{Exit, Result};
use crate::output::Output;
use crate::report::counted;
use crate::{live, project};

/// How many servers of one finding are named.
const MOST_NAMED: usize = 8;

pub(crate) async fn run(config: Option<&Path>, names: &[String], connects: bool, output: &mut Output) -> Result<Exit> {
    let config = project::load_for(config, names, output)?;
    let is_empty = config.servers.is_empty() && names.is_empty();
    let servers = if is_empty { Vec::new() } else { project::servers(&config, names)? };
    let servers: Vec<_> = servers.iter().map(|server| config.with_defaults(server)).collect();
    let mut live = Live::new();
    if connects {
        live::snapshots(&config, servers.clone(), output, |_, server, answer| {
            live.insert(server.name, answer);
            Ok(())
        })
        .await?;
    }
    let findings = doctor::findings(&config, &servers, &live).await;
    let told = grouped(&findings);
    told.iter().for_each(|(servers, finding)| tell(servers, finding, output));
    let to_json = |Finding { server, subject, level, text, help }: &Finding| json!({ "server": server, "subject": subject, "level": level, "text": text, "help": help });
    output.report(&json!({ "format": 1, "findings": findings.iter().map(to_json).collect::<Value>() }))?;
    let count = |level: &str| told.iter().filter(|(_, finding)| finding.level == level).count();
    let (errors, warnings) = (count(ERROR), count(WARNING));
    let said = format!("{}, {}", counted(errors, "error"), counted(warnings, "warning"));
    output.status("Finished", &format!("{} checked: {said}", counted(servers.len(), "server")));
    Ok(if errors > 0 { Exit::Failed } else { Exit::Done })
}

/// Puts findings that say the same of several servers together, in the order in which they came.
fn grouped(findings: &[Finding]) -> Vec<(Vec<&str>, &Finding)> {
    let mut groups: Vec<(Vec<&str>, &Finding)> = Vec::new();
    let mut known = BTreeMap::new();
    for finding in findings {
        let Finding { server, subject, level, text, help } = finding;
        let at = *known.entry((subject, level, text, help)).or_insert(groups.len());
        match groups.get_mut(at) {
            Some((servers, _)) => servers.extend(server.as_deref()),
            None => groups.push((server.as_deref().into_iter().collect(), finding)),
        }
    }
    groups
}

fn tell(servers: &[&str], finding: &Finding, output: &mut Output) {
    let shown = servers.get(..MOST_NAMED).unwrap_or(servers);
    let more = match servers.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let servers = if shown.is_empty() { String::new() } else { format!("{}{more}: ", shown.join(", ")) };
    let text = format!("{servers}{}: {}", finding.subject, finding.text);
    let help = finding.help.as_ref().map(|help| format!("\n  = help: {help}")).unwrap_or_default();
    match finding.level {
        FINE => output.status("Fine", &text),
        level => output.diagnostic(level, &format!("{text}{help}")),
    }
}
