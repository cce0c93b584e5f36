//! Sample values sent as a model would, and brought back.

use std::collections::BTreeMap;

use jsonschema::{Draft, Validator};
use mcp_samples::corpus::Samples;
use mcp_samples::{Difference, differences};
use mcp_schema::provider::Rewrite;
use serde_json::Value;

use crate::checker::Provider;
use crate::report::Report;
use crate::rewritten::Rewritten;
use crate::send::Sender;

#[derive(Default)]
struct Counts {
    exact: usize,
    /// A `null` that is the default went to absent.
    default_null: usize,
    /// Keys of which the schema says nothing cannot be sent.
    undeclared: usize,
    lost: usize,
}

#[derive(Default)]
pub(crate) struct Figures {
    counts: BTreeMap<(Provider, bool), Counts>,
}

impl Figures {
    pub(crate) fn judge(&mut self, rewritten: &Rewritten<'_>, samples: &Samples, report: &mut Report) {
        for (provider, exact, free) in &rewritten.each {
            // Both of OpenAI's take the same.
            if *provider == Provider::OpenAiChat {
                continue;
            }
            for rewrite in exact.iter().chain([free]) {
                let counts = self.counts.entry((*provider, rewrite.is_strict)).or_default();
                judge(rewritten, *provider, rewrite, &samples.valid, counts, report);
            }
        }
    }

    pub(crate) fn report(&self, report: &mut Report) {
        for ((provider, is_strict), counts) in &self.counts {
            let Counts { exact, default_null, undeclared, lost } = counts;
            let kind = if *is_strict { "strict" } else { "not strict" };
            report.line(format!(
                "{provider}, {kind}: values that come back exactly: {exact}, save for a `null` that is the default: {default_null}, \
                 save for keys of which the schema says nothing: {undeclared}, lost: {lost}"
            ));
        }
    }
}

fn judge(
    rewritten: &Rewritten<'_>,
    provider: Provider,
    rewrite: &Rewrite,
    values: &[Value],
    counts: &mut Counts,
    report: &mut Report,
) {
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
            let was_undeclared = sent.dropped > 0 && it.right.is_none() && !it.is_declared();
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

fn validator(schema: &Value) -> Option<Validator> {
    jsonschema::options().with_draft(Draft::Draft202012).offline().should_validate_formats(false).build(schema).ok()
}
