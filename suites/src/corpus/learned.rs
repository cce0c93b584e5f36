//! Lists whose results are typed by what `learn` makes of sample values, in place of what the servers declare.

use clap::ValueEnum;
use mcp_bindgen_schema::Role;
use mcp_bindgen_schema::infer::Sample;
use mcp_samples::Fallible;
use mcp_samples::corpus::{List, Samples};
use serde_json::{Value, json};

/// The values that types are learned from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Learned {
    /// All values, which are then read.
    All,
    /// Every other value; the others are read.
    Half,
}

impl Learned {
    /// The list with only those tools that have sample results, their results as they are learned.
    ///
    /// # Errors
    /// Returns an error if a line of the sample values is invalid.
    pub(crate) fn apply(self, list: List) -> Fallible<List> {
        let (mut tools, mut lines) = (Vec::new(), Vec::new());
        for line in &list.samples {
            let samples = Samples::parse(line)?;
            let Some(tool) = list.snapshot.tools.get(samples.index).filter(|_| samples.role == Role::Output) else {
                continue;
            };
            let (taught, read) = self.split(&samples.valid);
            if taught.is_empty() || read.is_empty() {
                continue;
            }
            let mut seen = Sample::default();
            taught.iter().for_each(|value| seen.merge(&Sample::of(value)));
            let name = tool.get("name").cloned().unwrap_or_default();
            let line =
                json!({ "server": list.name, "tool": name, "index": tools.len(), "side": "output", "valid": read });
            lines.push(line.to_string());
            tools.push(json!({ "name": name, "inputSchema": { "type": "object" }, "outputSchema": seen.schema() }));
        }
        let mut list = List { samples: lines, ..list };
        list.snapshot.tools = tools;
        Ok(list)
    }

    fn split(self, values: &[Value]) -> (Vec<&Value>, Vec<&Value>) {
        match self {
            Self::All => (values.iter().collect(), values.iter().collect()),
            Self::Half => (values.iter().step_by(2).collect(), values.iter().skip(1).step_by(2).collect()),
        }
    }
}
