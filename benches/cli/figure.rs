//! A figure, the budget that it has to keep, and what stands beside it.

use std::fmt::Write;
use std::time::Duration;

/// Which budgets are judged.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Judge {
    Everything,
    /// Only budgets that an unoptimized program meets too, because it mostly waits for other processes.
    WhatWaits,
}

/// One measurement, with its budget and what it is compared with.
pub(crate) struct Figure {
    name: String,
    measured: Measured,
    is_work: bool,
    beside: String,
}

enum Measured {
    /// How long something took, and may take.
    Time(Duration, Duration),
    /// How many times as long as something else it took, and may take.
    Ratio(f64, f64),
    /// A time without a budget.
    Told(Duration),
}

impl Figure {
    /// How long work takes, and may take.
    pub(crate) fn time(name: &str, took: Duration, budget: Duration) -> Self {
        Self::new(name, Measured::Time(took, budget), true)
    }

    /// How many times as long as something else it takes to wait for others, and may take.
    pub(crate) fn ratio(name: &str, ratio: f64, budget: f64) -> Self {
        Self::new(name, Measured::Ratio(ratio, budget), false)
    }

    pub(crate) fn told(name: &str, took: Duration) -> Self {
        Self::new(name, Measured::Told(took), true)
    }

    fn new(name: &str, measured: Measured, is_work: bool) -> Self {
        Self { name: name.to_owned(), measured, is_work, beside: String::new() }
    }

    /// It is the start of processes that takes the time, more than what they do.
    pub(crate) fn of_starting(self) -> Self {
        Self { is_work: false, ..self }
    }

    /// How it was measured, and what else there is to compare it with.
    pub(crate) fn beside(self, beside: String) -> Self {
        Self { beside, ..self }
    }

    /// Returns `true` if the budget is met, and `None` if there is no budget to judge.
    pub(crate) fn is_kept(&self, judge: Judge) -> Option<bool> {
        if self.is_work && judge == Judge::WhatWaits {
            return None;
        }
        match self.measured {
            Measured::Time(took, budget) => Some(took <= budget),
            Measured::Ratio(ratio, budget) => Some(ratio <= budget),
            Measured::Told(_) => None,
        }
    }

    pub(crate) fn line(&self, judge: Judge) -> String {
        let (took, budget) = match self.measured {
            Measured::Time(took, budget) => (shown(took), Some(shown(budget))),
            Measured::Ratio(ratio, budget) => (format!("{ratio:.2} x"), Some(format!("{budget} x"))),
            Measured::Told(took) => (shown(took), None),
        };
        let verdict = match (budget, self.is_kept(judge)) {
            (Some(budget), Some(true)) => format!("budget {budget} kept"),
            (Some(budget), Some(false)) => format!("budget {budget} MISSED"),
            (Some(budget), None) => format!("budget {budget} not judged"),
            (None, _) => String::new(),
        };
        let mut line = format!("{:<44} {took:>10}  {verdict:<26}", self.name);
        if !self.beside.is_empty() {
            let _ = write!(line, "  ({})", self.beside);
        }
        line.trim_end().to_owned()
    }
}

fn shown(took: Duration) -> String {
    match took.as_millis() {
        ..100 => format!("{:.1} ms", took.as_secs_f64() * 1e3),
        100..2000 => format!("{:.0} ms", took.as_secs_f64() * 1e3),
        _ => format!("{:.2} s", took.as_secs_f64()),
    }
}
