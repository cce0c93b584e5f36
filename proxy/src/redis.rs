//! The state that several instances of a proxy share, in Redis or Valkey.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use mcp_bindgen_model::{Rate, hex_digest};
use mcp_bindgen_runtime::Caller;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::cluster::ClusterClientBuilder;
use redis::cluster_async::ClusterConnection;
use redis::{Client, Cmd, FromRedisValue, cmd};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::approval::{ApprovalStore, ApprovalStoreError};
use crate::lock::lock;
use crate::random::random_id;

/// The beginning of all keys.
const PREFIX: &str = "mcp-proxy:";
/// The time without a heartbeat after which an instance counts as dead.
const ALIVE: Duration = Duration::from_secs(5);
pub(crate) const HEARTBEAT: Duration = Duration::from_millis(1500);

/// The time to connect, and for the response to a command.
const PATIENCE: Duration = Duration::from_secs(2);
/// The time to wait for a message at once, in seconds.
const WAIT: u64 = 2;
/// The time for the response to a command that waits.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(200);
/// Messages for an instance that is gone are dropped after this time, in seconds.
const KEPT: u64 = 60;
/// A claim on the session of a dead instance.
const CLAIM: Duration = Duration::from_secs(10);

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

/// Writes the record of a session, or removes it if the record is empty, unless an instance holds the session that is
/// not this one.
const PUT: &str = "
local known = redis.call('GET', KEYS[1])
if known and cjson.decode(known).holder ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1";

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
    /// The answers that are awaited from other instances, by the numbers of requests.
    awaited: Mutex<HashMap<u64, mpsc::Sender<Frame>>>,
}

/// A message between instances. Numbers are those of the instance that forwards a request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Message {
    /// A request of a session that the receiver holds.
    Request(Box<Forwarded>),
    /// The client of a forwarded request is gone.
    Cancel { from: String, number: u64 },
    /// A part of an answer; `None` ends it.
    Answer { number: u64, frame: Option<Frame> },
}

/// A part of an answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Frame {
    /// The status and the headers.
    Head(u16, Vec<(String, String)>),
    /// A part of the body.
    Part(String),
}

/// A request as it came to another instance.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Forwarded {
    pub(crate) from: String,
    pub(crate) number: u64,
    pub(crate) method: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    pub(crate) caller: Caller,
}

/// The record of a session, from which another instance can go on with it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SessionRecord {
    /// The instance that holds it.
    pub(crate) holder: String,
    /// The principal that began it.
    pub(crate) principal: Option<String>,
    /// The request that began it.
    pub(crate) initialize: Value,
    /// Requests with a lasting effect, such as subscriptions, by their subject.
    pub(crate) lasting: Vec<(String, Value)>,
    /// `true` if another instance can take over the session.
    pub(crate) can_move: bool,
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
        let state = Self(Arc::new(Instance { id, url: url.to_owned(), connection, awaited: Mutex::default() }));
        state.beat().await?;
        Ok(state)
    }

    /// Returns the name of this instance.
    pub(crate) fn id(&self) -> &str {
        &self.0.id
    }

    /// Returns the answers that are awaited from other instances, by the numbers of requests.
    pub(crate) fn awaited(&self) -> MutexGuard<'_, HashMap<u64, mpsc::Sender<Frame>>> {
        lock(&self.0.awaited)
    }

    /// Says that this instance is alive.
    pub(crate) async fn beat(&self) -> Result<(), RedisStateError> {
        self.run(cmd("SET").arg(alive(self.id())).arg(1).arg("PX").arg(milliseconds(ALIVE))).await
    }

    /// Says that this instance ends.
    pub(crate) async fn leave(&self) -> Result<(), RedisStateError> {
        self.run(cmd("DEL").arg(alive(self.id()))).await
    }

    /// Returns `true` if an instance is alive.
    pub(crate) async fn is_alive(&self, instance: &str) -> Result<bool, RedisStateError> {
        self.run(cmd("EXISTS").arg(alive(instance))).await
    }

    /// Counts a change of a list, for all instances.
    pub(crate) async fn count_change(&self, list: &str) -> Result<(), RedisStateError> {
        let key = key("changes", "lists");
        self.run::<()>(cmd("HINCRBY").arg(&key).arg(list).arg(1)).await?;
        self.run(cmd("PEXPIRE").arg(&key).arg(milliseconds(CHANGES_KEPT))).await
    }

    /// Returns the lists whose counts are not the known ones. The first counts are no change.
    pub(crate) async fn changed_lists(
        &self,
        known: &mut Option<HashMap<String, u64>>,
    ) -> Result<Vec<String>, RedisStateError> {
        let now: HashMap<String, u64> = self.run(cmd("HGETALL").arg(key("changes", "lists"))).await?;
        let Some(before) = known.replace(now.clone()) else { return Ok(Vec::new()) };
        Ok(now.into_iter().filter(|(list, count)| before.get(list) != Some(count)).map(|(list, _)| list).collect())
    }

    /// Takes a turn of a rate. Returns `Ok(Err(wait))` if the next turn is later.
    pub(crate) async fn take_turn(&self, name: &str, rate: Rate) -> Result<Result<(), Duration>, RedisStateError> {
        // Distinguishes turns at the same time.
        static TURNS: AtomicU64 = AtomicU64::new(0);
        let turn = format!("{}.{}", self.id(), TURNS.fetch_add(1, Ordering::Relaxed));
        let mut take = cmd("EVAL");
        take.arg(TAKE).arg(1).arg(key("rate", name)).arg(milliseconds(rate.period())).arg(rate.calls()).arg(turn);
        let wait: u64 = self.run(&take).await?;
        Ok(if wait == 0 { Ok(()) } else { Err(Duration::from_millis(wait)) })
    }

    /// Writes the record of a session that this instance holds, or takes over from another holder; without a record it
    /// is removed. It is forgotten after a time. `false` if yet another instance holds it.
    pub(crate) async fn put_session(
        &self,
        session: &str,
        record: Option<&SessionRecord>,
        holder: &str,
        kept: Duration,
    ) -> Result<bool, RedisStateError> {
        let record = record.map(json).transpose()?.unwrap_or_default();
        let mut put = cmd("EVAL");
        put.arg(PUT).arg(1).arg(session_key(session)).arg(holder).arg(record).arg(milliseconds(kept));
        self.run(&put).await
    }

    /// Returns the record of a session that this instance does not hold, and whether its holder is alive.
    pub(crate) async fn holder(&self, session: &str) -> Result<Option<(SessionRecord, bool)>, RedisStateError> {
        let text: Option<String> = self.run(cmd("GET").arg(session_key(session))).await?;
        let record = text.and_then(|text| serde_json::from_str::<SessionRecord>(&text).ok());
        let Some(record) = record else { return Ok(None) };
        // One that this instance held and does not know any more is as good as one of a dead instance.
        let is_alive = record.holder != self.id() && self.is_alive(&record.holder).await?;
        Ok(Some((record, is_alive)))
    }

    /// Claims the session of a dead instance; `false` if another instance has claimed it.
    pub(crate) async fn claim(&self, session: &str, record: &SessionRecord) -> Result<bool, RedisStateError> {
        let key = format!("{}:{}", session_key(session), record.holder);
        self.set_once(key, self.id(), CLAIM).await
    }

    /// Sends a message to an instance, which takes it from its list.
    pub(crate) async fn send(&self, instance: &str, message: &impl Serialize) -> Result<(), RedisStateError> {
        let key = key("inbox", instance);
        self.run::<()>(cmd("RPUSH").arg(&key).arg(json(message)?)).await?;
        self.run(cmd("EXPIRE").arg(&key).arg(KEPT)).await
    }

    /// Takes back a message that an instance has not taken; `false` if it has.
    pub(crate) async fn take_back(&self, instance: &str, message: &impl Serialize) -> Result<bool, RedisStateError> {
        self.run(cmd("LREM").arg(key("inbox", instance)).arg(1).arg(json(message)?)).await
    }

    /// Waits for the next message to this instance, over a connection that only waits. While the store cannot be
    /// reached, it tries again. After an error it opens the connection anew, because a connection does not notice by
    /// itself that the store no longer answers.
    pub(crate) async fn receive(&self, waiting: &mut Option<Connection>) -> String {
        loop {
            let taken = async {
                let connection = match &mut *waiting {
                    Some(connection) => connection,
                    none => none.insert(Connection::open(&self.0.url, LONGEST_WAIT).await?),
                };
                connection.run(cmd("BLPOP").arg(key("inbox", self.id())).arg(WAIT)).await
            };
            let taken: Result<Option<(String, String)>, RedisStateError> = taken.await;
            match taken {
                Ok(Some((_, message))) => return message,
                Ok(None) => {}
                Err(error) => {
                    tracing::debug!("cannot receive messages of other instances: {error}");
                    *waiting = None;
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Sets a key for a time; `false` if it is set already.
    async fn set_once(&self, key: String, value: &str, time: Duration) -> Result<bool, RedisStateError> {
        let mut set = cmd("SET");
        set.arg(key).arg(value).arg("NX").arg("PX").arg(milliseconds(time));
        Ok(self.run::<Option<String>>(&set).await?.is_some())
    }

    async fn run<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, RedisStateError> {
        self.0.connection.run(command).await
    }
}

fn key(kind: &str, name: &str) -> String {
    format!("{PREFIX}{kind}:{name}")
}

fn alive(instance: &str) -> String {
    key("instance", instance)
}

/// Returns the key of a session, without its id, which is a secret of the client. The number is that of the form of records and
/// messages: instances of versions with another form do not know the session.
fn session_key(session: &str) -> String {
    key("session-2", &hex_digest(session.as_bytes()))
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
            let is_first = self.set_once(key("approval", approval), "1", left).await;
            is_first.map_err(|error| ApprovalStoreError::new(error.to_string()))
        })
    }
}

impl fmt::Debug for RedisState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisState").field("instance", &self.0.id).finish_non_exhaustive()
    }
}

/// A connection that reopens automatically.
pub(crate) struct Connection {
    link: Link,
    patience: Duration,
}

enum Link {
    Single(ConnectionManager),
    Cluster(ClusterConnection),
}

impl Connection {
    /// Opens a connection whose commands are answered within a time.
    async fn open(url: &str, patience: Duration) -> Result<Self, RedisStateError> {
        let invalid = |_| RedisStateError::new("the URL is not valid");
        let link = if let Some((scheme, rest)) = url.split_once("+cluster://") {
            // Commands are not retried automatically: a message that arrives twice would make two calls.
            let client = ClusterClientBuilder::new([format!("{scheme}://{rest}")])
                .retries(0)
                .connection_timeout(PATIENCE)
                .response_timeout(patience)
                .build()
                .map_err(invalid)?;
            Link::Cluster(client.get_async_connection().await?)
        } else {
            let config = ConnectionManagerConfig::new()
                .set_connection_timeout(Some(PATIENCE))
                .set_response_timeout(Some(patience))
                .set_number_of_retries(1)
                .set_max_delay(Duration::from_millis(500));
            Link::Single(Client::open(url).map_err(invalid)?.get_connection_manager_with_config(config).await?)
        };
        Ok(Self { link, patience })
    }

    /// Runs a command.
    async fn run<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, RedisStateError> {
        let run = async {
            match &self.link {
                Link::Single(manager) => command.query_async(&mut manager.clone()).await,
                Link::Cluster(connection) => command.query_async(&mut connection.clone()).await,
            }
        };
        let answer = tokio::time::timeout(self.patience * 2, run).await;
        Ok(answer.map_err(|_| RedisStateError::new("no answer in time"))??)
    }
}
