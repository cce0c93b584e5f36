//! Background tasks of a connection.

use std::sync::{Mutex, PoisonError};

use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::ground::task::Boxed;

/// Background tasks of a connection; it takes none after the connection has ended.
pub(super) struct Background {
    tasks: Mutex<Option<JoinSet<()>>>,
    runtime: Handle,
}

impl Background {
    /// Tasks of this runtime.
    pub(super) fn new(runtime: Handle) -> Self {
        Self { tasks: Mutex::new(Some(JoinSet::new())), runtime }
    }

    /// Begins a task, unless the connection has ended.
    pub(super) fn begin(&self, work: Boxed<()>) {
        if let Some(tasks) = &mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner) {
            while tasks.try_join_next().is_some() {}
            tasks.spawn_on(work, &self.runtime);
        }
    }

    /// Ends those that are under way, and begins no others.
    pub(super) fn end(&self) {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(tasks);
    }
}
