//! The parts of a result that a model receives: text and images, never empty, within limits.

use mcp_bindgen_runtime::{Content, ToolReply};
use serde_json::{Value, json};

/// The longest picture that goes to a provider, in characters of base64: no provider takes much more of one.
const LARGEST_IMAGE: usize = 5_000_000;
/// The limit for all pictures of a turn, in characters of base64: Gemini takes 20 MB of a request, Anthropic 32.
const LARGEST_IMAGES: usize = 15_000_000;
/// How many pictures a turn has: of more than 20 in a request Anthropic takes smaller ones alone, and of more than 100 none.
const MOST_IMAGES: usize = 20;

/// The pictures that OpenAI and Anthropic take, and all that any provider takes in results.
pub(super) const PICTURES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The room for pictures in the results of a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    characters: usize,
    images: usize,
}

impl Room {
    pub(super) fn of_a_turn() -> Self {
        Self { characters: LARGEST_IMAGES, images: MOST_IMAGES }
    }

    fn take(&mut self, data: &str) -> bool {
        let fits = data.len() <= self.characters.min(LARGEST_IMAGE) && self.images > 0;
        if fits {
            self.characters -= data.len();
            self.images -= 1;
        }
        fits
    }
}

/// One part of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Image { mime_type: &'static str, data: String },
}

impl Part {
    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }

    fn is_blank(&self) -> bool {
        matches!(self, Self::Text(text) if text.trim().is_empty())
    }
}

/// The parts of a result that a provider takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Takes {
    /// The media types of images.
    pub(super) images: &'static [&'static str],
    pub(super) images_of_errors: bool,
    /// `true` if the format has an error flag; otherwise the text marks the error.
    pub(super) marks_errors: bool,
}

/// Returns the content of a message: text, and the images that the provider takes.
pub(super) fn of_content(content: &Content, images: &[&'static str], room: &mut Room) -> Vec<Part> {
    let block = serde_json::to_value(content).unwrap_or_default();
    let part = part(&block, images, room);
    if part.is_blank() { Vec::new() } else { vec![part] }
}

/// Returns a block as text, or as an image if the provider takes it.
fn part(block: &Value, images: &[&'static str], room: &mut Room) -> Part {
    let text = || Part::Text(cleaned(&shown(block)));
    image(block, images, room).unwrap_or_else(text)
}

/// Returns the texts, one below the other.
pub(super) fn joined(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Image { .. } => None,
        })
        .collect();
    texts.join("\n")
}

/// Returns the parts of a reply: its message, and for other content the server's blocks in order.
pub(super) fn parts(reply: &ToolReply, takes: Takes, is_success: bool, room: &mut Room) -> Vec<Part> {
    let images = if is_success || takes.images_of_errors { takes.images } else { &[] };
    let blocks = blocks(&reply.value);
    let texts: Vec<&str> = blocks.iter().filter_map(text_of).collect();
    let mut parts = Vec::new();
    let text = texts.join("\n");
    // A message that differs from the blocks replaces their text.
    let is_by_blocks = text == reply.message || (text.is_empty() && in_words(&reply.value) == reply.message);
    if !is_by_blocks {
        parts.push(Part::Text(cleaned(&reply.message)));
    }
    let told = blocks.iter().filter(|block| is_by_blocks || text_of(block).is_none());
    parts.extend(told.map(|block| part(block, images, room)));
    parts.retain(|part| !part.is_blank());
    if parts.is_empty() {
        parts.push(Part::Text(nothing(reply.success).to_owned()));
    }
    if !reply.success && !takes.marks_errors {
        match parts.first_mut() {
            Some(Part::Text(text)) => text.insert_str(0, "error: "),
            _ => parts.insert(0, Part::Text("error:".to_owned())),
        }
    }
    parts
}

/// Returns the text of a reply for a model that takes pictures.
pub(crate) fn text_beside_pictures(reply: &ToolReply) -> String {
    let takes = Takes { images: PICTURES, images_of_errors: true, marks_errors: true };
    joined(&parts(reply, takes, reply.success, &mut Room::of_a_turn()))
}

/// Returns the blocks of a reply that are pictures for a model, each with its data in base64.
pub(crate) fn pictures(reply: &ToolReply) -> Vec<(Value, String)> {
    let mut room = Room::of_a_turn();
    let picture = |block: &Value| match image(block, PICTURES, &mut room)? {
        Part::Image { data, .. } => Some((block.clone(), data)),
        Part::Text(_) => None,
    };
    blocks(&reply.value).iter().filter_map(picture).collect()
}

/// Returns the result with another text, and these blocks.
pub(crate) fn with_text(reply: &ToolReply, text: &str, pictures: Vec<Value>) -> Value {
    let text = json!({ "type": "text", "text": text });
    json!({ "content": std::iter::once(text).chain(pictures).collect::<Vec<_>>(), "isError": !reply.success })
}

/// Returns the text of an empty result.
fn nothing(success: bool) -> &'static str {
    if success { "(no result)" } else { "(the tool failed without a message)" }
}

/// Returns the reply with a message, whatever the result is: the JSON of blocks without text, without their data.
pub(crate) fn with_message(mut reply: ToolReply) -> ToolReply {
    if reply.message.trim().is_empty() {
        reply.message = match in_words(&reply.value) {
            words if words.is_empty() => nothing(reply.success).to_owned(),
            words => words,
        };
    }
    reply
}

/// Returns the blocks of a result that are no text, as text.
fn in_words(result: &Value) -> String {
    let others: Vec<String> = blocks(result).iter().filter(|block| text_of(block).is_none()).map(shown).collect();
    others.join("\n")
}

/// Returns the blocks of a result.
fn blocks(result: &Value) -> &[Value] {
    result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn text_of(block: &Value) -> Option<&str> {
    block.get("type").filter(|kind| *kind == "text")?;
    block.get("text")?.as_str()
}

/// Returns the image in a block or in its resource, if the provider accepts it.
fn image(block: &Value, taken: &[&'static str], room: &mut Room) -> Option<Part> {
    let (holder, key) = match block.get("type")?.as_str()? {
        "image" => (block, "data"),
        "resource" => (block.get("resource")?, "blob"),
        _ => return None,
    };
    let data = holder.get(key)?.as_str()?;
    let said = holder.get("mimeType")?.as_str()?.to_ascii_lowercase();
    let said = if said == "image/jpg" { "image/jpeg" } else { &said };
    let mime_type = *taken.iter().find(|taken| **taken == said)?;
    // One that cannot be read would make the provider refuse the whole request.
    (is_base64(data) && room.take(data)).then(|| Part::Image { mime_type, data: data.to_owned() })
}

fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !digits.is_empty() && data.len().is_multiple_of(4) && data.len() - digits.len() <= 2 && digits.bytes().all(is_digit)
}

/// Returns a block as text: an embedded resource by its text, others than text as JSON.
fn shown(block: &Value) -> String {
    if let Some(text) = text_of(block) {
        return text.to_owned();
    }
    let resource = block.get("type").filter(|kind| *kind == "resource").and_then(|_| block.get("resource"));
    let text = |key: &str| resource.and_then(|resource| resource.get(key)?.as_str());
    match (text("uri"), text("text")) {
        (Some(uri), Some(text)) => format!("{uri}:\n{text}"),
        _ => without_data(block),
    }
}

/// Returns a block as JSON, without binary data.
fn without_data(block: &Value) -> String {
    let mut block = block.clone();
    for pointer in ["/data", "/resource/blob"] {
        if let Some(Value::String(data)) = block.pointer_mut(pointer) {
            *data = format!("[{} characters of base64 left out]", data.len());
        }
    }
    block.to_string()
}

/// Removes control characters, bidirectional marks, and characters that only models read.
fn cleaned(text: &str) -> String {
    let misleads = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars().filter(|c| !misleads(*c)).collect()
}

/// Leaves as much of the texts as `most` characters, and says how much there was.
pub(super) fn capped(parts: &mut Vec<Part>, most: usize) {
    let (mut room, mut total) = (most, 0);
    for part in parts.iter_mut() {
        let Part::Text(text) = part else { continue };
        let length = text.chars().count();
        let end = text.char_indices().nth(room).map_or(text.len(), |(end, _)| end);
        text.truncate(end);
        room = room.saturating_sub(length);
        total += length;
    }
    if total <= most {
        return;
    }
    parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
    let note = format!("[cut: {} of {total} characters left out]", total - most);
    match parts.iter_mut().rev().find(|part| part.is_text()) {
        Some(Part::Text(text)) => text.push_str(&format!("\n{note}")),
        _ => parts.push(Part::Text(note)),
    }
}

#[cfg(test)]
mod tests {
    use mcp_bindgen_runtime::{CallError, ToolResult};
    use serde_json::json;

    use super::*;

    const ALL: Takes = Takes { images: &["image/png", "image/jpeg"], images_of_errors: true, marks_errors: true };
    const TEXT: Takes = Takes { images: &[], images_of_errors: false, marks_errors: false };

    fn reply(result: Value) -> ToolReply {
        ToolResult::from_json("s", "t", result).into()
    }

    fn of(result: Value, takes: Takes) -> Vec<Part> {
        let reply = reply(result);
        parts(&reply, takes, reply.success, &mut Room::of_a_turn())
    }

    fn text(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    #[test]
    fn images_keep_their_position() {
        let mixed = json!({"content": [
            {"type": "text", "text": "before"},
            {"type": "image", "data": "iVBORw==", "mimeType": "IMAGE/PNG"},
            {"type": "text", "text": "after"},
            {"type": "resource", "resource": {"uri": "x:y", "mimeType": "image/jpg", "blob": "AAAA"}},
        ]});
        let png = Part::Image { mime_type: "image/png", data: "iVBORw==".to_owned() };
        let jpeg = Part::Image { mime_type: "image/jpeg", data: "AAAA".to_owned() };
        assert_eq!(of(mixed.clone(), ALL), [text("before"), png, text("after"), jpeg]);
        let without = joined(&of(mixed, TEXT));
        assert!(without.contains("[8 characters of base64 left out]") && !without.contains("iVBOR"), "{without}");
        assert!(without.contains("x:y") && !without.contains("AAAA"), "{without}");
    }

    #[test]
    fn unsupported_content_is_shown_as_json() {
        for block in [
            json!({"type": "image", "data": "AAAA", "mimeType": "image/tiff"}),
            json!({"type": "image", "data": "not base64!", "mimeType": "image/png"}),
            json!({"type": "image", "data": "", "mimeType": "image/png"}),
            json!({"type": "image", "data": "A".repeat(LARGEST_IMAGE + 4), "mimeType": "image/png"}),
            json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}),
            json!({"type": "resource_link", "uri": "file:///x", "name": "x"}),
            json!({"type": "hologram", "depth": 3}),
            json!({"type": "text", "text": 5}),
            json!("bare"),
        ] {
            let shown = of(json!({"content": [block]}), ALL);
            let [Part::Text(text)] = shown.as_slice() else { panic!("{shown:?}") };
            let read: Value = serde_json::from_str(text).expect("it is JSON");
            assert_eq!(read.get("type"), block.get("type"));
            assert!(text.len() < 300, "{}", text.len());
        }
    }

    #[test]
    fn embedded_resource_is_shown_as_text() {
        let resource = json!({"type": "resource", "resource": {"uri": "file:///x", "text": "a \"b\"\nc"}});
        let said = text("file:///x:\na \"b\"\nc");
        assert_eq!(of(json!({"content": [resource]}), ALL), std::slice::from_ref(&said));
        let beside = json!({"content": [{"type": "text", "text": "before"}, resource]});
        assert_eq!(of(beside, TEXT), [text("before"), said]);
    }

    #[test]
    fn images_of_a_turn_are_bounded() {
        let pictured = |data: &str, count: usize| {
            let block = json!({"type": "image", "data": data, "mimeType": "image/png"});
            reply(json!({"content": vec![block; count]}))
        };
        let mut room = Room::of_a_turn();
        let shown = |reply: &ToolReply, room: &mut Room| {
            let parts = parts(reply, ALL, true, room);
            assert!(joined(&parts).len() < 5000);
            parts.iter().filter(|part| !part.is_text()).count()
        };
        let large = pictured(&"A".repeat(LARGEST_IMAGE), 2);
        assert_eq!([shown(&large, &mut room), shown(&large, &mut room)], [2, 1]);
        let tiny = pictured("AAAA", 30);
        assert_eq!((shown(&tiny, &mut room), shown(&tiny, &mut Room::of_a_turn())), (0, MOST_IMAGES));
        let said = joined(&parts(&large, ALL, true, &mut room));
        assert!(said.contains("[5000000 characters of base64 left out]"), "{said}");
    }

    #[test]
    fn empty_result_has_a_placeholder_text() {
        for empty in [json!({}), json!({"content": []}), json!({"content": [{"type": "text", "text": " \n"}]})] {
            assert_eq!(of(empty.clone(), TEXT), [text("(no result)")], "{empty}");
        }
        let failed = of(json!({"content": [], "isError": true}), TEXT);
        assert_eq!(failed, [text("error: (the tool failed without a message)")]);
        assert_eq!(of(json!({"content": [], "structuredContent": {"n": 1}}), TEXT), [text(r#"{"n":1}"#)]);
        let denied = ToolReply::from(CallError::denied("s", "t", "never"));
        assert_eq!(parts(&denied, ALL, false, &mut Room::of_a_turn()), [text("s: `t` was denied: never")]);
    }

    #[test]
    fn reply_message_replaces_images_with_a_notice() {
        let block = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        let pictured = with_message(reply(json!({"content": [block]})));
        assert!(pictured.message.contains("4 characters of base64 left out"), "{}", pictured.message);
        let shown = parts(&pictured, ALL, true, &mut Room::of_a_turn());
        assert_eq!(shown, [Part::Image { mime_type: "image/png", data: "AAAA".to_owned() }]);
        assert_eq!(with_message(reply(json!({}))).message, "(no result)");
    }

    #[test]
    fn errors_are_marked_in_text_without_an_error_flag() {
        let failed = json!({"content": [{"type": "text", "text": "no such file"}], "isError": true});
        assert_eq!(of(failed.clone(), TEXT), [text("error: no such file")]);
        assert_eq!(of(failed, ALL), [text("no such file")]);
        let picture = json!({"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}], "isError": true});
        let unmarked = of(picture, Takes { marks_errors: false, ..ALL });
        assert_eq!((unmarked.len(), unmarked.first()), (2, Some(&text("error:"))));
    }

    #[test]
    fn text_is_truncated_at_a_character_with_a_notice() {
        let mut long =
            vec![text("äöü"), Part::Image { mime_type: "image/png", data: String::new() }, text("ßß"), text("x")];
        let whole = long.clone();
        capped(&mut long, 6);
        assert_eq!(long, whole);
        capped(&mut long, 4);
        assert_eq!(joined(&long), "äöü\nß\n[cut: 2 of 6 characters left out]");
        let mut at_a_border = whole.clone();
        capped(&mut at_a_border, 3);
        assert_eq!(joined(&at_a_border), "äöü\n[cut: 3 of 6 characters left out]");
        let mut all = vec![text("äöü")];
        capped(&mut all, 0);
        assert_eq!(all, [text("[cut: 3 of 3 characters left out]")]);
    }

    #[test]
    fn hostile_characters_are_removed() {
        let hostile =
            json!({"content": [{"type": "text", "text": "a\u{1b}[31m\u{202e}b\u{e0041}\n\tc مرحبا 👩\u{200d}💻"}]});
        assert_eq!(of(hostile, ALL), [text("a[31mb\n\tc مرحبا 👩\u{200d}💻")]);
    }
}
