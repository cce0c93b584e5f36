//! A subscriber that keeps what is logged.

#![allow(dead_code)]

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Keeps a line for each new span, record and event that it is for: the target, the name and the fields.
pub(crate) struct Recorder {
    is_for: fn(&Metadata<'_>) -> bool,
    lines: Mutex<Vec<String>>,
}

struct Line(String);

impl Recorder {
    pub(crate) fn new(is_for: fn(&Metadata<'_>) -> bool) -> Arc<Self> {
        Arc::new(Self { is_for, lines: Mutex::default() })
    }

    pub(crate) fn of_warnings() -> Arc<Self> {
        Self::new(|metadata| *metadata.level() <= Level::WARN)
    }

    /// Creates the recorder of the process.
    pub(crate) fn global(is_for: fn(&Metadata<'_>) -> bool) -> Arc<Self> {
        let recorder = Self::new(is_for);
        tracing::subscriber::set_global_default(recorder.clone()).expect("the first one");
        recorder
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().expect("no panic").clone()
    }

    fn keep(&self, head: String, record: impl FnOnce(&mut Line)) {
        let mut line = Line(head);
        record(&mut line);
        self.lines.lock().expect("no panic").push(line.0);
    }
}

fn head(metadata: &Metadata<'_>) -> String {
    format!("{} {}: ", metadata.target(), metadata.name())
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        let _ = write!(self.0, "{field}={value} ");
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, "{field}={value:?} ");
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        (self.is_for)(metadata)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.keep(head(span.metadata()), |line| span.record(line));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        self.keep("span: ".to_owned(), |line| values.record(line));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.keep(head(event.metadata()), |line| event.record(line));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
