//! Requests of sessions that this instance may not hold: they are forwarded, or go on here.

use std::time::Duration;

use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, Method, StatusCode};
use mcp_bindgen_runtime::Caller;
use rmcp::model::{ErrorCode, RequestId};
use serde_json::Value;

use super::body::{Answer, Held, Payload, Place, read, refused, text};
use super::door::{Door, busy, no_session, session, version, visit};
use super::headers;
use super::replicas::{self, Forwarded, MOST_LOOKS, Replicas, Route};
use super::sessions::SessionId;
use crate::context::is_modern;
use crate::redis::{Holder, RedisStateError, SessionRecord};

const PAUSE: Duration = Duration::from_millis(100);

impl Door {
    /// Records a session that began here.
    pub(super) async fn record(&self, id: &SessionId, caller: &Caller, initialize: Value) -> Result<(), Answer> {
        let Some(replicas) = &self.replicas else { return Ok(()) };
        let recorded = replicas.begun(id, caller, initialize, self.proxy.can_sessions_move()).await;
        if let Err(error) = recorded {
            self.sessions.end(id);
            return Err(no_state(&error));
        }
        Ok(())
    }

    /// Finds the instance that answers a request: that of its session.
    pub(super) async fn elsewhere(
        &self,
        method: &Method,
        headers: &HeaderMap,
        caller: &Caller,
        body: Payload,
    ) -> Result<Route, Answer> {
        let is_modern = version(headers).is_some_and(is_modern);
        let session = session(headers)?.filter(|id| !is_modern && !self.sessions.has(id));
        let (Some(replicas), Some(session)) = (&self.replicas, session) else {
            return Ok(Route::Here(body));
        };
        for _ in 0..MOST_LOOKS {
            let record = match replicas.holder(&session).await.map_err(|error| no_state(&error))? {
                Holder::None => return Err(no_session()),
                Holder::Other(record) | Holder::Dead(record) if record.principal != caller.principal => {
                    return Err(no_session());
                }
                Holder::Other(record) => {
                    let body = match *method {
                        Method::POST => read(body, self.limits.body, self.limits.head).await?,
                        _ => hyper::body::Bytes::new(),
                    };
                    let not_text = |_| refused(None, ErrorCode::PARSE_ERROR, "the body is not JSON");
                    return Ok(Route::Forwarded(record.holder, String::from_utf8(body.into()).map_err(not_text)?));
                }
                Holder::Dead(record) => record,
            };
            if !record.can_move {
                return Err(no_session());
            }
            if replicas.claim(&session, &record).await.map_err(|error| no_state(&error))? {
                self.take_over(replicas, &session, record, caller).await?;
                return Ok(Route::Here(body));
            }
            tokio::time::sleep(PAUSE).await;
            if self.sessions.has(&session) {
                return Ok(Route::Here(body));
            }
        }
        Err(no_session())
    }

    /// Goes on with the session of a dead instance.
    async fn take_over(
        &self,
        replicas: &Replicas,
        id: &SessionId,
        record: SessionRecord,
        caller: &Caller,
    ) -> Result<(), Answer> {
        let number = headers::request_id(&record.initialize).ok_or_else(no_session)?;
        let initialize = (number, record.initialize.clone());
        let begun = self.sessions.begin(&self.proxy, initialize, caller, Some(id.clone())).await;
        begun.map_err(|_| busy("sessions"))?;
        for (number, (_, request)) in record.lasting.iter().enumerate() {
            let number = format!("resumed-{number}");
            let mut request = request.clone();
            if let Some(members) = request.as_object_mut() {
                members.insert("jsonrpc".to_owned(), "2.0".into());
                members.insert("id".to_owned(), number.clone().into());
            }
            self.repeat(id, (RequestId::String(number.into()), request), caller).await;
        }
        tracing::info!(target: "mcp_bindgen_proxy", "went on with a session of an instance that ended");
        replicas.took_over(id, record).await.map_err(|error| no_state(&error))
    }

    /// Makes a request of the client again, whose answer it has had.
    async fn repeat(&self, id: &SessionId, request: (RequestId, Value), caller: &Caller) {
        let Ok(permit) = self.requests.clone().try_acquire_owned() else { return };
        let Ok(values) = self.values.clone().try_acquire_many_owned(1) else { return };
        let place = Place::new(Held { _request: permit, _values: values, _share: None });
        let visit = visit(caller.clone(), &place);
        if let Ok(answers) = self.sessions.request(id, request, visit, place).await {
            tokio::spawn(answers.answer());
        }
    }

    /// Forwards a request; `None` if the other instance ended before it took it.
    pub(super) async fn forward(
        &self,
        holder: &str,
        (method, headers): (&Method, &HeaderMap),
        (caller, body): (&Caller, &str),
    ) -> Result<Option<Answer>, Answer> {
        let Some(replicas) = &self.replicas else { return Err(no_session()) };
        let forwarded = Forwarded::new(method.as_str(), headers, body.to_owned(), caller);
        replicas::forward(replicas, holder, forwarded).await.map_err(|error| no_state(&error))
    }
}

fn no_state(error: &RedisStateError) -> Answer {
    tracing::error!(target: "mcp_bindgen_proxy", "{error}");
    let mut answer =
        text(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable: the shared state of the proxy is unavailable");
    answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    answer
}
