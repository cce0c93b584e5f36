//! The redirect to this machine that ends an authorization (RFC 8252).

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::{Url, form_urlencoded};

const PATH: &str = "/callback";
const LONGEST_REQUEST: usize = 16 * 1024;
/// Browsers open connections that they do not use.
const PATIENCE: Duration = Duration::from_secs(5);
const DONE: &str = "Authorization complete: return to the program. You can close this page.";
const NOT_HERE: &str = "Not found.";

/// A port of 127.0.0.1 that waits for one redirect.
pub(super) struct Loopback {
    listener: TcpListener,
    pub(super) redirect: String,
}

impl Loopback {
    /// Listens, on the port of `registered` if it is free, so that the client need not register again. Dropping it
    /// closes the port.
    pub(super) async fn open(port: Option<u16>, registered: Option<&str>) -> Result<Self, String> {
        let before = registered.and_then(|redirect| Url::parse(redirect).ok()?.port());
        let bind = |port| TcpListener::bind(("127.0.0.1", port));
        let mut listener = bind(port.or(before).unwrap_or_default()).await;
        if listener.is_err() && port.is_none() {
            listener = bind(0).await;
        }
        let failed = |error| format!("failed to listen on 127.0.0.1 for the redirect: {error}");
        let listener = listener.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self { listener, redirect: format!("http://127.0.0.1:{port}{PATH}") })
    }

    /// Returns the URL of the redirect with this `state`; any other request is turned away. Dropping the future closes
    /// the port and its connections.
    pub(super) async fn receive(self, state: &str) -> String {
        let mut conversations = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => {
                    let Ok((stream, _)) = accepted else {
                        // The process may be out of file descriptors for a moment.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    };
                    let state = state.to_owned();
                    conversations.spawn(async move {
                        tokio::time::timeout(PATIENCE, converse(stream, &state)).await.ok().flatten()
                    });
                }
                Some(Ok(Some(query))) = conversations.join_next() => return format!("{}?{query}", self.redirect),
            }
        }
    }
}

/// Serves one connection, and returns the query of the redirect; dropping the future closes it.
async fn converse(mut stream: TcpStream, state: &str) -> Option<String> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if request.len() > LONGEST_REQUEST || stream.read_buf(&mut request).await.ok()? == 0 {
            return None;
        }
    }
    let query = redirected(&String::from_utf8_lossy(&request), state);
    let (status, text) = if query.is_some() { ("200 OK", DONE) } else { ("404 Not Found", NOT_HERE) };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Referrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
    query
}

/// Returns the query of a request, if it is the expected redirect.
fn redirected(request: &str, state: &str) -> Option<String> {
    let target = request.strip_prefix("GET ")?.split_whitespace().next()?;
    let query = target.strip_prefix(PATH)?.strip_prefix('?')?;
    let is_ours = form_urlencoded::parse(query.as_bytes()).any(|(name, value)| name == "state" && value == state);
    is_ours.then(|| query.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn get(redirect: &str, target: &str) -> String {
        let address = Url::parse(redirect).expect("a URL");
        let address = format!("127.0.0.1:{}", address.port().expect("a port"));
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.expect("written");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer");
        answer
    }

    #[tokio::test]
    async fn loopback_accepts_one_redirect_and_rejects_others() {
        let loopback = Loopback::open(None, None).await.expect("a port");
        let redirect = loopback.redirect.clone();
        assert!(redirect.starts_with("http://127.0.0.1:"), "{redirect}");
        let received = tokio::spawn(async move { loopback.receive("right").await });
        // A silent connection does not block the others.
        let _silent = TcpStream::connect(redirect.trim_start_matches("http://").trim_end_matches(PATH)).await;
        for target in [
            "/favicon.ico",
            "/callback?code=x&state=wrong",
            "/callback?code=x",
            "/other?state=right",
            "http://evil.example/callback?state=right",
        ] {
            assert!(get(&redirect, target).await.starts_with("HTTP/1.1 404"), "{target}");
        }
        let answer = get(&redirect, "/callback?code=the-code&state=right").await;
        assert!(answer.starts_with("HTTP/1.1 200") && !answer.contains("the-code"), "{answer}");
        let url = received.await.expect("no panic");
        assert_eq!(url, format!("{redirect}?code=the-code&state=right"));
        // It is closed; by now the port may be another test's.
        if let Ok(mut stream) = TcpStream::connect(redirect.trim_start_matches("http://").trim_end_matches(PATH)).await
        {
            let again = b"GET /callback?code=x&state=right HTTP/1.1\r\nHost: x\r\n\r\n";
            let _ = stream.write_all(again).await;
            let mut answer = [0; 12];
            let read = stream.read_exact(&mut answer);
            let _ = tokio::time::timeout(std::time::Duration::from_millis(500), read).await;
            assert_ne!(&answer, b"HTTP/1.1 200");
        }
    }

    #[tokio::test]
    async fn request_may_have_long_headers_within_a_bound() {
        let conversation = async |header: usize| {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("an address");
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            let (served, _) = listener.accept().await.expect("a connection");
            let request = format!("GET {PATH}?state=s HTTP/1.1\r\nCookie: {}\r\n\r\n", "a".repeat(header));
            // The other side stops reading a request that is too long.
            let asking = async move { stream.write_all(request.as_bytes()).await.map(|()| stream) };
            tokio::join!(converse(served, "s"), asking).0
        };
        assert!(conversation(LONGEST_REQUEST / 2).await.is_some());
        // The end follows the last byte that may be without one.
        let others = format!("GET {PATH}?state=s HTTP/1.1\r\nCookie: ").len();
        assert!(conversation(LONGEST_REQUEST - others).await.is_some());
        assert_eq!(conversation(LONGEST_REQUEST * 8).await, None);
    }

    #[tokio::test]
    async fn registered_port_is_reused_if_it_is_free() {
        let first = Loopback::open(None, None).await.expect("a port");
        let mut registered = first.redirect.clone();
        let other = Loopback::open(None, Some(&registered)).await.expect("another port");
        assert_ne!(other.redirect, registered);
        drop(first);
        // Another test may have taken the port meanwhile.
        for tries_left in (0..5).rev() {
            let again = Loopback::open(None, Some(&registered)).await.expect("a port").redirect;
            if again == registered {
                break;
            }
            assert!(tries_left > 0, "{registered} is not taken again");
            registered = again;
        }
        let taken = Url::parse(&other.redirect).expect("a URL").port();
        assert!(Loopback::open(taken, None).await.is_err());
    }
}
