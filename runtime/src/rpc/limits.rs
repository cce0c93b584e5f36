//! How much may wait for its turn.

/// How much may wait for its turn to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) requests: usize,
    pub(crate) bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { requests: 16 * 1024, bytes: 64 * 1024 * 1024 }
    }
}
