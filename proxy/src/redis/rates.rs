//! Rates of calls that all instances count together.

use std::time::Duration;

use mcp_bindgen_model::Rate;
use redis::cmd;

use super::{RedisState, RedisStateError, milliseconds};

/// Takes a turn in a window that moves; returns 0, or the milliseconds until there is one. The time is the store's.
const TAKE: &str = "
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local period, most = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - period)
if redis.call('ZCARD', KEYS[1]) >= most then
  local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return math.max(1, first[2] + period - now)
end
redis.call('ZADD', KEYS[1], now, time[1] .. '.' .. time[2] .. '.' .. ARGV[3])
redis.call('PEXPIRE', KEYS[1], period)
return 0";

impl RedisState {
    /// Takes a turn of a rate; `Ok(Err(wait))` if there is none before this time.
    pub(crate) async fn take_turn(&self, name: &str, rate: Rate) -> Result<Result<(), Duration>, RedisStateError> {
        use std::sync::atomic::{AtomicU64, Ordering};

        /// Tells turns of one instance at one time apart.
        static TURNS: AtomicU64 = AtomicU64::new(0);
        let turn = format!("{}.{}", self.id(), TURNS.fetch_add(1, Ordering::Relaxed));
        let mut take = cmd("EVAL");
        take.arg(TAKE).arg(1).arg(Self::key("rate", name));
        take.arg(milliseconds(rate.period())).arg(rate.calls()).arg(turn);
        let wait: u64 = self.0.connection.run(&take).await?;
        Ok(if wait == 0 { Ok(()) } else { Err(Duration::from_millis(wait)) })
    }
}
