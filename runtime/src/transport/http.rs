//! Streamable HTTP: rmcp drives the sessions and streams, this module makes the requests.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use http::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use serde_json::Value;
use sse_stream::{Sse, SseStream};

use super::notes::Notes;
use super::param_headers::ParamHeaders;
use super::raw::{self, Exchange};
use crate::request::RequestError;

const EVENT_STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const PREVIEW: usize = 300;
const MAX_EVENT: usize = 64 * 1024 * 1024;

/// A request that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// It never reached the server.
    #[error("{0}")]
    NotSent(String),
    /// What became of it is not known.
    #[error("{0}")]
    Lost(String),
    /// The server refused it.
    #[error("{message}")]
    Refused { status: StatusCode, message: String },
}

type Failure = StreamableHttpError<HttpError>;

/// The requests of one connection.
#[derive(Clone)]
pub(crate) struct HttpClient {
    pub(crate) client: reqwest::Client,
    pub(crate) headers: HeaderMap,
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) param_headers: Arc<ParamHeaders>,
    pub(crate) notes: Notes,
}

impl HttpClient {
    fn fail(&self, error: HttpError) -> Failure {
        self.notes.problem(error.to_string());
        StreamableHttpError::Client(error)
    }

    async fn send(
        &self,
        request: reqwest::RequestBuilder,
        session: Option<Arc<str>>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<reqwest::Response, Failure> {
        let mut all = self.headers.clone();
        all.extend(headers);
        if let Some(session) = session.and_then(|session| HeaderValue::from_str(&session).ok()) {
            all.insert(SESSION, session);
        }
        // `headers` replaces; what the builder has set already (Accept, Content-Type) the configuration may not name.
        let response = request.headers(all).send().await.map_err(|error| self.fail(unsent_or_lost(error)))?;
        self.notes.problem_is_over();
        Ok(response)
    }

    /// An event stream whose messages rmcp decodes without losing anything of a result.
    fn events(
        &self,
        response: reqwest::Response,
        answers: Option<RequestId>,
    ) -> BoxStream<'static, Result<Sse, SseError>> {
        let mut since_event = 0;
        let bytes = response.bytes_stream().map(move |chunk| {
            let chunk = chunk.map_err(|error| describe(&error))?;
            since_event = match chunk.windows(2).rposition(|pair| pair == b"\n\n" || pair == b"\n\r") {
                Some(end) => chunk.len() - end,
                None => since_event + chunk.len(),
            };
            if since_event > MAX_EVENT {
                return Err(format!("the server sent an event of more than {} MiB", MAX_EVENT / (1024 * 1024)));
            }
            Ok(chunk)
        });
        let bytes = bytes.map(|chunk| chunk.map_err(std::io::Error::other));
        let exchange = self.exchange.clone();
        SseStream::from_bytes_stream(bytes)
            .map(move |event| {
                event.map(|mut event| {
                    event.data = event.data.and_then(|data| {
                        let message = raw::parse(data.as_bytes())?;
                        let message = exchange.received(message, answers.as_ref())?;
                        serde_json::to_string(&message).ok()
                    });
                    event
                })
            })
            .boxed()
    }

    fn message(&self, body: &[u8], answers: &RequestId) -> Option<ServerJsonRpcMessage> {
        match raw::parse(body)? {
            Value::Array(batch) => batch.into_iter().find_map(|one| self.exchange.received(one, Some(answers))),
            message => self.exchange.received(message, Some(answers)),
        }
    }

    /// Makes of a status that is no success what rmcp should see.
    async fn refused(
        &self,
        message: &ClientJsonRpcMessage,
        had_session: bool,
        response: reqwest::Response,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let status = response.status();
        if status == StatusCode::NOT_FOUND && had_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let challenge =
            response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = response.bytes().await.unwrap_or_default();
        let is_auth = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if had_session && status == StatusCode::BAD_REQUEST && is_lost_session(&body) {
            return Err(StreamableHttpError::SessionExpired);
        }
        if let ClientJsonRpcMessage::Request(request) = message
            && !is_auth
        {
            let error = serde_json::from_slice::<Value>(&body).ok().filter(|body| body.get("error").is_some());
            if let Some(message) = error.and_then(|error| self.exchange.received(error, Some(&request.id))) {
                return Ok(StreamableHttpPostResponse::Json(message, None));
            }
            if matches!(request.request, ClientRequest::DiscoverRequest(_)) && status.is_client_error() {
                let error = ErrorData::invalid_request(format!("HTTP {status}"), None);
                let message = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
                return Ok(StreamableHttpPostResponse::Json(message, None));
            }
        }
        let message = match (status, challenge) {
            (StatusCode::UNAUTHORIZED, _) => {
                format!("the server asks for authorization (HTTP {status}); set `headers.Authorization`")
            }
            (_, Some(challenge)) => format!("HTTP {status}: {challenge}"),
            _ => format!("HTTP {status}{}", preview(&body)),
        };
        Err(self.fail(if status.is_server_error() {
            HttpError::Lost(message)
        } else {
            HttpError::Refused { status, message }
        }))
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _auth_header: Option<String>,
        mut headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        self.exchange.sending(&message);
        let request_id = match &message {
            ClientJsonRpcMessage::Request(request) => {
                if let ClientRequest::CallToolRequest(call) = &request.request
                    && headers.contains_key(&METHOD)
                    && let Some(arguments) = &call.params.arguments
                {
                    let mirrored = self.param_headers.of_call(&call.params.name, arguments);
                    headers.extend(mirrored.into_iter().filter_map(|(name, value)| Some((name?, value))));
                }
                Some(request.id.clone())
            }
            _ => None,
        };
        let body = serde_json::to_vec(&message)?;
        let request = self
            .client
            .post(uri.as_ref())
            .header(ACCEPT, format!("{JSON}, {EVENT_STREAM}"))
            .header(CONTENT_TYPE, JSON)
            .body(body);
        let had_session = session.is_some();
        let response = self.send(request, session, headers).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !status.is_success() {
            return self.refused(&message, had_session, response).await;
        }
        let Some(request_id) = request_id else {
            return Ok(StreamableHttpPostResponse::Accepted);
        };
        let session = response.headers().get(SESSION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        if content_type(&response).starts_with(EVENT_STREAM) {
            return Ok(StreamableHttpPostResponse::Sse(self.events(response, Some(request_id)), session));
        }
        let kind = content_type(&response).to_owned();
        let body = response.bytes().await.map_err(|error| self.fail(HttpError::Lost(describe(&error))))?;
        match self.message(&body, &request_id) {
            Some(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
            None => Err(self.fail(HttpError::Lost(format!(
                "the server answered with `{kind}` and no JSON-RPC response{}",
                preview(&body)
            )))),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _auth_header: Option<String>,
        mut headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        if let Some(last_event) = last_event.and_then(|id| HeaderValue::from_str(&id).ok()) {
            headers.insert(LAST_EVENT, last_event);
        }
        let request = self.client.get(uri.as_ref()).header(ACCEPT, EVENT_STREAM);
        let response = self.send(request, session, headers).await?;
        match response.status() {
            StatusCode::UNAUTHORIZED => Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(String::new()))),
            status if status.is_client_error() => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if !status.is_success() => {
                Err(StreamableHttpError::Client(HttpError::Lost(format!("HTTP {status}"))))
            }
            _ if content_type(&response).starts_with(EVENT_STREAM) => Ok(self.events(response, None)),
            _ => Err(StreamableHttpError::ServerDoesNotSupportSse),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _auth_header: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        // A server need not support it, and the session is of no more use either way.
        self.send(self.client.delete(uri.as_ref()), Some(session), headers).await.map(drop)
    }
}

fn content_type(response: &reqwest::Response) -> &str {
    response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Servers that were restarted answer 400 for a session that they no longer know, though the protocol says 404.
fn is_lost_session(body: &[u8]) -> bool {
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return false;
    };
    let message = body.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
    body.get("id").is_none_or(Value::is_null) && message.to_ascii_lowercase().contains("session")
}

fn preview(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let text: String = text.trim().chars().take(PREVIEW).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.is_empty() { text } else { format!(": {text}") }
}

fn unsent_or_lost(error: reqwest::Error) -> HttpError {
    if error.is_connect() || error.is_builder() || error.is_redirect() {
        HttpError::NotSent(describe(&error))
    } else {
        HttpError::Lost(describe(&error))
    }
}

/// The causes of an error without its URL, which may hold a secret.
fn describe(error: &reqwest::Error) -> String {
    let mut causes = Vec::new();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        // hyper's own layers say no more than that it was the client's side.
        if causes.last() != Some(&text) && !text.starts_with("client error") {
            causes.push(text);
        }
        source = cause.source();
    }
    let what = if error.is_connect() {
        "could not connect"
    } else if error.is_redirect() {
        "the server redirects elsewhere"
    } else {
        "the request failed"
    };
    causes.insert(0, what.to_owned());
    causes.join(": ")
}

/// What a failure of this transport means for the request; `None` for a failure of another.
pub(crate) fn classify(error: &(dyn StdError + Send + Sync + 'static)) -> Option<RequestError> {
    Some(match error.downcast_ref::<Failure>()? {
        StreamableHttpError::Client(HttpError::NotSent(message)) => RequestError::NotSent(message.clone()),
        StreamableHttpError::Client(HttpError::Refused { message, .. }) => RequestError::Refused(message.clone()),
        StreamableHttpError::Client(HttpError::Lost(message)) => RequestError::Lost(message.clone()),
        StreamableHttpError::SessionExpired => {
            RequestError::Refused("the server no longer knows the session".to_owned())
        }
        other => RequestError::Lost(other.to_string()),
    })
}

/// Whether the server asks for authorization.
pub(crate) fn wants_authorization(error: &(dyn StdError + Send + Sync + 'static)) -> bool {
    matches!(
        error.downcast_ref::<Failure>(),
        Some(StreamableHttpError::Client(HttpError::Refused {
            status: StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN,
            ..
        }))
    )
}
