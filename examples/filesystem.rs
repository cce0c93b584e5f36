//! Typed calls to npm's file server: `cargo run --example filesystem`.
//!
//! It needs Node, and a network for the first run. The server is configured in `mcp.toml`. The command
//! `mcp-bindgen sync filesystem` wrote its snapshot, `fixtures/snapshots/filesystem.json`.

#![allow(clippy::print_stdout)]

use std::error::Error;

mcp_bindgen::mcp_tools!("filesystem");
use filesystem::*;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let files = Filesystem::connect().await?;

    let listed = files.list_directory(FilesystemListDirectoryParams::new("examples")).await?;
    println!("{}", listed.content);

    let head = FilesystemReadTextFileParams { head: Some(3.0), ..FilesystemReadTextFileParams::new("mcp.toml") };
    println!("{}", files.read_text_file(head).await?.content);

    let outside = FilesystemReadTextFileParams::new("/etc/hostname");
    match files.read_text_file(outside).await {
        Err(error) => println!("{error}"),
        Ok(file) => {
            return Err(format!("the server let us read {} bytes outside its folder", file.content.len()).into());
        }
    }
    Ok(())
}
