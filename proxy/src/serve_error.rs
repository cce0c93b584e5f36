//! Why a proxy cannot be served.

use std::io;
use std::net::SocketAddr;

/// The error of serving a proxy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Other machines could reach it, and nothing said that they may.
    #[error("address {address} is reachable from other machines: use `allow_public` to allow this")]
    PublicAddress {
        /// The address asked for.
        address: SocketAddr,
    },
    /// Other machines could reach it, and whoever does could call its tools.
    #[error(
        "address {address} is reachable from other machines without authentication: set a `bearer`, or use \
         `without_authentication` behind an authenticating proxy"
    )]
    Unauthenticated {
        /// The address asked for.
        address: SocketAddr,
    },
    /// `[access]` shows callers what their names allow, and nobody has a name.
    #[error(
        "`[access]` requires names of callers, which only HTTP with named tokens or access tokens has: set `tokens` or \
         `jwt` of the HTTP options"
    )]
    AccessWithoutNames,
    /// An option makes no sense.
    #[error("{option}: {problem}")]
    Option {
        /// The option's name.
        option: &'static str,
        /// The fault. A token is never in it.
        problem: String,
    },
    /// The address is taken, or not of this machine.
    #[error("failed to listen on {address}: {message}")]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// The kind of the failure: `AddrInUse` where somebody else has the port.
        kind: io::ErrorKind,
        /// The message of the system.
        message: String,
    },
    /// The conversation broke off before it began.
    #[error("failed to start the session: {message}")]
    Connection {
        /// The fault.
        message: String,
    },
}

impl ServeError {
    pub(super) fn option(option: &'static str, problem: impl Into<String>) -> Self {
        Self::Option { option, problem: problem.into() }
    }
}
