//! Sends requests: with their authorization, over redirects, and with bodies that report when they leave.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::header::{AUTHORIZATION, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body::{Body, Frame, SizeHint};

use super::HttpClient;
use super::authorization::Challenge;
use super::network::check_redirect;
use crate::Dispatched;
use crate::rpc::failure::WITHDRAWN;
use crate::rpc::{Failure, Outgoing};

impl HttpClient {
    /// Sends a request with the headers of the configuration and of the protocol. `outgoing` is the message, and
    /// records when it leaves. Dropping the future ends the request; if it had left, the server may have acted on it.
    pub(crate) async fn send(
        &self,
        request: reqwest::RequestBuilder,
        headers: HeaderMap,
        outgoing: Option<&Outgoing>,
    ) -> Result<reqwest::Response, Failure> {
        let mut all = self.headers.clone();
        all.extend(headers);
        // `headers` replaces headers; the configuration may not set those of the builder (Accept, Content-Type).
        let sending = async { self.send_through(request.headers(all).build()?, outgoing).await };
        let response = sending.await.map_err(|error| match outgoing.is_some_and(Outgoing::is_unwanted) {
            true => Failure::lost(WITHDRAWN),
            false => self.fail(error),
        })?;
        self.notes.problem_is_over();
        Ok(response)
    }

    /// Sends a request, and repeats it after redirects and after each kind of answered challenge. Dropping the future
    /// acts like dropping `send`, and `outgoing` shows whether the request had left.
    async fn send_through(
        &self,
        mut request: reqwest::Request,
        outgoing: Option<&Outgoing>,
    ) -> Result<reqwest::Response, Failure> {
        let unreached = |error| {
            let failure = Failure::from(error);
            let proxy = self.proxy.as_ref().filter(|_| failure.dispatched == Dispatched::No);
            let through = proxy.map(|proxy| format!(" (through the proxy {proxy})")).unwrap_or_default();
            Failure { message: failure.message + &through, ..failure }
        };
        let (mut visited, mut answered) = (Vec::new(), Vec::new());
        // Not after a redirect, when the body has left: a failure would count as not sent.
        let mut sent = self.authorization().await?;
        loop {
            let mut attempt = request.try_clone().ok_or_else(|| Failure::not_sent("the request cannot be repeated"))?;
            attempt.headers_mut().extend(sent.clone().map(|header| (AUTHORIZATION, header)));
            if let (Some(outgoing), Some(body)) = (outgoing, attempt.body_mut()) {
                let departing =
                    Departing { body: std::mem::take(body), departure: Some(Box::new(outgoing.departure())) };
                *body = reqwest::Body::wrap(departing);
            }
            let response = self.client.execute(attempt).await.map_err(unreached)?;
            let status = response.status();
            // reqwest does not follow redirects for a body that reports when it leaves.
            if let Some(target) = redirect_target(&response) {
                visited.push(request.url().clone());
                check_redirect(status, &target, &visited).map_err(|problem| Failure {
                    is_final: true,
                    ..Failure::lost(format!("the server redirects {problem}"))
                })?;
                *request.url_mut() = target;
                continue;
            }
            let is_challenge = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
            let authorizer = self.authorizer.as_ref().filter(|_| is_challenge && !answered.contains(&status));
            let Some(authorizer) = authorizer else { return Ok(response) };
            answered.push(status);
            if let Some(outgoing) = outgoing {
                outgoing.returned();
            }
            let values = response.headers().get_all(WWW_AUTHENTICATE).iter();
            let values = values.filter_map(|value| value.to_str().ok().map(str::to_owned)).collect();
            if !authorizer.challenged(Challenge { status, values, sent }).await.map_err(unauthorized)? {
                return Ok(response);
            }
            sent = self.authorization().await?;
        }
    }

    /// Returns the `Authorization` of requests. Dropping the future acts like dropping `Authorizer::header`.
    async fn authorization(&self) -> Result<Option<HeaderValue>, Failure> {
        let Some(authorizer) = &self.authorizer else { return Ok(None) };
        let header = authorizer.header().await.map_err(unauthorized)?;
        // Responses may contain these secrets, and are printed in errors and logs.
        self.learn_secrets();
        Ok(header)
    }
}

fn unauthorized(message: String) -> Failure {
    Failure { wants_authorization: true, ..Failure::not_sent(message) }
}

/// Returns the URL to repeat the message at.
fn redirect_target(response: &reqwest::Response) -> Option<reqwest::Url> {
    let repeats = matches!(response.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let location = response.headers().get(LOCATION).filter(|_| repeats)?;
    response.url().join(location.to_str().ok()?).ok()
}

/// A body that reports when it leaves: hyper only polls a body once it has a connection, and writes nothing before.
struct Departing {
    body: reqwest::Body,
    departure: Option<Box<dyn FnOnce() -> bool + Send + Sync>>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn departing_body_is_empty_if_its_own_is() {
        let departing = |body: &'static str| Departing { body: body.into(), departure: None };
        assert!(departing("").is_end_stream() && !departing("x").is_end_stream());
    }
}
