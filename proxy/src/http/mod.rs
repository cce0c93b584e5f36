//! A proxy over streamable HTTP.
//!
//! ```text
//! connections   accepts, within its limits, and closes gracefully
//! door          what becomes of a request
//! admission     which requests are let in: host, origin
//! auth          who sends them: tokens
//! pages         what operators ask: health, readiness, metrics
//! headers       which era a request is of, and whether its headers say what its body says
//! replicas      this instance among others: `elsewhere` forwards requests of their sessions, and answers theirs
//! sessions      those of clients up to 2025-11-25
//! posted        what kind of message a client sends
//! streams       what one client is sent, in streams that can be resumed
//! channel       the events of one stream
//! body          what is read and what is written
//! patient       ends connections of those who read nothing any more
//! ```

// A refusal is an answer like any other: either way it is moved once, on its way out.
#![allow(clippy::result_large_err)]

mod admission;
mod auth;
mod body;
mod channel;
mod connections;
mod door;
#[cfg(feature = "redis")]
mod elsewhere;
mod headers;
mod options;
mod origin;
mod pages;
mod patient;
mod posted;
#[cfg(feature = "redis")]
mod replicas;
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
    /// Fails if the options make no sense or demand more than was said ([`ServeError::PublicAddress`],
    /// [`ServeError::Unauthenticated`], [`ServeError::AccessWithoutNames`]), or the address cannot be listened on.
    pub async fn serve_http(&self, options: HttpOptions) -> Result<HttpServer, ServeError> {
        let options = options.check()?;
        if self.shared.setup().access.is_some() && !options.authentication.has_names() {
            return Err(ServeError::AccessWithoutNames);
        }
        connections::serve(self.shared.clone(), options).await
    }
}
