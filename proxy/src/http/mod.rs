//! A proxy over streamable HTTP.
//!
//! ```text
//! connections    accepts connections within its limits, and closes them gracefully, or if their client stopped reading
//! handler        handles one request, also of operators: health, readiness and metrics
//! admission      lets requests in, by host, origin and limits
//! auth           authenticates callers by their tokens
//! headers        the kind and the protocol version of a message, and whether its headers agree with its body
//! forwarding     forwards requests of sessions that another instance holds, and answers those that others forward
//! sessions       sessions of clients up to 2025-11-25, and their records for other instances
//! streams        streams to one client, which can be resumed
//! channel        the events of one stream
//! body           request and response bodies
//! ```

// A refusal is an answer like any other: either way it is moved once, on its way out.
#![allow(clippy::result_large_err)]

mod admission;
mod auth;
mod body;
mod channel;
mod connections;
#[cfg(feature = "redis")]
mod forwarding;
mod handler;
mod headers;
mod options;
mod origin;
mod sessions;
mod streams;

#[cfg(feature = "jwt")]
pub use auth::JwtAuth;
pub use auth::{TokenFile, TokenFileError};
pub use connections::HttpServer;
pub use options::HttpOptions;

use super::{Proxy, ServeError};

impl Proxy {
    /// Serves the proxy over streamable HTTP, for clients of all versions of MCP since 2025-03-26, until the server
    /// is closed or dropped.
    ///
    /// Clients up to 2025-11-25 have sessions, and each session has its own connections to the servers. Requests of
    /// 2026-07-28 are independent: any number of instances can run next to each other.
    ///
    /// ```no_run
    /// use mcp_bindgen_proxy::{HttpOptions, Proxy};
    ///
    /// # async fn serve(proxy: Proxy) -> Result<(), Box<dyn std::error::Error>> {
    /// let server = proxy.serve_http(HttpOptions::new().bearer(std::env::var("PROXY_TOKEN")?)).await?;
    /// println!("{}", server.url()); // http://127.0.0.1:49152/mcp
    /// server.until(tokio::time::sleep(std::time::Duration::from_secs(3600))).await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails if the options are invalid or need an explicit permission ([`ServeError::PublicAddress`],
    /// [`ServeError::Unauthenticated`], [`ServeError::AccessWithoutNames`]), or the address cannot be listened on.
    pub async fn serve_http(&self, options: HttpOptions) -> Result<HttpServer, ServeError> {
        let options = options.check()?;
        if self.shared.setup().access.is_some() && !options.authentication.has_names() {
            return Err(ServeError::AccessWithoutNames);
        }
        connections::serve(self.shared.clone(), options).await
    }
}
