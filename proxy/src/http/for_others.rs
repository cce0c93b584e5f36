//! Works for other instances: answers their requests, and tells them that this one is alive.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::join_all;
use http_body_util::BodyExt;
use hyper::Method;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::task::JoinSet;

use super::body::{Answer, Payload};
use super::door::{Door, busy};
use super::replicas::{Forwarded, Frame, Headers, Message, Replicas};
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
    async fn forwarded(&self, method: &Method, request: Forwarded) -> Answer {
        let Forwarded { headers, body, caller, .. } = request;
        let Ok(permit) = self.requests.clone().try_acquire_owned() else { return busy("requests") };
        let body = Payload::Right(body.into());
        match self.here(method, &headers.map(), caller, body, (permit, None)).await {
            Ok(answer) | Err(answer) => answer,
        }
    }
}

async fn beat(door: &Door, replicas: &Replicas) {
    let (mut changes, mut known) = (door.proxy.changes.subscribe(), KnownChanges::default());
    let mut own = HashSet::new();
    for beat in 0_u32.. {
        if let Err(error) = replicas.state.beat().await {
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
    let mut inbox = replicas.state.inbox();
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
                Ok(Message::Answer { number, frame }) => replicas.hand_on(number, frame),
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
    let (head, mut body) = door.forwarded(&method, request).await.into_parts();
    let send = async |frame| replicas.state.send(from, &Message::Answer { number, frame }).await;
    if send(Some(Frame::Head(head.status.as_u16(), Headers::of(&head.headers)))).await.is_err() {
        return;
    }
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        let text = String::from_utf8_lossy(&data).into_owned();
        if send(Some(Frame::Part(text))).await.is_err() {
            return;
        }
    }
    let _ = send(None).await;
}
