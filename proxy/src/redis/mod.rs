//! The state that several instances of a proxy share, in Redis or Valkey.

mod connection;
mod inbox;
mod sessions;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use mcp_bindgen_model::Rate;
use redis::cmd;
use serde::Serialize;

use self::connection::Connection;
pub(crate) use self::sessions::SessionRecord;
use crate::approval::{ApprovalStore, ApprovalStoreError};
use crate::random::random_id;

/// The beginning of all keys.
const PREFIX: &str = "mcp-proxy:";
/// The time without a heartbeat after which an instance counts as dead.
const ALIVE: Duration = Duration::from_secs(5);
pub(crate) const HEARTBEAT: Duration = Duration::from_millis(1500);

/// The time for the response to a command.
const PATIENCE: Duration = Duration::from_secs(2);

/// The time for which the changes of a list are kept.
const CHANGES_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

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

/// The state that several instances of a proxy share, in Redis or Valkey: used approvals, sessions, rates, and messages
/// between instances. Clones are the same instance.
///
/// While the store is unreachable, calls that need it fail with an error that names it, and others continue. It
/// reconnects automatically.
///
/// ```no_run
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_proxy::{Proxy, RedisState};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let state = RedisState::connect("redis://127.0.0.1:6379").await?;
/// let key = std::env::var("PROXY_KEY")?; // the same for all instances
/// let files = ServerConfig::stdio("files", "my-mcp-server");
/// let proxy = Proxy::builder().server(files).state(state).key(key.into_bytes()).build()?;
/// # drop(proxy);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RedisState(Arc<Instance>);

struct Instance {
    /// Tells this instance from others, and from itself before a restart.
    id: String,
    url: String,
    connection: Connection,
    /// Distinguishes turns of a rate at the same time.
    turns: AtomicU64,
}

/// The error of the shared state. It never contains the URL, which may have a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the shared state is unavailable: {message}")]
pub struct RedisStateError {
    message: String,
}

impl RedisStateError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl From<redis::RedisError> for RedisStateError {
    fn from(error: redis::RedisError) -> Self {
        let source = || std::error::Error::source(&error).map(ToString::to_string);
        // The text of other errors may contain the URL.
        Self::new(match error.detail().map(str::to_owned).or_else(source) {
            Some(detail) if !detail.contains("://") => format!("{} ({detail})", error.category()),
            _ => error.category().to_owned(),
        })
    }
}

impl RedisState {
    /// Connects to a server by its URL: `redis://` or, with TLS, `rediss://`, and `redis+cluster://` or
    /// `rediss+cluster://` for a node of a cluster.
    ///
    /// # Errors
    /// Fails if the URL is not valid, or nothing answers there.
    pub async fn connect(url: &str) -> Result<Self, RedisStateError> {
        let id = random_id().ok_or_else(|| RedisStateError::new("the operating system has no random numbers"))?;
        let connection = Connection::open(url, PATIENCE).await?;
        let state = Self(Arc::new(Instance { id, url: url.to_owned(), connection, turns: AtomicU64::default() }));
        state.beat().await?;
        Ok(state)
    }

    /// Returns the name of this instance.
    pub(crate) fn id(&self) -> &str {
        &self.0.id
    }

    /// Says that this instance is alive.
    pub(crate) async fn beat(&self) -> Result<(), RedisStateError> {
        let key = alive(self.id());
        self.0.connection.run(cmd("SET").arg(key).arg(1).arg("PX").arg(milliseconds(ALIVE))).await
    }

    /// Says that this instance ends.
    pub(crate) async fn leave(&self) -> Result<(), RedisStateError> {
        self.0.connection.run::<u64>(cmd("DEL").arg(alive(self.id()))).await.map(drop)
    }

    /// Returns `true` if an instance is alive.
    pub(crate) async fn is_alive(&self, instance: &str) -> Result<bool, RedisStateError> {
        self.0.connection.run(cmd("EXISTS").arg(alive(instance))).await
    }

    /// Counts a change of a list, for all instances. This one knows of it.
    pub(crate) async fn count_change(
        &self,
        list: &str,
        known: &mut Option<HashMap<String, u64>>,
    ) -> Result<(), RedisStateError> {
        let key = Self::key("changes", "lists");
        let count: u64 = self.0.connection.run(cmd("HINCRBY").arg(&key).arg(list).arg(1)).await?;
        if let Some(known) = known
            && known.get(list).copied().unwrap_or_default() + 1 == count
        {
            known.insert(list.to_owned(), count);
        }
        self.0.connection.run::<u64>(cmd("PEXPIRE").arg(&key).arg(milliseconds(CHANGES_KEPT))).await.map(drop)
    }

    /// Returns the lists whose counts are not the known ones. The first counts are no change.
    pub(crate) async fn changed_lists(
        &self,
        known: &mut Option<HashMap<String, u64>>,
    ) -> Result<Vec<String>, RedisStateError> {
        let now: HashMap<String, u64> =
            self.0.connection.run(cmd("HGETALL").arg(Self::key("changes", "lists"))).await?;
        let Some(before) = known.replace(now.clone()) else { return Ok(Vec::new()) };
        Ok(now.into_iter().filter(|(list, count)| before.get(list) != Some(count)).map(|(list, _)| list).collect())
    }

    /// Takes a turn of a rate. Returns `Ok(Err(wait))` if the next turn is later.
    pub(crate) async fn take_turn(&self, name: &str, rate: Rate) -> Result<Result<(), Duration>, RedisStateError> {
        let turn = format!("{}.{}", self.id(), self.0.turns.fetch_add(1, Ordering::Relaxed));
        let mut take = cmd("EVAL");
        take.arg(TAKE).arg(1).arg(Self::key("rate", name));
        take.arg(milliseconds(rate.period())).arg(rate.calls()).arg(turn);
        let wait: u64 = self.0.connection.run(&take).await?;
        Ok(if wait == 0 { Ok(()) } else { Err(Duration::from_millis(wait)) })
    }

    fn key(kind: &str, name: &str) -> String {
        format!("{PREFIX}{kind}:{name}")
    }
}

fn alive(instance: &str) -> String {
    RedisState::key("instance", instance)
}

fn json(value: &impl Serialize) -> Result<String, RedisStateError> {
    serde_json::to_string(value).map_err(|error| RedisStateError::new(error.to_string()))
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
}

impl ApprovalStore for RedisState {
    fn spend<'a>(&'a self, approval: &'a str, expires: SystemTime) -> BoxFuture<'a, Result<bool, ApprovalStoreError>> {
        Box::pin(async move {
            let left = expires.duration_since(SystemTime::now()).unwrap_or_default() + Duration::from_secs(60);
            let key = Self::key("approval", approval);
            let mut set = cmd("SET");
            set.arg(key).arg(1).arg("NX").arg("PX").arg(milliseconds(left));
            let set: Result<Option<String>, _> = self.0.connection.run(&set).await;
            set.map(|set| set.is_some()).map_err(|error| ApprovalStoreError::new(error.to_string()))
        })
    }
}

impl fmt::Debug for RedisState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisState").field("instance", &self.0.id).finish_non_exhaustive()
    }
}
