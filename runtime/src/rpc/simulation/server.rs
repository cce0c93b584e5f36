//! A simulated server that records the calls that it executed.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::Chance;
use super::pipes::Both;

#[derive(Default)]
pub(super) struct Server {
    /// The beginning of a line.
    line: Vec<u8>,
    /// How often each call was executed.
    runs: HashMap<usize, usize>,
    /// Messages that it will send, in any order.
    unsaid: Vec<Value>,
    questions: usize,
    is_dead: bool,
}

impl Server {
    pub(super) fn runs(&self, call: usize) -> usize {
        self.runs.get(&call).copied().unwrap_or_default()
    }

    /// Reads some of the written bytes.
    pub(super) fn read(&mut self, chance: &mut Chance, pipes: &mut Both) {
        if self.is_dead {
            return;
        }
        for _ in 0..chance.below(400) {
            let Some(byte) = pipes.written.pop_front() else { break };
            if byte == b'\n' {
                self.take(chance);
            } else {
                self.line.push(byte);
            }
        }
        // A server may handle a request before the end of its line arrives.
        if chance.once_in(3) {
            self.take(chance);
        }
    }

    /// Handles a line, if it is complete.
    fn take(&mut self, chance: &mut Chance) {
        let Ok(message) = serde_json::from_slice::<Value>(&self.line) else { return };
        self.line.clear();
        let nameless = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32700, "message": "unclear" } });
        let Some(id) = message.get("id").filter(|_| message["method"] == "tools/call") else {
            if message.get("method").is_some() && chance.once_in(6) {
                self.unsaid.push(nameless);
            }
            return;
        };
        match chance.below(14) {
            // It could not read the request.
            0 => return self.unsaid.push(nameless),
            1 => {
                let error = json!({ "code": -32602, "message": "no such tool" });
                return self.unsaid.push(json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            }
            _ => {}
        }
        let call = &message["params"]["arguments"]["call"];
        let number = call.as_u64().and_then(|call| usize::try_from(call).ok()).unwrap_or_default();
        *self.runs.entry(number).or_default() += 1;
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": { "call": call } });
        match chance.below(10) {
            // It never answers.
            0 => {}
            // It answers twice, once with the id as a text.
            1 => {
                let mut again = answer.clone();
                again["id"] = id.to_string().into();
                self.unsaid.extend([answer, again]);
            }
            2 => {
                let progress = json!({ "progressToken": id, "progress": 1 });
                let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": progress });
                self.unsaid.extend([progress, answer]);
            }
            _ => self.unsaid.push(answer),
        }
    }

    /// Says something.
    pub(super) fn say(&mut self, chance: &mut Chance, pipes: &mut Both) {
        if self.is_dead {
            return;
        }
        let message = match chance.below(24) {
            0 => json!({ "jsonrpc": "2.0", "id": 1000, "result": { "call": 77 } }),
            1 => json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }),
            2 => {
                self.questions += 1;
                json!({ "jsonrpc": "2.0", "id": format!("q{}", self.questions), "method": "ping" })
            }
            _ if self.unsaid.is_empty() => return,
            _ => {
                let at = chance.below(self.unsaid.len());
                self.unsaid.swap_remove(at)
            }
        };
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        pipes.said.extend(line);
    }

    /// Reads everything, and sends all answers.
    pub(super) fn catch_up(&mut self, chance: &mut Chance, pipes: &mut Both) {
        while !self.is_dead && !pipes.written.is_empty() {
            self.read(chance, pipes);
        }
        while !self.is_dead && !self.unsaid.is_empty() {
            self.say(chance, pipes);
        }
    }

    /// Ends, perhaps in the middle of an answer.
    pub(super) fn die(&mut self, chance: &mut Chance, pipes: &mut Both) {
        self.is_dead = true;
        pipes.is_dead = true;
        if let Some(last) = self.unsaid.pop() {
            let text = last.to_string();
            pipes.said.extend(text.bytes().take(chance.below(text.len())));
        }
    }
}
