//! Changes of servers' lists, of which each server tells one instance alone.

use std::collections::HashMap;
use std::time::Duration;

use redis::cmd;

use super::{RedisState, RedisStateError, milliseconds};

/// Of a list that has not changed for this time nobody needs to know.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// How often each list has changed, as far as this instance knows.
#[derive(Default)]
pub(crate) struct KnownChanges(Option<HashMap<String, u64>>);

impl RedisState {
    /// Counts a change of a list, which this instance knows of.
    pub(crate) async fn count_change(&self, list: &str, known: &mut KnownChanges) -> Result<(), RedisStateError> {
        let key = Self::key("changes", "lists");
        let count: u64 = self.0.connection.run(cmd("HINCRBY").arg(&key).arg(list).arg(1)).await?;
        self.0.connection.run::<u64>(cmd("PEXPIRE").arg(&key).arg(milliseconds(KEPT))).await?;
        if let Some(known) = &mut known.0
            && known.get(list).copied().unwrap_or_default() + 1 == count
        {
            known.insert(list.to_owned(), count);
        }
        Ok(())
    }

    /// Returns the lists that have changed as other instances say, since this was asked last.
    pub(crate) async fn changed_lists(&self, known: &mut KnownChanges) -> Result<Vec<String>, RedisStateError> {
        let now: HashMap<String, u64> =
            self.0.connection.run(cmd("HGETALL").arg(Self::key("changes", "lists"))).await?;
        let Some(before) = known.0.replace(now.clone()) else { return Ok(Vec::new()) };
        Ok(now.into_iter().filter(|(list, count)| before.get(list) != Some(count)).map(|(list, _)| list).collect())
    }
}
