//! Overrides over the tools of a snapshot.

use serde_json::{Map, Value};

use super::merge::{Misfit, merge};
use super::{Overrides, ToolOverride, inside, tool_pointer};
use crate::json_text::fault;
use crate::{FileError, Overridden, Snapshot, nearest, printable};

/// Applies overrides to a snapshot, and collects those that do not fit.
pub(super) fn apply(overrides: &Overrides, snapshot: &Snapshot) -> (Snapshot, Vec<FileError>) {
    let mut mended = snapshot.clone();
    let mut misfits = Vec::new();
    for (name, said) in overrides.tools.iter() {
        let target = Target { overrides, name };
        match target.find(&snapshot.tools) {
            Ok(place) => {
                let Some(Value::Object(tool)) = mended.tools.get_mut(place) else { continue };
                let declared = tool.clone();
                misfits.extend(target.mend(tool, &declared, said));
                let overridden = Overridden { declared: declared.into(), learned_from: said.learned_from };
                mended.overridden.insert(name.clone(), overridden);
            }
            Err(error) => misfits.push(error),
        }
    }
    (mended, misfits)
}

/// The tool that an override is for.
struct Target<'a> {
    overrides: &'a Overrides,
    name: &'a str,
}

impl Target<'_> {
    fn error(&self, below: &str, message: String) -> FileError {
        let error = fault(&self.overrides.text, &format!("{}{below}", tool_pointer(self.name)), message);
        let error = error.inside(inside(self.name, below.strip_prefix("/patch").unwrap_or(below)));
        FileError { path: self.overrides.path.clone(), ..error }
    }

    /// Returns the place of the tool among those of the snapshot.
    fn find<'t>(&self, tools: &'t [Value]) -> Result<usize, FileError> {
        let name = |tool: &'t Value| tool.get("name").and_then(Value::as_str);
        let mut found = tools.iter().enumerate().filter(|(_, tool)| name(tool) == Some(self.name));
        let shown = printable(self.name);
        match (found.next(), found.next()) {
            (Some((place, _)), None) => Ok(place),
            (Some(_), Some(_)) => {
                let message = format!("the server has several tools named `{shown}`, so an override is ambiguous");
                Err(self.error("", message).with_help("remove it"))
            }
            (None, _) => {
                let near = nearest(self.name, tools.iter().filter_map(name));
                // Each by itself: a character may be escaped at the beginning of a name alone.
                let near: Vec<String> = near.into_iter().map(printable).collect();
                let help = match near.as_slice() {
                    [] => "remove it; `mcp-bindgen list` shows the tools of a snapshot".to_owned(),
                    near => format!("did you mean `{}`?", near.join("`, `")),
                };
                Err(self.error("", format!("unknown tool `{shown}` in the overrides")).with_help(help))
            }
        }
    }

    fn mend(
        &self,
        tool: &mut Map<String, Value>,
        declared: &Map<String, Value>,
        said: &ToolOverride,
    ) -> Vec<FileError> {
        let mut misfits = Vec::new();
        for (key, patch) in &said.patch {
            misfits.extend(self.patch(tool, key, patch));
        }
        if let Some(schema) = &said.output_schema {
            tool.insert("outputSchema".to_owned(), schema.clone());
        }
        if misfits.is_empty() && tool == declared {
            let message =
                format!("the override of tool `{}` has no effect: the server declares the same", printable(self.name));
            misfits.push(self.error("", message).with_help("remove it"));
        }
        misfits
    }

    /// Patches one of the two schemas.
    fn patch(&self, tool: &mut Map<String, Value>, key: &str, patch: &Value) -> Vec<FileError> {
        let below = format!("/patch/{key}");
        let Value::Object(patch) = patch else {
            return match tool.shift_remove(key) {
                Some(_) => Vec::new(),
                None => vec![self.misfit(key, "", Misfit::NothingToRemove)],
            };
        };
        if key == "outputSchema" && !tool.contains_key(key) {
            let message = format!("tool `{}` has no `outputSchema` to patch", printable(self.name));
            return vec![self.error(&below, message).with_help("add a whole `outputSchema` beside `patch`")];
        }
        let schema = tool.entry(key).or_insert(Value::Null);
        merge(schema, patch).into_iter().map(|(pointer, misfit)| self.misfit(key, &pointer, misfit)).collect()
    }

    fn misfit(&self, key: &str, pointer: &str, misfit: Misfit) -> FileError {
        let tool = printable(self.name);
        let below = format!("/patch/{key}{pointer}");
        match misfit {
            Misfit::Gone { name, near } => {
                let message =
                    format!("the patch of tool `{tool}` changes `{}`, which does not exist", printable(&name));
                let mut help = "a patch changes declared parts; add new constraints in `allOf`".to_owned();
                if let Some(near) = near {
                    help = format!("did you mean `{}`? {help}", printable(&near));
                }
                self.error(&below, message).with_help(help)
            }
            Misfit::NothingToRemove => {
                let message = format!("the patch of tool `{tool}` removes a key that does not exist");
                self.error(&below, message).with_help("`null` removes a key; delete this line")
            }
        }
    }
}
