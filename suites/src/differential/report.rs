//! Renders the report as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use mcp_samples::{Fallible, role_named, schema_of};
use serde_json::Value;

use crate::differential::bindings::Bound;
use crate::differential::difference::{Reason, reasons};

const MOST_SHOWN: usize = 20;

#[derive(Default)]
pub(crate) struct Report {
    /// Schemas that typify took.
    pub(crate) taken: usize,
    refused: BTreeMap<String, usize>,
    counts: BTreeMap<String, u64>,
    values: BTreeMap<Reason, usize>,
    schemas: BTreeMap<Reason, usize>,
    unknown: Vec<String>,
}

impl Report {
    /// Counts a schema that typify did not take.
    pub(crate) fn refused(&mut self, reason: &str) {
        // The text in backticks comes from the schema.
        let kind = reason.split('`').step_by(2).collect::<Vec<_>>().join("..");
        *self.refused.entry(kind).or_default() += 1;
    }

    /// Counts what a program says of the values of one schema.
    pub(crate) fn judge(&mut self, bound: &[Bound], answer: &Value) -> Fallible<()> {
        let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
        let (server, side) = (text("server"), text("side"));
        let index = answer.get("index").and_then(Value::as_u64).and_then(|index| usize::try_from(index).ok());
        let list = bound.iter().find(|bound| bound.list.name == server).ok_or("an answer about no list")?;
        let tool = list.list.snapshot.tools.get(index.ok_or("an answer without a tool")?).unwrap_or(&Value::Null);
        for (who, count) in answer.get("counts").and_then(Value::as_object).into_iter().flatten() {
            *self.counts.entry(who.clone()).or_default() += count.as_u64().unwrap_or_default();
        }
        let role = role_named(side).ok_or("an answer about no schema")?;
        let schema = schema_of(tool, role).unwrap_or(&Value::Null);
        let mut of_schema = Vec::new();
        for different in answer.get("different").and_then(Value::as_array).into_iter().flatten() {
            let value = |key: &str| different.get(key).unwrap_or(&Value::Null);
            let found = reasons(schema, value("native"), value("typify"));
            for reason in &found {
                *self.values.entry(*reason).or_default() += 1;
            }
            if found.contains(&Reason::Unknown) {
                let name = tool.get("name").unwrap_or(&Value::Null);
                self.unknown.push(format!("{server} {name} {side}: {different}"));
            }
            of_schema.extend(found);
        }
        of_schema.sort();
        of_schema.dedup();
        for reason in of_schema {
            *self.schemas.entry(reason).or_default() += 1;
        }
        Ok(())
    }

    /// Returns `true` if values were compared, and every difference has a known reason.
    pub(crate) fn is_clean(&self) -> bool {
        self.unknown.is_empty() && self.count("both") > 0
    }

    fn count(&self, who: &str) -> u64 {
        self.counts.get(who).copied().unwrap_or_default()
    }

    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        let refused: usize = self.refused.values().sum();
        let _ = writeln!(text, "schemas: {} by typify, {refused} left to the default backend", self.taken);
        let mut reasons: Vec<_> = self.refused.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (reason, count) in reasons {
            let _ = writeln!(text, "  {count:6}  {reason}");
        }
        let _ = writeln!(
            text,
            "values: {} accepted by both, {} by the default backend alone, {} by typify alone, {} by neither",
            self.count("both"),
            self.count("native"),
            self.count("typify"),
            self.count("neither"),
        );
        let _ = writeln!(text, "printed differently, of those that both accept:\n  values  schemas  reason");
        for (reason, values) in &self.values {
            let schemas = self.schemas.get(reason).copied().unwrap_or_default();
            let _ = writeln!(text, "  {values:6}  {schemas:7}  {}", reason.text());
        }
        for unknown in self.unknown.iter().take(MOST_SHOWN) {
            let _ = writeln!(text, "no known reason: {}", excerpt(unknown));
        }
        let _ = writeln!(text, "{} without a known reason", self.unknown.len());
        text
    }
}

fn excerpt(text: &str) -> String {
    match text.char_indices().nth(600) {
        Some((end, _)) => format!("{}..", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
