//! The values that are read and printed.

use std::fmt::Write;

use mcp_bindgen_schema::Role;
use mcp_samples::Fallible;
use mcp_samples::corpus::{Samples, sample_lines};
use mcp_samples::values::Generator;
use serde_json::{Value, json};

use crate::lists::List;

/// So many are made up for a tool that the corpus has none for.
const MADE_UP: usize = 12;

/// Valid arguments of the tools, as lines of `[place of the tool, value]`: those of the corpus, or else made up.
pub(crate) fn of(list: &List, tools: &[(usize, String)]) -> Fallible<String> {
    let mut lines = String::new();
    let mut line = |index: usize, value: &Value| writeln!(lines, "{}", json!([index, value]));
    if let Some((corpus, name)) = &list.corpus {
        let samples = sample_lines(corpus, |list| list == *name)?;
        for samples in samples.get(*name).into_iter().flatten() {
            let samples = Samples::parse(samples)?;
            for value in samples.valid.iter().filter(|_| samples.role == Role::Input) {
                line(samples.index, value)?;
            }
        }
    } else {
        for (index, _) in tools {
            let schema = list.snapshot.tools.get(*index).and_then(|tool| tool.get("inputSchema"));
            for value in schema.map(|schema| Generator::new(schema, MADE_UP).values()).unwrap_or_default() {
                line(*index, &value)?;
            }
        }
    }
    Ok(lines)
}
