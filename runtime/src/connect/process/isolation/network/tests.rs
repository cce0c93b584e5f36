use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::TcpListener;

use super::*;

/// The names of the tests with their addresses. `api.example.com` changes its address after the first lookup.
const NAMES: [(&str, &str); 8] = [
    ("loopback.example.com", "127.0.0.1"),
    ("metadata.example.com", "169.254.169.254"),
    ("private.example.com", "10.1.2.3"),
    ("mapped.example.com", "::ffff:192.168.0.1"),
    ("six.example.com", "::1"),
    ("unique.example.com", "fd00::1"),
    ("translated.example.com", "64:ff9b::a00:1"),
    ("nothing.example.com", ""),
];

fn domains(domains: &[&str]) -> Vec<Domain> {
    domains.iter().map(|domain| Domain::parse(domain).unwrap()).collect()
}

/// Returns a server on the loopback address that counts connections, and answers each with a redirect.
async fn destination() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let count: Arc<AtomicUsize> = Arc::default();
    let counted = count.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut head = vec![0; 4096];
            let read = stream.read(&mut head).await.unwrap_or_default();
            let host = String::from_utf8_lossy(&head[..read])
                .lines()
                .filter(|line| line.starts_with("Host"))
                .collect::<String>();
            let answer =
                format!("HTTP/1.1 302 Found\r\nLocation: http://evil.org/\r\nX-{host}\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (port, count)
}

/// Returns a proxy for which the port on the loopback address that the tests listen on is a public one.
fn proxy(allowed: &[&str], asked: Arc<AtomicUsize>) -> Proxy {
    let resolve = move |host: String, port: u16| -> Boxed<io::Result<Vec<SocketAddr>>> {
        let again = asked.fetch_add(1, Ordering::SeqCst) > 0;
        Box::pin(async move {
            let address = match NAMES.iter().find(|(name, _)| *name == host) {
                Some((_, "")) => return Ok(Vec::new()),
                Some((_, address)) => address.parse().unwrap(),
                None if again && host == "api.example.com" => IpAddr::from([127, 0, 0, 1]),
                // Public in these tests; see below.
                None => IpAddr::from([127, 0, 0, 2]),
            };
            Ok(vec![(address, port).into()])
        })
    };
    let public = |address: IpAddr| address == IpAddr::from([127, 0, 0, 2]) || is_public(address);
    Proxy { domains: domains(allowed), resolve: Box::new(resolve), is_public: public, denied: Mutex::default() }
}

/// Returns the answer of the proxy to a request.
async fn asked(gate: &Gate, request: &str) -> String {
    let mut stream = UnixStream::connect(gate.folder.join(SOCKET)).await.unwrap();
    stream.write_all(request.replace('\n', "\r\n").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn proxy_connects_only_to_allowed_domains_at_the_checked_address() {
    let listener = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = vec![0; 4096];
            let read = stream.read(&mut head).await.unwrap_or_default();
            let head = String::from_utf8_lossy(&head[..read]).into_owned();
            let _ = stream.write_all(format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n<{head}>").as_bytes()).await;
        }
    });
    let lookups: Arc<AtomicUsize> = Arc::default();
    let allowed = format!("api.example.com:{port}");
    let gate = Gate::with(proxy(&[&allowed], lookups.clone()), "/usr/bin/socat".into()).unwrap();
    let tunnel = asked(&gate, &format!("CONNECT api.example.com:{port} HTTP/1.1\n\nhello\n\n")).await;
    assert!(tunnel.starts_with("HTTP/1.1 200 Connection established\r\n\r\n") && tunnel.contains("<hello"), "{tunnel}");
    assert_eq!(lookups.load(Ordering::SeqCst), 1, "the name is resolved once, so it cannot change after the check");
    let rebound = asked(&gate, &format!("CONNECT api.example.com:{port} HTTP/1.1\n\n")).await;
    assert!(rebound.contains("403") && rebound.contains("no public address"), "{rebound}");

    let plain = format!("plain.example.com:{port}");
    let gate = Gate::with(proxy(&[&plain], Arc::default()), "/usr/bin/socat".into()).unwrap();
    let plain = asked(&gate, &format!("GET http://{plain}/x HTTP/1.1\nHost: evil.org\n\n")).await;
    assert!(
        plain.contains(&format!("<GET /x HTTP/1.1\r\nHost: plain.example.com:{port}\r\nConnection: close")),
        "{plain}"
    );
    assert!(!plain.contains("evil.org"), "{plain}");
}

/// Attempts to bypass the proxy, none of which reaches the server on the loopback address.
#[tokio::test]
async fn proxy_refuses_every_bypass_of_the_allowed_domains() {
    let (port, reached) = destination().await;
    let gate = Gate::with(
        proxy(&["*.example.com", &format!("*.example.com:{port}")], Arc::default()),
        "/usr/bin/socat".into(),
    )
    .unwrap();
    let mut ways = vec![
        ("another domain", "CONNECT evil.org:443 HTTP/1.1\n\n".to_owned()),
        ("an address", "CONNECT 127.0.0.1:443 HTTP/1.1\n\n".to_owned()),
        ("an IPv6 address", "CONNECT [::1]:443 HTTP/1.1\n\n".to_owned()),
        ("a number as an address", "CONNECT 2130706433:443 HTTP/1.1\n\n".to_owned()),
        ("another port", "CONNECT api.example.com:22 HTTP/1.1\n\n".to_owned()),
        ("the domain above", "CONNECT example.com:443 HTTP/1.1\n\n".to_owned()),
        ("a domain that ends alike", "CONNECT evilexample.com:443 HTTP/1.1\n\n".to_owned()),
        ("a domain that begins alike", "CONNECT api.example.com.evil.org:443 HTTP/1.1\n\n".to_owned()),
        ("user info", format!("GET http://api.example.com:80@127.0.0.1:{port}/ HTTP/1.1\n\n")),
        ("a URL of another scheme", format!("GET ftp://api.example.com:{port}/ HTTP/1.1\n\n")),
        ("a request for this machine", format!("GET / HTTP/1.1\nHost: 127.0.0.1:{port}\n\n")),
        ("two hosts in a line", format!("CONNECT api.example.com:{port} 127.0.0.1:{port} HTTP/1.1\n\n")),
        ("a folded header", format!("GET http://api.example.com:{port}/ HTTP/1.1\nA: b\n Host: evil.org\n\n")),
        ("a head without an end", "A".repeat(40_000)),
    ];
    for (name, address) in NAMES {
        ways.push((address, format!("CONNECT {name}:{port} HTTP/1.1\n\n")));
    }
    let count = ways.len();
    for (way, request) in ways {
        let answer = asked(&gate, &request).await;
        let status = answer.split(' ').nth(1).unwrap_or_default();
        assert!(["400", "403", "431"].contains(&status), "{way}: {answer}");
    }
    assert_eq!((reached.load(Ordering::SeqCst), count), (0, 22));
}

#[tokio::test]
async fn proxy_socket_is_private_and_removed_with_the_server() {
    use std::os::unix::fs::PermissionsExt;
    let gate = Gate::with(proxy(&["x.org"], Arc::default()), "/usr/bin/socat".into()).unwrap();
    let folder = gate.folder.clone();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let waiting = UnixStream::connect(folder.join(SOCKET)).await.unwrap();
    drop(gate);
    assert!(!folder.exists());
    tokio::task::yield_now().await;
    assert!(UnixStream::connect(folder.join(SOCKET)).await.is_err());
    drop(waiting);
}

#[tokio::test]
async fn head_may_come_in_pieces_up_to_a_bound() {
    let gate = Gate::with(proxy(&["x.org"], Arc::default()), "/usr/bin/socat".into()).unwrap();
    let padding = "a".repeat(10_000);
    let answer = asked(&gate, &format!("CONNECT evil.org:443 HTTP/1.1\nPadding: {padding}\n\n")).await;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    let answer = asked(&gate, &padding.repeat(4)).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
}

#[tokio::test]
async fn connections_are_served_at_the_same_time_up_to_a_bound() {
    let gate = Gate::with(proxy(&["x.org"], Arc::default()), "/usr/bin/socat".into()).unwrap();
    let idle = async || UnixStream::connect(gate.folder.join(SOCKET)).await.unwrap();
    let mut waiting = Vec::new();
    for _ in 1..MOST_CONNECTIONS {
        waiting.push(idle().await);
    }
    let refused = asked(&gate, "CONNECT evil.org:443 HTTP/1.1\n\n").await;
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    waiting.push(idle().await);
    let mut late = idle().await;
    late.write_all(b"CONNECT evil.org:443 HTTP/1.1\r\n\r\n").await.unwrap();
    let mut answer = [0; 12];
    let answered = tokio::time::timeout(Duration::from_millis(100), late.read_exact(&mut answer)).await;
    assert!(answered.is_err(), "one connection more than the bound is served");
    waiting.clear();
    tokio::time::timeout(Duration::from_secs(5), late.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(&answer, b"HTTP/1.1 403");
}

#[test]
fn denied_destinations_are_logged_once_and_up_to_a_bound() {
    let proxy = proxy(&["x.org"], Arc::default());
    let logged = || lock(&proxy.denied).len();
    for _ in 0..2 {
        let (status, message) = proxy.denied("evil.org:443", "is not allowed");
        assert_eq!((status, message.as_str(), logged()), (403, "`evil.org:443` is not allowed", 1));
    }
    for port in 0..2 * MOST_LOGGED {
        proxy.denied(&format!("evil.org:{port}"), "is not allowed");
    }
    assert_eq!(logged(), MOST_LOGGED);
}

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
        "GET http://api.example.com/ HTTP/1.1\nA: x\rHost: evil.org\n\n",
        "GET http://api.example.com/ HTTP/1.1\nA: x\n",
        "GET http://api.example.com/ HTTP/2\n\n",
        "\n\n",
    ] {
        assert!(parse(head).is_err(), "{head}");
    }
    let bare = b"GET http://api.example.com/ HTTP/1.1\r\nA: x\nHost: evil.org\r\n\r\n";
    assert_eq!(Request::parse(bare), Err("a header is malformed"));
}

#[test]
fn host_is_a_domain_name_of_limited_length() {
    let host = |name: &str| parse(&format!("CONNECT {name}:443 HTTP/1.1\n\n")).map(|request| request.host);
    for name in ["my-api.example.com", "my_api.example.com", "4.example.com", &"a".repeat(253)] {
        assert_eq!(host(name), Ok(name.to_owned()));
    }
    assert!(host(&"a".repeat(254)).is_err() && host(&"a".repeat(255)).is_err());
}
