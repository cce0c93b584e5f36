//! Calls two servers, one with a result whose type was learned.

#![deny(warnings)]

mcp_bindgen::mcp_tools!("fs", "everything");

use everything::{Everything, EverythingGetEnvParams};
use fs::{Fs, FsReadTextFileParams};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let fs = Fs::connect().await?;
    let everything = Everything::connect().await?;
    let file = fs.read_text_file(FsReadTextFileParams::new("hello.txt")).await?;
    let variables = everything.get_env(EverythingGetEnvParams::new()).await?;
    let greeting: String = variables.greeting.unwrap_or_default();
    println!("{}: {greeting}", file.content.trim_end());
    Ok(())
}
