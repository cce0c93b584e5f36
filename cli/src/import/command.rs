//! The commands of hosts in the shortest form that starts the same: `npx -y PACKAGE`, `uvx PACKAGE`, a URL.

use std::collections::{BTreeMap, BTreeSet};

use mcp_bindgen_model::ServerConfig;

use super::variable::shown;

/// Takes away the shell that Windows needs to find `npx`, and asks npx no questions.
pub(super) fn shorten(command: &mut String, args: &mut Vec<String>) {
    let is = |text: &str, names: &[&str]| names.iter().any(|name| text.eq_ignore_ascii_case(name));
    if let [first, program, ..] = args.as_slice()
        && is(command, &["cmd", "cmd.exe"])
        && is(first, &["/c"])
        && is(program, &["npx", "npx.cmd", "uvx", "uvx.exe"])
    {
        *command = args.remove(1);
        args.remove(0);
    }
    if is(command, &["npx", "npx.cmd"]) {
        let package = args.iter().position(|argument| !is(argument, &["-y", "--yes"]));
        if let Some(at) = package.filter(|at| args.get(*at).is_some_and(|package| !package.starts_with('-'))) {
            args.drain(..at);
            args.insert(0, "-y".to_owned());
            "npx".clone_into(command);
        }
    } else if is(command, &["uvx.exe"]) {
        "uvx".clone_into(command);
    }
}

/// Returns the server that the bridge `npx -y mcp-remote URL` leads to, and adds notes on what it does not keep.
pub(super) fn bridged(
    name: &str,
    command: &str,
    args: &[String],
    env: &BTreeMap<String, String>,
    notes: &mut Vec<String>,
) -> Option<ServerConfig> {
    let [yes, package, url, rest @ ..] = args else { return None };
    let is_remote = package == "mcp-remote" || package.starts_with("mcp-remote@");
    let is_url = ["http://", "https://"].iter().any(|start| url.starts_with(start));
    if command != "npx" || yes != "-y" || !is_remote || !is_url {
        return None;
    }
    let mut used: BTreeSet<&str> = BTreeSet::new();
    // The bridge finds the values of placeholders in its own environment.
    let mut filled = |text: &str| {
        env.iter().fold(text.to_owned(), |filled, (name, value)| {
            let placeholder = format!("${{{name}}}");
            if text.contains(&placeholder) {
                used.insert(name);
            }
            filled.replace(&placeholder, value)
        })
    };
    let (url, mut headers, mut is_sse) = (filled(url), BTreeMap::new(), false);
    let mut rest = rest.iter().map(String::as_str);
    while let Some(flag) = rest.next() {
        match flag {
            "--header" => match rest.next().and_then(|header| header.split_once(':')) {
                Some((name, value)) => drop(headers.insert(name.trim().to_owned(), filled(value.trim()))),
                None => notes.push("`--header` of mcp-remote without a value was not imported".to_owned()),
            },
            "--transport" => is_sse = matches!(rest.next(), Some("sse-only" | "sse-first")),
            // Here any host may use http, and there is no log.
            "--allow-http" | "--debug" | "--silent" => {}
            // Only the name of a flag cannot be a secret.
            flag => {
                let name = flag.split('=').next().filter(|name| name.starts_with("--"));
                let label = name.map_or_else(|| "an argument".to_owned(), |name| format!("`{}`", shown(name)));
                let note = format!("{label} of mcp-remote was not imported");
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }
    for name in env.keys() {
        notes.push(match used.contains(name.as_str()) {
            true => format!("`{name}` in `env` is now part of the headers or the URL"),
            false => format!("`{name}` in `env` was not imported: a server at a URL has no environment"),
        });
    }
    if !headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) {
        let note = "mcp-remote logs in with OAuth; run `mcp-bindgen auth login`, and in a program use \
                    `ClientOptions::authorization`";
        notes.push(note.to_owned());
    }
    Some(at_url(name, url, headers, is_sse))
}

/// Returns a server at a URL.
pub(super) fn at_url(name: &str, url: String, headers: BTreeMap<String, String>, is_sse: bool) -> ServerConfig {
    let server = if is_sse { ServerConfig::sse(name, url) } else { ServerConfig::http(name, url) };
    headers.into_iter().fold(server, |server, (key, value)| server.header(key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> (String, Vec<String>) {
        let mut words = line.split(' ').map(str::to_owned);
        let (mut command, mut args) = (words.next().unwrap(), words.collect());
        shorten(&mut command, &mut args);
        (command, args)
    }

    #[test]
    fn package_runners_are_normalized() {
        for (line, expected) in [
            ("npx -y pkg a", "npx -y pkg a"),
            ("npx pkg", "npx -y pkg"),
            ("npx --yes pkg", "npx -y pkg"),
            ("cmd /c npx -y pkg", "npx -y pkg"),
            ("cmd.exe /C npx.cmd pkg -v", "npx -y pkg -v"),
            ("npx -y -p pkg run", "npx -y -p pkg run"),
            ("cmd /c dir", "cmd /c dir"),
            ("uvx.exe pkg", "uvx pkg"),
            ("/usr/bin/npx pkg", "/usr/bin/npx pkg"),
        ] {
            let (command, args) = command(line);
            assert_eq!(format!("{command} {}", args.join(" ")), expected);
        }
    }

    #[test]
    fn bridge_is_replaced_by_its_url() {
        let bridged = |line: &str, notes: &mut Vec<String>| {
            let (command, args) = command(line);
            let env = [("AUTH", "Bearer abc"), ("X", "y")].map(|(name, value)| (name.to_owned(), value.to_owned()));
            bridged("x", &command, &args, &env.into(), notes)
        };
        let mut notes = Vec::new();
        let remote =
            "npx mcp-remote@latest https://h/mcp --header Authorization:${AUTH} --transport sse-only --host x 3334";
        let expected = ServerConfig::sse("x", "https://h/mcp").header("Authorization", "Bearer abc");
        assert_eq!(bridged(remote, &mut notes), Some(expected));
        assert_eq!(notes.len(), 4, "{notes:?}");
        assert!(bridged("npx other https://h", &mut notes).is_none());
    }
}
