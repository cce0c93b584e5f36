//! The figures as text.

use std::time::Duration;

/// A figure, and how it reads.
pub(crate) struct Figure {
    number: f64,
    text: String,
}

pub(crate) fn in_seconds(time: Duration) -> Figure {
    Figure { number: time.as_secs_f64(), text: format!("{:.2} s", time.as_secs_f64()) }
}

pub(crate) fn in_time(time: Duration) -> Figure {
    Figure { number: time.as_secs_f64(), text: format!("{time:.1?}") }
}

#[expect(clippy::cast_precision_loss, reason = "a file of less than a petabyte")]
pub(crate) fn in_bytes(bytes: u64) -> Figure {
    Figure { number: bytes as f64, text: format!("{} kB", bytes / 1000) }
}

/// Prints a row as soon as it is there: a run takes minutes.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) kept: usize,
    pub(crate) missed: usize,
}

impl Table {
    /// A row; without a budget it is for information.
    pub(crate) fn row(&mut self, what: &str, ours: Figure, by_hand: Figure, budget: Option<f64>) {
        if self.kept + self.missed == 0 {
            println!("{:>22} {:>10} {:>10}  ratio", "", "bindings", "by hand");
        }
        let ratio = ours.number / by_hand.number;
        let verdict = match budget {
            None => String::new(),
            Some(budget) if ratio <= budget => {
                self.kept += 1;
                format!("  budget {budget:.2} x  kept")
            }
            Some(budget) => {
                self.missed += 1;
                format!("  budget {budget:.2} x  MISSED")
            }
        };
        println!("{what:>22} {:>10} {:>10}  {ratio:.2} x{verdict}", ours.text, by_hand.text);
    }
}
