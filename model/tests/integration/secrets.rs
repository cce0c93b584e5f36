//! Secrets that somebody wrote out: every form is seen, none is shown, and what is no secret is left alone.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::fmt::Write;
use std::path::Path;

use mcp_bindgen_model::{Config, ServerConfig, Transport};
use serde_json::{Value, json};

/// A server of `mcp.toml`, and what is said of it.
fn read(entry: &Value) -> (ServerConfig, Vec<String>) {
    let text = json!({ "mcpServers": { "a": entry } }).to_string();
    let config = Config::parse_mcp_json(&text, Path::new(".mcp.json")).unwrap();
    let warnings = config.warnings.iter().map(ToString::to_string).collect();
    (config.servers["a"].clone(), warnings)
}

/// All that is shown of a server, before and after it was expanded.
fn everything_shown(server: &ServerConfig) -> String {
    let mut shown = String::new();
    for server in [server.clone(), server.expand(|_| Some("value".to_owned())).unwrap()] {
        let _ = write!(shown, "{server:?} {:?} {:#?} {}", server.transport, server.transport, server.to_json());
    }
    shown
}

fn with_args(args: &[&str]) -> Value {
    json!({ "command": "server", "args": args })
}

fn with_env(key: &str, value: &str) -> Value {
    json!({ "command": "server", "env": { key: value } })
}

fn with_header(key: &str, value: &str) -> Value {
    json!({ "url": "https://example.com", "headers": { key: value } })
}

/// Each with what may not be shown of it.
fn secrets() -> Vec<(Value, Vec<&'static str>)> {
    let one = |entry: Value| (entry, vec!["hunter2"]);
    let mut all = Vec::new();
    for args in [
        &["--token=hunter2"][..],
        &["--token", "hunter2"],
        &["-p", "hunter2"],
        &["--password", "-hunter2!"],
        &["-e", "API_KEY=hunter2"],
        &["--env", "API_KEY=hunter2"],
        &["--env=API_KEY=hunter2"],
        &["-u", "me:hunter2"],
        &["--header", "X-Api-Key: hunter2"],
        &["--header=X-Api-Key: hunter2"],
        &["--header", "Authorization: Bearer hunter2"],
        &["--header", "Authorization:Bearer hunter2"],
        &["--header", "Authorization: token hunter2"],
        &["--header", "Authorization: hunter2"],
        &["--header", "Authorization:", "Bearer hunter2"],
        &["--header", "Proxy-Authorization: Basic hunter2=="],
        &["--header", "Cookie: a=b; session=hunter2"],
        &["Bearer hunter2"],
        &["postgres://u:hunter2@h/db"],
        &["--db=postgres://u:hunter2@h/db"],
        &["postgres://u:a%2Fhunter2%40@h/db"],
        &["postgres://u:p/?#hunter2@h/db"],
        &["u:hunter2@h:80"],
        &["https://h/?a=b&api_key=hunter2"],
        &["https://h/?access_token=hunter2#top"],
        &["https://h/?sv=1&sig=hunter2%3D"],
        &["https://h/#access_token=hunter2&state=x"],
        &["Server=h;User=u;Password=hunter2"],
        &["DefaultEndpointsProtocol=https;AccountName=n;AccountKey=hunter2==;EndpointSuffix=s"],
        &["host=h password=hunter2 dbname=d"],
        &["{\"apiKey\":\"hunter2\"}"],
        &["{\"apiKey\": \"a\\\"hunter2\", \"b\": {\"c\": 1}}"],
        &["{\"headers\":{\"Authorization\":\"Bearer hunter2\"}}"],
        &["-c", "server --token hunter2 --port 80"],
        &["-c", "API_KEY=hunter2 server"],
        &["-c", "curl -H 'Authorization: Bearer hunter2' https://h"],
        &["-Dapi.key=hunter2"],
        &["password: a\nhunter2\nb"],
        &["-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----"],
        &["https://hooks.slack.com/services/T/B/hunter2"],
        &["https://discord.com/api/webhooks/123456/hunter2"],
        &["https://api.telegram.org/bot123:hunter2/send"],
        &["--token", "${A}hunter2"],
        &["--header", "Authorization: Bearer ${A}hunter2${B}"],
        &["--token", "${A:-hunter2}"],
        &["${TOKEN:-hunter2}"],
    ] {
        all.push(one(with_args(args)));
    }
    for key in [
        "API_KEY",
        "APIKEY",
        "apiKey",
        "OPENAI_API_KEY_2",
        "GITHUB_TOKEN",
        "GITHUB_PAT",
        "DB_PASSWORD",
        "dbPass",
        "PGPASSWORD",
        "MYSQL_PWD",
        "CLIENT_SECRET",
        "SECRET_KEY_BASE",
        "AWS_SECRET_ACCESS_KEY",
        "PRIVATE_KEY",
        "OPENAI_KEY",
        "SIGNING_PASSPHRASE",
        "GOOGLE_CREDENTIALS",
        "BASIC_AUTH",
        "authtoken",
        "SESSION_ID",
        "COOKIE",
    ] {
        all.push(one(with_env(key, "hunter2")));
    }
    for value in [
        "postgres://u:hunter2@h/db",
        "https://u:hunter2@h/?a=b",
        "{\"Authorization\": \"Bearer hunter2\", \"Notion-Version\": \"2022-06-28\"}",
        "Authorization: Bearer hunter2\nAccept: text/plain",
        "Server=h;Password=hunter2;",
        "--token hunter2",
        "Bearer hunter2",
    ] {
        all.push(one(with_env("SETTINGS", value)));
    }
    for (key, value) in [
        ("Authorization", "Bearer hunter2"),
        ("Authorization", "Basic aDpodW50ZXIy"),
        ("authorization", "hunter2"),
        ("Proxy-Authorization", "hunter2"),
        ("X-Api-Key", "hunter2"),
        ("X-Goog-Api-Key", "hunter2"),
        ("PRIVATE-TOKEN", "hunter2"),
        ("Cookie", "a=hunter2"),
        ("X-Whatever", "Bearer hunter2"),
    ] {
        all.push((with_header(key, value), vec!["hunter2", "aDpodW50ZXIy"]));
    }
    for url in [
        "https://u:hunter2@h/mcp",
        "https://h/mcp?api_key=hunter2",
        "https://h/mcp?a=b#token=hunter2",
        "https://h/api/token/hunter2xyz/mcp",
        "${BASE:-https://h/?key=hunter2}",
    ] {
        all.push(one(json!({ "url": url })));
    }
    all.push((json!({ "url": "https://u:hunter2@h/mcp?api_key=swordfish" }), vec!["hunter2", "swordfish"]));
    all.push((json!({ "url": "https://h/api/mcp/s/MTk4ZjBiYjYtNGQ0Yi00/mcp" }), vec!["MTk4ZjBiYjYtNGQ0Yi00"]));
    all.push(one(json!({ "command": "API_KEY=hunter2 server" })));
    all.push(one(json!({ "command": "server --token hunter2" })));
    all.push(one(json!({ "command": "server", "cwd": "https://u:hunter2@h/" })));
    all.push(one(json!({ "command": "server", "inherit_env": ["API_KEY=hunter2"] })));
    all.push(one(json!({ "command": "server", "env": { "API_KEY=hunter2": "" } })));
    all.push(one(json!({ "url": "https://h", "headers": { "Authorization: Bearer hunter2": "" } })));
    all.push(one(json!({ "command": "server", "description": "its password=hunter2" })));
    all.push(one(json!({ "url": "https://h", "proxy": "http://u:hunter2@proxy:3128" })));
    all.push(one(json!({
        "url": "https://h", "client_cert": "-----BEGIN CERTIFICATE-----\na\n-----END CERTIFICATE-----\n\
         -----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----",
    })));
    all.push(one(json!({
        "url": "https://h", "auth": { "issuer": "https://i", "client": "c", "client_secret": "hunter2" },
    })));
    for number in ["12345678", "4711"] {
        all.push((with_env("DB_PASSWORD", number), vec![number]));
        all.push((with_args(&["--password", number]), vec![number]));
    }
    for token in [
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "github_pat_11ABCDEFG0123456789_abcdefghij",
        "glpat-0123456789abcdefghij",
        "xoxb-123456789012-abcdefghijkl",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA0123456789abcdefghijklmnopqrstuv",
        "sk-proj-0123456789abcdefghij",
        "sk-ant-api03-0123456789abcdefghij",
        "sk-0123456789abcdefghijABCDEFGHIJ",
        "sk_live_0123456789abcdefghij",
        "hf_0123456789abcdefghijABCDEFGHIJ",
        "npm_0123456789abcdefghijABCDEFGHIJ",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "dXNlcjpodW50ZXIyMjI=",
    ] {
        for entry in [
            with_env("LEVEL", token),
            with_env("LEVEL", &format!("before {token} after")),
            with_args(&[token]),
            with_args(&["--level", token]),
            with_header("X-Level", token),
            json!({ "url": format!("https://h/{token}/mcp?level={token}") }),
            json!({ "command": token }),
            json!({ "command": "server", "cwd": format!("/srv/{token}") }),
        ] {
            all.push((entry, vec![token]));
        }
        if !token.starts_with("dXN") {
            all.push((json!({ "command": "server", "description": format!("use {token}") }), vec![token]));
        }
    }
    all
}

#[test]
fn every_secret_form_is_detected_and_hidden() {
    let all = secrets();
    assert!(all.len() >= 200, "{} forms", all.len());
    for (entry, hidden) in all {
        let (server, warnings) = read(&entry);
        assert!(!warnings.is_empty(), "not seen: {entry}");
        for said in &warnings {
            assert!(said.contains(" of server `a` looks like a secret in plain text\n --> .mcp.json:1:"), "{said}");
            assert!(said.contains("\n  = help: "), "{said}");
        }
        let shown = format!("{} {}", warnings.join("\n"), everything_shown(&server));
        for secret in hidden {
            assert!(!shown.contains(secret), "{entry} shows {secret}: {shown}");
        }
    }
}

#[test]
fn values_without_secrets_are_unchanged() {
    let mut all = Vec::new();
    for args in [
        &["--port", "8080"][..],
        &["-p", "8080"],
        &["-p", "127.0.0.1:8080:80/tcp"],
        &["-p", "./tsconfig.json"],
        &["-y", "@scope/token-server"],
        &["--token", "${TOKEN}"],
        &["--token=${TOKEN}"],
        &["--token", ""],
        &["--token-file", "/run/secrets/token"],
        &["--key", "/etc/ssl/server.key"],
        &["--key", "${HOME}/server.key"],
        &["--key", "name"],
        &["--auth", "oauth2"],
        &["--no-auth", "stdio"],
        &["--max-tokens", "4096"],
        &["--max-tokens=4096"],
        &["--sort-key=name"],
        &["--user", "1000:1000"],
        &["-v", "/run/secrets/token:/run/secrets/token"],
        &["auth.example.com:8080"],
        &["ghcr.io/org/auth-token:latest"],
        &["secret-server:1.2.3"],
        &["mcp-auth==1.2.3"],
        &["git+https://github.com/org/token.git@v1.0"],
        &["git@github.com:org/secret.git"],
        &["npm:@scope/secret@1.0"],
        &["node@sha256:0123456789abcdef0123456789abcdef"],
        &["-i", "--rm", "-e", "API_KEY", "mcp/server"],
        &["-e", "API_KEY=${API_KEY}"],
        &["--header", "Authorization: Bearer ${TOKEN}"],
        &["--header", "Authorization:${AUTH_HEADER}"],
        &["--header", "Content-Type: application/json"],
        &["--header", "X-Request-Id: 123"],
        &["postgres://u:${PASSWORD}@h:5432/db"],
        &["postgres://u@h:5432/db"],
        &["ssh://git@github.com/org/repo"],
        &["https://registry.npmjs.org/@scope/x"],
        &["https://docs.example.com/spreadsheets/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit"],
        &["https://[::1]:8080/x?page=2&sort_key=name#top"],
        &["{\"port\": 8080, \"apiKey\": \"${API_KEY}\", \"token_type\": \"bearer\"}"],
        &["12:30:00"],
        &["C:\\keys\\server.pem"],
        &["-c", "server --token ${TOKEN} --port 80"],
        &["sk-learn-mcp-server-v2"],
        &["npm_config_registry=https://registry.npmjs.org"],
        &["/usr/local/lib/node_modules/server/index.js"],
        &["--passthrough", "value"],
        &["--cookies-from-browser", "chrome"],
    ] {
        all.push(with_args(args));
    }
    for (key, value) in [
        ("NODE_ENV", "production"),
        ("TOKENIZER", "cl100k"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("MAX_TOKENS", "4096"),
        ("MAX_TOKENS", "auto"),
        ("TOKEN_LIMIT", "100k"),
        ("PASSWORD_MIN_LENGTH", "12"),
        ("TOKEN_TTL_SECONDS", "3600"),
        ("TOKENS_PER_MINUTE", "90000"),
        ("USE_TOKEN", "true"),
        ("REQUIRE_AUTH", "1"),
        ("AUTH_TYPE", "basic"),
        ("AUTH", "basic"),
        ("GITHUB_TOKEN", ""),
        ("GITHUB_TOKEN", "${GITHUB_TOKEN}"),
        ("GITHUB_TOKEN", "${env:GITHUB_TOKEN}"),
        ("GITHUB_TOKEN", "${GITHUB_TOKEN:-}"),
        ("GITHUB_TOKEN", "${GITHUB_TOKEN:-none}"),
        ("BASIC_AUTH", "${USER}:${PASSWORD}"),
        ("TOKEN_FILE", "/run/secrets/token"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "./key.json"),
        ("API_KEY_HEADER", "X-Api-Key"),
        ("OAUTH_TOKEN_URL", "https://login.example.com/oauth/token"),
        ("JIRA_PROJECT_KEY", "PROJ"),
        ("PUBLIC_KEY", "abc123"),
        ("AWS_ACCESS_KEY_ID", "${AWS_ACCESS_KEY_ID}"),
        ("SECRET_NAME", "prod/db"),
        ("MONKEY", "abc"),
        ("AUTHOR", "me"),
        ("COMPASS", "north"),
        ("PWD", "/home/me"),
        ("PATH", "/usr/bin:/bin"),
        ("LANG", "en_US.UTF-8"),
        ("KEYBOARD", "qwerty"),
        ("DATABASE_URL", "postgres://${USER}:${PASSWORD}@h/db"),
        ("OPENAPI_HEADERS", "{\"Authorization\": \"Bearer ${NOTION_TOKEN}\", \"Notion-Version\": \"2022-06-28\"}"),
    ] {
        all.push(with_env(key, value));
    }
    for (key, value) in [
        ("Authorization", "Bearer ${API_KEY:-none}"),
        ("Accept", "text/plain"),
        ("X-Api-Version", "2024-01-01"),
        ("Idempotency-Key", "abc"),
        ("Cookie", "a=${A}; b=${B}"),
        ("X-Auth", "${AUTH}"),
    ] {
        all.push(with_header(key, value));
    }
    for url in [
        "https://host:80/x?page=2",
        "https://user:${PASSWORD}@host/",
        "https://host/mcp?api_key=${API_KEY}",
        "https://host/v1/projects/0b1d3d9e-54f5-4a1a-9a0f-6a2f0f5a2f10/mcp",
        "https://mcp.example.com/oauth/token/list",
        "${BASE_URL:-https://localhost:8080}/mcp",
    ] {
        all.push(json!({ "url": url }));
    }
    all.push(json!({ "command": "token", "cwd": "/srv/secrets", "description": "Needs an API key: ask for a token." }));
    assert!(all.len() >= 90, "{} cases", all.len());
    for entry in all {
        let (server, warnings) = read(&entry);
        assert_eq!(warnings, <[&str; 0]>::default(), "{entry}");
        assert_eq!(server.secrets(), <[&str; 0]>::default(), "{entry}");
        let restored = ServerConfig::from_json("a", &server.to_json()).unwrap();
        assert_eq!(restored, server, "{entry}");
    }
}

#[test]
fn secret_warning_suggests_a_placeholder() {
    let text = "[servers.a]\nnpm = \"x\"\nenv = { GITHUB_TOKEN = \"hunter2\" }\nargs = [\n  \"--verbose\",\n  \
                \"https://u:hunter2@h/?api_key=hunter2\",\n]\n";
    let config = Config::parse_toml(text, Path::new("mcp.toml")).unwrap();
    let said = |key: &str, place: &str, variable: &str| {
        format!(
            "`{key}` of server `a` looks like a secret in plain text\n --> mcp.toml:{place}\n  = help: replace it with `${{{variable}}}`, and set that variable in the environment"
        )
    };
    assert_eq!(
        config.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            said("GITHUB_TOKEN", "3:24", "GITHUB_TOKEN"),
            said("password", "6:3", "A_PASSWORD"),
            said("api_key", "6:3", "A_API_KEY"),
        ]
    );
    let config = Config::parse_toml("[servers.a]\nnpm = \"${TOKEN:-hunter2}\"\n", Path::new("mcp.toml")).unwrap();
    assert_eq!(
        config.warnings[0].to_string(),
        "`TOKEN` of server `a` looks like a secret in plain text\n --> mcp.toml:2:7\n  = help: remove the default, and set the variable in the environment"
    );
}

#[test]
fn embedded_secret_is_refused_until_its_variable_is_set() {
    let server =
        ServerConfig::stdio("0-a", "x").args(["--token", "one", "--token", "two"]).env("PASSWORD", "${P:-three}");
    let carried = ServerConfig::from_json("0-a", &server.to_json()).unwrap();
    assert_eq!(
        carried,
        ServerConfig::stdio("0-a", "x")
            .args(["--token", "${MCP_SECRET__0_A_TOKEN}", "--token", "${MCP_SECRET__0_A_TOKEN_2}"])
            .env("PASSWORD", "${P}")
    );
    assert_eq!(
        carried.expand(|_| None).unwrap_err().to_string(),
        "`args` of server `0-a` was a secret in plain text, which bindings do not embed\n  = help: use a placeholder in the configuration and rebuild, set `MCP_SECRET__0_A_TOKEN`, or configure the server in `MCP_SERVERS`"
    );
    let ready = carried.expand(|name| Some(format!("value of {name}"))).unwrap();
    let Transport::Stdio { args, .. } = ready.transport else { unreachable!() };
    assert_eq!(args[1], "value of MCP_SECRET__0_A_TOKEN");
}

#[test]
fn errors_do_not_repeat_possible_secrets() {
    for line in [
        "timeout = \"hunter2\"",
        "drift = \"hunter2\"",
        "types = \"hunter2\"",
        "transport = \"hunter2\"",
        "prefix = \"hunter2!\"",
        "env = { \"API_KEY=hunter2\" = 1 }",
        "\"API_KEY=hunter2\" = 1",
        "args = \"--token=hunter2\"",
        "args = [\"--token=hunter2\", 1]",
        "env = { TOKEN = \"hunter2\", TOKEN = \"hunter2\" }",
        "env = { TOKEN = hunter2 }",
        "env = { TOKEN \"hunter2\" }",
        "env = { TOKEN = \"hunter2 }",
        "env = { TOKEN = \"hunter2\\q\" }",
        "TOKEN=hunter2",
        "url = \"u:hunter2@h\"",
    ] {
        let text = format!("[servers.a]\ncommand = \"x\"\n{line}\n");
        let error = Config::parse_toml(&text, Path::new("mcp.toml")).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{line}: {error}");
        assert_eq!(error.position.unwrap().0, 3, "{line}: {error}");
    }
    let name = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    for text in [
        format!("{{\"mcpServers\":{{\"{name}\":{{\"command\":\"x\"}}}}}}"),
        format!("{{\"mcpServers\":{{\"a\":{{\"{name}\":1,\"{name}\":2}}}}}}"),
    ] {
        let said = match Config::parse_mcp_json(&text, Path::new(".mcp.json")) {
            Ok(config) => format!("{:?}", config.warnings),
            Err(error) => format!("{error} {error:?}"),
        };
        assert!(said.contains("<hidden>") && !said.contains(name), "{said}");
    }
}
