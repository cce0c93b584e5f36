//! The sessions of clients, each held by one instance.

use std::time::Duration;

use mcp_bindgen_model::hex_digest;
use redis::cmd;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{RedisState, RedisStateError, json, milliseconds};

/// A claim on the session of a dead instance.
const CLAIM: Duration = Duration::from_secs(10);

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

/// Writes a record, unless an instance holds the session that is not this one.
const PUT: &str = "
local known = redis.call('GET', KEYS[1])
if known and cjson.decode(known).holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1";

/// Returns the key of a session, without its id, which is a secret of the client.
fn key(session: &str) -> String {
    RedisState::key("session", &hex_digest(session.as_bytes()))
}

impl RedisState {
    /// Writes a session that this instance holds, or takes over from another holder. It is forgotten after a time. `false`
    /// if yet another instance holds it.
    pub(crate) async fn put_session(
        &self,
        session: &str,
        record: &SessionRecord,
        holder: &str,
        kept: Duration,
    ) -> Result<bool, RedisStateError> {
        let mut put = cmd("EVAL");
        put.arg(PUT).arg(1).arg(key(session)).arg(holder).arg(json(record)?).arg(milliseconds(kept));
        self.0.connection.run(&put).await
    }

    pub(crate) async fn remove_session(&self, session: &str) -> Result<(), RedisStateError> {
        self.0.connection.run::<u64>(cmd("DEL").arg(key(session))).await.map(drop)
    }

    /// Returns the record of a session that this instance does not hold, and whether its holder is alive.
    pub(crate) async fn holder(&self, session: &str) -> Result<Option<(SessionRecord, bool)>, RedisStateError> {
        let text: Option<String> = self.0.connection.run(cmd("GET").arg(key(session))).await?;
        let record = text.and_then(|text| serde_json::from_str::<SessionRecord>(&text).ok());
        let Some(record) = record else { return Ok(None) };
        // One that this instance held and does not know any more is as good as one of a dead instance.
        let is_alive = record.holder != self.id() && self.is_alive(&record.holder).await?;
        Ok(Some((record, is_alive)))
    }

    /// Claims the session of a dead instance; `false` if another instance has claimed it.
    pub(crate) async fn claim(&self, session: &str, record: &SessionRecord) -> Result<bool, RedisStateError> {
        let key = format!("{}:{}", key(session), record.holder);
        let mut set = cmd("SET");
        set.arg(key).arg(self.id()).arg("NX").arg("PX").arg(milliseconds(CLAIM));
        Ok(self.0.connection.run::<Option<String>>(&set).await?.is_some())
    }
}
