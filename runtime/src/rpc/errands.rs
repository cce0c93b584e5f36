//! What is sent though nobody waits for it, as long as the connection lasts.

use std::sync::{Mutex, PoisonError};

use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::ground::task::Boxed;

/// The tasks of one connection that nobody waits for; none once it has ended.
pub(super) struct Errands {
    tasks: Mutex<Option<JoinSet<()>>>,
    runtime: Handle,
}

impl Errands {
    /// Tasks of this runtime.
    pub(super) fn new(runtime: Handle) -> Self {
        Self { tasks: Mutex::new(Some(JoinSet::new())), runtime }
    }

    /// Begins one, unless the connection has ended.
    pub(super) fn begin(&self, errand: Boxed<()>) {
        if let Some(tasks) = &mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner) {
            while tasks.try_join_next().is_some() {}
            tasks.spawn_on(errand, &self.runtime);
        }
    }

    /// Ends those that are under way, and begins no others.
    pub(super) fn end(&self) {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(tasks);
    }
}
