//! Secrets in URLs without a key. Queries and fragments are handled like other pairs.

use super::scan::Scan;
use super::{MASK, key, shape};
use crate::text::parts;

const SHORTEST_USER: usize = 16;

impl Scan<'_> {
    pub(super) fn urls(&mut self, is_endpoint: bool) {
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
