//! One typed call to each real server.
#![deny(warnings)]

use std::error::Error;

mcp_bindgen::mcp_tools!("everything");
mcp_bindgen::mcp_tools!("remote");
mcp_bindgen::mcp_tools!("files");
mcp_bindgen::mcp_tools!("memory");
mcp_bindgen::mcp_tools!("vcs");
mcp_bindgen::mcp_tools!("clock");

use clock::{Clock, ClockConvertTimeParams};
use everything::{Everything, EverythingEchoParams};
use files::{Files, FilesReadTextFileParams};
use memory::{Memory, MemoryCreateEntitiesParams, MemoryEntity, MemoryReadGraphParams};
use remote::{Remote, RemoteGetSumParams};
use vcs::{Vcs, VcsGitLogParams};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let server = arguments.next().ok_or("which server?")?;
    let folder = arguments.next().ok_or("which folder?")?;
    let (answer, wanted) = match server.as_str() {
        "everything" => {
            let answer = Everything::connect()
                .await?
                .echo(EverythingEchoParams::new("typed"))
                .await?;
            (answer.text(), "Echo: typed")
        }
        "remote" => {
            let answer = Remote::connect()
                .await?
                .get_sum(RemoteGetSumParams::new(2.0, 40.0))
                .await?;
            (answer.text(), "42")
        }
        "files" => {
            let params = FilesReadTextFileParams::new(format!("{folder}/files/hello.txt"));
            (
                Files::connect()
                    .await?
                    .read_text_file(params)
                    .await?
                    .content,
                "from a file",
            )
        }
        "memory" => {
            // What one tool answers is what another takes.
            let memory = Memory::connect().await?;
            let graph = memory
                .read_graph(MemoryReadGraphParams::default())
                .await?;
            let entity = graph.entities.into_iter().next().ok_or("no entity")?;
            let twin = MemoryEntity {
                name: format!("{} twin", entity.name),
                ..entity
            };
            let params = MemoryCreateEntitiesParams::new(vec![twin]);
            let created = memory.create_entities(params).await?;
            (format!("{:?}", created.entities), "\"ci twin\"")
        }
        "vcs" => {
            let params = VcsGitLogParams::new(format!("{folder}/repository"));
            (
                Vcs::connect().await?.git_log(params).await?.text(),
                "The first commit",
            )
        }
        "clock" => {
            let params = ClockConvertTimeParams::new("UTC", "12:00", "Asia/Tokyo");
            (
                Clock::connect()
                    .await?
                    .convert_time(params)
                    .await?
                    .time_difference,
                "+9.0h",
            )
        }
        _ => return Err(format!("no server {server}").into()),
    };
    if answer.contains(wanted) {
        Ok(())
    } else {
        Err(format!("{wanted:?} is not in {answer:?}").into())
    }
}
