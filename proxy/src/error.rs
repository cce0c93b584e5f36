//! Errors of building and serving a proxy.

use std::io;
use std::net::SocketAddr;

use mcp_bindgen_model::printable;

/// The error of building a proxy, with all its problems.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct ProxyError {
    pub(super) faults: Vec<ProxyFault>,
}

impl ProxyError {
    /// Returns all problems.
    #[must_use]
    pub fn faults(&self) -> &[ProxyFault] {
        &self.faults
    }
}

/// A problem of a proxy. Fields contain names as they were given; the printed message is sanitized.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyFault {
    /// There is nothing to serve.
    #[error("no servers to serve; add one with `ProxyBuilder::server`")]
    NoServers,
    /// Two servers have the same name, so their tools would be ambiguous.
    #[error("duplicate server name `{}`; rename one of the servers", printable(name))]
    Repeated {
        /// The name.
        name: String,
    },
    /// No server may be called so: tools are named after their servers.
    #[error(
        "invalid server name `{}`: use 1 to 64 of a-z, 0-9, `_` and `-`, beginning with a letter or digit",
        printable(name)
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The name is reserved for functions of the program.
    #[error("`{}` is reserved for functions of the program; rename the server", printable(name))]
    Reserved {
        /// The name.
        name: String,
    },
    /// A shared connection has no client that can list its tools.
    #[error("a shared server requires a client, or layers around one")]
    NothingToList,
    /// The key that signs what clients keep for the proxy is too short.
    #[error("the key has {bytes} bytes; at least {at_least} random bytes are required")]
    ShortKey {
        /// How many bytes it has.
        bytes: usize,
        /// How many it has to have.
        at_least: usize,
    },
    /// There is a key, and no store of approvals that the instances with this key share.
    #[error(
        "a key requires a store of approvals: otherwise another instance, or a restart, could reuse an approval; add \
         `ProxyBuilder::approvals`, or remove the key"
    )]
    KeyWithoutStore,
    /// Instances share state, and have no key with which all of them sign.
    #[error(
        "shared state requires a key, by which all instances recognize the approvals of each other; add \
         `ProxyBuilder::key`"
    )]
    StateWithoutKey,
    /// The options of a client answer servers' questions, and would do so for calls of every caller.
    #[error(
        "the client options must not answer requests of servers, which go to the caller; remove `on_elicitation`, \
         `on_sampling`, `roots` and `on_roots`"
    )]
    Answers,
    /// The operating system gives no random numbers, and no key was given.
    #[error("the operating system has no random numbers; set a key with `ProxyBuilder::key`")]
    NoRandomness,
}

/// The error of serving a proxy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address is reachable from other machines without permission.
    #[error("address {address} is reachable from other machines: use `allow_public` to allow this")]
    PublicAddress {
        /// The requested address.
        address: SocketAddr,
    },
    /// The address is reachable from other machines, and their users could call its tools without authentication.
    #[error(
        "address {address} is reachable from other machines without authentication: set a `bearer`, or use \
         `without_authentication` behind an authenticating proxy"
    )]
    Unauthenticated {
        /// The requested address.
        address: SocketAddr,
    },
    /// `[access]` filters by the names of callers, and callers have no names.
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
        /// The requested address.
        address: SocketAddr,
        /// The kind of the failure: `AddrInUse` if another program uses the port.
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
