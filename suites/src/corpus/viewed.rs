//! Lists whose tools have one of their arguments fixed, as a view in `mcp.toml` does it, with the sample values that are
//! still possible then.

use mcp_bindgen_model::View;
use mcp_bindgen_runtime::validate::Validator;
use mcp_bindgen_schema::{Role, viewed_tool};
use mcp_samples::Fallible;
use mcp_samples::corpus::{List, Samples};
use serde_json::{Value, json};

/// The counts of tools over all lists.
#[derive(Default)]
pub(crate) struct Viewed {
    pub(crate) tools: usize,
    /// Tools without arguments.
    pub(crate) without: usize,
    /// Views that were refused, though the value is valid.
    pub(crate) refused: Vec<String>,
}

impl Viewed {
    /// The list with only those tools that have an argument. It is fixed to the value of a sample, or to
    /// one that its schema takes. Samples with another
    /// value get this one: they stay as valid or invalid as they are with it.
    ///
    /// # Errors
    /// Fails if a line of the sample values is not one.
    pub(crate) fn apply(&mut self, list: List) -> Fallible<List> {
        let (mut tools, mut lines) = (Vec::new(), Vec::new());
        for line in &list.samples {
            let samples = Samples::parse(line)?;
            let Some(tool) = list.snapshot.tools.get(samples.index).filter(|_| samples.role == Role::Input) else {
                continue;
            };
            let Some((argument, value)) = fixed(tool, &samples).or_else(|| tried(tool)) else {
                self.without += 1;
                continue;
            };
            let mut view = View::new();
            view.fixed.insert(argument.clone(), value.clone());
            let mut seen = match viewed_tool(tool, &view) {
                Ok(seen) => seen,
                Err(faults) => {
                    let name = tool.get("name").unwrap_or(&Value::Null);
                    let why = faults.iter().map(|fault| fault.message.as_str()).collect::<Vec<_>>().join("; ");
                    self.refused.push(format!("{} {name}: {why}", list.name));
                    continue;
                }
            };
            let schema = tool.get("inputSchema").cloned().unwrap_or_default();
            let validator = Validator::new(&schema)?;
            let (mut valid, mut invalid) = (Vec::new(), Vec::new());
            for sample in samples.valid.iter().chain(&samples.invalid) {
                let Value::Object(mut sent) = sample.clone() else { continue };
                sent.shift_remove(&argument);
                let sample = Value::Object(sent.clone());
                view.complete(&mut sent).map_err(|refusal| refusal.message)?;
                let is_valid = validator.check(&Value::Object(sent)).is_ok();
                let kept = if is_valid { &mut valid } else { &mut invalid };
                if !kept.contains(&sample) {
                    kept.push(sample);
                }
            }
            self.tools += 1;
            if let Some(seen) = seen.as_object_mut() {
                seen.shift_remove("outputSchema");
            }
            let line = json!({ "server": list.name, "tool": tool.get("name"), "index": tools.len(), "side": "input",
                "valid": valid, "invalid": invalid });
            lines.push(line.to_string());
            tools.push(seen);
        }
        let mut list = List { samples: lines, ..list };
        list.snapshot.tools = tools;
        Ok(list)
    }
}

/// A declared argument that takes one of some values.
fn tried(tool: &Value) -> Option<(String, Value)> {
    let schema = tool.get("inputSchema")?;
    let values = [json!("a"), json!("0123456789abcdef01234567"), json!(1), json!(true), json!(["a"]), json!({})];
    schema.get("properties")?.as_object()?.iter().find_map(|(argument, declared)| {
        let mut alone = schema.clone();
        let members = alone.as_object_mut()?;
        members.insert("required".to_owned(), json!([]));
        members.insert("properties".to_owned(), json!({ argument: declared }));
        let validator = Validator::new(&alone).ok()?;
        let listed = declared.get("enum").and_then(Value::as_array).into_iter().flatten();
        let mut all = listed.chain(&values);
        let value = all.find(|value| validator.check(&json!({ argument: value })).is_ok())?;
        Some((argument.clone(), value.clone()))
    })
}

/// A declared argument with its value in a sample: of all that there are, one that the place of the tool picks.
fn fixed(tool: &Value, samples: &Samples) -> Option<(String, Value)> {
    let declared = tool.pointer("/inputSchema/properties")?.as_object()?;
    let all = samples.valid.iter().filter_map(Value::as_object).flatten();
    let arguments: Vec<(&String, &Value)> = all.filter(|(argument, _)| declared.contains_key(*argument)).collect();
    let (argument, value) = arguments.get(samples.index % arguments.len().max(1))?;
    Some(((*argument).clone(), (*value).clone()))
}
