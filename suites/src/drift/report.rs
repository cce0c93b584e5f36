//! Renders the report as a table by kind.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use serde_json::Value;

/// Percent of the changes that are proven to break: a judge that sees less cannot say what is missed.
const SEEN_AT_LEAST: usize = 80;

/// The figures of one kind.
#[derive(Clone, Copy, Default)]
struct Figures {
    cases: usize,
    samples: usize,
    judged_breaking: usize,
    called_breaking: usize,
    missed: usize,
    harmless: usize,
    false_alarms: usize,
    witnesses: usize,
    wrong: usize,
    /// Breaking changes, and of these, those without a witness.
    verdicts: usize,
    unproven: usize,
    /// Proven by a witness, and of these, seen by the samples as well.
    proven: usize,
    proven_and_seen: usize,
    not_wording: usize,
    mislabelled: usize,
    endless: usize,
    slowest: Duration,
}

/// A fault of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// It breaks, and is called otherwise.
    Missed,
    /// It cannot break, and is called breaking.
    FalseAlarm,
    /// The witness shows nothing.
    WrongWitness,
    /// It is called breaking, and nothing shows it.
    Unproven,
    /// Only words changed, and it is called more than that.
    NotWording,
    /// Drift does not come to an end.
    Endless,
    /// The suite itself is wrong: what cannot break by the way it was made does.
    Mislabelled,
}

/// The findings for one case.
pub(crate) struct Finding {
    pub(crate) samples: usize,
    pub(crate) is_breaking: bool,
    pub(crate) is_called_breaking: bool,
    pub(crate) is_harmless: bool,
    pub(crate) witnesses: usize,
    pub(crate) is_proven: bool,
    pub(crate) verdicts: usize,
    pub(crate) unproven: usize,
    pub(crate) took: Duration,
    pub(crate) faults: Vec<(Fault, Value)>,
}

/// The limits that a suite must keep.
pub(crate) struct Bounds {
    /// The fewest cases.
    pub(crate) cases: usize,
    /// The fewest cases of each kind.
    pub(crate) each: usize,
    /// Of 1,000 breaking verdicts, so many may have no proof.
    pub(crate) unproven: usize,
    /// Of 1,000 cases, so many have to break for the samples, or they judge nothing.
    pub(crate) breaking: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { cases: 0, each: 0, unproven: 1000, breaking: 0 }
    }
}

#[derive(Default)]
pub(crate) struct Report {
    kinds: BTreeMap<usize, (String, Figures)>,
    shown: BTreeMap<Fault, BTreeMap<String, Vec<Value>>>,
    lines: Vec<String>,
    failures: Vec<String>,
}

impl Report {
    /// Makes a row for a kind, so that one that never applies is seen.
    pub(crate) fn row(&mut self, place: usize, name: &str) {
        self.kinds.entry(place).or_insert_with(|| (name.to_owned(), Figures::default()));
    }

    pub(crate) fn add(&mut self, place: usize, finding: Finding, show: usize) {
        let Some((name, figures)) = self.kinds.get_mut(&place) else { return };
        let Finding {
            samples,
            is_breaking,
            is_called_breaking,
            is_harmless,
            witnesses,
            is_proven,
            verdicts,
            unproven,
            took,
            faults,
        } = finding;
        figures.cases += 1;
        figures.samples += samples;
        figures.judged_breaking += usize::from(is_breaking);
        figures.called_breaking += usize::from(is_called_breaking);
        figures.harmless += usize::from(is_harmless);
        figures.witnesses += witnesses;
        figures.verdicts += verdicts;
        figures.unproven += unproven;
        figures.proven += usize::from(is_proven);
        figures.proven_and_seen += usize::from(is_proven && is_breaking);
        figures.slowest = figures.slowest.max(took);
        for (fault, details) in faults {
            match fault {
                Fault::Missed => figures.missed += 1,
                Fault::FalseAlarm => figures.false_alarms += 1,
                Fault::WrongWitness => figures.wrong += 1,
                Fault::Endless => figures.endless += 1,
                // Counted by verdict.
                Fault::Unproven => {}
                Fault::NotWording => figures.not_wording += 1,
                Fault::Mislabelled => figures.mislabelled += 1,
            }
            let shown = self.shown.entry(fault).or_default().entry(name.clone()).or_default();
            if shown.len() < show {
                shown.push(details);
            }
        }
    }

    /// Returns `true` if a case of the kind did not end. Another one would only waste CPU time.
    pub(crate) fn is_endless(&self, place: usize) -> bool {
        self.kinds.get(&place).is_some_and(|(_, figures)| figures.endless > 0)
    }

    pub(crate) fn line(&mut self, text: String) {
        self.lines.push(text);
    }

    pub(crate) fn failure(&mut self, text: String) {
        self.failures.push(text);
    }

    /// Holds the figures against their bounds.
    pub(crate) fn settle(&mut self, bounds: &Bounds) {
        let total = self.total();
        let few: Vec<String> = self
            .kinds
            .values()
            .filter(|(_, figures)| figures.cases < bounds.each)
            .map(|(name, figures)| format!("{name:?} applied {} times, at least {}", figures.cases, bounds.each))
            .collect();
        self.failures.extend(few);
        let faults = [
            (total.missed > 0, "breaking changes are called otherwise", total.missed),
            (
                total.false_alarms * 50 > total.harmless,
                "harmless changes are called breaking, more than 2 %",
                total.false_alarms,
            ),
            (total.wrong > 0, "witnesses show nothing", total.wrong),
            (total.endless > 0, "changes are compared without an end", total.endless),
            (total.not_wording > 0, "changes of words are called more than that", total.not_wording),
            (total.mislabelled > 0, "changes that this suite takes for harmless break", total.mislabelled),
        ];
        self.failures
            .extend(faults.iter().filter(|(missed, ..)| *missed).map(|(_, what, count)| format!("{count} {what}")));
        if total.cases < bounds.cases {
            self.failures.push(format!("{} changes were judged, at least {}", total.cases, bounds.cases));
        }
        if total.unproven * 1000 > total.verdicts * bounds.unproven {
            let (unproven, verdicts) = (total.unproven, total.verdicts);
            let text = format!("{unproven} of {verdicts} verdicts have no proof, at most {} of 1,000", bounds.unproven);
            self.failures.push(text);
        }
        if total.judged_breaking * 1000 < total.cases * bounds.breaking {
            let text =
                format!("{} pairs break for the samples, at least {} of 1,000", total.judged_breaking, bounds.breaking);
            self.failures.push(text);
        }
        if total.judged_breaking == 0 || total.proven_and_seen * 100 < total.proven * SEEN_AT_LEAST {
            let text = "the samples see too little: breaking changes that witnesses prove, at least 80 % of them";
            self.failures.push(text.to_owned());
        }
    }

    fn total(&self) -> Figures {
        let mut total = Figures::default();
        for (_, figures) in self.kinds.values() {
            total.cases += figures.cases;
            total.samples += figures.samples;
            total.judged_breaking += figures.judged_breaking;
            total.called_breaking += figures.called_breaking;
            total.missed += figures.missed;
            total.harmless += figures.harmless;
            total.false_alarms += figures.false_alarms;
            total.witnesses += figures.witnesses;
            total.wrong += figures.wrong;
            total.verdicts += figures.verdicts;
            total.unproven += figures.unproven;
            total.proven += figures.proven;
            total.proven_and_seen += figures.proven_and_seen;
            total.not_wording += figures.not_wording;
            total.mislabelled += figures.mislabelled;
            total.endless += figures.endless;
            total.slowest = total.slowest.max(figures.slowest);
        }
        total
    }

    pub(crate) fn passed(&self) -> bool {
        self.failures.is_empty()
    }

    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        for (fault, kinds) in &self.shown {
            for (kind, cases) in kinds {
                for case in cases {
                    let _ = writeln!(text, "{fault:?}, {kind}: {case}");
                }
            }
        }
        let total = ("all kinds".to_owned(), self.total());
        let width = self.kinds.values().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
        let heads =
            ["cases", "breaking", "called", "missed", "harmless", "alarms", "witness", "wrong", "unproven", "ms"];
        let _ = write!(text, "{:width$}", "kind");
        for head in heads {
            let _ = write!(text, "  {head:>8}");
        }
        let _ = writeln!(text);
        for (name, figures) in self.kinds.values().chain([&total]) {
            let milliseconds = usize::try_from(figures.slowest.as_millis()).unwrap_or(usize::MAX);
            let _ = write!(text, "{name:width$}");
            for figure in [
                figures.cases,
                figures.judged_breaking,
                figures.called_breaking,
                figures.missed,
                figures.harmless,
                figures.false_alarms,
                figures.witnesses,
                figures.wrong,
                figures.unproven,
                milliseconds,
            ] {
                let _ = write!(text, "  {figure:>8}");
            }
            let _ = writeln!(text);
        }
        let (_, total) = total;
        let _ = writeln!(text, "{} of {} breaking verdicts without a proof", total.unproven, total.verdicts);
        let _ = writeln!(text, "{} sample values tried; {} kinds", total.samples, self.kinds.len());
        let _ = writeln!(
            text,
            "{} breaking changes proven by witnesses, {} of them seen by the samples",
            total.proven, total.proven_and_seen
        );
        for line in &self.lines {
            let _ = writeln!(text, "{line}");
        }
        for failure in &self.failures {
            let _ = writeln!(text, "error: {failure}");
        }
        let _ = writeln!(text, "{} mutations judged", total.cases);
        text
    }
}
