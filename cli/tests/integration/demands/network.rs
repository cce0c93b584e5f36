//! Keys about the way to a server at a URL, and about how often it is called.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mcp_bindgen_runtime::{CallOptions, CallTool, ClientOptions, Dispatched, OAuth, ToolCall};
use serde_json::{Map, json};

use super::{refusal, with_client};
use crate::common::Project;

const SERVER: &str = "[servers.hub]\ncommand = \"SERVER\"\n";

/// An HTTP server that answers as it is told, and keeps what it was asked.
struct Site {
    base: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// `answer` has the base of its URLs, and the path.
    fn new(answer: impl Fn(&str, &str) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let (asked, own) = (Arc::new(Mutex::new(Vec::new())), base.clone());
        let all = asked.clone();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let Some(request) = request(&stream) else { continue };
                let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                all.lock().expect("no panic").push(request);
                let _ = stream.write_all(answer(&own, &path).as_bytes());
            }
        });
        Self { base, asked }
    }

    fn asked(&self) -> String {
        self.asked.lock().expect("no panic").join("\n")
    }
}

/// A whole request, as far as it says how long it is.
fn request(stream: &TcpStream) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let begin = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        let line = head.get(begin..)?.to_ascii_lowercase();
        length = line.strip_prefix("content-length: ").map_or(Some(length), |text| text.trim().parse().ok())?;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(head + &String::from_utf8_lossy(&body))
}

fn response(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

/// Why there is no connection.
fn failure(config: &str, options: ClientOptions) -> String {
    with_client(&Project::new(config), options, async |client| client.connect().await.expect_err(config).to_string())
}

fn certificates(key: &str) {
    let said = failure(
        &format!("[servers.hub]\nurl = \"https://127.0.0.1:1/\"\n{key} = \"certs/absent.pem\"\n"),
        ClientOptions::new(),
    );
    assert!(said.contains(&format!("`{key}`: failed to read the file")), "{said}");
    let plain = refusal(&format!("[servers.hub]\nurl = \"http://x/\"\n{key} = \"a.pem\"\n"));
    assert!(plain.contains(&format!("`{key}` of server `hub` requires a `url` with `https://`")), "{plain}");
    let child = refusal(&format!("{SERVER}{key} = \"a.pem\"\n"));
    assert!(child.contains("which has no effect beside `command`"), "{child}");
}

pub(crate) fn ca() {
    certificates("ca");
}

pub(crate) fn client_cert() {
    certificates("client_cert");
}

pub(crate) fn proxy() {
    let proxy = Site::new(|_, _| response("502 Bad Gateway", "", ""));
    let config = format!("[servers.hub]\nurl = \"http://hub.example/mcp\"\nproxy = \"{}\"\n", proxy.base);
    failure(&config, ClientOptions::new());
    assert!(proxy.asked().contains("POST http://hub.example/mcp"), "{}", proxy.asked());
    let scheme = refusal("[servers.hub]\nurl = \"http://x/\"\nproxy = \"socks5://x\"\n");
    assert!(scheme.contains("is not an `http://` or `https://` URL"), "{scheme}");
    assert!(refusal(&format!("{SERVER}proxy = \"http://x\"\n")).contains("which has no effect beside `command`"));
}

pub(crate) fn limit() {
    let project = Project::new(&format!("{SERVER}limit = \"1/h\"\n"));
    with_client(&project, ClientOptions::new(), async |client| {
        let sum = |timeout| {
            let arguments: Map<_, _> = json!({ "a": 1, "b": 2 }).as_object().cloned().expect("an object");
            ToolCall::new("hub", "add", arguments).with(CallOptions::new().timeout(timeout))
        };
        client.connect().await.expect("a connection");
        client.call_tool(sum(Duration::from_secs(10))).await.expect("the first call of the hour");
        let error = client.call_tool(sum(Duration::from_millis(200))).await.expect_err("the second one");
        assert_eq!(error.dispatched(), Dispatched::No, "{error}");
    });
    assert!(refusal(&format!("{SERVER}limit = \"often\"\n")).contains("is not a rate"));
    assert!(refusal(&format!("{SERVER}limit = 5\n")).contains("must be a rate such as"));
}

/// A server that asks for OAuth, and its authorization server, which refuses every client.
fn guarded() -> Site {
    Site::new(|base, path| match path {
        "/mcp" => {
            let metadata = format!("{base}/.well-known/oauth-protected-resource");
            response("401 Unauthorized", &format!("WWW-Authenticate: Bearer resource_metadata=\"{metadata}\"\r\n"), "")
        }
        "/.well-known/oauth-protected-resource" => response(
            "200 OK",
            "",
            &json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base] }).to_string(),
        ),
        "/.well-known/oauth-authorization-server" => {
            let metadata = json!({
                "issuer": base, "token_endpoint": format!("{base}/token"),
                "authorization_endpoint": format!("{base}/authorize"), "code_challenge_methods_supported": ["S256"],
            });
            response("200 OK", "", &metadata.to_string())
        }
        "/token" => response("400 Bad Request", "", r#"{"error":"invalid_client"}"#),
        _ => response("404 Not Found", "", ""),
    })
}

/// The requests to the authorization server of a program with a client of its own.
fn asked_of_issuer(more: &str) -> String {
    let site = guarded();
    let config = format!(
        "[servers.hub]\nurl = \"{base}/mcp\"\n[servers.hub.auth]\nissuer = \"{base}\"\nclient = \"my-agent\"\n\
         client_secret = \"${{CARGO_PKG_NAME}}\"\ngrant = \"client_credentials\"\n{more}",
        base = site.base
    );
    let said = failure(&config, ClientOptions::new());
    assert!(said.contains("invalid_client"), "{said}");
    site.asked()
}

pub(crate) fn auth() {
    assert!(refusal(&format!("{SERVER}auth = {{}}\n")).contains("which has no effect beside `command`"));
    let both = "[servers.hub]\nurl = \"https://x/\"\nheaders = { Authorization = \"${A}\" }\nauth = {}\n";
    assert!(refusal(both).contains("cannot be combined with the header `Authorization`"));
    let unknown = refusal("[servers.hub]\nurl = \"https://x/\"\nauth = { issuers = \"https://x\" }\n");
    assert!(unknown.contains("did you mean `issuer`?"), "{unknown}");
}

pub(crate) fn issuer() {
    let site = guarded();
    let config = format!(
        "[servers.hub]\nurl = \"{}/mcp\"\nauth = {{ issuer = \"http://127.0.0.1:1\", client = \"a\" }}\n",
        site.base
    );
    let said = failure(&config, ClientOptions::new());
    assert!(said.contains("127.0.0.1:1") && !site.asked().contains("oauth-authorization-server"), "{said}");
    let wrong = refusal("[servers.hub]\nurl = \"https://x/\"\nauth = { issuer = \"login.example\" }\n");
    assert!(wrong.contains("`issuer` in `auth` of server `hub` is not a URL"), "{wrong}");
}

pub(crate) fn client() {
    // `my-agent:mcp-bindgen-cli` in Base64.
    assert!(asked_of_issuer("").contains("Basic bXktYWdlbnQ6bWNwLWJpbmRnZW4tY2xp"), "{}", asked_of_issuer(""));
}

pub(crate) fn client_secret() {
    client();
    let without = "[servers.hub]\nurl = \"https://x/\"\nauth = { client = \"a\", client_secret = \"${A}\" }\n";
    assert!(refusal(without).contains("`client_secret` in `auth` of server `hub` requires `issuer`"));
}

pub(crate) fn scopes() {
    assert!(asked_of_issuer("scopes = [\"read\", \"write\"]\n").contains("scope=read+write"));
    assert!(!asked_of_issuer("").contains("scope="));
}

pub(crate) fn grant() {
    assert!(asked_of_issuer("").contains("grant_type=client_credentials"));
    let without = "[servers.hub]\nurl = \"https://x/\"\nauth = { grant = \"client_credentials\" }\n";
    assert!(refusal(without).contains("`grant` in `auth` of server `hub` requires `client_secret`"));
}

pub(crate) fn redirect_port() {
    let site = guarded();
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let config = format!(
        "[servers.hub]\nurl = \"{base}/mcp\"\nconnect_timeout = \"5s\"\n\
         auth = {{ issuer = \"{base}\", client = \"a\", redirect_port = {free} }}\n",
        base = site.base
    );
    let shown = Arc::new(Mutex::new(String::new()));
    let all = shown.clone();
    let folder = tempfile::tempdir().expect("a folder");
    let store = mcp_bindgen_runtime::FileTokenStore::new(folder.path());
    let oauth = OAuth::new().store(store).on_url(move |url| url.clone_into(&mut all.lock().expect("no panic")));
    failure(&config, ClientOptions::new().authorization(oauth));
    let shown = shown.lock().expect("no panic").clone();
    assert!(shown.contains(&format!("127.0.0.1%3A{free}%2Fcallback")), "{shown}");
    let wrong = refusal("[servers.hub]\nurl = \"https://x/\"\nauth = { redirect_port = 70000 }\n");
    assert!(wrong.contains("is not a port"), "{wrong}");
}
