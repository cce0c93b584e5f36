//! The lowest floor: time, tasks, redaction, exact reading and printing.

#[cfg(any(feature = "http", all(feature = "stdio", target_os = "linux")))]
pub(crate) mod address;
pub(crate) mod backoff;
pub(crate) mod contained;
pub(crate) mod deadline;
pub(crate) mod limiter;
pub(crate) mod on_drop;
pub(crate) mod recent;
pub(crate) mod redact;
pub(crate) mod sync;
pub(crate) mod task;
pub(crate) mod wire;
