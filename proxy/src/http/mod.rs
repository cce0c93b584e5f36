//! A proxy over streamable HTTP.
//!
//! ```text
//! connections   accepts, within its limits, and closes gracefully
//! door          answers a request
//! admission     checks which requests are allowed: host, origin
//! auth          identifies callers: tokens
//! pages         pages for operators: health, readiness, metrics
//! headers       finds the era of a request, and checks its headers against its body
//! replicas      this instance among others: `elsewhere` forwards requests of their sessions, and answers theirs
//! sessions      sessions of clients up to 2025-11-25
//! posted        handles each kind of message from a client
//! streams       messages to one client, in streams that can be resumed
//! channel       the events of one stream
//! body          reads and writes bodies
//! patient       ends connections of clients that stopped reading
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
mod pages;
mod posted;
#[cfg(feature = "redis")]
mod replicas;
mod sessions;
mod stall_timeout;
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
