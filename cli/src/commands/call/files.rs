//! Prints answers, and writes their images, audio and other data, which no terminal shows, to files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp_bindgen_model::{FileError, printable, write_if_changed};
use mcp_bindgen_runtime::Content;
use serde_json::Value;

use crate::exit::{Failure, Result};
use crate::output::Output;
use crate::report::counted;

/// The maximum number of characters of a file's name.
const LONGEST_NAME: usize = 60;
/// The maximum number of files with one name.
const MOST_FILES: usize = 10_000;

/// Data in base64.
struct Blob<'c> {
    kind: &'static str,
    mime_type: &'c str,
    data: &'c str,
}

/// Returns the data of a block, or `None` for text or a link.
fn blob(content: &Content) -> Option<Blob<'_>> {
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

/// The folder for the data of an answer, if there is one. It is created before any request, so that no answer is lost,
/// and removed again if it stays empty.
pub(in crate::commands) struct Folder<'f> {
    path: Option<&'f Path>,
    is_new: bool,
}

impl<'f> Folder<'f> {
    /// Creates the folder if it does not exist.
    ///
    /// # Errors
    /// Fails if the folder does not exist and cannot be created.
    pub(in crate::commands) fn prepare(path: Option<&'f Path>) -> Result<Self> {
        let Some(folder) = path else { return Ok(Self { path, is_new: false }) };
        let is_new = !folder.exists();
        fs::create_dir_all(folder).map_err(|error| {
            let message = match folder.is_file() {
                true => "expected a directory, found a file".to_owned(),
                false => format!("failed to create the folder: {error}"),
            };
            FileError::new(message).in_file(folder).with_help("choose another folder with `-o`")
        })?;
        Ok(Self { path, is_new })
    }

    /// Prints a block on stdout, unless its data goes to a file.
    pub(in crate::commands) fn print(&self, content: &Content, output: &mut Output) -> io::Result<()> {
        if self.path.is_some() && blob(content).is_some() { Ok(()) } else { output.data(&described(content)) }
    }

    /// Writes the data of each block to a file of its own, and says where. No file that is there is overwritten. One that
    /// cannot be written does not keep the others from it.
    pub(in crate::commands) fn write<'c>(
        &self,
        blocks: impl IntoIterator<Item = &'c Content>,
        name: &str,
        output: &mut Output,
    ) -> Result<()> {
        let Some(folder) = self.path else { return Ok(()) };
        let mut all = Ok(());
        for Blob { kind, mime_type, data } in blocks.into_iter().filter_map(blob) {
            let Ok(bytes) = STANDARD.decode(data) else {
                output.warning(&format!("the {kind} of type {mime_type} is not valid base64, and was not written"));
                continue;
            };
            let written = free(folder, name, mime_type).and_then(|path| {
                write_if_changed(&path, &bytes)?;
                Ok(path)
            });
            match written {
                Ok(path) => {
                    let text = format!("{} ({}, {})", path.display(), printable(mime_type), size(data));
                    output.status("Wrote", &text);
                }
                Err(failure) => all = all.and(Err(failure)),
            }
        }
        all
    }
}

impl Drop for Folder<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.path.filter(|_| self.is_new) {
            // Only an empty one can be removed so.
            let _ = fs::remove_dir(path);
        }
    }
}

/// Returns the path of a new file. Its extension is that of the type that the server says; whatever is not listed here
/// is `bin`, and nothing a program.
fn free(folder: &Path, name: &str, mime_type: &str) -> Result<PathBuf> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let name: String = name.chars().take(LONGEST_NAME).map(|c| if is_plain(c) { c } else { '_' }).collect();
    // Parameters, such as a charset, do not affect the extension.
    let mime_type = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let extension = match mime_type.split_once('/').unwrap_or_default() {
        ("image", same @ ("png" | "gif" | "webp" | "bmp" | "tiff")) => same,
        ("image", "jpeg") => "jpg",
        ("image", "svg+xml") => "svg",
        ("audio", same @ ("wav" | "ogg" | "flac")) => same,
        ("audio", "x-wav") => "wav",
        ("audio", "mpeg") => "mp3",
        ("audio", "mp4") => "m4a",
        ("application", same @ ("pdf" | "zip" | "json")) => same,
        _ => "bin",
    };
    (1..MOST_FILES)
        .map(|number| folder.join(format!("{name}-{number}.{extension}")))
        .find(|path| !path.exists())
        .ok_or_else(|| Failure::new(format!("{} has {MOST_FILES} files of `{name}`", folder.display())))
}

/// Returns the text of a block, or its description.
fn described(content: &Content) -> String {
    if let Some(Blob { kind, mime_type, data }) = blob(content) {
        return format!("[{kind} {mime_type}, {}: `-o DIR` writes it to a file]", size(data));
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn resource_without_text_or_data_is_shown_by_its_uri() {
        let block = json!({ "type": "resource", "resource": { "uri": "note:///x", "mimeType": "text/plain" } });
        assert_eq!(described(&Content::from_json(block)), "[resource note:///x]");
    }
}
