//! OpenAI's Responses.

use serde_json::{Value, json};

use super::{Seen, Turn, id, list, openai_chat, outcomes, text, tools};

pub(super) fn read(body: &Value) -> Result<Seen, String> {
    text(body, "model")?;
    let mut declared = Vec::new();
    for tool in tools(body)? {
        match text(tool, "type")? {
            "function" => declared.push(openai_chat::declared(tool)?),
            // OpenAI's own MCP client would connect now; this model has none.
            "mcp" => {
                text(tool, "server_label")?;
                text(tool, "server_url")?;
            }
            other => return Err(format!("no tools of type `{other}`")),
        }
    }
    let instructions = text(body, "instructions")?.to_owned();
    let mut turns = Vec::new();
    let mut items = list(body, "input")?.iter().peekable();
    while let Some(item) = items.next() {
        match item.get("type").and_then(Value::as_str) {
            Some("function_call") => {
                let mut calls = vec![call(item)?];
                while let Some(next) = items.next_if(|next| next.get("type") == Some(&"function_call".into())) {
                    calls.push(call(next)?);
                }
                let mut results = Vec::new();
                while let Some(next) = items.next_if(|next| next.get("type") == Some(&"function_call_output".into())) {
                    let output = next.get("output").ok_or("a result without `output`")?;
                    let output = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
                    let failed = output.starts_with("error:");
                    results.push((text(next, "call_id")?.to_owned(), output, failed));
                }
                turns.push(outcomes(calls, results)?);
            }
            Some("message" | "reasoning") => {}
            None if item.get("role").is_some() => {}
            other => return Err(format!("an item of type {other:?} where there cannot be one")),
        }
    }
    Ok(Seen { instructions, tools: declared, turns })
}

fn call(item: &Value) -> Result<(String, String), String> {
    serde_json::from_str::<Value>(text(item, "arguments")?).map_err(|error| format!("arguments: {error}"))?;
    Ok((text(item, "call_id")?.to_owned(), text(item, "name")?.to_owned()))
}

pub(super) fn write(turn: usize, said: Turn) -> Value {
    let output: Vec<Value> = match said {
        Turn::Say(text) => {
            let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
            vec![
                json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content }),
            ]
        }
        Turn::Call(calls) => calls
            .into_iter()
            .enumerate()
            .map(|(index, (name, arguments))| {
                let (id, call) = (format!("fc_{turn}_{index}"), id(turn, index));
                let arguments = arguments.to_string();
                json!({
                    "type": "function_call", "id": id, "call_id": call, "name": name, "arguments": arguments,
                    "status": "completed",
                })
            })
            .collect(),
    };
    json!({ "id": "resp_1", "object": "response", "status": "completed", "model": "scripted", "output": output })
}
