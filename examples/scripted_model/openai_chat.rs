//! OpenAI's Chat Completions.

use serde_json::{Value, json};

use super::{Declared, Seen, Turn, check, id, list, object, outcomes, text, tools};

pub(super) fn read(body: &Value) -> Result<Seen, String> {
    text(body, "model")?;
    let declared = tools(body)?;
    if declared.len() > 128 {
        return Err(format!("{} tools, and at most 128 are taken", declared.len()));
    }
    let tools = declared.iter().map(tool).collect::<Result<Vec<_>, String>>()?;
    let (mut instructions, mut turns) = (String::new(), Vec::new());
    let mut messages = list(body, "messages")?.iter().peekable();
    while let Some(message) = messages.next() {
        match text(message, "role")? {
            "system" => instructions.push_str(text(message, "content")?),
            "user" => drop(text(message, "content")?),
            "assistant" if message.get("tool_calls").is_some() => {
                let calls = list(message, "tool_calls")?.iter().map(|call| {
                    let function = call.get("function").ok_or("a call without a function")?;
                    let arguments = text(function, "arguments")?;
                    serde_json::from_str::<Value>(arguments).map_err(|error| format!("arguments: {error}"))?;
                    Ok((text(call, "id")?.to_owned(), text(function, "name")?.to_owned()))
                });
                let calls = calls.collect::<Result<Vec<_>, String>>()?;
                let mut results = Vec::new();
                while let Some(result) = messages.next_if(|next| next.get("role") == Some(&"tool".into())) {
                    let content = text(result, "content")?.to_owned();
                    let failed = content.starts_with("error:");
                    results.push((text(result, "tool_call_id")?.to_owned(), content, failed));
                }
                turns.push(outcomes(calls, results)?);
            }
            "assistant" => {}
            other => return Err(format!("a message of `{other}` where there cannot be one")),
        }
    }
    Ok(Seen { instructions, tools, turns })
}

fn tool(tool: &Value) -> Result<Declared, String> {
    if text(tool, "type")? != "function" {
        return Err(format!("tools are of type `function`: {tool}"));
    }
    let function = Value::from(object(tool, "function")?.clone());
    if function.get("description").and_then(Value::as_str).is_some_and(|text| text.chars().count() > 1024) {
        return Err("a description of more than 1,024 characters".to_owned());
    }
    declared(&function)
}

/// The part of a declaration that both of OpenAI's APIs share.
pub(super) fn declared(function: &Value) -> Result<Declared, String> {
    let (name, schema) = (text(function, "name")?.to_owned(), Value::from(object(function, "parameters")?.clone()));
    // The defaults of the two APIs differ.
    let is_strict = function.get("strict").and_then(Value::as_bool).ok_or_else(|| format!("{name}: no `strict`"))?;
    if is_strict {
        check::strict_of_openai(&name, &schema)?
    } else {
        check::root(&name, &schema)?
    }
    Ok(Declared { name, schema, is_strict })
}

pub(super) fn write(turn: usize, said: Turn) -> Value {
    let (message, reason) = match said {
        Turn::Say(text) => (json!({ "role": "assistant", "content": text, "refusal": null }), "stop"),
        Turn::Call(calls) => {
            let calls = calls.into_iter().enumerate().map(|(index, (name, arguments))| {
                let function = json!({ "name": name, "arguments": arguments.to_string() });
                json!({ "id": id(turn, index), "type": "function", "function": function })
            });
            let calls: Vec<Value> = calls.collect();
            (json!({ "role": "assistant", "content": null, "tool_calls": calls, "refusal": null }), "tool_calls")
        }
    };
    let choice = json!({ "index": 0, "message": message, "finish_reason": reason });
    json!({ "id": "chatcmpl-1", "object": "chat.completion", "model": "scripted", "choices": [choice] })
}
