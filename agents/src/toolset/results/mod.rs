//! Results that are too long for a model: it gets the beginning, and reads the rest with a tool.

mod outline;

use std::collections::VecDeque;
use std::future::ready;
use std::sync::{Arc, Mutex};

use mcp_bindgen_runtime::{Content, ToolReply};
use serde_json::{Map, Value, json};

use self::outline::{Outline, beginning};
use super::find::{free_name, reading};
use super::{Entry, Function, Output, Toolset};
use crate::json::bytes;
use crate::lock::locked;
use crate::provider::{pictures, text_beside_pictures};
use crate::text::head;

/// The smallest limit, in bytes: less has no room for anything but marks.
const SMALLEST: usize = 1000;
/// The room for the note on how to read on.
const NOTE: usize = 250;
/// The maximum number of omitted images that are named.
const MOST_PLACES: usize = 10;
/// The limit on stored results, in bytes.
const MOST_KEPT: usize = 64 * 1024 * 1024;

/// The approximate number of bytes of an English token; an image counts with it for each of its tokens.
const BYTES_OF_TOKEN: usize = 4;

/// The limit of results, and the results that were longer. Shared by the toolsets of one conversation.
#[derive(Clone)]
pub(super) struct Results {
    /// The name of the tool that reads them.
    name: Arc<str>,
    limit: Limit,
    kept: Arc<Mutex<Kept>>,
}

/// The most that a result may have.
#[derive(Clone, Copy, Debug)]
struct Limit {
    most: usize,
    /// Returns the size of a text, as it is limited: in bytes or in tokens.
    size: fn(&str) -> usize,
    /// The approximate number of bytes of one of these.
    bytes_of_one: usize,
}

impl Limit {
    fn allows(self, text: &str) -> bool {
        // A token has at least one byte.
        text.len() <= self.most || (self.size)(text) <= self.most
    }
}

#[derive(Default)]
struct Kept {
    /// The results, the oldest first.
    results: VecDeque<Arc<Whole>>,
    bytes: usize,
    /// The number of results that were kept before these.
    forgotten: usize,
}

/// A result that a model got a part of.
struct Whole {
    text: String,
    pictures: Vec<Value>,
    bytes: usize,
}

/// The part that a model wants to read: the arguments of the tool.
#[derive(Default)]
struct Asked {
    result: usize,
    pointer: String,
    from: usize,
    /// In lower case.
    contains: String,
    picture: Option<usize>,
}

impl Asked {
    /// Reads the arguments. Numbers that count nothing, such as -1, are as good as missing.
    fn of(arguments: &Map<String, Value>) -> Self {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
        let number = |key: &str| {
            let number = arguments.get(key).and_then(Value::as_u64)?;
            Some(usize::try_from(number).unwrap_or(usize::MAX))
        };
        Self {
            result: number("result").unwrap_or_default(),
            pointer: text("pointer").to_owned(),
            from: number("from").unwrap_or_default(),
            contains: text("contains").to_lowercase(),
            picture: number("picture"),
        }
    }

    fn takes(&self, text: &str) -> bool {
        self.contains.is_empty() || text.to_lowercase().contains(&self.contains)
    }
}

/// A part of a result.
struct Page {
    text: String,
    /// The place at which the next one begins.
    next: Option<usize>,
    unit: &'static str,
    /// `true` if the page omits something.
    is_cut: bool,
}

impl Toolset {
    /// Returns the toolset with a limit for the text of each result, in bytes, and a tool `read_result`. Call it once for each
    /// conversation.
    ///
    /// A model receives the beginning of a longer result, with marks for omitted parts. The first items of lists are
    /// whole, each member of an object has its share, and texts end with a line. The toolset, its clones, subsets and
    /// extensions store the whole result, up to 64 MiB for all results together. `read_result` reads it by pages, by
    /// JSON pointer, and by words that items or lines contain. If the toolset has a tool of this name, a `_` is
    /// appended. The minimum limit is 1,000 bytes.
    ///
    /// An image counts as four bytes for each token that a provider charges at most, by its width and height. The first
    /// images that fit beside the text, or into half of the limit, are shown; `read_result` shows the others one by
    /// one.
    ///
    /// The `value` of a shortened reply has its text and the shown images. Functions that call tools through their
    /// [context](super::FunctionContext) receive whole results.
    ///
    /// ```
    /// use mcp_bindgen_agents::Toolset;
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct None {}
    ///
    /// let toolset = Toolset::builder()
    ///     .function("numbers", "Lists numbers.", async |_: None| Ok::<_, String>((0..10_000).collect::<Vec<u32>>()))
    ///     .build()?
    ///     .max_result(2_000);
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let reply = toolset.dispatch("numbers", "{}").await;
    /// assert!(reply.message.len() <= 2_000 && reply.message.contains("more items"));
    /// let next = toolset.dispatch("read_result", r#"{"result": 1, "from": 9998}"#).await;
    /// assert_eq!(next.message, "[9998,9999]");
    /// # });
    /// # Ok::<(), mcp_bindgen_agents::ToolsetError>(())
    /// ```
    #[must_use]
    pub fn max_result(&self, bytes: usize) -> Self {
        self.limited(Limit { most: bytes.max(SMALLEST), size: str::len, bytes_of_one: 1 })
    }

    /// Limits results like [`max_result`](Self::max_result), in tokens of [`TOKENIZER`](crate::TOKENIZER). The minimum
    /// is 1,000 tokens.
    ///
    /// ```
    /// let toolset = mcp_bindgen_agents::Toolset::builder().build()?.max_result_tokens(5_000);
    /// assert_eq!(toolset.names().collect::<Vec<_>>(), ["read_result"]);
    /// # Ok::<(), mcp_bindgen_agents::ToolsetError>(())
    /// ```
    #[cfg(feature = "tokens")]
    #[must_use]
    pub fn max_result_tokens(&self, tokens: usize) -> Self {
        let size = super::definitions::tokens_of;
        self.limited(Limit { most: tokens.max(SMALLEST), size, bytes_of_one: BYTES_OF_TOKEN })
    }

    fn limited(&self, limit: Limit) -> Self {
        let before = self.filtered(|entry| !self.reads_results(entry));
        let name = free_name(&before, "read_result");
        let results = Results { name: name.as_str().into(), limit, kept: Arc::default() };
        let description = "Reads more of a result that was cut, by the number that it came with: the next part, the part at a \
                           JSON pointer, or the items and lines that contain some words.";
        let schema = json!({
            "type": "object", "additionalProperties": false, "required": ["result"],
            "properties": {
                "result": {"type": "integer", "description": "The number of the result."},
                "pointer": {"type": "string", "description": "A JSON pointer such as /items/3/body; the whole result by default."},
                "from": {"type": "integer", "description": "The item, member or character to begin with; 0 by default."},
                "contains": {"type": "string", "description": "Words that an item or line contains, in any case."},
                "picture": {"type": "integer", "description": "The number of a picture to see instead."},
            },
        });
        let reading_results = results.clone();
        let read: Function = Arc::new(move |_, arguments| Box::pin(ready(reading_results.read(&arguments))));
        let reader = Arc::new(reading(&name, description, schema, read));
        let entries = before.entries.iter().cloned().chain([reader]);
        Self { results: Some(results), ..before.with_entries(entries) }
    }

    /// Returns `true` if it is the tool that reads results.
    pub(super) fn reads_results(&self, entry: &Entry) -> bool {
        self.results.as_ref().is_some_and(|results| *results.name == *entry.public)
    }

    /// Cuts a reply that is too long, and keeps its whole text.
    pub(super) fn within_limit(&self, entry: &Entry, reply: ToolReply) -> ToolReply {
        match &self.results {
            Some(results) if !self.reads_results(entry) => results.cut(reply),
            _ => reply,
        }
    }
}

impl Results {
    fn cut(&self, mut reply: ToolReply) -> ToolReply {
        let (text, all) = (text_beside_pictures(&reply), pictures(&reply));
        if all.is_empty() && self.limit.allows(&text) {
            return reply;
        }
        // Half of the limit is for the text, if it needs that much.
        let most = self.limit.most;
        let of_text = (self.limit.size)(&text).min(most / 2);
        let (mut room, mut shown, mut left_out) = (most - of_text, Vec::new(), Vec::new());
        for (number, (block, tokens)) in (1_usize..).zip(&all) {
            match room.checked_sub(tokens * BYTES_OF_TOKEN / self.limit.bytes_of_one) {
                Some(rest) => {
                    room = rest;
                    shown.push(block.clone());
                }
                None => left_out.push(number.to_string()),
            }
        }
        let note = if left_out.is_empty() { 0 } else { NOTE };
        let limit = Limit { most: (of_text + room).saturating_sub(note), ..self.limit };
        if left_out.is_empty() && limit.allows(&text) {
            return reply;
        }
        let number = self.keep(&text, all.into_iter().map(|(block, _)| block).collect());
        let asked = Asked { result: number, ..Asked::default() };
        reply.message = self.page(limit, &text, &asked).unwrap_or_else(|message| message);
        if let Some(first) = left_out.first() {
            let (name, places) = (&self.name, left_out.get(..MOST_PLACES).unwrap_or(&left_out).join(", "));
            reply.message.push_str(&format!(
                "\n[left out: pictures {places}; see one with `{name}`: \"result\": {number}, \"picture\": {first}]"
            ));
        }
        shown.insert(0, json!({ "type": "text", "text": reply.message }));
        reply.value = json!({ "content": shown, "isError": !reply.success });
        reply
    }

    /// Keeps a result, and forgets the oldest ones if there are too many. Returns its number.
    fn keep(&self, text: &str, pictures: Vec<Value>) -> usize {
        let bytes = text.len() + pictures.iter().map(bytes).sum::<usize>();
        let mut kept = locked(&self.kept);
        kept.bytes += bytes;
        kept.results.push_back(Arc::new(Whole { text: text.to_owned(), pictures, bytes }));
        while kept.bytes > MOST_KEPT
            && kept.results.len() > 1
            && let Some(oldest) = kept.results.pop_front()
        {
            kept.bytes -= oldest.bytes;
            kept.forgotten += 1;
        }
        kept.forgotten + kept.results.len()
    }

    /// Returns the result with a number.
    fn find(&self, number: usize) -> Option<Arc<Whole>> {
        let kept = locked(&self.kept);
        kept.results.get(number.checked_sub(kept.forgotten + 1)?).cloned()
    }

    fn read(&self, arguments: &Map<String, Value>) -> Result<Output, String> {
        let asked = Asked::of(arguments);
        let whole = self.find(asked.result);
        let whole = whole.ok_or_else(|| format!("no result {} is kept: call its tool again", asked.result))?;
        let Some(picture) = asked.picture else {
            return Ok(Value::String(self.page(self.limit, &whole.text, &asked)?).into());
        };
        let block = picture.checked_sub(1).and_then(|place| whole.pictures.get(place));
        let block = block.map(|block| Output::Content(vec![Content::from_json(block.clone())]));
        block.ok_or_else(|| format!("`picture` counts from 1, and the result has {} pictures", whole.pictures.len()))
    }

    /// Returns the text of a page that the limit allows, with a note on how to read on.
    fn page(&self, limit: Limit, whole: &str, asked: &Asked) -> Result<String, String> {
        let json = serde_json::from_str(whole).ok().filter(|json: &Value| json.is_object() || json.is_array());
        let is_text = json.is_none();
        let json = json.unwrap_or_else(|| whole.into());
        let Some(place) = json.pointer(&asked.pointer) else {
            return Err(match is_text {
                true => "the result is plain text: read it without `pointer`".to_owned(),
                false => "there is nothing at this `pointer`".to_owned(),
            });
        };
        let (name, number) = (&self.name, asked.result);
        let mut bytes = limit.most.saturating_mul(limit.bytes_of_one);
        loop {
            let room = bytes.saturating_sub(NOTE);
            let Page { mut text, next, unit, mut is_cut } = match place {
                Value::String(text) => of_text(text, asked, room),
                value => of_json(value, asked, room),
            };
            if text.len() > room {
                // Keys and characters that take more than their share.
                text.truncate(beginning(&text, room, char::len_utf8).len());
                is_cut = true;
            }
            if let Some(next) = next {
                text.push_str(&format!(
                    "\n[cut: go on at {unit} {next} with `{name}`: \"result\": {number}, \"from\": {next}]"
                ));
            }
            if is_cut && !is_text {
                text.push_str(&format!(
                    "\n[cut: read a marked place with `{name}`: \"result\": {number}, \"pointer\": \"/..\"]"
                ));
            }
            if bytes <= SMALLEST / 2 || limit.allows(&text) {
                return Ok(text);
            }
            bytes = bytes / 4 * 3;
        }
    }
}

/// Returns a page of a list, an object, or a short value.
fn of_json(value: &Value, asked: &Asked, room: usize) -> Page {
    let has_words = |value: &Value| asked.contains.is_empty() || asked.takes(&value.to_string());
    let (outline, next, unit) = match value {
        Value::Array(items) if asked.contains.is_empty() => {
            let outline = Outline::list(items.iter().skip(asked.from), room);
            let next = asked.from.saturating_add(outline.count);
            (outline, (next < items.len()).then_some(next), "item")
        }
        Value::Array(items) => {
            // With their places in the list as keys.
            let found = items.iter().enumerate().skip(asked.from).filter(|(_, item)| has_words(item));
            let found: Vec<(String, &Value)> = found.map(|(place, item)| (place.to_string(), item)).collect();
            let outline = Outline::object(found.iter().map(|(place, item)| (place, *item)), room);
            let next = found.get(outline.count).and_then(|(place, _)| place.parse().ok());
            (outline, next, "item")
        }
        Value::Object(members) => {
            let found = members.iter().enumerate().skip(asked.from);
            let found: Vec<_> = found.filter(|(_, (key, value))| asked.takes(key) || has_words(value)).collect();
            let outline = Outline::object(found.iter().map(|(_, member)| *member), room);
            let next = found.get(outline.count).map(|(place, _)| *place);
            (outline, next, "member")
        }
        other => (Outline::of(other, room), None, "item"),
    };
    Page { text: outline.value.to_string(), next, unit, is_cut: outline.is_cut }
}

/// Returns a page of a text, by characters: whole lines unless they are too long.
fn of_text(text: &str, asked: &Asked, room: usize) -> Page {
    let page = |text: String, next| Page { text, next, unit: "character", is_cut: false };
    let rest = text.get(head(text, asked.from).len()..).unwrap_or_default();
    if asked.contains.is_empty() {
        let shown = beginning(rest, room, char::len_utf8);
        let next = asked.from.saturating_add(shown.chars().count());
        return page(shown.to_owned(), (shown.len() < rest.len()).then_some(next));
    }
    let (mut found, mut at) = (String::new(), asked.from);
    for line in rest.split_inclusive('\n') {
        if asked.takes(line) {
            let shown = format!("{at}: {}\n", beginning(line.trim_end_matches('\n'), room / 4, char::len_utf8));
            if found.len() + shown.len() > room {
                return page(found, Some(at));
            }
            found.push_str(&shown);
        }
        at += line.chars().count();
    }
    page(found, None)
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "tokens")]
    #[tokio::test]
    async fn token_limit_holds_for_any_text() {
        use super::super::definitions::tokens_of;

        #[derive(serde::Deserialize, schemars::JsonSchema)]
        struct Nothing {}

        for text in ["word ".repeat(50_000), "課題を確認する。".repeat(5_000), "👩\u{200d}💻é".repeat(5_000)]
        {
            let whole = text.clone();
            let get = move |_: Nothing| std::future::ready(Ok::<_, String>(whole.clone()));
            let toolset = super::Toolset::builder().function("get", "Returns a text.", get).build().unwrap();
            let reply = toolset.max_result_tokens(2_000).dispatch("get", "{}").await;
            assert!((1_000..=2_000).contains(&tokens_of(&reply.message)), "{}", tokens_of(&reply.message));
            let shown = reply.message.split("\n[cut: ").next().unwrap_or_default();
            assert!(!shown.is_empty() && text.starts_with(shown), "{}", reply.message);
        }
    }
}
