//! An MCP server that asks for OAuth, with its authorization servers, in this process.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// The behaviour of the server, and the requests that it received.
#[derive(Default)]
pub(crate) struct State {
    /// How long access tokens last, the next one first; an hour after these.
    pub(crate) lifetimes: Vec<u64>,
    /// Scopes that a call needs.
    pub(crate) scope_of_calls: Option<String>,
    /// Each refused call asks for one scope more.
    pub(crate) wants_ever_more: bool,
    /// The tenant of the authorization server, behind its own path.
    pub(crate) tenant: &'static str,
    /// The issuer that metadata names, where it is not the right one.
    pub(crate) names_issuer: Option<&'static str>,
    /// Keys of the authorization server's metadata that replace the usual ones.
    pub(crate) metadata: Value,
    /// `true` if the user's redirect carries an error instead of a code.
    pub(crate) refuses_user: bool,
    pub(crate) refuses_refresh: bool,
    /// The error code that renewals are refused with.
    pub(crate) refresh_refusal: Option<&'static str>,
    /// The type of the tokens of the identity provider, where it is no ID-JAG.
    pub(crate) provides: Option<&'static str>,
    /// The status that each renewal fails with; 0 for no answer at all.
    pub(crate) fails_refresh: Option<u16>,
    /// Calls fail with a text that repeats all that is secret, after so many characters.
    pub(crate) calls_echo_after: Option<usize>,
    /// The same at the token endpoint.
    pub(crate) grants_echo_after: Option<usize>,
    /// The `resource` of the server's metadata, where it is not the right one.
    pub(crate) resource: Option<Value>,
    /// Places that answer with a status alone, or with a redirect.
    pub(crate) broken: Vec<(&'static str, u16)>,

    pub(crate) registrations: Vec<Value>,
    pub(crate) authorizations: Vec<Vec<(String, String)>>,
    /// The requests of the token endpoint: the tenant, and the parameters.
    pub(crate) grants: Vec<(String, Vec<(String, String)>)>,
    /// The requests to the identity provider.
    pub(crate) exchanges: Vec<Vec<(String, String)>>,
    pub(crate) calls: usize,
    pub(crate) requests: usize,
    /// The requests to the MCP server without a token.
    pub(crate) anonymous: usize,

    access: HashSet<String>,
    refresh: HashSet<String>,
    granted: u64,
}

impl State {
    /// Takes no access token any more that it gave.
    pub(crate) fn revoke(&mut self) {
        self.access.clear();
    }

    /// All that is secret in the last request for tokens and in the last registration.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let names = ["assertion", "client_assertion", "client_secret", "code", "code_verifier", "refresh_token"];
        let form = self.grants.last().map(|(_, form)| form.as_slice()).unwrap_or_default();
        let sent = form.iter().filter(|(name, _)| names.contains(&name.as_str())).map(|(_, value)| value.clone());
        sent.chain(self.registrations.last().map(|_| "client-secret-1".to_owned())).collect()
    }

    pub(crate) fn grants_of(&self, kind: &str) -> usize {
        self.grants.iter().filter(|(_, form)| value(form, "grant_type") == kind).count()
    }
}

pub(crate) fn value<'a>(pairs: &'a [(String, String)], name: &str) -> &'a str {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str()).unwrap_or_default()
}

#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) base: String,
    state: Arc<Mutex<State>>,
}

struct Answer {
    status: u16,
    headers: Vec<String>,
    body: String,
}

impl Answer {
    fn json(status: u16, body: &Value) -> Self {
        Self { status, headers: vec!["Content-Type: application/json".to_owned()], body: body.to_string() }
    }

    fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: String::new() }
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let server = Self { base, state: Arc::default() };
        let serving = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().converse(stream));
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("{}/mcp", self.base)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panicked")
    }

    async fn converse(self, mut stream: TcpStream) -> Option<()> {
        let mut request = Vec::new();
        let head_end = loop {
            if let Some(end) = request.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            (stream.read_buf(&mut request).await.ok()? > 0).then_some(())?;
        };
        let head = String::from_utf8_lossy(&request[..head_end]).into_owned();
        let header = |name: &str| {
            let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")));
            line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
        };
        let length: usize = header("content-length").and_then(|length| length.parse().ok()).unwrap_or_default();
        while request.len() < head_end + length {
            (stream.read_buf(&mut request).await.ok()? > 0).then_some(())?;
        }
        let body = String::from_utf8_lossy(&request[head_end..]).into_owned();
        let target = head.split_whitespace().nth(1)?;
        let url = Url::parse(&self.base).ok()?.join(target).ok()?;
        let Answer { status, headers, body } = self.answer(&url, &body, header("authorization").as_deref());
        if status == 0 {
            std::future::pending::<()>().await;
        }
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let answer = format!(
            "HTTP/1.1 {status} Some\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes()).await.ok()
    }

    fn answer(&self, url: &Url, body: &str, authorization: Option<&str>) -> Answer {
        let mut state = self.state();
        state.requests += 1;
        let issuer = format!("{}{}", self.base, state.tenant);
        let path = url.path();
        let issuer_paths = ["oauth-authorization-server", "openid-configuration"];
        if let Some((_, status)) = state.broken.iter().find(|(broken, _)| *broken == path) {
            return Answer { headers: vec![format!("Location: {path}/elsewhere")], ..Answer::empty(*status) };
        }
        match path.strip_prefix(state.tenant).unwrap_or(path) {
            "/mcp" => self.mcp(&mut state, body, authorization.and_then(|value| value.strip_prefix("Bearer "))),
            "/.well-known/oauth-protected-resource/mcp" | "/.well-known/oauth-protected-resource" => {
                let resource = state.resource.clone().unwrap_or_else(|| self.url().into());
                Answer::json(
                    200,
                    &json!({"resource": resource, "authorization_servers": [issuer], "scopes_supported": ["read"]}),
                )
            }
            _ if issuer_paths.iter().any(|name| path == format!("/.well-known/{name}{}", state.tenant)) => {
                let named = state.names_issuer.map_or(issuer.clone(), str::to_owned);
                let mut metadata = json!({
                    "issuer": named,
                    "authorization_endpoint": format!("{issuer}/authorize"),
                    "token_endpoint": format!("{issuer}/token"),
                    "registration_endpoint": format!("{issuer}/register"),
                    "code_challenge_methods_supported": ["S256"],
                    "authorization_response_iss_parameter_supported": true,
                });
                let others = state.metadata.as_object().cloned().unwrap_or_default();
                metadata.as_object_mut().expect("an object").extend(others);
                Answer::json(200, &metadata)
            }
            "/register" => {
                state.registrations.push(serde_json::from_str(body).expect("JSON"));
                let id = format!("client-{}-{}", state.tenant.trim_matches('/'), state.registrations.len());
                Answer::json(201, &json!({"client_id": id, "client_secret": "client-secret-1"}))
            }
            "/authorize" => {
                let asked = pairs(url.query().unwrap_or_default());
                let mut redirect = Url::parse(value(&asked, "redirect_uri")).expect("a URL");
                let said = if state.refuses_user { ("error", "access_denied") } else { ("code", "the-code") };
                redirect
                    .query_pairs_mut()
                    .append_pair(said.0, said.1)
                    .append_pair("state", value(&asked, "state"))
                    .append_pair("iss", &issuer);
                state.authorizations.push(asked);
                Answer { status: 302, headers: vec![format!("Location: {redirect}")], body: String::new() }
            }
            "/idp" => {
                state.exchanges.push(pairs(body));
                let kind = state.provides.unwrap_or("urn:ietf:params:oauth:token-type:id-jag");
                Answer::json(200, &json!({"access_token": "id-jag-1", "issued_token_type": kind, "token_type": "N_A"}))
            }
            "/token" => token_answer(&mut state, pairs(body), authorization),
            _ => Answer::empty(404),
        }
    }

    fn mcp(&self, state: &mut State, body: &str, token: Option<&str>) -> Answer {
        state.anonymous += usize::from(token.is_none());
        let message: Value = serde_json::from_str(body).unwrap_or_default();
        let method = message["method"].as_str().unwrap_or_default();
        let metadata = format!("resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\"", self.base);
        let refused = |status, more: &str| Answer {
            status,
            headers: vec![format!("WWW-Authenticate: Bearer {more}{metadata}")],
            body: String::new(),
        };
        let Some(token) = token.filter(|token| state.access.contains(*token)) else { return refused(401, "") };
        if method == "tools/call" {
            if let Some(after) = state.calls_echo_after {
                let said = format!("no: {}Bearer {token} {}", ".".repeat(after), state.secrets().join(" "));
                if message["params"]["name"] == "explain" {
                    let error = json!({"code": -32000, "message": said, "data": {"header": said}});
                    return Answer::json(200, &json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
                }
                return Answer::json(403, &json!({"message": said}));
            }
            let scopes = state.authorizations.last().map(|asked| value(asked, "scope").to_owned()).unwrap_or_default();
            if state.wants_ever_more {
                state.granted += 1;
                return refused(403, &format!("error=\"insufficient_scope\", scope=\"more-{}\", ", state.granted));
            }
            if let Some(scope) = &state.scope_of_calls
                && !scopes.split(' ').any(|one| one == scope)
            {
                return refused(403, &format!("error=\"insufficient_scope\", scope=\"{scope}\", "));
            }
            state.calls += 1;
        }
        let result = match method {
            "initialize" => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "guarded", "version": "1"},
            }),
            "tools/list" => json!({"tools": []}),
            "tools/call" => json!({"content": [{"type": "text", "text": "done"}]}),
            _ => return Answer::empty(202),
        };
        Answer::json(200, &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    }
}

fn token_answer(state: &mut State, form: Vec<(String, String)>, authorization: Option<&str>) -> Answer {
    let refused = |code: &str| Answer::json(400, &json!({"error": code, "error_description": "it said so"}));
    let answer = match value(&form, "grant_type") {
        "refresh_token" if state.refresh_refusal.is_some() => state.refresh_refusal.map(refused),
        "refresh_token" if state.fails_refresh.is_some() => state.fails_refresh.map(Answer::empty),
        // Each refresh token is good for one use.
        "refresh_token" if state.refuses_refresh || !state.refresh.remove(value(&form, "refresh_token")) => {
            Some(refused("invalid_grant"))
        }
        "authorization_code" if value(&form, "code") != "the-code" || value(&form, "code_verifier").len() < 43 => {
            Some(refused("invalid_grant"))
        }
        _ => None,
    };
    state.grants.push((state.tenant.to_owned(), form));
    if let Some(after) = state.grants_echo_after {
        let said = format!("{}{} {}", ".".repeat(after), authorization.unwrap_or_default(), state.secrets().join(" "));
        return Answer::json(400, &json!({"error": "invalid_client", "error_description": said}));
    }
    if let Some(answer) = answer {
        return answer;
    }
    state.granted += 1;
    let (access, refresh) = (format!("access-token-{}", state.granted), format!("refresh-token-{}", state.granted));
    state.access.insert(access.clone());
    state.refresh.insert(refresh.clone());
    let lifetime = if state.lifetimes.is_empty() { 3600 } else { state.lifetimes.remove(0) };
    Answer::json(
        200,
        &json!({"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": lifetime}),
    )
}

fn pairs(form: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(form.as_bytes()).into_owned().collect()
}

/// A user who opens the URL and agrees.
pub(crate) fn agree(url: &str) {
    let url = Url::parse(url).expect("a URL");
    tokio::spawn(async move {
        let page = get(&url).await;
        let redirect = page.lines().find_map(|line| line.strip_prefix("Location: ")).expect("a redirect");
        get(&Url::parse(redirect).expect("a URL")).await
    });
}

/// Returns the URL that the page at `url` redirects to.
pub(crate) async fn redirect_of(url: &str) -> String {
    let page = get(&Url::parse(url).expect("a URL")).await;
    page.lines().find_map(|line| line.strip_prefix("Location: ")).expect("a redirect").to_owned()
}

async fn get(url: &Url) -> String {
    let address = format!("127.0.0.1:{}", url.port().expect("a port"));
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.expect("written");
    let mut page = String::new();
    stream.read_to_string(&mut page).await.expect("a page");
    page
}
