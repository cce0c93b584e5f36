//! Running cargo over the crates with the bindings, and reading what rustc says about them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use mcp_samples::Fallible;
use serde_json::Value;

use crate::scratch::Scratch;

/// An error or a warning of rustc.
#[derive(Clone, Debug)]
pub(crate) struct Complaint {
    /// The name of the source file, without its folder and extension.
    pub(crate) file: Option<String>,
    pub(crate) line: usize,
    pub(crate) rendered: String,
}

pub(crate) struct Outcome {
    pub(crate) succeeded: bool,
    pub(crate) complaints: Vec<Complaint>,
    /// The output of cargo itself.
    pub(crate) log: String,
}

/// Builds the workspace of the bindings.
pub(crate) fn build(scratch: &Scratch) -> Fallible<Outcome> {
    let log = scratch.root.join("cargo.log");
    let mut child = scratch
        .cargo("build")
        .args(["--workspace", "--keep-going", "--message-format=json"])
        .stdout(Stdio::piped())
        .stderr(fs::File::create(&log)?)
        .spawn()?;
    let mut complaints = Vec::new();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines() {
            complaints.extend(complaint(&serde_json::from_str(&line?)?));
        }
    }
    let succeeded = child.wait()?.success();
    Ok(Outcome { succeeded, complaints, log: fs::read_to_string(&log)? })
}

fn complaint(message: &Value) -> Option<Complaint> {
    let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let level = text("/message/level");
    if text("/reason") != "compiler-message" || !(level.starts_with("error") || level == "warning") {
        return None;
    }
    let spans = message.pointer("/message/spans").and_then(Value::as_array)?;
    let span = spans.iter().find(|span| span.get("is_primary") == Some(&Value::Bool(true)));
    // "aborting due to 3 previous errors" has no place.
    let mut span = span.or_else(|| spans.first())?;
    while let Some(call) = span.pointer("/expansion/span") {
        span = call;
    }
    let file = span.get("file_name").and_then(Value::as_str).map(Path::new);
    let line = span.get("line_start").and_then(Value::as_u64).and_then(|line| usize::try_from(line).ok());
    Some(Complaint {
        file: file.and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned()),
        line: line.unwrap_or_default(),
        rendered: text("/message/rendered").to_owned(),
    })
}
