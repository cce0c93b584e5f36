//! A tool rewritten for each provider.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use mcp_bindgen_schema::provider::{NotStrict, Nulls, Rewrite, loose, strict};
use serde_json::Value;

use crate::providers::checker::{Counted, Provider, counted, refusals};
use crate::providers::report::Report;

/// No schema may take longer, for one provider and with the way back.
const LONGEST: Duration = Duration::from_secs(4);

pub(crate) struct Rewritten<'s> {
    pub(crate) name: String,
    pub(crate) original: &'s Value,
    pub(crate) nulls: Option<Nulls>,
    pub(crate) each: Vec<(Provider, Option<Rewrite>, Rewrite)>,
}

impl<'s> Rewritten<'s> {
    /// Rewrites a schema for all providers, and judges what comes out.
    pub(crate) fn of(name: &str, original: &'s Value, report: &mut Report, is_counted: bool) -> Self {
        let mut each = Vec::new();
        for provider in Provider::ALL {
            let started = Instant::now();
            let dialect = provider.dialect();
            let both = catch_unwind(AssertUnwindSafe(|| (strict(original, dialect), loose(original, dialect))));
            let Ok((exact, free)) = both else {
                report.fail("a panic", || format!("{name}: {original}"));
                continue;
            };
            if started.elapsed() > LONGEST {
                report.fail("too slow", || format!("{name} for {provider}: {:.1} s", started.elapsed().as_secs_f64()));
            }
            let again = (strict(original, dialect), loose(original, dialect));
            if again != (exact.clone(), free.clone()) || text(&again.1) != text(&free) {
                report.fail("another schema the second time", || format!("{name} for {provider}"));
            }
            if is_counted {
                match &exact {
                    Ok(_) => report.strict(provider),
                    Err(NotStrict { why, .. }) => report.not_strict(provider, why),
                }
            }
            let exact = exact.ok();
            for rewrite in exact.iter().chain([&free]) {
                judge(name, provider, rewrite, report);
            }
            each.push((provider, exact, free));
        }
        let nulls = catch_unwind(AssertUnwindSafe(|| Nulls::of(original))).ok();
        if nulls.is_none() {
            report.fail("a panic", || format!("{name}: {original}"));
        }
        Self { name: name.to_owned(), original, nulls, each }
    }
}

fn text(rewrite: &Rewrite) -> String {
    rewrite.schema.to_string()
}

fn judge(name: &str, provider: Provider, rewrite: &Rewrite, report: &mut Report) {
    let found = refusals(&rewrite.schema, provider, rewrite.is_strict);
    let Counted { optional, unions } = counted(&rewrite.schema);
    if found.is_empty() && rewrite.load.optional >= optional && rewrite.load.unions >= unions {
        return report.pass(1);
    }
    if found.is_empty() {
        return report
            .fail("counts less than the checker", || format!("{name}: {:?} but {optional}, {unions}", rewrite.load));
    }
    let kind = if rewrite.is_strict { "strict" } else { "not strict" };
    report.fail(&format!("refused by {provider}, {kind}"), || {
        format!("{name}: {}\n    {}", found.join("; "), rewrite.schema)
    });
}
