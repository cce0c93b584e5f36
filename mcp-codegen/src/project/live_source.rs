//! Servers as they are now, in the place of their snapshots.

use std::path::{Path, PathBuf};

use mcp_bindgen_model::{Date, DriftRules, FileError, Snapshot, printable};
use mcp_bindgen_schema::drift;

use super::{Project, Source};
use crate::live::{Captured, VARIABLE};
use crate::options::Options;
use crate::paths::relative;

impl Project {
    /// Asks the server of the snapshot at a path, if the build may ask it.
    pub(super) fn ask(&self, server: &str, path: &Path) -> Option<Result<Captured, String>> {
        self.live.ask(self.config.as_ref()?, server, || Snapshot::load(path).ok())
    }

    /// Returns the snapshot for the bindings, and the differences between the live server and the file.
    pub(super) fn read_live(
        &self,
        server: &str,
        path: PathBuf,
        options: Options,
        outcome: Result<Captured, String>,
    ) -> Result<Source, FileError> {
        let shown = relative(&self.manifest_dir, &path);
        let captured = match outcome {
            Ok(captured) => captured,
            Err(why) if path.is_file() => {
                let mut source = self.read_file(server, path, options)?;
                source.warnings.push(unreachable(server, &shown, &why));
                return Ok(source);
            }
            Err(why) => return Err(unreachable_without_snapshot(server, &shown, &why)),
        };
        let named = |error: FileError| self.shown(error.in_file(&captured.path));
        // From the text, as the macro will read it once `sync` has written it.
        let snapshot = Snapshot::parse(&captured.text).map_err(named)?;
        let warning = match Snapshot::load(&path) {
            Ok(known) => {
                let configured = self.config.as_ref().and_then(|config| config.servers.get(server));
                let rules = configured.map(|configured| configured.drift_rules.clone()).unwrap_or_default();
                differences(server, &rules, &shown, (&known, &snapshot))
            }
            Err(error) if path.is_file() => Some(unreadable(server, &self.shown(error))),
            Err(_) => None,
        };
        let mut source = self.source(options, path, snapshot, captured.text, Some(&captured.path))?;
        source.warnings.extend(warning);
        Ok(source)
    }
}

/// The maximum number of listed changes.
const MOST_TOLD: usize = 20;

/// Returns the warning that a server differs from its snapshot, or `None` if the differences do not matter.
fn differences(
    server: &str,
    rules: &DriftRules,
    shown: &Path,
    (known, live): (&Snapshot, &Snapshot),
) -> Option<String> {
    let mut changes = drift::diff(known, live);
    drift::apply(rules, &mut changes, Date::today());
    if changes.is_empty() {
        return None;
    }
    let mut lines =
        vec![format!("{server} differs from its snapshot; these bindings match the live server"), at(shown)];
    lines.extend(drift::told(&changes, MOST_TOLD));
    let more = drift::untold(&changes, MOST_TOLD);
    if more > 0 {
        lines.push(format!("and {more} more changes; run `mcp-bindgen check {server}` for all"));
    }
    lines.push(format!("  = help: review the changes and run `mcp-bindgen sync {server}`"));
    Some(lines.join("\n"))
}

/// Returns the warning that the snapshot cannot be read.
fn unreadable(server: &str, error: &FileError) -> String {
    let error = FileError { help: Some(format!("run `mcp-bindgen sync {server}` to write it again")), ..error.clone() };
    format!("the bindings of {server} match the live server, because its snapshot cannot be read: {error}")
}

/// Returns the warning that the server is unreachable and its snapshot is used.
fn unreachable(server: &str, shown: &Path, why: &str) -> String {
    let help = format!("  = help: to build without connecting, remove it from {VARIABLE}");
    format!("failed to connect to {server}, using its snapshot: {}\n{}\n{help}", printable_lines(why), at(shown))
}

/// Returns the error of a server without a snapshot that could not be asked.
fn unreachable_without_snapshot(server: &str, shown: &Path, why: &str) -> FileError {
    let message =
        format!("{server} has no snapshot, {}, and connecting failed: {}", shown.display(), printable_lines(why));
    FileError::new(message).with_help(format!(
        "build with {VARIABLE}={server} where it is reachable; or run `mcp-bindgen sync {server}` there, and commit \
         the file"
    ))
}

fn at(shown: &Path) -> String {
    format!(" --> {}", shown.display())
}

/// Makes untrusted text printable, line by line.
fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(tools: &str) -> Snapshot {
        Snapshot::parse(&format!("{{\"tools\": [{tools}]}}")).unwrap()
    }

    #[test]
    fn differences_are_reported_in_the_format_of_check() {
        let old = snapshot(r#"{"name":"find","inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}}"#);
        let tool = |name: &str| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object","required":["q"]}}}}"#);
        let new = snapshot(&tool("find"));
        let shown = Path::new("mcp/x.json");
        let rules = DriftRules::default();
        assert_eq!(differences("x", &rules, shown, (&old, &old)), None);
        let said = differences("x", &rules, shown, (&old, &new)).unwrap();
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(
            lines[..2],
            ["x differs from its snapshot; these bindings match the live server", " --> mcp/x.json",]
        );
        assert!(lines[2].starts_with("breaking    find /inputSchema/properties/q: "), "{said}");
        assert_eq!(lines[3], "            = may be sent, and is refused now: {}", "{said}");
        assert_eq!(lines.last(), Some(&"  = help: review the changes and run `mcp-bindgen sync x`"));

        let with = |properties: usize| {
            let properties: Vec<String> = (0..properties).map(|at| format!(r#""p{at}":{{"type":"string"}}"#)).collect();
            let properties = properties.join(",");
            snapshot(&format!(r#"{{"name":"find","inputSchema":{{"type":"object","properties":{{{properties}}}}}}}"#))
        };
        let said = differences("x", &rules, shown, (&with(0), &with(30))).unwrap();
        assert!(said.contains("\nand 10 more changes; run `mcp-bindgen check x` for all\n"), "{said}");
    }

    #[test]
    fn server_text_is_escaped_in_messages() {
        let said = unreachable("x", Path::new("mcp/x.json"), "no \u{1b}[31m\nits last lines:\n  a\u{202e}b");
        assert!(said.contains("no \\u{1b}[31m\nits last lines:\n  a\\u{202e}b\n --> mcp/x.json"), "{said}");
        let error = unreachable_without_snapshot("x", Path::new("mcp/x.json"), "why");
        let help = error.help.unwrap_or_default();
        assert_eq!(error.message, "x has no snapshot, mcp/x.json, and connecting failed: why");
        assert!(help.contains("MCP_BINDGEN_LIVE=x") && help.contains("`mcp-bindgen sync x`"), "{help}");
    }
}
