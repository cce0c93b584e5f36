//! A server's description of itself.

use serde_json::Value;

use crate::connect::connection::Connection;
use crate::{Client, ConnectError};

/// A server's description of itself when it is connected to, as it sent it but for secrets of its configuration.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Declared {
    /// The protocol version that was agreed, such as `2025-11-25`.
    pub protocol_version: String,
    /// Its name and version: `serverInfo`.
    pub server_info: Option<Value>,
    /// Its capabilities: `ServerCapabilities`.
    pub capabilities: Option<Value>,
    /// How it wants to be used, for the model.
    pub instructions: Option<String>,
}

impl Declared {
    pub(super) fn by(connection: &Connection) -> Self {
        let mut handshake = connection.handshake.clone();
        // The server may repeat its key here; the generated code and its readers must not see it.
        connection.link.notes.redactor().description(&mut handshake);
        let server_info = handshake
            .get("serverInfo")
            .or_else(|| handshake.pointer("/_meta/io.modelcontextprotocol~1serverInfo"))
            .cloned();
        Self {
            protocol_version: connection.protocol_version.clone(),
            server_info,
            capabilities: handshake.get("capabilities").cloned(),
            instructions: handshake.get("instructions").and_then(Value::as_str).map(str::to_owned),
        }
    }
}

impl Client {
    /// Returns the server's description of itself, and connects if necessary.
    ///
    /// ```no_run
    /// # async fn run(client: mcp_bindgen_runtime::Client) -> Result<(), mcp_bindgen_runtime::ConnectError> {
    /// let declared = client.declared().await?;
    /// println!("{} speaks {}", client.name(), declared.protocol_version);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails if the client cannot connect.
    pub async fn declared(&self) -> Result<Declared, ConnectError> {
        Ok(Declared::by(&*self.connection().await?))
    }
}
