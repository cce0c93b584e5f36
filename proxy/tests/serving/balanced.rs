//! Instances side by side, behind something that knows nothing of MCP.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_proxy::{ApprovalStore, ApprovalStoreError, HttpOptions, MemoryApprovalStore, Proxy, ask_client};
use mcp_bindgen_runtime::middleware::{Approval, Stack};
use mcp_bindgen_runtime::{CallTool, Client, ClientOptions, ElicitationAnswer, ToolCall};
use serde_json::{Map, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{Desk, MODERN};

const INSTANCES: usize = 3;
const CALLS: usize = 30;

/// The store that all instances share: it stands for a database table.
#[derive(Clone, Debug, Default)]
struct SharedStore(Arc<MemoryApprovalStore>);

impl ApprovalStore for SharedStore {
    fn spend<'a>(&'a self, approval: &'a str, expires: SystemTime) -> BoxFuture<'a, Result<bool, ApprovalStoreError>> {
        self.0.spend(approval, expires)
    }
}

/// Gives each request to the next instance.
async fn balance(instances: Vec<SocketAddr>, counts: Arc<Mutex<Vec<usize>>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let next = Arc::new(AtomicUsize::new(0));
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (instances, counts, next) = (instances.clone(), counts.clone(), next.clone());
            tokio::spawn(async move {
                let instance = next.fetch_add(1, Ordering::SeqCst) % instances.len();
                counts.lock().unwrap()[instance] += 1;
                pass_on(client, instances[instance]).await;
            });
        }
    });
    address
}

/// One request and its answer; after it the connection ends, so that the next one goes elsewhere.
async fn pass_on(mut client: TcpStream, instance: SocketAddr) -> Option<()> {
    let mut request = Vec::new();
    let end = loop {
        if let Some(end) = request.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if client.read_buf(&mut request).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&request[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok()).unwrap_or(0);
    while request.len() < end + length {
        client.read_buf(&mut request).await.ok()?;
    }
    request.splice(end - 2..end - 2, *b"Connection: close\r\n");
    let mut server = TcpStream::connect(instance).await.ok()?;
    server.write_all(&request).await.ok()?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await.ok()?;
    Some(())
}

#[tokio::test(flavor = "multi_thread")]
async fn balanced_instances_serve_one_client_and_its_approvals() {
    let desk = Desk::default();
    let store = SharedStore::default();
    let mut servers = Vec::new();
    for _ in 0..INSTANCES {
        let there = desk.clone();
        let layers = |client| Stack::new(client).approval(Approval::of(["wait"], ask_client));
        let proxy = Proxy::builder()
            .connecting("desk", move |options| there.connect(options), layers)
            .key([7; 32])
            .approvals(store.clone())
            .build()
            .unwrap();
        servers.push(proxy.serve_http(HttpOptions::new()).await.unwrap());
    }
    let counts = Arc::new(Mutex::new(vec![0; INSTANCES]));
    let addresses = servers.iter().map(mcp_bindgen_proxy::HttpServer::address).collect();
    let address = balance(addresses, counts.clone()).await;

    let asked = Arc::new(AtomicUsize::new(0));
    let asking = asked.clone();
    let options = ClientOptions::new().protocol_version(MODERN).on_elicitation(move |_| {
        let asking = asking.clone();
        async move {
            // Every third is declined.
            if asking.fetch_add(1, Ordering::SeqCst) % 3 == 2 {
                ElicitationAnswer::Decline
            } else {
                ElicitationAnswer::Accept(Map::from_iter([("approve".to_owned(), true.into())]))
            }
        }
    });
    let client = Client::with_options(ServerConfig::http("proxy", format!("http://{address}/mcp")), options);
    let (mut done, mut declined) = (0, 0);
    for number in 0..CALLS {
        let (tool, arguments) = if number % 2 == 0 {
            ("desk_wait", json!({ "ms": 1, "number": number }))
        } else {
            ("desk_mark", json!({ "marker": "all share one connection" }))
        };
        let call = ToolCall::new("proxy".to_owned(), tool.to_owned(), arguments.as_object().unwrap().clone());
        match client.call_tool(call).await {
            Ok(result) if !result.is_error => done += 1,
            denied => {
                assert_eq!(tool, "desk_wait", "{denied:?}");
                declined += 1;
            }
        }
    }
    client.close().await;
    let counts = counts.lock().unwrap().clone();
    let asked = asked.load(Ordering::SeqCst);
    assert_eq!(asked, CALLS / 2, "each call that needs it is asked for once");
    assert_eq!((done, declined), (CALLS - asked / 3, asked / 3));
    assert!(counts.iter().all(|count| *count >= CALLS / INSTANCES), "{counts:?}");
    // A declined call did not reach the server.
    let reached = desk.seen().iter().filter(|line| line.contains("\"wait\"")).count();
    assert_eq!(reached, asked - declined);
    println!(
        "{INSTANCES} instances, requests of one client to each: {counts:?}; {done} calls done, {declined} declined, {asked} asked for"
    );
}
