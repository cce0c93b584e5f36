//! The file: a header, a line for each exchange in the order of the requests, and a last line.

use std::path::Path;

use serde_json::{Value, json};

use super::CassetteError;
use super::exchange::Exchange;

const FORMAT: u64 = 1;

/// The contents of a file.
#[derive(Default)]
pub(super) struct Tape {
    pub(super) server: Option<String>,
    /// Those without an answer are no exchanges yet.
    pub(super) exchanges: Vec<Option<Exchange>>,
}

impl Tape {
    pub(super) fn print(&self) -> String {
        let mut lines = vec![json!({ "cassette": FORMAT, "server": self.server })];
        lines.extend(self.exchanges.iter().flatten().map(|exchange| json!(exchange)));
        lines.push(json!({ "end": lines.len() - 1 }));
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Parses the text of a cassette.
    ///
    /// # Errors
    /// Fails if the text is not a cassette, or is incomplete.
    pub(super) fn read(path: &Path, text: &str) -> Result<Self, CassetteError> {
        let malformed =
            |line: usize, message: String| CassetteError::Malformed { path: path.to_owned(), line: line + 1, message };
        let truncated = |message: String| CassetteError::Truncated { path: path.to_owned(), message };
        let last = text.lines().count().saturating_sub(1);
        let mut lines = text.lines().enumerate().map(|(number, line)| match serde_json::from_str::<Value>(line) {
            Ok(value) => Ok((number, value)),
            Err(error) if number == last && error.is_eof() => {
                Err(truncated(format!("its last line, {}, is incomplete", number + 1)))
            }
            Err(error) => Err(malformed(number, error.to_string())),
        });
        let (_, head) = lines.next().ok_or_else(|| truncated("it is empty".to_owned()))??;
        let format = head.get("cassette").and_then(Value::as_u64);
        let format = format.ok_or_else(|| malformed(0, "the first line has no `cassette`, its format".to_owned()))?;
        if format > FORMAT {
            return Err(CassetteError::NewerFormat { path: path.to_owned(), format, known: FORMAT });
        }
        let server = head.get("server").and_then(Value::as_str);
        let server = server.ok_or_else(|| malformed(0, "the first line has no `server`".to_owned()))?;
        let mut exchanges = Vec::new();
        while let Some(line) = lines.next() {
            let (number, line) = line?;
            if let Some(count) = line.get("end") {
                if count.as_u64() != u64::try_from(exchanges.len()).ok() {
                    return Err(truncated(format!("it declares {count} exchanges, and has {}", exchanges.len())));
                }
                return match lines.next() {
                    None => Ok(Self { server: Some(server.to_owned()), exchanges }),
                    Some(_) => Err(malformed(number + 1, "there are lines after the end".to_owned())),
                };
            }
            let read = read(line).ok_or_else(|| malformed(number, "it is not a request with its response".to_owned()));
            exchanges.push(Some(read?));
        }
        Err(truncated(format!("the end is missing after {} exchanges", exchanges.len())))
    }
}

fn read(line: Value) -> Option<Exchange> {
    let exchange: Exchange = serde_json::from_value(line).ok()?;
    let answers = exchange.heard.iter().filter_map(|heard| heard.answer.as_ref());
    let are_outcomes =
        answers.chain([&exchange.response]).all(|fields| fields.contains_key("result") || fields.contains_key("error"));
    are_outcomes.then_some(exchange)
}
