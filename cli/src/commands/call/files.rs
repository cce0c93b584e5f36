//! Prints answers, and writes their images, audio and other data, which no terminal shows, to files.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp_bindgen_model::{FileError, printable, write_if_changed};
use mcp_bindgen_runtime::{Content, ToolResult};
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::output::{Output, joined};
use crate::report::counted;

/// The maximum number of characters of a file's name.
const LONGEST_NAME: usize = 60;
/// The maximum number of files with one name.
const MOST_FILES: usize = 10_000;
/// Files are named by the type that the server says; whatever is not listed is `bin`, and nothing a program.
const EXTENSIONS: [(&str, &str); 16] = [
    ("image/png", "png"),
    ("image/jpeg", "jpg"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
    ("image/svg+xml", "svg"),
    ("image/bmp", "bmp"),
    ("image/tiff", "tiff"),
    ("audio/mpeg", "mp3"),
    ("audio/wav", "wav"),
    ("audio/x-wav", "wav"),
    ("audio/ogg", "ogg"),
    ("audio/flac", "flac"),
    ("audio/mp4", "m4a"),
    ("application/pdf", "pdf"),
    ("application/zip", "zip"),
    ("application/json", "json"),
];

/// Data in base64.
pub(in crate::commands) struct Blob<'c> {
    pub(in crate::commands) kind: &'static str,
    pub(in crate::commands) mime_type: &'c str,
    pub(in crate::commands) data: &'c str,
}

impl Blob<'_> {
    /// Returns a description of a block that is not written to a file.
    pub(in crate::commands) fn described(&self) -> String {
        format!("[{} {}, {}: `-o DIR` writes it to a file]", self.kind, self.mime_type, size(self.data))
    }
}

/// Returns the data of a block, or `None` for text or a link.
pub(in crate::commands) fn blob(content: &Content) -> Option<Blob<'_>> {
    match content {
        Content::Image { data, mime_type, .. } => Some(Blob { kind: "image", mime_type, data }),
        Content::Audio { data, mime_type, .. } => Some(Blob { kind: "audio", mime_type, data }),
        Content::Resource { resource, .. } => {
            let data = resource.get("blob").and_then(Value::as_str)?;
            let mime_type = resource.get("mimeType").and_then(Value::as_str).unwrap_or("application/octet-stream");
            Some(Blob { kind: "resource", mime_type, data })
        }
        _ => None,
    }
}

/// Formats the amount of data.
fn size(data: &str) -> String {
    let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
    counted((data.len() / 4 * 3).saturating_sub(padding), "byte")
}

/// The folder for files. It is created before any request, so that no answer is lost, and removed again if it stays
/// empty.
pub(in crate::commands) struct Folder<'f> {
    path: &'f Path,
    is_new: bool,
}

impl<'f> Folder<'f> {
    /// Creates the folder if it does not exist.
    ///
    /// # Errors
    /// Fails if the folder does not exist and cannot be created.
    pub(in crate::commands) fn prepare(path: &'f Path) -> Result<Self, Failure> {
        let is_new = !path.exists();
        fs::create_dir_all(path).map_err(|error| {
            let message = match path.is_file() {
                true => "expected a directory, found a file".to_owned(),
                false => format!("failed to create the folder: {error}"),
            };
            FileError::new(message).in_file(path).with_help("choose another folder with `-o`")
        })?;
        Ok(Self { path, is_new })
    }

    /// Writes each to a file of its own, and says where. No file that is there is overwritten. One that cannot be written
    /// does not keep the others from it.
    pub(in crate::commands) fn write<'b>(
        &self,
        blobs: impl IntoIterator<Item = Blob<'b>>,
        name: &str,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let mut all = Ok(());
        for blob in blobs {
            let Ok(bytes) = STANDARD.decode(blob.data) else {
                let Blob { kind, mime_type, .. } = blob;
                output.warning(&format!("the {kind} of type {mime_type} is not valid base64, and was not written"));
                continue;
            };
            let written = free(self.path, name, blob.mime_type).and_then(|path| {
                write_if_changed(&path, &bytes)?;
                Ok(path)
            });
            match written {
                Ok(path) => {
                    let (path, mime_type) = (path.display(), printable(blob.mime_type));
                    output.status("Wrote", &format!("{path} ({mime_type}, {})", size(blob.data)));
                }
                Err(failure) => all = all.and(Err(failure)),
            }
        }
        all
    }
}

impl Drop for Folder<'_> {
    fn drop(&mut self) {
        if self.is_new {
            // Only an empty one can be removed so.
            let _ = fs::remove_dir(self.path);
        }
    }
}

fn free(folder: &Path, name: &str, mime_type: &str) -> Result<PathBuf, Failure> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let name: String = name.chars().take(LONGEST_NAME).map(|c| if is_plain(c) { c } else { '_' }).collect();
    // Parameters, such as a charset, do not affect the extension.
    let mime_type = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let extension = EXTENSIONS.iter().find(|(known, _)| *known == mime_type).map_or("bin", |(_, extension)| extension);
    (1..MOST_FILES)
        .map(|number| folder.join(format!("{name}-{number}.{extension}")))
        .find(|path| !path.exists())
        .ok_or_else(|| Failure::new(format!("{} has {MOST_FILES} files of `{name}`", folder.display())))
}

/// Prints a result on stdout; `is_written` is `true` if binary blocks went to files.
pub(super) fn print(result: &ToolResult, is_written: bool, output: &mut Output) -> Result<(), Failure> {
    if output.json() {
        // The result with its server and tool; `isError` is always present, even if the server omitted it.
        let of = json!({ "server": result.server, "tool": result.tool, "isError": result.is_error });
        return Ok(output.data_json(&joined(of, result.to_json()))?);
    }
    for content in &result.content {
        if !(is_written && blob(content).is_some()) {
            output.data(&described(content))?;
        }
    }
    // Servers repeat structured results as text; otherwise it is printed here.
    if result.content.is_empty()
        && let Some(structured) = &result.structured
    {
        output.data_json(structured)?;
    }
    Ok(())
}

/// Returns the text of a block, or its description.
pub(in crate::commands) fn described(content: &Content) -> String {
    if let Some(blob) = blob(content) {
        return blob.described();
    }
    match content {
        Content::Text { text, .. } => text.clone(),
        Content::Resource { resource, .. } => match resource.get("text").and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => format!("[resource {}]", resource.get("uri").and_then(Value::as_str).unwrap_or_default()),
        },
        Content::ResourceLink { uri, .. } => format!("[link {uri}]"),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}
