//! A server's description of itself, and its lists, as it sends them.

pub(crate) mod changes;
pub(crate) mod drift;
pub(crate) mod offers;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use mcp_bindgen_model::Snapshot;
use serde_json::Value;

use crate::connect::connection::{Connection, ListTerms, Listing, Terms};
use crate::ground::deadline::Patience;
#[cfg(feature = "http")]
use crate::ground::redact::LONGEST_MESSAGE;
use crate::ground::wire::size_of_value;
use crate::rpc::RequestError;
use crate::{Client, ConnectError, ConnectErrorKind as Kind};

const MAX_PAGES: usize = 1000;
/// The approximate limit on the bytes of a listing, over all its pages.
const MAX_LISTING: usize = 64 * 1024 * 1024;
/// Some servers register tools right after the handshake and then say that their list changed.
const QUIET_PERIOD: Duration = Duration::from_millis(150);
const MAX_RELISTS: usize = 5;
const METHOD_NOT_FOUND: i32 = -32601;
#[cfg(feature = "http")]
const FIRST_VERSION_WITH_HEADERS: &str = "2026-07-28";

/// Implements a trait with one request for pointers to implementations and for clients with options.
macro_rules! passed_on {
    ($asks:ident::$method:ident($request:ty) -> $result:ty) => {
        passed_on!(@ $asks::$method($request) -> $result, &C, std::sync::Arc<C>);

        impl<C: $asks> $asks for crate::WithOptions<C> {
            fn $method(&self, mut request: $request) -> impl Future<Output = Result<$result, CallError>> + Send {
                let (client, options) = self.parts();
                request.options = request.options.or(options);
                client.$method(request)
            }
        }
    };
    (@ $asks:ident::$method:ident($request:ty) -> $result:ty, $($pointer:ty),+) => {$(
        impl<C: $asks + ?Sized> $asks for $pointer {
            fn $method(&self, request: $request) -> impl Future<Output = Result<$result, CallError>> + Send {
                (**self).$method(request)
            }
        }
    )+};
}
use passed_on;

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

    /// Returns the tools, each as the server sent it, in the server's order.
    ///
    /// # Errors
    /// Fails if the server cannot be reached, does not answer in time, or answers with something else than a list.
    pub async fn list_tools_raw(&self) -> Result<Vec<Value>, ConnectError> {
        tools(self.name(), &*self.connection().await?, self.patience()).await
    }

    /// Returns a list, which is empty if the server does not declare the capability.
    async fn declared_list(&self, connection: &Connection, listing: Listing) -> Result<Vec<Value>, ConnectError> {
        let (_, capability) = listing.key();
        if connection.handshake.pointer(&format!("/capabilities/{capability}")).is_none_or(Value::is_null) {
            return Ok(Vec::new());
        }
        all(self.name(), connection, listing, self.patience()).await
    }

    /// Returns how long the last list of a method may be cached: `tools/list`, `prompts/list`, `resources/list`,
    /// `resources/templates/list` or `skills/list`. Returns `None` if the server sets no terms, or its list has
    /// changed. Until then the client does not request the list again.
    ///
    /// ```no_run
    /// # async fn run(client: mcp_bindgen_runtime::Client) -> Result<(), mcp_bindgen_runtime::ConnectError> {
    /// let tools = client.list_tools_raw().await?;
    /// if let Some(terms) = client.list_terms("tools/list") {
    ///     println!("{} tools, good for {:?}", tools.len(), terms.ttl);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[inline]
    pub fn list_terms(&self, method: &str) -> Option<ListTerms> {
        let connection = &self.supervisor.open_connection()?.connection;
        Some(connection.kept.get(method, connection.changes_of(Listing::of_method(method)?))?.1)
    }

    /// Takes a snapshot of everything that the server offers.
    ///
    /// # Errors
    /// Fails like [`list_tools_raw`](Self::list_tools_raw).
    pub async fn snapshot(&self) -> Result<Snapshot, ConnectError> {
        let connection = self.connection().await?;
        let mut tools = self.settled_tools(&connection).await?;
        tools.sort_by(|a, b| name_of(a).cmp(&name_of(b)));
        let mut prompts = self.declared_list(&connection, Listing::Prompts).await?;
        let mut resource_templates = self.declared_list(&connection, Listing::ResourceTemplates).await?;
        let mut skills = self.declared_list(&connection, Listing::Skills).await?;
        // A snapshot is kept with the code: a server that repeats its key must not put it there.
        let declared = tools.iter_mut().chain(&mut prompts).chain(&mut resource_templates).chain(&mut skills);
        declared.for_each(|value| connection.link.notes.redactor().description(value));
        let Declared { protocol_version, server_info, capabilities, instructions } = Declared::by(&connection);
        Ok(Snapshot {
            server: Some(self.name().to_owned()),
            protocol_version: Some(protocol_version),
            server_info,
            capabilities,
            client_capabilities: Some(connection.declared.clone()),
            instructions,
            tools,
            prompts,
            resource_templates,
            skills,
            ..Snapshot::default()
        })
    }

    /// Returns the tools once their list has come to rest.
    async fn settled_tools(&self, connection: &Connection) -> Result<Vec<Value>, ConnectError> {
        for _ in 0..MAX_RELISTS {
            let before = connection.list_changes();
            let found = tools(self.name(), connection, self.patience()).await?;
            tokio::time::sleep(QUIET_PERIOD).await;
            if connection.list_changes() == before {
                return Ok(found);
            }
        }
        let message = format!("its list of tools changed during each of {MAX_RELISTS} listings");
        Err(ConnectError::new(self.name(), Kind::Protocol, message))
    }
}

/// A server's description of itself in the handshake, as it sent it but for secrets of its configuration.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Declared {
    /// The protocol version that was agreed, such as `2025-11-25`.
    pub protocol_version: String,
    /// Its name and version: `serverInfo`.
    pub server_info: Option<Value>,
    /// Its capabilities: `ServerCapabilities`.
    pub capabilities: Option<Value>,
    /// Its instructions for the model.
    pub instructions: Option<String>,
}

impl Declared {
    fn by(connection: &Connection) -> Self {
        let mut handshake = connection.handshake.clone();
        // The server may repeat its key here; the generated code and its readers must not see it.
        connection.link.notes.redactor().description(&mut handshake);
        let server_info = ["/serverInfo", "/_meta/io.modelcontextprotocol~1serverInfo"];
        Self {
            protocol_version: connection.protocol_version.clone(),
            server_info: server_info.iter().find_map(|pointer| handshake.pointer(pointer)).cloned(),
            capabilities: handshake.get("capabilities").cloned(),
            instructions: handshake.get("instructions").and_then(Value::as_str).map(str::to_owned),
        }
    }
}

/// Returns all tools that may be offered over this connection.
pub(crate) async fn tools(
    server: &str,
    connection: &Connection,
    patience: Patience,
) -> Result<Vec<Value>, ConnectError> {
    let mut found = all(server, connection, Listing::Tools, patience).await?;
    retain_usable(server, connection, &mut found);
    Ok(found)
}

/// Removes tools whose header annotations are invalid: the protocol forbids offering them over HTTP.
#[cfg_attr(not(feature = "http"), allow(unused_variables, clippy::ptr_arg, reason = "only HTTP has headers"))]
pub(super) fn retain_usable(server: &str, connection: &Connection, tools: &mut Vec<Value>) {
    #[cfg(feature = "http")]
    if let Some(headers) = &connection.link.param_headers
        && connection.protocol_version.as_str() >= FIRST_VERSION_WITH_HEADERS
    {
        tools.retain(|tool| {
            let (Some(name), Some(schema)) = (name_of(tool), tool.get("inputSchema")) else { return true };
            let learned = headers.learn(name, schema).inspect_err(|reason| {
                let shown = |text| connection.link.notes.redactor().shown_line(text, LONGEST_MESSAGE);
                tracing::warn!(server, tool = shown(name), "tool left out: {}", shown(reason));
            });
            learned.is_ok()
        });
    }
}

/// Returns all items of a list, over all its pages.
async fn all(
    server: &str,
    connection: &Connection,
    listing: Listing,
    patience: Patience,
) -> Result<Vec<Value>, ConnectError> {
    let notes = &connection.link.notes;
    let wrong = |kind, message: String| notes.error(kind, &message);
    let (method, (key, _)) = (listing.method(), listing.key());
    let changes = connection.changes_of(listing);
    if let Some((kept, _)) = connection.kept.get(method, changes) {
        return Ok(kept.to_vec());
    }
    let (mut terms, mut found, mut size) = (Terms::new(), Vec::new(), 0_usize);
    let (mut cursor, mut cursors) = (None, HashSet::new());
    for _ in 0..MAX_PAGES {
        let asked = Instant::now();
        let mut page = match connection.session.request(listing.request(cursor), patience.renewed().into()).await {
            Ok(page) => page,
            // Servers with resources need not have templates, and skills are an optional extension.
            Err(RequestError::Rpc(error))
                if error.code.0 == METHOD_NOT_FOUND
                    && matches!(listing, Listing::ResourceTemplates | Listing::Skills) =>
            {
                return Ok(found);
            }
            // No caller cancels a listing.
            Err(RequestError::Timeout(_) | RequestError::Cancelled(_)) => {
                let message = match found.len() {
                    count @ 1.. if patience.cap.has_passed() => {
                        format!("`{method}` takes too long: no end after {count} items")
                    }
                    _ => format!("no answer to `{method}` within {:?}", patience.timeout),
                };
                return Err(wrong(Kind::Timeout, message));
            }
            Err(error) => {
                let (kind, retry_after) = match &error {
                    RequestError::Rpc(_) => {
                        return Err(wrong(Kind::Protocol, format!("`{method}` failed with {error}")));
                    }
                    RequestError::Failed(failure) if failure.wants_authorization => (Kind::Auth, failure.retry_after),
                    RequestError::Failed(failure) if !error.is_answer() => (Kind::Transport, failure.retry_after),
                    _ => (Kind::Protocol, None),
                };
                return Err(wrong(kind, format!("`{method}` failed: {error}")).with_retry_after(retry_after));
            }
        };
        terms.add(&page, asked);
        size = size.saturating_add(size_of_value(&page));
        if size > MAX_LISTING {
            let most = MAX_LISTING / (1024 * 1024);
            let message = format!("`{method}` returned more than {most} MiB; reduce the server's list");
            return Err(wrong(Kind::Protocol, message));
        }
        let Some(Value::Array(items)) = page.get_mut(key).map(Value::take) else {
            return Err(wrong(Kind::Protocol, format!("the response to `{method}` has no array `{key}`")));
        };
        let next = page.get("nextCursor").and_then(Value::as_str);
        let repeats = next.is_some_and(|next| !cursors.insert(next.to_owned()));
        // Some servers always send a cursor; the list ends if it leads to no new item.
        if repeats && items.iter().all(|item| found.contains(item)) {
            tracing::warn!(server, "`{method}` repeated a cursor without new items; the list ends there");
            return Ok(found);
        }
        found.extend(items);
        let Some(next) = next else {
            connection.kept.put(method, &found, &terms, changes);
            return Ok(found);
        };
        cursor = Some(next.to_owned());
    }
    Err(wrong(Kind::Protocol, format!("`{method}` has no end: more than {MAX_PAGES} pages")))
}

fn name_of(tool: &Value) -> Option<&str> {
    tool.get("name").and_then(Value::as_str)
}
