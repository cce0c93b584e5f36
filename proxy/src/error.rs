//! Errors of building a proxy.

use std::fmt;

use mcp_bindgen_model::printable;

/// The error of building a proxy, with all its problems.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", listed(.faults))]
pub struct ProxyError {
    faults: Vec<ProxyFault>,
}

impl ProxyError {
    pub(super) fn new(faults: Vec<ProxyFault>) -> Self {
        Self { faults }
    }

    /// Returns all problems.
    #[must_use]
    pub fn faults(&self) -> &[ProxyFault] {
        &self.faults
    }
}

/// A problem of a proxy. Fields contain names as they were given; the printed message is sanitized.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProxyFault {
    /// There is nothing to serve.
    NoServers,
    /// Two servers have one name, so that nobody could tell their tools apart.
    Repeated {
        /// The name.
        name: String,
    },
    /// No server may be called so: tools are named after their servers.
    Name {
        /// The name.
        name: String,
    },
    /// The name is that of what programs bring themselves.
    Reserved {
        /// The name.
        name: String,
    },
    /// A shared connection has no client at its end, so that nobody can be asked for a list.
    NothingToList,
    /// The key that signs what clients keep for the proxy is too short.
    ShortKey {
        /// How many bytes it has.
        bytes: usize,
        /// How many it has to have.
        at_least: usize,
    },
    /// There is a key, and no store of approvals that the instances with this key share.
    KeyWithoutStore,
    /// Instances share state, and have no key with which all of them sign.
    StateWithoutKey,
    /// The options of clients answer what servers ask, and would for calls of anybody.
    Answers,
    /// The operating system gives no random numbers, and no key was given.
    NoRandomness,
}

impl fmt::Display for ProxyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoServers => f.write_str("no servers to serve; add one with `ProxyBuilder::server`"),
            Self::Repeated { name } => {
                let name = printable(name);
                write!(f, "duplicate server name `{name}`; rename one of the servers")
            }
            Self::Name { name } => write!(
                f,
                "invalid server name `{}`: use 1 to 64 of a-z, 0-9, `_` and `-`, beginning with a letter or digit",
                printable(name)
            ),
            Self::Reserved { name } => {
                write!(f, "`{}` is reserved for functions of the program; rename the server", printable(name))
            }
            Self::NothingToList => f.write_str("a shared server requires a client, or layers around one"),
            Self::ShortKey { bytes, at_least } => {
                write!(f, "the key has {bytes} bytes; at least {at_least} random bytes are required")
            }
            Self::KeyWithoutStore => f.write_str(
                "a key requires a store of approvals: otherwise another instance, or a restart, could reuse an \
                 approval; add `ProxyBuilder::approvals`, or remove the key",
            ),
            Self::StateWithoutKey => f.write_str(
                "shared state requires a key, by which all instances recognize the approvals of each other; add \
                 `ProxyBuilder::key`",
            ),
            Self::Answers => f.write_str(
                "the client options must not answer requests of servers, which go to the caller; remove \
                 `on_elicitation`, `on_sampling`, `roots` and `on_roots`",
            ),
            Self::NoRandomness => {
                f.write_str("the operating system has no random numbers; set a key with `ProxyBuilder::key`")
            }
        }
    }
}

fn listed(faults: &[ProxyFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
