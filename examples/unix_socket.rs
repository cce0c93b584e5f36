//! A custom transport that reconnects: `cargo run --example unix_socket`.
//!
//! The server listens on a unix socket, is killed and starts again. The client opens a new connection when it needs
//! one. Handles, listeners for events and for the state of the connection, and the outcomes of calls survive.
//!
//! A WebSocket, `ssh` or a container works in the same way: anything that gives a pair of streams.

#![allow(clippy::print_stdout)]

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    example::run()
}

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
mod example {
    use std::error::Error;
    use std::io;
    use std::path::{Path, PathBuf};

    use mcp_bindgen::{Client, ClientOptions, ConnectionState, Connector};
    use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
    use tokio::net::{UnixListener, UnixStream};
    use tokio::task::JoinSet;

    mcp_bindgen::mcp_tools!("fixture");
    use fixture::*;

    /// Opens a connection to the server behind a socket. A closure `async || { .. }` would do as well.
    struct UnixSocket {
        path: PathBuf,
    }

    impl Connector for UnixSocket {
        type Read = OwnedReadHalf;
        type Write = OwnedWriteHalf;

        async fn connect(&self) -> io::Result<(OwnedReadHalf, OwnedWriteHalf)> {
            Ok(UnixStream::connect(&self.path).await?.into_split())
        }
    }

    /// A server on a socket; dropping it ends it and all its connections.
    fn serve(path: &Path) -> io::Result<JoinSet<()>> {
        let listener = UnixListener::bind(path)?;
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                connections.spawn(async move {
                    // The connection ends with its client.
                    let _ = mcp_fixture_server::serve_over(socket).await;
                });
            }
        });
        Ok(serving)
    }

    #[tokio::main]
    pub(super) async fn run() -> Result<(), Box<dyn Error>> {
        let path = std::env::temp_dir().join(format!("mcp-bindgen-example-{}.sock", std::process::id()));
        let serving = serve(&path)?;
        let client = Client::connected_by("fixture", ClientOptions::new(), UnixSocket { path: path.clone() });
        let mut states = client.watch_state();
        let server = Fixture::with(client.clone());
        println!("before   20 + 22 = {}", server.add(FixtureAddParams::new(20, 22)).await?);

        drop(serving);
        std::fs::remove_file(&path)?;
        while states.changed().await != Some(ConnectionState::Disconnected) {}
        match server.add(FixtureAddParams::new(1, 2)).await {
            Err(error) => println!("between  {error} (dispatched: {:?})", error.dispatched()),
            Ok(sum) => return Err(format!("nobody can have answered {sum}").into()),
        }

        let _serving = serve(&path)?;
        // Calls wait for a growing pause after a failed attempt; this asks at once.
        client.connect().await?;
        println!("after    1 + 2 = {}, state {:?}", server.add(FixtureAddParams::new(1, 2)).await?, client.state());
        client.close().await;
        std::fs::remove_file(&path)?;
        Ok(())
    }
}
