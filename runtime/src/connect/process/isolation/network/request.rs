//! The head of a request to an HTTP proxy.

/// A request to reach a host.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// In lower case, without a dot at its end.
    pub(super) host: String,
    pub(super) port: u16,
    /// The head to send to the host; `None` for a tunnel (CONNECT), which carries arbitrary data.
    pub(super) head: Option<Vec<u8>>,
}

impl Request {
    /// Parses a head, which ends in an empty line.
    ///
    /// # Errors
    /// Fails if it is not a request that a proxy takes.
    pub(super) fn parse(head: &[u8]) -> Result<Self, &'static str> {
        let text = std::str::from_utf8(head).map_err(|_| "the head is not UTF-8")?;
        let mut lines = text.trim_end_matches("\r\n").split("\r\n");
        let mut first = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (first.next(), first.next(), first.next(), first.next())
        else {
            return Err("the first line is not `METHOD TARGET VERSION`");
        };
        if !matches!(version, "HTTP/1.0" | "HTTP/1.1") || target.contains(|c: char| c.is_control()) {
            return Err("unsupported version of HTTP");
        }
        if method == "CONNECT" {
            let (host, port) = authority(target, None)?;
            return Ok(Self { host, port, head: None });
        }
        let rest = target.strip_prefix("http://").ok_or("expected `CONNECT HOST:PORT`, or an `http://` URL")?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (given, path) = rest.split_at(end);
        let (host, port) = authority(given, Some(80))?;
        let slash = if path.starts_with('/') { "" } else { "/" };
        // The host of the head is the one that was checked, and one request is all that follows.
        let mut passed = format!("{method} {slash}{path} HTTP/1.1\r\nHost: {given}\r\nConnection: close\r\n");
        for line in lines {
            let name = line.split(':').next().unwrap_or_default();
            if line.starts_with([' ', '\t'])
                || name.is_empty()
                || name.contains(|c: char| c.is_whitespace() || c.is_control())
            {
                return Err("a header is malformed");
            }
            let is_ours = ["host", "connection", "keep-alive", "proxy-connection", "proxy-authorization", "upgrade"]
                .iter()
                .any(|ours| name.eq_ignore_ascii_case(ours));
            if !is_ours {
                passed.push_str(line);
                passed.push_str("\r\n");
            }
        }
        passed.push_str("\r\n");
        Ok(Self { host, port, head: Some(passed.into_bytes()) })
    }
}

/// Returns the host and the port of `HOST:PORT`.
fn authority(text: &str, default: Option<u16>) -> Result<(String, u16), &'static str> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| "the port is not a number")?),
        None => (text, default.ok_or("the port is missing")?),
    };
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    // This excludes user info, IPv6 addresses, and names that other parsers read differently.
    let is_name =
        |label: &str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if host.len() > 253 || !host.split('.').all(is_name) {
        return Err("the host is not a domain name");
    }
    Ok((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(head: &str) -> Result<Request, &'static str> {
        Request::parse(head.replace('\n', "\r\n").as_bytes())
    }

    #[test]
    fn host_and_port_are_parsed_from_connect_and_absolute_urls() {
        let tunnel = Request { host: "api.example.com".to_owned(), port: 443, head: None };
        assert_eq!(parse("CONNECT API.example.com.:443 HTTP/1.1\nHost: evil.org\n\n"), Ok(tunnel));
        let head = "GET http://api.example.com:8080?x=1 HTTP/1.1\nHost: evil.org\nAccept: */*\nProxy-Connection: x\nConnection: keep-alive\n\n";
        let Ok(Request { host, port, head: Some(passed) }) = parse(head) else { panic!("a request") };
        assert_eq!((host.as_str(), port), ("api.example.com", 8080));
        let expected = "GET /?x=1 HTTP/1.1\r\nHost: api.example.com:8080\r\nConnection: close\r\nAccept: */*\r\n\r\n";
        assert_eq!(String::from_utf8(passed).unwrap(), expected);
    }

    #[test]
    fn ambiguous_host_is_refused() {
        for head in [
            "CONNECT api.example.com HTTP/1.1\n\n",
            "CONNECT api.example.com:443@evil.org:443 HTTP/1.1\n\n",
            "CONNECT [::1]:443 HTTP/1.1\n\n",
            "CONNECT api.example.com:https HTTP/1.1\n\n",
            "CONNECT api.example.com:443 evil.org HTTP/1.1\n\n",
            "CONNECT api..example.com:443 HTTP/1.1\n\n",
            "GET http://api.example.com@evil.org/ HTTP/1.1\n\n",
            "GET http://api.example.com\\@evil.org/ HTTP/1.1\n\n",
            "GET http://evil.org%23.example.com/ HTTP/1.1\n\n",
            "GET https://api.example.com/ HTTP/1.1\n\n",
            "GET / HTTP/1.1\nHost: api.example.com\n\n",
            "GET http://api.example.com/ HTTP/1.1\n folded: x\n\n",
            "GET http://api.example.com/ HTTP/1.1\n: x\n\n",
            "GET http://api.example.com/ HTTP/1.1\nA\u{1}: x\n\n",
            "GET http://api.example.com/ HTTP/1.1\nTransfer-Encoding : chunked\n\n",
            "GET http://api.example.com/ HTTP/2\n\n",
            "\n\n",
        ] {
            assert!(parse(head).is_err(), "{head}");
        }
    }
}
