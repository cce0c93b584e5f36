//! Snapshots as bindings have them: with overrides and views.

use mcp_bindgen_model::{FileError, Overrides, ServerConfig, Snapshot, printable};
use mcp_bindgen_schema::apply_views;
use mcp_bindgen_schema::diagnostics::{Diagnostic, Diagnostics, Reporter};
use mcp_bindgen_schema::{Document, Role};
use serde_json::Value;

/// Applies overrides and the views of a server's configuration to a snapshot.
///
/// # Errors
/// Returns everything that does not fit the snapshot.
pub fn snapshot_for_bindings(
    snapshot: Snapshot,
    overrides: Option<&Overrides>,
    server: Option<&ServerConfig>,
) -> Result<Snapshot, Vec<FileError>> {
    let snapshot = match overrides {
        Some(overrides) => apply_overrides(&snapshot, overrides)?,
        None => snapshot,
    };
    match server.filter(|server| !server.views.is_empty()) {
        Some(server) => apply_views(&snapshot, server),
        None => Ok(snapshot),
    }
}

/// Applies overrides to a snapshot. Their schemas are read as the generator reads them.
///
/// # Errors
/// Fails with all overrides that do not match the snapshot, or else with all malformed schemas.
///
/// ```
/// use mcp_bindgen_codegen::apply_overrides;
/// use mcp_bindgen_model::{Overrides, Snapshot};
///
/// let snapshot = Snapshot::parse(r#"{ "tools": [{ "name": "count", "inputSchema": { "type": "object" } }] }"#)?;
/// let overrides = Overrides::parse(r#"{ "tools": { "count": { "outputSchema": { "type": "int" } } } }"#)?;
/// let faults = apply_overrides(&snapshot, &overrides).unwrap_err();
/// assert_eq!(faults[0].message, "the type is not a JSON type: `int`");
/// # Ok::<(), mcp_bindgen_model::FileError>(())
/// ```
pub fn apply_overrides(snapshot: &Snapshot, overrides: &Overrides) -> Result<Snapshot, Vec<FileError>> {
    let mended = overrides.apply(snapshot).map_err(|_| overrides.misfits(snapshot))?;
    let mut faults = Vec::new();
    for (name, overridden) in mended.overridden.iter() {
        let Some(index) = mended.tools.iter().position(|tool| tool.get("name").is_some_and(|found| found == name))
        else {
            continue;
        };
        for (role, root) in [(Role::Input, "/inputSchema"), (Role::Output, "/outputSchema")] {
            let said = |tool: &Value| read(tool, name, index, role, root);
            let (before, after) = (said(&overridden.declared), mended.tools.get(index).map(said).unwrap_or_default());
            let is_ours = |said: &&Diagnostic| {
                said.code.is_malformed()
                    && (overrides.position(name, &said.pointer).is_some() || !before.iter().any(|known| known == *said))
            };
            faults.extend(after.iter().filter(is_ours).map(|said| fault(overrides, said)));
        }
    }
    if faults.is_empty() { Ok(mended) } else { Err(faults) }
}

/// Returns the diagnostics about one schema of a tool.
fn read(tool: &Value, name: &str, index: usize, role: Role, root: &'static str) -> Diagnostics {
    let mut reporter = Reporter::new(name, index, root);
    if let Some(schema) = tool.pointer(root) {
        let _ = Document::read(schema, role, &mut reporter);
    }
    reporter.finish()
}

fn fault(overrides: &Overrides, said: &Diagnostic) -> FileError {
    let inside = format!("tool {}, {}", printable(&said.tool), printable(&said.pointer));
    let position = overrides.position(&said.tool, &said.pointer).or_else(|| overrides.position(&said.tool, ""));
    let error = FileError::new(said.summary()).inside(inside).with_help("expected a JSON Schema for the override");
    FileError { path: overrides.path().map(Into::into), position, ..error }
}
