//! Servers that may reach some domains: what they try beyond these fails, and succeeds without isolation.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use mcp_bindgen_model::Isolation;

use super::{Tried, address_beyond, temp};

fn domains() -> Isolation {
    Isolation::new().domains(["api.example.com", "localhost.example.com:8443"])
}

#[tokio::test]
#[ignore = "needs bubblewrap and socat; a suite of its own: .ci/run isolation"]
async fn server_with_domains_reaches_only_the_proxy() {
    let local = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = local.local_addr().unwrap().to_string();
    let beyond = address_beyond().map(|address| TcpListener::bind((address, 0)).unwrap());
    let beyond = beyond.map(|listener| (listener.local_addr().unwrap().to_string(), listener));
    let name = format!("isolation-domains-{}", std::process::id());
    let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let folder = temp();
    let socket = folder.path().join("socket");
    let _file = UnixListener::bind(&socket).unwrap();
    let datagram = |to: &str| format!("echo x | timeout 5 socat -u - {to} 2>/dev/null && echo sent");
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_nonblocking(true).unwrap();
    let local_udp = datagram(&format!("UDP4-SENDTO:{}", udp.local_addr().unwrap()));

    let control = Tried::with(None);
    control.to("connect", &at).await.expect("loopback");
    control.to("connect-abstract", &name).await.expect("abstract");
    control.to("connect-file", &socket).await.expect("in /tmp");
    assert_eq!(control.to("run", &local_udp).await.as_deref(), Ok("sent"));
    assert!(udp.recv(&mut [0; 8]).is_ok());
    control.ended().await;

    let server = Tried::with(domains());
    server.to("connect", &at).await.expect_err("loopback of this machine");
    server.to("connect", "192.0.2.1:80").await.expect_err("an address");
    server.to("connect", "[2001:db8::1]:443").await.expect_err("an IPv6 address");
    if let Some((beyond, _)) = &beyond {
        server.to("connect", beyond).await.expect_err("this machine in its network");
    }
    server.to("connect-abstract", &name).await.expect_err("an abstract socket");
    server.to("connect-file", &socket).await.expect_err("a socket of another program");
    server.to("run", &local_udp).await.expect("the server's own loopback");
    assert!(udp.recv(&mut [0; 8]).is_err(), "no datagram came");
    assert_eq!(server.to("run", datagram("UDP4-SENDTO:8.8.8.8:53")).await.as_deref(), Ok(""), "a name server");
    assert_eq!(server.to("run", "getent hosts example.com").await.as_deref(), Ok(""), "a lookup");
    assert_eq!(server.to("run", datagram("IP4-SENDTO:8.8.8.8:1")).await.as_deref(), Ok(""), "a raw socket");

    // The proxy answers whatever asks it, and refuses what is not named.
    for variable in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "ALL_PROXY"] {
        assert_eq!(server.to("variable", variable).await.as_deref(), Ok("http://127.0.0.1:3128"));
    }
    assert_eq!(server.to("variable", "NODE_USE_ENV_PROXY").await.as_deref(), Ok("1"));
    let asks = |host: &str| {
        format!(
            "printf 'CONNECT {host} HTTP/1.1\\r\\n\\r\\n' | timeout 30 socat -t 25 - TCP4:127.0.0.1:3128 | head -n 1"
        )
    };
    for host in ["evil.example.org:443", "127.0.0.1:443", "api.example.com:22", "example.com:443"] {
        let answer = server.to("run", asks(host)).await.unwrap();
        assert!(answer.contains(" 403 ") || answer.contains(" 400 "), "{host}: {answer}");
    }
    // That name may be reached, and has no address.
    let answer = server.to("run", asks("localhost.example.com:8443")).await.unwrap();
    assert!(answer.contains(" 502 ") || answer.contains(" 403 "), "{answer}");
    let socket = "/run/mcp-bindgen-network";
    server.to("write", format!("{socket}/x")).await.expect_err("the folder of the socket can only be read");
    server.ended().await;
}

#[tokio::test]
#[ignore = "needs bubblewrap and socat; a suite of its own: .ci/run isolation"]
async fn crashed_server_leaves_no_proxy() {
    let folders = || {
        let own = format!("mcp-bindgen-{}-", std::process::id());
        let entries = std::fs::read_dir("/tmp").unwrap();
        entries.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(&own)).count()
    };
    let server = Tried::with(domains().temp_home().read(["/srv"]));
    server.to("variable", "HTTPS_PROXY").await.expect("it runs with files hidden as well");
    assert!(folders() >= 1);
    let arguments = super::object(serde_json::json!({ "do": "exit", "at": "7" }));
    server.client.call("attempt", arguments).await.expect_err("it ends");
    server.to("variable", "HTTPS_PROXY").await.expect("it is started again");
    server.ended().await;
}

#[tokio::test]
#[ignore = "needs bubblewrap and socat; a suite of its own: .ci/run isolation"]
async fn invalid_domain_is_refused_before_any_program_runs() {
    for domain in ["10.0.0.1", "https://x.org"] {
        let error = Tried::with(Isolation::new().domains(["x.org", domain])).refused().await;
        assert!(error.to_string().contains("`network` of its `isolation` has an invalid domain"), "{error}");
    }
}
