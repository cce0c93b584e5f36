//! Request bodies that report when they are sent: hyper only polls a body once it has a connection, and writes
//! nothing before.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body::{Body, Frame, SizeHint};

use super::WITHDRAWN;
use crate::rpc::failure::Failure;
use crate::rpc::ledger::Outgoing;

struct Departing {
    body: reqwest::Body,
    departure: Option<Box<dyn FnOnce() -> bool + Send + Sync>>,
}

/// Returns a copy of the request whose body reports when it leaves.
pub(super) fn of(request: &reqwest::Request, outgoing: &Outgoing) -> Result<reqwest::Request, Failure> {
    let copy = request.try_clone();
    let mut copy = copy.ok_or_else(|| Failure::not_sent("the request cannot be repeated"))?;
    if let Some(body) = copy.body_mut() {
        let departing = Departing { body: std::mem::take(body), departure: Some(Box::new(outgoing.departure())) };
        *body = reqwest::Body::wrap(departing);
    }
    Ok(copy)
}

impl Body for Departing {
    type Data = <reqwest::Body as Body>::Data;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        if let Some(departure) = self.departure.take()
            && !departure()
        {
            return Poll::Ready(Some(Err(WITHDRAWN.into())));
        }
        Pin::new(&mut self.body).poll_frame(context).map_err(Into::into)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
