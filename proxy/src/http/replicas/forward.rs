//! Forwards a request, and hands on its answer.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::unfold;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame as BodyFrame};
use hyper::header::CONTENT_TYPE;
use hyper::{Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::message::{Forwarded, Message, headers};
use super::{Replicas, lock};
use crate::http::body::Answer;
use crate::redis::RedisStateError;

/// So many frames wait for a slow client.
const UNREAD: usize = 4096;
/// How long the holder may say nothing before it is looked at.
const SILENCE: Duration = Duration::from_secs(3);

/// A part of an answer.
pub(super) enum Frame {
    Head(u16, Vec<(String, String)>),
    Part(String),
}

/// An answer that is awaited. If its client goes away, the holder is told.
struct Awaited {
    replicas: Arc<Replicas>,
    holder: String,
    number: u64,
    frames: mpsc::Receiver<Frame>,
    is_over: bool,
    /// The call as long as it is not answered, for what is said of it if the holder ends.
    request: Option<(Value, Option<String>)>,
}

impl Awaited {
    /// Notes an answer, after which there is nothing more to say.
    fn note(&mut self, frame: &Frame) {
        let Some((id, _)) = &self.request else { return };
        let is_answer = match frame {
            // Other answers than a stream are whole.
            Frame::Head(_, headers) => {
                !headers.iter().any(|(name, value)| name == CONTENT_TYPE.as_str() && value == "text/event-stream")
            }
            Frame::Part(text) => text.lines().filter_map(|line| line.strip_prefix("data: ")).any(|data| {
                let message: Value = serde_json::from_str(data).unwrap_or_default();
                message.get("id") == Some(id) && message.get("method").is_none()
            }),
        };
        if is_answer {
            self.request = None;
        }
    }

    /// Waits for the next frame; `Err` if the holder is dead.
    async fn next(&mut self) -> Result<Option<Frame>, ()> {
        loop {
            match tokio::time::timeout(SILENCE, self.frames.recv()).await {
                Ok(None) => {
                    self.is_over = true;
                    return Ok(None);
                }
                Ok(Some(frame)) => {
                    self.note(&frame);
                    return Ok(Some(frame));
                }
                Err(_) => {
                    // While the store is away, nobody knows.
                    if let Ok(false) = self.replicas.state.is_alive(&self.holder).await {
                        self.is_over = true;
                        return Err(());
                    }
                }
            }
        }
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        lock(&self.replicas.awaited).remove(&self.number);
        if self.is_over {
            return;
        }
        let (replicas, holder, number) = (self.replicas.clone(), std::mem::take(&mut self.holder), self.number);
        tokio::spawn(async move {
            let cancel = Message::Cancel { from: replicas.state.id().to_owned(), number };
            let _ = replicas.send(&holder, &cancel).await;
        });
    }
}

/// Forwards a request to the instance that holds its session; `None` if that instance ended before it took it.
pub(in crate::http) async fn forward(
    replicas: &Arc<Replicas>,
    holder: &str,
    request: Forwarded,
) -> Result<Option<Answer>, RedisStateError> {
    let number = replicas.number();
    let (sender, frames) = mpsc::channel(UNREAD);
    lock(&replicas.awaited).insert(number, sender);
    let about = about(&request.body);
    let mut awaited = Awaited {
        replicas: replicas.clone(),
        holder: holder.to_owned(),
        number,
        frames,
        is_over: false,
        request: about,
    };
    let from = replicas.state.id().to_owned();
    let message = Message::Request { from, number, request: Box::new(request) };
    let sent = replicas.send(holder, &message).await;
    if let Err(error) = sent {
        // It may have arrived all the same. Only a request has somebody who is told.
        if awaited.request.is_none() {
            return Err(error);
        }
        tracing::error!(target: "mcp_bindgen_proxy", "{error}");
        awaited.is_over = true;
    }
    let first = if awaited.is_over { Ok(None) } else { awaited.next().await };
    let (status, head) = match first {
        Ok(Some(Frame::Head(status, head))) => (status, headers(&head)),
        Err(()) if replicas.take_back(holder, &message).await? => return Ok(None),
        _ => (200, headers(&[(CONTENT_TYPE.to_string(), "text/event-stream".to_owned())])),
    };
    let frames = unfold(awaited, async |mut awaited| {
        if awaited.is_over {
            let unknown = awaited.request.take()?;
            return Some((Ok(BodyFrame::data(Bytes::from(lost(&unknown)))), awaited));
        }
        let bytes = match awaited.next().await {
            Ok(Some(Frame::Part(text))) => Bytes::from(text),
            Ok(Some(Frame::Head(..))) => Bytes::new(),
            Ok(None) | Err(()) => Bytes::from(lost(&awaited.request.take()?)),
        };
        Some((Ok(BodyFrame::data(bytes)), awaited))
    });
    let mut answer = Response::new(StreamBody::new(frames).boxed_unsync());
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    *answer.headers_mut() = head;
    // The body is a stream here.
    answer.headers_mut().remove(hyper::header::CONTENT_LENGTH);
    Ok(Some(answer))
}

/// The id of a request, and its tool.
fn about(body: &str) -> Option<(Value, Option<String>)> {
    let request: Value = serde_json::from_str(body).ok()?;
    request.get("method")?;
    let tool = request.pointer("/params/name").and_then(Value::as_str).map(str::to_owned);
    let tool = tool.filter(|_| request.get("method").and_then(Value::as_str) == Some("tools/call"));
    Some((request.get("id")?.clone(), tool))
}

/// The last event of an answer whose holder died.
fn lost((id, tool): &(Value, Option<String>)) -> String {
    let message = match tool {
        Some(tool) => {
            let tool = mcp_bindgen_model::printable(tool);
            let text = format!(
                "the instance of the proxy that makes the call of `{tool}` was lost: the outcome is unknown; it may have taken \
                 effect, so check before you repeat it"
            );
            let result = json!({ "content": [{ "type": "text", "text": text }], "isError": true });
            json!({ "jsonrpc": "2.0", "id": id, "result": result })
        }
        None => {
            let error = json!({ "code": -32603, "message": "the instance of the proxy that works on it was lost" });
            json!({ "jsonrpc": "2.0", "id": id, "error": error })
        }
    };
    format!("event: message\ndata: {message}\n\n")
}
