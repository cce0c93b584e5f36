//! The commands of hosts in the shortest form that starts the same: `npx -y PACKAGE`, `uvx PACKAGE`, a URL.

use std::collections::BTreeSet;

use super::variable::shown;

/// A program with its arguments and variables.
pub(super) struct Command {
    pub(super) command: String,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
}

/// The target of a bridge.
pub(super) struct Bridged {
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) is_sse: bool,
    pub(super) notes: Vec<String>,
}

impl Command {
    /// Takes away the shell that Windows needs to find `npx`, and asks npx no questions.
    pub(super) fn shorten(&mut self) {
        let is = |text: &str, names: &[&str]| names.iter().any(|name| text.eq_ignore_ascii_case(name));
        if is(&self.command, &["cmd", "cmd.exe"])
            && self.args.first().is_some_and(|first| is(first, &["/c"]))
            && self.args.get(1).is_some_and(|second| is(second, &["npx", "npx.cmd", "uvx", "uvx.exe"]))
        {
            self.command = self.args.remove(1);
            self.args.remove(0);
        }
        if is(&self.command, &["npx", "npx.cmd"]) {
            let package = self.args.iter().position(|argument| !is(argument, &["-y", "--yes"]));
            if package.and_then(|at| self.args.get(at)).is_some_and(|package| !package.starts_with('-')) {
                self.args.drain(..package.unwrap_or_default());
                self.args.insert(0, "-y".to_owned());
                "npx".clone_into(&mut self.command);
            }
        } else if is(&self.command, &["uvx.exe"]) {
            "uvx".clone_into(&mut self.command);
        }
    }

    /// Returns the target of `npx -y mcp-remote URL`.
    pub(super) fn bridged(&self) -> Option<Bridged> {
        let [yes, package, url, rest @ ..] = self.args.as_slice() else { return None };
        let is_remote = package == "mcp-remote" || package.starts_with("mcp-remote@");
        if self.command != "npx" || yes != "-y" || !is_remote || !url.starts_with("http") {
            return None;
        }
        let mut bridged = Bridged { url: self.filled(url), headers: Vec::new(), is_sse: false, notes: Vec::new() };
        let mut used: BTreeSet<&str> = self.names_in(url).collect();
        let mut rest = rest.iter();
        while let Some(flag) = rest.next() {
            match flag.as_str() {
                "--header" => {
                    let Some((name, value)) = rest.next().and_then(|header| header.split_once(':')) else {
                        bridged.notes.push("`--header` of mcp-remote without a value was not imported".to_owned());
                        continue;
                    };
                    used.extend(self.names_in(value));
                    bridged.headers.push((name.trim().to_owned(), self.filled(value.trim())));
                }
                "--transport" => match rest.next().map(String::as_str) {
                    Some("sse-only" | "sse-first") => bridged.is_sse = true,
                    _ => bridged.is_sse = false,
                },
                // Here any host may use http, and there is no log.
                "--allow-http" | "--debug" | "--silent" => {}
                flag => {
                    let name = flag.split('=').next().filter(|name| name.starts_with("--"));
                    let is_valued = rest.clone().next().is_some_and(|next| !next.starts_with("--"));
                    match name {
                        Some(name) => {
                            bridged.notes.push(format!("`{}` of mcp-remote was not imported", shown(name)));
                            if is_valued && !flag.contains('=') {
                                rest.next();
                            }
                        }
                        None => bridged.notes.push("an argument of mcp-remote was not imported".to_owned()),
                    }
                }
            }
        }
        for name in &used {
            bridged.notes.push(format!("`{name}` in `env` is now part of the headers or the URL"));
        }
        for (name, _) in self.env.iter().filter(|(name, _)| !used.contains(name.as_str())) {
            bridged.notes.push(format!("`{name}` in `env` was not imported: a server at a URL has no environment"));
        }
        if !bridged.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            let note = "mcp-remote logs in with OAuth; run `mcp-bindgen auth login`, and in a program use \
                        `ClientOptions::authorization`";
            bridged.notes.push(note.to_owned());
        }
        Some(bridged)
    }

    /// Returns the variables of its own that a text has placeholders for.
    fn names_in<'s>(&'s self, text: &str) -> impl Iterator<Item = &'s str> {
        let names = self.env.iter().map(|(name, _)| name.as_str());
        names.filter(move |name| text.contains(&format!("${{{name}}}")))
    }

    /// Returns the text with the variables that mcp-remote finds in its own environment.
    fn filled(&self, text: &str) -> String {
        self.env.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${{{name}}}"), value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> Command {
        let mut words = line.split(' ').map(str::to_owned);
        let mut command = Command { command: words.next().unwrap(), args: words.collect(), env: Vec::new() };
        command.shorten();
        command
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
            let Command { command, args, .. } = command(line);
            assert_eq!(format!("{command} {}", args.join(" ")), expected);
        }
    }

    #[test]
    fn bridge_is_replaced_by_its_url() {
        let mut remote = command(
            "npx mcp-remote@latest https://h/mcp --header Authorization:${AUTH} --transport sse-only --host x 3334",
        );
        remote.env = vec![("AUTH".to_owned(), "Bearer abc".to_owned()), ("X".to_owned(), "y".to_owned())];
        let bridged = remote.bridged().unwrap();
        assert_eq!(bridged.headers, [("Authorization".to_owned(), "Bearer abc".to_owned())]);
        assert!(bridged.is_sse && bridged.url == "https://h/mcp");
        assert_eq!(bridged.notes.len(), 4, "{:?}", bridged.notes);
        assert!(command("npx other https://h").bridged().is_none());
    }
}
