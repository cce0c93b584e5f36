//! Observes every message of a connection.

use rmcp::model::RequestId;
use serde_json::{Map, Value};

use super::sent::Message;

/// Is told of messages as they are on the wire, secrets and all.
pub(crate) trait Witness: Send + Sync {
    /// A message was handed to the transport.
    fn sent(&self, message: &Message);

    /// A request was answered: with `result` or `error` among the fields.
    fn answered(&self, id: &RequestId, fields: &Map<String, Value>);

    /// The server asks or tells something of its own.
    fn said(&self, fields: &Map<String, Value>);
}
