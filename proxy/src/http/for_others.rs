//! Works for other instances: answers their requests, and tells them that this one is alive.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::join_all;
use http_body_util::BodyExt;
use hyper::body::Bytes;
use hyper::{HeaderMap, Method};
use mcp_bindgen_runtime::Caller;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::task::JoinSet;

use super::body::{Answer, Payload};
use super::door::{Door, busy};
use super::replicas::{Forwarded, Message, Replicas, headers, texts};
use crate::redis::{HEARTBEAT, KnownChanges};

/// Records of sessions are kept alive once in so many heartbeats.
const BEATS: u32 = 10;

impl Door {
    /// Works for other instances, as long as this is served.
    pub(super) async fn work_for_others(self: Arc<Self>) {
        let Some(replicas) = self.replicas.clone() else { return };
        let mut ends = self.sessions.ends();
        let forgetting = async {
            loop {
                match ends.recv().await {
                    Ok(session) if !self.ending.is_cancelled() => replicas.ended(&session).await,
                    Ok(_) => return,
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                }
            }
        };
        tokio::select! {
            biased;
            () = self.ending.cancelled() => {}
            _ = async { tokio::join!(beat(&self, &replicas), receive(&self, &replicas)) } => {}
            () = forgetting => {}
        }
        // Its sessions can go on elsewhere at once.
        replicas.leave().await;
    }

    /// Answers a request that another instance has let in.
    pub(super) async fn forwarded(&self, method: &Method, headers: &HeaderMap, caller: Caller, body: Bytes) -> Answer {
        let Ok(permit) = self.requests.clone().try_acquire_owned() else { return busy("requests") };
        match self.here(method, headers, caller, Payload::Whole(body), (permit, None)).await {
            Ok(answer) | Err(answer) => answer,
        }
    }
}

async fn beat(door: &Door, replicas: &Replicas) {
    let (mut changes, mut known) = (door.proxy.changes(), KnownChanges::default());
    let mut own = HashSet::new();
    for beat in 0_u32.. {
        if let Err(error) = replicas.beat().await {
            tracing::warn!(target: "mcp_bindgen_proxy", "{error}");
        }
        if beat % BEATS == 0 {
            for session in replicas.renew().await {
                door.sessions.end(&session);
            }
        }
        loop {
            match changes.try_recv() {
                Ok(change) => drop(own.insert(change)),
                Err(TryRecvError::Lagged(_)) => {}
                Err(_) => break,
            }
        }
        match replicas.changes(&own, &mut known).await {
            Ok(changed) => {
                own.clear();
                let proxy = door.proxy.clone();
                tokio::spawn(async move {
                    join_all(changed.iter().map(|(kind, server)| proxy.list_anew(server, *kind))).await;
                });
            }
            Err(error) => tracing::debug!(target: "mcp_bindgen_proxy", "changes of lists are told later: {error}"),
        }
        tokio::time::sleep(HEARTBEAT).await;
    }
}

async fn receive(door: &Arc<Door>, replicas: &Arc<Replicas>) {
    let mut inbox = replicas.inbox();
    let mut tasks = JoinSet::new();
    loop {
        for text in inbox.next().await {
            while tasks.try_join_next().is_some() {}
            match serde_json::from_str(&text) {
                Ok(Message::Request { from, number, request }) => {
                    let key = (from, number);
                    if replicas.is_new(&key) {
                        let (own, door, of) = (replicas.clone(), door.clone(), key.clone());
                        replicas.begin(key, || {
                            tasks.spawn(async move {
                                work(&door, &own, &of, *request).await;
                                own.end(&of);
                            })
                        });
                    }
                }
                Ok(Message::Cancel { from, number }) => replicas.cancel(&(from, number)),
                Ok(answer) => replicas.hand_on(answer),
                Err(error) => {
                    tracing::warn!(target: "mcp_bindgen_proxy", "another instance sent a message that cannot be read: {error}");
                }
            }
        }
    }
}

/// Answers a request that another instance has forwarded.
async fn work(door: &Door, replicas: &Replicas, (from, number): &(String, u64), request: Forwarded) {
    let number = *number;
    let Ok(method) = Method::from_bytes(request.method.as_bytes()) else { return };
    let headers = headers(&request.headers);
    let answer = door.forwarded(&method, &headers, request.caller, Bytes::from(request.body)).await;
    let (head, mut body) = answer.into_parts();
    let head = Message::Head { number, status: head.status.as_u16(), headers: texts(&head.headers) };
    if replicas.send(from, &head).await.is_err() {
        return;
    }
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        let text = String::from_utf8_lossy(&data).into_owned();
        if replicas.send(from, &Message::Part { number, text }).await.is_err() {
            return;
        }
    }
    let _ = replicas.send(from, &Message::End { number }).await;
}
