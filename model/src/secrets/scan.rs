//! The forms of secrets in texts.

use std::ops::Range;

use super::key::{self, Key};
use super::shape::{self, is_flag};
use super::{ConfigField, MASK, Reach, Secret, extent};
use crate::text::{offset, parts};

/// Programs that start others: what comes before the name of the other is for them, and means other things.
const STARTERS: [&str; 13] =
    ["bun", "bunx", "deno", "docker", "mkdir", "npm", "npx", "pipx", "pnpm", "podman", "uv", "uvx", "yarn"];
const CONTAINERS: [&str; 2] = ["docker", "podman"];
const SCHEMES: [&str; 7] = ["bearer", "basic", "token", "digest", "apikey", "api-key", "negotiate"];
const LOGIN_FLAGS: [&str; 4] = ["u", "user", "userpwd", "proxy-user"];

/// Looks through one text.
pub(super) struct Scan<'t> {
    pub(super) text: &'t str,
    /// `true` for a text for people, in which many words look like a key with a value.
    pub(super) is_prose: bool,
    /// `true` for a single argument, in which blanks do not separate values.
    pub(super) is_argument: bool,
    /// `true` for a shell script.
    pub(super) is_script: bool,
    pub(super) reach: Reach,
    /// The secrets, but for the placeholders in them.
    pub(super) found: Vec<Secret>,
}

/// Returns the secrets in a text.
pub(super) fn candidates(place: ConfigField<'_>, text: &str, reach: Reach) -> Vec<Secret> {
    let mut scan = Scan {
        text,
        is_prose: matches!(place, ConfigField::Note(_)),
        is_argument: matches!(place, ConfigField::Argument { .. }),
        is_script: false,
        reach,
        found: Vec::new(),
    };
    let mut key = "secret";
    match place {
        ConfigField::Env(name) | ConfigField::Header(name) | ConfigField::Auth(name) => {
            key = name;
            scan.keyed(name, 0..text.len());
        }
        ConfigField::Argument { command, all, index } => {
            let before = all.get(..index).unwrap_or_default();
            if let Some(flag) = before.last().filter(|flag| is_flag(flag) && !flag.contains('=')) {
                key = flag.trim_start_matches('-');
            }
            scan.is_script = extent::is_script(command, before);
            scan.argument(command, before);
        }
        _ => {}
    }
    scan.urls(matches!(place, ConfigField::Url | ConfigField::Network("proxy")));
    scan.pairs();
    scan.flags();
    scan.schemes(key);
    scan.bare_login();
    let logins = if scan.is_prose { Vec::new() } else { shape::encoded_logins(text) };
    let shapes = [shape::tokens(text, reach), shape::private_keys(text), logins].concat();
    shapes.into_iter().for_each(|range| scan.push(range, key));
    scan.found
}

impl Scan<'_> {
    pub(super) fn push(&mut self, range: Range<usize>, key: &str) {
        // Keys are shown, so a key with a secret in it is replaced.
        let key = if is_name(key) && shape::tokens(key, Reach::Widest).is_empty() { key } else { "secret" };
        self.found.push(Secret { range, key: key.to_owned(), is_default: false });
    }

    /// Takes a part of the text as the value of a key.
    pub(super) fn keyed(&mut self, key: &str, range: Range<usize>) {
        let (Some(kind), Some(value)) = (key::kind(key), self.text.get(range.clone())) else { return };
        // In the value of `AUTH`, or with placeholders, only members are searched.
        let has_members = value.trim_start().starts_with(['{', '[']);
        if has_members && (value.contains(MASK) || kind == Key::SecretOrWord) {
            return;
        }
        let start = if key::has_scheme(key) { after_scheme(value) } else { 0 };
        if value.get(start..).is_some_and(|value| kind.holds(value)) {
            self.push(range.start + start..range.end, key);
        }
    }

    fn argument(&mut self, command: &str, before: &[String]) {
        let Some(last) = before.last() else { return };
        let whole = 0..self.text.len();
        if let Some(key) = last.strip_suffix([':', '=']).filter(|key| is_name(key)) {
            return self.keyed(key.trim_start_matches('-'), whole);
        }
        if !is_flag(last) || last.contains('=') || is_flag(self.text) {
            return;
        }
        let program = command.rsplit(['/', '\\']).next().unwrap_or_default();
        let for_starter = before.iter().all(|argument| argument.starts_with('-'));
        self.flagged(last.trim_start_matches('-'), whole, program, for_starter);
    }

    /// Takes a part of the text as the value of a flag.
    fn flagged(&mut self, flag: &str, range: Range<usize>, program: &str, for_starter: bool) {
        let value = self.text.get(range.clone()).unwrap_or_default();
        match flag {
            "p" if (for_starter && STARTERS.contains(&program)) || value.starts_with('@') || is_port(value) => {}
            "p" => self.keyed("password", range),
            _ if LOGIN_FLAGS.contains(&flag) && !CONTAINERS.contains(&program) => {
                // `user:password`; two numbers are a user and a group.
                if let Some((user, password)) = value.split_once(':')
                    && !(is_number(user) && is_number(password))
                {
                    self.push(range.start + user.len() + 1..range.end, "password");
                }
            }
            _ => self.keyed(flag, range),
        }
    }

    /// Finds a login of the form `user:password@host`.
    fn bare_login(&mut self) {
        let Some((login, host)) = self.text.rsplit_once('@') else { return };
        let Some((user, password)) = login.split_once(':') else { return };
        let has_path = login.contains(['/', '@']) || self.text.contains(char::is_whitespace);
        if !(has_path || user.is_empty() || user == "npm" || password.is_empty() || host.starts_with("sha256:")) {
            self.push(user.len() + 1..login.len(), "password");
        }
    }

    /// Finds flags like `--token abc` in a command line that is one text.
    fn flags(&mut self) {
        let mut flag = None;
        let mut program = "";
        let mut quoted_to = 0;
        for mut range in words(self.text) {
            if range.start < quoted_to {
                continue;
            }
            let word = self.text.get(range.clone()).unwrap_or_default();
            if is_flag(word) {
                flag = Some(word.trim_start_matches('-')).filter(|flag| !flag.contains('='));
                continue;
            }
            let Some(flag) = flag.take().filter(|_| !self.is_prose) else {
                program = word;
                continue;
            };
            if let Some(quote) = word.chars().next().filter(|c| "\"'".contains(*c)) {
                let inside = range.start + 1;
                let length = self.text.get(inside..).and_then(|rest| rest.find(quote));
                range = inside..length.map_or(self.text.len(), |length| inside + length);
                quoted_to = range.end;
            } else if self.is_script && self.reach == Reach::Exact {
                range.end = range.start + extent::of(word, true).end;
            }
            self.flagged(flag, range, program, true);
        }
    }

    /// Finds credentials like `Bearer abc`.
    fn schemes(&mut self, key: &str) {
        let text = self.text;
        for range in words(text) {
            let Some(word) = text.get(range.clone()) else { continue };
            let scheme = word.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
            if !SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
                continue;
            }
            let rest = text.get(range.end..).unwrap_or_default();
            let start = range.end + (rest.len() - rest.trim_start().len());
            let word = shape::run(rest.trim_start(), &|c| !c.is_whitespace() && !"\"'`,;".contains(c));
            // At the beginning, the scheme applies to the whole text.
            let value = if range.start == 0 && !self.is_prose { rest.trim() } else { word };
            let is_all = range.start == 0 && value == word;
            let is_random = value.len() >= 6 && value.bytes().any(|b| b.is_ascii_digit() || b == b'=');
            let is_bearer = scheme.eq_ignore_ascii_case("bearer");
            if !value.is_empty() && ((is_all && is_bearer && !self.is_prose) || is_random) {
                self.push(start..start + value.len(), key);
            }
        }
    }
}

/// Returns the offset of the credentials after `Bearer `.
pub(super) fn after_scheme(value: &str) -> usize {
    let trimmed = value.trim_start();
    let scheme = shape::run(trimmed, &|c| c.is_ascii_alphanumeric() || c == '-');
    let rest = trimmed.get(scheme.len()..).unwrap_or_default();
    let credentials = rest.trim_start();
    let is_scheme = SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known));
    if is_scheme && credentials.len() < rest.len() { value.len() - credentials.len() } else { 0 }
}

fn is_name(key: &str) -> bool {
    key.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.%[]$".contains(&b))
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

/// Returns `true` for a port such as `8080`, or a port mapping such as `127.0.0.1:8080:80/tcp`.
fn is_port(text: &str) -> bool {
    let text = text.trim_end_matches("/tcp").trim_end_matches("/udp");
    let mapped = text.contains(':') && text.bytes().all(|b| b.is_ascii_digit() || b".:-[]".contains(&b));
    mapped || (text.len() <= 5 && is_number(text))
}

fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.split_whitespace().map(|word| offset(text, word)..offset(text, word) + word.len())
}

const SHORTEST_USER: usize = 16;

impl Scan<'_> {
    /// Finds secrets in URLs without a key. Queries and fragments are handled like other pairs.
    fn urls(&mut self, is_endpoint: bool) {
        let text = self.text;
        for (at, _) in text.match_indices("://") {
            let start = at + 3;
            let rest = text.get(start..).unwrap_or_default();
            let url = shape::run(rest, &|c| !c.is_whitespace() && !"\"'`<>".contains(c));
            let scheme = text.get(..at).unwrap_or_default();
            let is_web = scheme.ends_with("http") || scheme.ends_with("https");
            let host = start + self.user(start, rest, url, is_web);
            self.path(host, is_endpoint);
        }
    }

    /// Finds the user and the password before a host, and returns the offset of the host.
    fn user(&mut self, start: usize, rest: &str, url: &str, is_web: bool) -> usize {
        let authority = url.get(..url.find(['/', '?', '#']).unwrap_or(url.len())).unwrap_or_default();
        let is_port = |port: &str| port.bytes().all(|b| b.is_ascii_digit() || b == MASK as u8);
        // A password may hold what should have been encoded, and ends at the last `@` then.
        let badly_encoded = || {
            let (_, port) = authority.split_once(':').filter(|_| !authority.starts_with('['))?;
            (!is_port(port)).then(|| shape::run(rest, &|c| !c.is_whitespace()).rfind('@')).flatten()
        };
        let Some(end) = authority.rfind('@').or_else(badly_encoded) else { return 0 };
        let user = rest.get(..end).unwrap_or_default();
        match user.split_once(':') {
            Some((name, password)) if !password.is_empty() => {
                self.push(start + name.len() + 1..start + end, "password");
            }
            _ => {
                let name = user.trim_end_matches(':');
                if is_web && name.len() >= SHORTEST_USER {
                    self.push(start..start + name.len(), "token");
                }
            }
        }
        end + 1
    }

    /// Paths that are as good as a password: webhooks, and endpoints for one user.
    fn path(&mut self, start: usize, is_endpoint: bool) {
        let rest = self.text.get(start..).unwrap_or_default();
        let url = shape::run(rest, &|c| !c.is_whitespace() && !"\"'`<>?#".contains(c));
        let Some((host, path)) = url.split_once('/') else { return };
        let is_hook = |name: &str| ["hook", "hooks", "webhook", "webhooks", "webhookb2"].contains(&name);
        let end = start + url.len();
        let mut before = "";
        for (index, (offset, segment)) in parts(path, &|c| c == '/').into_iter().enumerate() {
            let at = start + host.len() + 1 + offset;
            let has_digit = |text: &str| text.len() >= 8 && text.bytes().any(|b| b.is_ascii_digit());
            let is_hooks = host.starts_with("hooks.") && index == 1;
            if is_hooks || (is_hook(before) && has_digit(self.text.get(at..end).unwrap_or_default())) {
                return self.push(at..end, "webhook");
            }
            let bot = segment.strip_prefix("bot").filter(|token| token.contains(':') && host == "api.telegram.org");
            if let Some(token) = bot {
                self.push(at + 3..at + 3 + token.len(), "token");
            } else if is_endpoint && (shape::is_random(segment) || (has_digit(segment) && key::kind(before).is_some()))
            {
                self.push(at..at + segment.len(), "url");
            }
            before = segment;
        }
    }
}
