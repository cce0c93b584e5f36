//! Sample values sent as a model would, and brought back.

use std::collections::BTreeMap;

use jsonschema::{Draft, Validator};
use mcp_bindgen_schema::provider::Rewrite;
use mcp_samples::{Difference, differences};
use serde_json::Value;

use crate::providers::checker::Provider;
use crate::providers::report::Report;
use crate::providers::rewritten::Rewritten;
use crate::providers::send::Sender;

#[derive(Default)]
struct Counts {
    exact: usize,
    /// A `null` that is the default went to absent.
    default_null: usize,
    /// Keys of which the schema says nothing cannot be sent.
    undeclared: usize,
    lost: usize,
    /// Taking nulls out made it invalid; as it was sent, it is not.
    as_sent: usize,
    /// Without the keys of which the schema says nothing it is not valid.
    short: usize,
    /// Not held against the original: the validator does not take that, or takes the value for invalid from the start.
    unchecked: usize,
}

#[derive(Default)]
pub(crate) struct Figures {
    counts: BTreeMap<(Provider, bool), Counts>,
}

impl Figures {
    pub(crate) fn judge(&mut self, rewritten: &Rewritten<'_>, values: &[Value], report: &mut Report) {
        let original = validator(rewritten.original);
        for (provider, exact, free) in &rewritten.each {
            // Both of OpenAI's take the same.
            if *provider == Provider::OpenAiChat {
                continue;
            }
            for rewrite in exact.iter().chain([free]) {
                let counts = self.counts.entry((*provider, rewrite.is_strict)).or_default();
                let sample = Sample { rewritten, original: original.as_ref(), provider: *provider, rewrite };
                sample.judge(values, counts, report);
            }
        }
    }

    /// How many values go as they were sent, since they are no longer valid without their nulls.
    pub(crate) fn as_sent(&self) -> usize {
        self.counts.values().map(|counts| counts.as_sent).sum()
    }

    pub(crate) fn report(&self, report: &mut Report) {
        for ((provider, is_strict), counts) in &self.counts {
            let Counts { exact, default_null, undeclared, lost, as_sent, short, unchecked } = counts;
            let kind = if *is_strict { "strict" } else { "not strict" };
            report.line(format!(
                "{provider}, {kind}: values that come back exactly: {exact}, save for a `null` that is the default: {default_null}, \
                 save for keys of which the schema says nothing: {undeclared}, lost: {lost}; no longer valid, so that they go as \
                 they were sent: {as_sent}, no longer valid without keys of which the schema says nothing: {short}, not held against \
                 the original: {unchecked}"
            ));
        }
    }
}

struct Sample<'s> {
    rewritten: &'s Rewritten<'s>,
    original: Option<&'s Validator>,
    provider: Provider,
    rewrite: &'s Rewrite,
}

impl Sample<'_> {
    fn judge(&self, values: &[Value], counts: &mut Counts, report: &mut Report) {
        let Self { rewritten, original, provider, rewrite } = *self;
        let Some(validator) = validator(&rewrite.schema) else {
            return report.fail("no schema", || format!("{} for {provider}: {}", rewritten.name, rewrite.schema));
        };
        for value in values.iter().filter(|value| value.is_object()) {
            let show =
                |more: &str| format!("{} for {provider}: {value}\n    {more}\n    {}", rewritten.name, rewrite.schema);
            let renamed = rewrite.renamed.iter().map(|it| (it.wire.as_str(), it.sent.as_str()));
            let Some(sent) = Sender::new(&rewrite.schema, renamed).send(value) else {
                counts.lost += 1;
                report.fail("a value that cannot be sent", || show(""));
                continue;
            };
            if let Err(error) = validator.validate(&sent.value) {
                counts.lost += 1;
                report.fail("a value that the schema refuses", || show(&format!("{error} in {}", sent.value)));
                continue;
            }
            let mut back = sent.value.clone();
            if let Some(nulls) = &rewritten.nulls {
                nulls.take_out(&mut back);
            }
            let found = differences(rewritten.original, value, &back);
            let is_fine = |it: &Difference<'_>| {
                let was_undeclared = sent.dropped > 0 && it.right.is_none() && !it.is_declared() && !was_free(it);
                it.is_licensed() || was_undeclared
            };
            let wrong = found.iter().find(|it| !is_fine(it));
            if let Some(wrong) = wrong {
                counts.lost += 1;
                let what =
                    format!("{:?} became {:?} at {}, sent as {}", wrong.left, wrong.right, wrong.pointer, sent.value);
                report.fail("a value that comes back as another", || show(&what));
                continue;
            }
            // Some validators know less than the samples do: `nullable`, for one.
            let is_valid = |value: &Value| original.is_none_or(|original| original.is_valid(value));
            if original.is_none() || !is_valid(value) {
                counts.unchecked += 1;
            } else if !is_valid(&back) {
                let has_nulls_out = found.iter().any(|it| it.left == Some(Value::Null) && it.right.is_none());
                if has_nulls_out && is_valid(&sent.value) {
                    counts.as_sent += 1;
                } else if sent.dropped > 0 {
                    counts.short += 1;
                } else {
                    report.fail("a value that comes back invalid", || show(&format!("{back}, sent as {}", sent.value)));
                    continue;
                }
            }
            report.pass(1);
            if sent.dropped > 0 {
                counts.undeclared += 1;
            } else if found.iter().any(|it| it.right.is_none()) {
                counts.default_null += 1;
            } else {
                counts.exact += 1;
            }
        }
    }
}

/// Returns `true` if a schema of the parent object takes any keys because it declares none.
fn was_free(it: &Difference<'_>) -> bool {
    // The arguments of a tool that says nothing of them are none.
    let Some((object, _)) = it.within.as_ref().filter(|_| it.pointer.matches('/').count() > 1) else { return false };
    object.alternatives().into_iter().filter_map(Value::as_object).any(|schema| {
        let only = ["type", "title", "description", "default", "examples"];
        schema.get("type") == Some(&"object".into()) && schema.keys().all(|key| only.contains(&key.as_str()))
    })
}

fn validator(schema: &Value) -> Option<Validator> {
    let dialect = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let drafts = [
        ("draft-04", Draft::Draft4),
        ("draft-06", Draft::Draft6),
        ("draft-07", Draft::Draft7),
        ("2019-09", Draft::Draft201909),
    ];
    let draft =
        drafts.into_iter().find(|(name, _)| dialect.contains(name)).map_or(Draft::Draft202012, |(_, draft)| draft);
    jsonschema::options().with_draft(draft).offline().should_validate_formats(false).build(schema).ok()
}
