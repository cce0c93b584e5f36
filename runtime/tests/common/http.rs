//! Servers over HTTP: the fixture server's program, and requests as they come in to servers written by hand.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::fixture_server;

/// The fixture server over HTTP; it ends with this value.
pub(crate) struct HttpFixture {
    process: Child,
    pub(crate) url: String,
}

impl HttpFixture {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(fixture_server())
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the fixture server starts");
        let mut url = String::new();
        BufReader::new(process.stdout.take().expect("stdout")).read_line(&mut url).expect("the URL");
        Self { process, url: url.trim().to_owned() }
    }
}

impl Drop for HttpFixture {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The next request: its head as it came, and its body.
pub(crate) async fn receive(stream: &mut TcpStream) -> Option<(String, Value)> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Some((head.to_owned(), serde_json::from_str(body).unwrap_or_default()));
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
