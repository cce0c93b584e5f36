//! One typed call to each real server.
#![deny(warnings)]

use std::error::Error;

mcp_bindgen::mcp_tools!("everything");
mcp_bindgen::mcp_tools!("remote");
mcp_bindgen::mcp_tools!("events");
mcp_bindgen::mcp_tools!("json");
mcp_bindgen::mcp_tools!("streams");
mcp_bindgen::mcp_tools!("legacy");
mcp_bindgen::mcp_tools!("files");
mcp_bindgen::mcp_tools!("memory");
mcp_bindgen::mcp_tools!("vcs");
mcp_bindgen::mcp_tools!("clock");

use clock::{Clock, ClockConvertTimeParams};
use events::{Events, EventsEchoParams};
use everything::{
    Everything, EverythingArgsPrompt, EverythingDynamicBlobResource,
    EverythingDynamicTextResource, EverythingEchoParams,
};
use files::{Files, FilesReadTextFileParams};
use json::{Json, JsonAddParams, JsonGreetPrompt, JsonNoteResource};
use legacy::{Legacy, LegacyAddParams};
use memory::{Memory, MemoryCreateEntitiesParams, MemoryEntity, MemoryReadGraphParams};
use remote::{Remote, RemoteGetSumParams};
use streams::{Streams, StreamsAddParams, StreamsGreetPrompt, StreamsNoteResource};
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
        "everything-prompt" => {
            let everything = Everything::connect().await?;
            let arguments = EverythingArgsPrompt {
                state: Some("Bavaria".into()),
                ..EverythingArgsPrompt::new("Munich")
            };
            let prompt = everything.prompt_args_prompt(arguments).await?;
            (
                prompt.text(),
                "What's weather in Munich, Bavaria?",
            )
        }
        "everything-resource" => {
            let everything = Everything::connect().await?;
            let text = everything
                .resource_dynamic_text_resource(EverythingDynamicTextResource::new("7"))
                .await?;
            let blob = everything
                .resource_dynamic_blob_resource(EverythingDynamicBlobResource::new("7"))
                .await?;
            let bytes = blob.contents.first().and_then(|blob| blob.bytes());
            let bytes = bytes.ok_or("no bytes")?;
            (
                format!("{} {}", text.text(), String::from_utf8_lossy(&bytes)),
                "Resource 7",
            )
        }
        "everything-subscription" => {
            // It has the client itself, for what no snapshot has.
            let everything = Everything::connect().await?;
            let uri = EverythingDynamicTextResource::new("7").uri()?;
            let updates = everything.client().subscribe(uri).await?;
            let error = everything
                .client()
                .read("demo://nothing/here")
                .await
                .expect_err("there is none");
            (format!("{} {error}", updates.uri()), "has no resource")
        }
        "remote" => {
            let answer = Remote::connect()
                .await?
                .get_sum(RemoteGetSumParams::new(2.0, 40.0))
                .await?;
            (answer.text(), "42")
        }
        "events" => {
            let answer = Events::connect()
                .await?
                .echo(EventsEchoParams::new("event"))
                .await?;
            (answer.text(), "Echo: event")
        }
        "json" => {
            let sum = Json::connect()
                .await?
                .add(JsonAddParams::new(2, 40))
                .await?;
            (sum.to_string(), "42")
        }
        "json-offers" => {
            let json = Json::connect().await?;
            let prompt = json.prompt_greet(JsonGreetPrompt::new("Ada")).await?;
            let note = json
                .resource_note(JsonNoteResource::new("a b", "c.txt"))
                .await?;
            (
                format!("{} {}", prompt.text(), note.text()),
                "Greet Ada in a warm tone. a b holds c.txt",
            )
        }
        "streams-offers" => {
            let streams = Streams::connect().await?;
            let prompt = streams
                .prompt_greet(StreamsGreetPrompt::new("Ada"))
                .await?;
            let note = streams
                .resource_note(StreamsNoteResource::new("a b", "c.txt"))
                .await?;
            (
                format!("{} {}", prompt.text(), note.text()),
                "Greet Ada in a warm tone. a b holds c.txt",
            )
        }
        "streams" => {
            let sum = Streams::connect()
                .await?
                .add(StreamsAddParams::new(2, 40))
                .await?;
            (sum.to_string(), "42")
        }
        "legacy" => {
            let sum = Legacy::connect()
                .await?
                .add(LegacyAddParams::new(2, 40))
                .await?;
            (sum.to_string(), "42")
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
