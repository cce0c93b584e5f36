//! `auth`: the OAuth tokens of servers.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use mcp_bindgen_model::{Config, ServerConfig, Snapshot, write_private};
use mcp_bindgen_proxy::TokenFile;
use mcp_bindgen_runtime::{Client, ClientOptions, LocalSecrets, StoredAuthorization, with_secrets};
use serde_json::{Value, json};

use crate::args::{self, AuthCommand};
use crate::exit::{Exit, Failure, Result};
use crate::live::{self, Way, oauth, takes_tokens};
use crate::output::Output;
use crate::project;

pub(crate) async fn run(config: Option<&Path>, command: &AuthCommand, output: &mut Output) -> Result<Exit> {
    match command {
        AuthCommand::Login { server, no_browser } => {
            log_in(config, server, if *no_browser { Way::Pasted } else { Way::Browser }, output).await
        }
        AuthCommand::Status(servers) => status(config, &servers.servers, output).await,
        AuthCommand::Logout(servers) => log_out(config, &servers.servers, output).await,
        AuthCommand::Token(token) => change_token(token, output),
    }
}

/// Connects once, with a user at the browser, so that tokens are there for all that comes.
async fn log_in(config: Option<&Path>, server: &str, way: Way, output: &mut Output) -> Result<Exit> {
    let config = project::load(config, output)?;
    let server = config.server(server)?;
    check(server)?;
    let authorization = oauth(&server.name, way);
    let known = Snapshot::load(config.snapshot_path(&server.name)).ok();
    let options = ClientOptions::new().authorization(authorization.clone());
    let client = Client::for_snapshot(&config, server, known.as_ref(), options);
    let connected = live::closing(&client, client.connect()).await;
    connected.map_err(|error| live::failure(error, server))?;
    let stored = authorization.stored(&ready(&config, server).await?).await?;
    match &stored {
        Some(stored) => output.status("Authorized", &format!("{} by {}", server.name, stored.issuer)),
        None => output.status("Connected", &format!("to {}, which asks for no authorization", server.name)),
    }
    output.done(&json!({ "format": 1, "servers": [report(&server.name, stored.as_ref())] }))
}

async fn status(config: Option<&Path>, names: &[String], output: &mut Output) -> Result<Exit> {
    let mut servers = Vec::new();
    for server in chosen(config, names, output).await? {
        let stored = oauth(&server.name, Way::Stored).stored(&server).await?;
        servers.push((server.name, stored));
    }
    let reports: Value = servers.iter().map(|(name, stored)| report(name, stored.as_ref())).collect();
    output.report(&json!({ "format": 1, "servers": reports }))?;
    if servers.is_empty() {
        let what = "no servers that could use OAuth: all are child processes, or have a header of their own";
        output.status("Found", what);
    }
    for (name, stored) in &servers {
        let said = stored.as_ref().map_or_else(|| "no tokens".to_owned(), shown);
        output.data(&format!("{name}: {said}"))?;
    }
    // Without names on the command line, some servers may need no tokens.
    let is_missing = !names.is_empty() && servers.iter().any(|(_, stored)| stored.is_none());
    Ok(if is_missing { Exit::Failed } else { Exit::Done })
}

async fn log_out(config: Option<&Path>, names: &[String], output: &mut Output) -> Result<Exit> {
    let mut removed = Vec::new();
    for server in chosen(config, names, output).await? {
        let name = &server.name;
        if oauth(name, Way::Stored).forget(&server).await? {
            output.status("Removed", &format!("the tokens of {name}; its authorization server was not told"));
            removed.push(server.name);
        } else if !names.is_empty() {
            output.status("Unchanged", &format!("{name}: there are no tokens"));
        }
    }
    if removed.is_empty() && names.is_empty() {
        output.status("Unchanged", "there are no tokens");
    }
    output.done(&json!({ "format": 1, "removed": removed }))
}

/// Creates or revokes a token for a client of a proxy.
fn change_token(arguments: &args::Token, output: &mut Output) -> Result<Exit> {
    let args::Token { name, tokens, group, scope, revoke } = arguments;
    let new = || TokenFile::new_token().ok_or_else(|| Failure::new("the operating system has no random numbers"));
    let token = if *revoke { None } else { Some(new()?) };
    let text = TokenFile::changed(tokens, name, token.as_deref().map(|token| (token, &**group, &**scope)))?;
    write_private(tokens, text.as_bytes())?;
    let tokens = tokens.display();
    let Some(token) = token else {
        output.status("Removed", &format!("the token `{name}` of {tokens}"));
        return output.done(&json!({ "format": 1, "removed": [name] }));
    };
    output.status("Added", &format!("the token `{name}` to {tokens}, which only has its digest"));
    output.report(&json!({ "format": 1, "name": name, "token": token }))?;
    output.data(&token)?;
    Ok(Exit::Done)
}

/// Returns the servers of these names, or all that can use tokens, with the values of their placeholders.
async fn chosen(config: Option<&Path>, names: &[String], output: &mut Output) -> Result<Vec<ServerConfig>> {
    let (config, servers) = project::load_servers(config, names, output)?;
    if !names.is_empty() {
        servers.iter().try_for_each(check)?;
    }
    let mut chosen = Vec::new();
    for server in servers.iter().filter(|server| takes_tokens(server)) {
        chosen.push(ready(&config, server).await?);
    }
    Ok(chosen)
}

fn check(server: &ServerConfig) -> Result<()> {
    if takes_tokens(server) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "server `{}` cannot use OAuth: it has no `url`, or an `Authorization` header of its own",
        server.name
    )))
}

/// Returns the server with the values of its placeholders: the tokens of another client id are other tokens.
async fn ready(config: &Config, server: &ServerConfig) -> Result<ServerConfig> {
    Ok(with_secrets(&config.with_defaults(server), &LocalSecrets).await?)
}

fn shown(stored: &StoredAuthorization) -> String {
    let scopes = if stored.scopes.is_empty() { String::new() } else { format!(" for {}", stored.scopes.join(" ")) };
    let if_renewable = |text: &'static str| if stored.is_renewable { text } else { "" };
    let left = stored.expires.map(|end| end.duration_since(SystemTime::now()).unwrap_or_default().as_secs());
    let state = match left {
        None => String::new(),
        Some(0) => format!("; the token has expired{}", if_renewable(", and is renewed with the next request")),
        Some(left) => {
            format!("; the token is valid for another {}{}", time(left), if_renewable(", and is then renewed"))
        }
    };
    format!("authorized by {}{scopes}{state}", stored.issuer)
}

fn time(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} seconds"),
        120..7200 => format!("{} minutes", seconds / 60),
        _ => format!("{} hours", seconds / 3600),
    }
}

fn report(server: &str, stored: Option<&StoredAuthorization>) -> Value {
    let Some(stored) = stored else { return json!({ "server": server, "authorized": false }) };
    let expires = stored.expires.and_then(|end| end.duration_since(UNIX_EPOCH).ok()).map(|since| since.as_secs());
    json!({
        "server": server, "authorized": true, "issuer": stored.issuer, "scopes": stored.scopes, "expires": expires,
        "renewable": stored.is_renewable,
    })
}
