//! Checks whether a server responds, and finds the reason if it does not.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;

use mcp_bindgen_model::{SecretRef, ServerConfig, Snapshot, Transport, is_secret_key, printable};
use mcp_bindgen_runtime::{ConnectError, ConnectErrorKind as Kind};

use super::Finding;
use crate::exit::in_our_words;
use crate::import::variable;
use crate::report::counted;

/// Texts of npm, Node.js, uv, Python and rustls for an untrusted certificate, in lower case.
const UNTRUSTED: [&str; 7] = [
    "unknownissuer",
    "unable to get local issuer certificate",
    "unable to get issuer certificate",
    "unable to verify the first certificate",
    "self-signed certificate",
    "self signed certificate",
    "certificate_verify_failed",
];
/// Texts of npm and uv for a package or version that the registry does not have.
const NO_PACKAGE: [&str; 6] = [
    "npm error code e404",
    "npm err! code e404",
    "npm error code etarget",
    "npm err! code etarget",
    "not found in the package registry",
    "because there is no version of",
];
/// Texts of npm and uv for a registry that cannot be reached.
const NO_REGISTRY: [&str; 6] =
    ["enotfound", "eai_again", "econnrefused", "etimedout", "failed to fetch", "failed to lookup address"];
/// Words beside the name of a variable in a message that asks for it.
const ASKING: [&str; 7] = ["environment", "missing", "must be", "not set", "please set", "required", "undefined"];

/// Checks that a server answers.
pub(super) fn connection(server: &ServerConfig, live: &Result<Snapshot, ConnectError>) -> Finding {
    let error = match live {
        Ok(snapshot) => {
            let tools = counted(snapshot.tools.len(), "tool");
            return Finding::fine(format!("the server is up and has {tools}"));
        }
        Err(error) => error,
    };
    let message = in_our_words(&error.message);
    // Some errors of the configuration have a help of their own.
    if message.contains("\n  = help: ") {
        return Finding { help: None, ..Finding::error(message, "") };
    }
    let finding = explained(server, error);
    let text = if finding.text.is_empty() { message } else { format!("{}\n  = note: {message}", finding.text) };
    Finding { text, ..finding }
}

/// Finds the cause of a failure, and the next step. The cause is empty if it is not more specific than the error.
fn explained(server: &ServerConfig, error: &ConnectError) -> Finding {
    if has_any(&error.message, &UNTRUSTED) {
        let next_step = match &server.transport {
            Transport::Stdio { .. } => {
                "set SSL_CERT_FILE to the certificate of its authority, or NODE_EXTRA_CA_CERTS for Node.js".to_owned()
            }
            _ => format!("set `ca` of server `{}` to the certificate of its authority", server.name),
        };
        return Finding::error("the certificate is not trusted", next_step);
    }
    match &server.transport {
        Transport::Stdio { command, args, .. } => of_program(server, command, args, error),
        Transport::Http { headers, .. } | Transport::Sse { headers, .. } => of_address(server, headers, error),
    }
}

/// Explains the failure of a server that is started here.
fn of_program(server: &ServerConfig, command: &str, args: &[String], error: &ConnectError) -> Finding {
    let evidence = error.evidence();
    let program = Path::new(command).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    if matches!(program, "npx" | "uvx") {
        // The value of another option may be anything, an address with a password included.
        let package =
            args.iter().find(|arg| !matches!(arg.as_str(), "-y" | "--yes")).filter(|arg| !arg.starts_with('-'));
        let package = package.map(|package| format!("the package `{}`", printable(package)));
        let package = package.as_deref().unwrap_or("the package");
        if has_any(&error.message, &NO_PACKAGE) {
            return Finding::error(
                format!("{package} does not exist in the registry"),
                "correct its name and version; for a private package, set the registry and its credentials",
            );
        }
        if has_any(&error.message, &NO_REGISTRY) {
            return Finding::error(
                format!("failed to download {package}"),
                "check the network, the proxy (HTTPS_PROXY) and the package registry",
            );
        }
    }
    if let Some(name) = evidence.stderr.iter().find_map(|line| variable_asked_for(server, line)) {
        let cause = format!("the server needs the environment variable `{name}`, which is not passed to it");
        if server.inherit_env.iter().any(|passed| passed == name) {
            return Finding::error(cause, format!("set it: `export {name}=..`"));
        }
        let env = format!("`env = {{ {name} = \"${{{name}}}\" }}`");
        return Finding::error(cause, format!("set it for server `{}`: {env}", server.name));
    }
    let is_silent = evidence.stderr.is_empty() && evidence.stray_output.is_empty();
    match (error.kind, &evidence.exit_status) {
        _ if !evidence.stray_output.is_empty() && evidence.stderr.is_empty() => Finding::error(
            "the program writes something other than MCP to stdout",
            "start it as an MCP server: many programs need an argument such as `mcp` or `stdio`; logs belong on stderr",
        ),
        (Kind::Timeout, _) => advice(format!(
            "if it starts slowly, set `connect_timeout = \"2m\"` of server `{}`; a program that is not an MCP server \
             never answers",
            server.name
        )),
        (_, Some(_)) if is_silent => Finding::error(
            "the program ended and printed nothing",
            format!("run it in a terminal with `args` and `env` of server `{}`", server.name),
        ),
        (_, Some(_)) => advice(format!(
            "fix the reported error; server `{}` gets its own `env`, and few variables of your shell",
            server.name
        )),
        _ => advice(format!("correct server `{}` in the configuration", server.name)),
    }
}

/// Explains the failure of a server at a URL.
fn of_address(server: &ServerConfig, headers: &BTreeMap<String, String>, error: &ConnectError) -> Finding {
    let status = error.evidence().http_status;
    match (error.kind, status) {
        (Kind::Auth, _) if error.message.contains("requires a user") => {
            advice(format!("run `mcp-bindgen auth login {}`", server.name))
        }
        (Kind::Auth, _) => {
            let named = |is_it: &dyn Fn(&str) -> bool| headers.iter().find(|(name, _)| is_it(name));
            let authorization = named(&|name| name.eq_ignore_ascii_case("authorization"));
            let Some((name, value)) = authorization.or_else(|| named(&is_secret_key)) else {
                let header = format!("Authorization = \"Bearer ${{{}}}\"", variable(&server.name, "TOKEN"));
                let header = format!("headers = {{ {header} }}");
                return advice(format!("set a token for server `{}`: `{header}`", server.name));
            };
            // A command may have placeholders, too.
            let secrets = ServerConfig::stdio("", value.as_str()).placeholders();
            let secrets = secrets.iter().map(SecretRef::to_string).collect::<Vec<_>>().join(", ");
            let value = if secrets.is_empty() { "its value".to_owned() } else { format!("`{secrets}`") };
            // The error names that one.
            let rejected = || format!("the server rejected the header `{}`", printable(name));
            let cause = authorization.map_or_else(rejected, |_| String::new());
            Finding::error(cause, format!("check that {value} is a valid token with the required permissions"))
        }
        (_, Some(status @ (404 | 405 | 410 | 501))) => Finding::error(
            format!("no MCP server answers at the path of `url` (HTTP {status})"),
            "correct the path: often `/mcp`, for HTTP+SSE `/sse` with `transport = \"sse\"`",
        ),
        (_, Some(429 | 500..)) => advice("try again later, or look at the logs of the server"),
        (Kind::Timeout, _) => advice(format!(
            "check that `url` is an MCP server; if it is slow, set `connect_timeout = \"2m\"` of server `{}`",
            server.name
        )),
        _ => advice("check that `url` is an MCP server, and its transport (`http` or `sse`)"),
    }
}

/// Suggests a next step for an error whose message names the cause.
fn advice(next_step: impl Into<String>) -> Finding {
    Finding::error("", next_step)
}

fn has_any(text: &str, words: &[&str]) -> bool {
    let text = text.to_ascii_lowercase();
    words.iter().any(|word| text.contains(word))
}

/// Returns the environment variable that a line of stderr asks for, if the server does not receive it.
fn variable_asked_for<'l>(server: &ServerConfig, line: &'l str) -> Option<&'l str> {
    if !has_any(line, &ASKING) {
        return None;
    }
    let is_variable = |word: &str| {
        let is_shouted = word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        // Node.js has codes of this form.
        is_shouted && word.trim_matches('_').contains('_') && !word.starts_with("ERR_") && !word.starts_with("MODULE_")
    };
    let is_inherited =
        |word: &str| server.inherit_env.iter().any(|passed| passed == word) && env::var_os(word).is_some();
    let is_passed = |word: &str| server.env.contains_key(word) || is_inherited(word);
    let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.into_iter().find(|word| is_variable(word) && !is_passed(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_variable_is_found_in_stderr() {
        let server = ServerConfig::stdio("s", "x").env("SET_HERE", "1");
        let asked = |line| variable_asked_for(&server, line);
        assert_eq!(asked("Error: GITHUB_TOKEN environment variable is not set"), Some("GITHUB_TOKEN"));
        assert_eq!(asked("SET_HERE and `API_KEY_2` are required."), Some("API_KEY_2"));
        for line in [
            "SET_HERE is required",
            "code: 'ERR_MODULE_NOT_FOUND' required by main.js",
            "a TOKEN is missing",
            "listening on SOME_HOST",
            "required: ___",
        ] {
            assert_eq!(asked(line), None, "{line}");
        }
    }
}
