//! `doctor`: what stands in the way, and what mends it.

use std::path::Path;

use serde_json::{Value, json};

use crate::args::Servers;
use crate::doctor::{self, Finding, Level};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::project;
use crate::report::counted;

pub(crate) async fn run(config: Option<&Path>, servers: &Servers, output: &mut Output) -> Result<Exit, Failure> {
    let config = project::load(config, output)?;
    let is_empty = config.servers.is_empty() && servers.servers.is_empty();
    let servers = if is_empty { Vec::new() } else { project::servers(&config, &servers.servers)? };
    let findings = doctor::findings(&config, &servers).await;
    for finding in &findings {
        tell(finding, output);
    }
    if output.json() {
        let findings: Value = findings.iter().map(to_json).collect();
        output.data_json(&json!({ "format": 1, "findings": findings }))?;
    }
    let count = |level: Level| findings.iter().filter(|finding| finding.level == level).count();
    let (errors, warnings) = (count(Level::Error), count(Level::Warning));
    let said = format!("{}, {}", counted(errors, "error"), counted(warnings, "warning"));
    output.status("Finished", &format!("{} looked at: {said}", counted(servers.len(), "server")));
    Ok(if errors > 0 { Exit::Failed } else { Exit::Done })
}

fn tell(finding: &Finding, output: &mut Output) {
    let server = finding.server.as_ref().map(|server| format!("{server}: ")).unwrap_or_default();
    let text = format!("{server}{}: {}", finding.subject, finding.text);
    let help = finding.help.as_ref().map(|help| format!("\n  = help: {help}")).unwrap_or_default();
    match finding.level {
        Level::Fine => output.status("Fine", &text),
        Level::Warning => output.warning(&format!("{text}{help}")),
        Level::Error => output.error(&format!("{text}{help}")),
    }
}

fn to_json(finding: &Finding) -> Value {
    let level = match finding.level {
        Level::Fine => "fine",
        Level::Warning => "warning",
        Level::Error => "error",
    };
    let Finding { server, subject, text, help, .. } = finding;
    json!({ "server": server, "subject": subject, "level": level, "text": text, "help": help })
}
