//! Forms that a server asks the user to fill during a call, at the terminal.

use mcp_bindgen_runtime::{ElicitationAnswer, ElicitationRequest};
use mcp_bindgen_schema::flags::{FileRef, Flags};
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use super::LONGEST_SHOWN;
use super::arguments::ask;
use crate::exit::Result;
use crate::output::lines_printable;
use crate::terminal::{self, apart};
use crate::text::cut;

/// Held while a form is shown: a server may send several at once.
static TURN: Mutex<()> = Mutex::const_new(());

/// Asks the user whether to answer, and for each field of the form.
pub(super) async fn fill(server: String, request: ElicitationRequest) -> ElicitationAnswer {
    let ElicitationRequest { message, schema: Some(schema), .. } = request else { return ElicitationAnswer::Decline };
    let _turn = TURN.lock().await;
    let question = format!("Server `{server}` asks: {}\nAnswer it?", lines_printable(&cut(&message, LONGEST_SHOWN)));
    match apart(move || filled(&question, &schema)).await {
        Ok(Ok(Some(content))) => ElicitationAnswer::Accept(content),
        Ok(Ok(None)) => ElicitationAnswer::Decline,
        // The input ended.
        Ok(Err(_)) | Err(_) => ElicitationAnswer::Cancel,
    }
}

fn filled(question: &str, schema: &Value) -> Result<Option<Map<String, Value>>> {
    if !terminal::agrees(question)? {
        return Ok(None);
    }
    let flags = Flags::new(schema, []);
    let words = ask(&flags, Vec::new(), no_file)?;
    Ok(flags.parse(&words, &mut no_file).ok())
}

/// A server gets what the user types, and no files.
fn no_file(_: FileRef<'_>) -> std::result::Result<String, String> {
    Err("an answer to a server cannot be a file".to_owned())
}
