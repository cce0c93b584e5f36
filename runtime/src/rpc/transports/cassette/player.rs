//! Finds the recorded answer to a request.

use std::path::PathBuf;
use std::sync::Mutex;

use mcp_bindgen_model::printable;
use serde_json::Value;

use super::difference::differences;
use super::exchange::{Exchange, Request};
use super::tape::Tape;
use super::{CassetteError, Difference};
use crate::ToolResult;
use crate::ground::sync::lock;

/// The method of a tool's call.
const CALL: &str = "tools/call";

/// The exchanges of a file, and which of them are over.
pub(crate) struct Player {
    pub(super) path: PathBuf,
    pub(super) server: String,
    exchanges: Vec<Exchange>,
    played: Mutex<Vec<bool>>,
}

impl Player {
    pub(super) fn new(tape: Tape, path: PathBuf) -> Self {
        let exchanges: Vec<Exchange> = tape.exchanges.into_iter().flatten().collect();
        let played = Mutex::new(vec![false; exchanges.len()]);
        Self { path, server: tape.server.unwrap_or_default(), exchanges, played }
    }

    /// Returns the results of a tool.
    pub(super) fn results(&self, tool: &str) -> Vec<ToolResult> {
        let is_call = |exchange: &&Exchange| {
            exchange.request.method == CALL && exchange.request.params.get("name").and_then(Value::as_str) == Some(tool)
        };
        let result = |exchange: &Exchange| {
            Some(ToolResult::from_json(&self.server, tool, exchange.response.get("result")?.clone()))
        };
        self.exchanges.iter().filter(is_call).filter_map(result).collect()
    }

    /// Returns the recorded exchange for the request; equal requests use up their exchanges in order. A conversation
    /// may begin more often than it did in the recording.
    ///
    /// # Errors
    /// Fails with the nearest exchange if none matches.
    pub(super) fn next(&self, request: &Request) -> Result<&Exchange, CassetteError> {
        let mut played = lock(&self.played);
        let mut alike = 0;
        let mut last = None;
        let mut nearest: Option<Vec<Difference>> = None;
        for (exchange, is_played) in self.exchanges.iter().zip(played.iter_mut()) {
            if exchange.request.method != request.method || exchange.request.subject() != request.subject() {
                continue;
            }
            let different = differences(&exchange.request.params, &request.params);
            if different.is_empty() {
                if !*is_played {
                    *is_played = true;
                    return Ok(exchange);
                }
                alike += 1;
                last = Some(exchange);
            } else if nearest.as_ref().is_none_or(|nearest| different.len() < nearest.len()) {
                nearest = Some(different);
            }
        }
        match (last, nearest) {
            (Some(last), _) if request.begins() => Ok(last),
            (Some(_), _) => {
                let times = if alike == 1 { "once".to_owned() } else { format!("{alike} times") };
                Err(self.not_recorded(request, format!("it was recorded {times}, and requested once more")))
            }
            (None, Some(differences)) => {
                Err(CassetteError::Changed { path: self.path.clone(), request: request.title(), differences })
            }
            (None, None) => Err(self.not_recorded(request, self.recorded_instead(request))),
        }
    }

    fn not_recorded(&self, request: &Request, message: String) -> CassetteError {
        CassetteError::NotRecorded { path: self.path.clone(), request: request.title(), message }
    }

    fn recorded_instead(&self, request: &Request) -> String {
        let of_method = self.exchanges.iter().filter(|exchange| exchange.request.method == request.method);
        let mut subjects: Vec<String> = of_method
            .filter_map(|exchange| exchange.request.subject())
            .map(|s| format!("`{}`", printable(s)))
            .collect();
        subjects.sort();
        subjects.dedup();
        subjects.truncate(20);
        match subjects.as_slice() {
            [] => "it was not recorded".to_owned(),
            subjects => format!("recorded were {}", subjects.join(", ")),
        }
    }
}
