//! Figures and failures.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::providers::checker::Provider;

#[derive(Default)]
pub(crate) struct Report {
    passed: usize,
    failed: usize,
    lines: Vec<String>,
    /// By what failed: how often, and the first of them.
    failures: BTreeMap<String, (usize, Vec<String>)>,
    strict: BTreeMap<Provider, usize>,
    tools: BTreeMap<Provider, usize>,
    reasons: BTreeMap<String, BTreeMap<Provider, usize>>,
    show: usize,
}

impl Report {
    pub(crate) fn showing(show: usize) -> Self {
        Self { show, ..Self::default() }
    }

    pub(crate) fn pass(&mut self, count: usize) {
        self.passed += count;
    }

    pub(crate) fn fail(&mut self, what: &str, detail: impl FnOnce() -> String) {
        self.failed += 1;
        let (count, shown) = self.failures.entry(what.to_owned()).or_default();
        *count += 1;
        if shown.len() < self.show {
            shown.push(detail());
        }
    }

    pub(crate) fn line(&mut self, line: String) {
        self.lines.push(line);
    }

    pub(crate) fn strict(&mut self, provider: Provider) {
        *self.tools.entry(provider).or_default() += 1;
        *self.strict.entry(provider).or_default() += 1;
    }

    pub(crate) fn not_strict(&mut self, provider: Provider, why: &str) {
        *self.tools.entry(provider).or_default() += 1;
        *self.reasons.entry(why.to_owned()).or_default().entry(provider).or_default() += 1;
    }

    pub(crate) fn succeeded(&self) -> bool {
        self.failed == 0
    }

    fn table(&self, text: &mut String) -> std::fmt::Result {
        write!(text, "\n{:66}", "")?;
        for provider in Provider::ALL {
            write!(text, "{:>18}", provider.to_string())?;
        }
        let row = |text: &mut String, name: &str, counts: &BTreeMap<Provider, usize>| {
            write!(text, "\n{name:66}")?;
            Provider::ALL
                .iter()
                .try_for_each(|provider| write!(text, "{:>18}", counts.get(provider).copied().unwrap_or_default()))
        };
        row(text, "tools", &self.tools)?;
        row(text, "strict", &self.strict)?;
        write!(text, "\n{:66}", "share")?;
        for provider in Provider::ALL {
            let of = |counts: &BTreeMap<Provider, usize>| counts.get(&provider).copied().unwrap_or_default();
            let share = 1000 * of(&self.strict) / of(&self.tools).max(1);
            write!(text, "{:>18}", format!("{}.{} %", share / 10, share % 10))?;
        }
        let mut reasons: Vec<_> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.values().sum::<usize>()));
        for (why, counts) in reasons {
            row(text, &format!("not: {why}"), counts)?;
        }
        writeln!(text, "\n")
    }

    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing to a text does not fail.
        let _ = self.table(&mut text);
        for line in &self.lines {
            let _ = writeln!(text, "{line}");
        }
        for (what, (count, shown)) in &self.failures {
            let _ = writeln!(text, "FAILED {what}: {count}");
            for detail in shown {
                let _ = writeln!(text, "  {detail}");
            }
        }
        let _ = writeln!(text, "{} passed, {} failed", self.passed, self.failed);
        text
    }
}
