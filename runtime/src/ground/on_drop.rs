//! Closures that run at the end of a scope.

/// Runs a closure when it is dropped, also if a future is dropped or a panic passes, unless it is disarmed before.
pub(crate) struct OnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> OnDrop<F> {
    pub(crate) fn new(run: F) -> Self {
        Self(Some(run))
    }

    /// Drops the closure without running it.
    pub(crate) fn disarm(mut self) {
        self.0 = None;
    }
}

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        if let Some(run) = self.0.take() {
            run();
        }
    }
}
