//! Anthropic's Messages.

use serde_json::{Value, json};

use super::{Declared, Seen, Turn, check, id, list, object, outcomes, text, tools};

pub(super) fn check_headers(headers: &[(String, String)], body: &Value) -> Result<(), String> {
    let header = |name: &str| headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str());
    header("anthropic-version").ok_or("no `anthropic-version`")?;
    let is_known =
        header("anthropic-beta").is_some_and(|beta| beta.split(',').any(|name| name.trim() == "mcp-client-2025-11-20"));
    if body.get("mcp_servers").is_some() && !is_known {
        return Err("`mcp_servers` without the beta that has it".to_owned());
    }
    Ok(())
}

pub(super) fn read(body: &Value) -> Result<Seen, String> {
    text(body, "model")?;
    body.get("max_tokens").and_then(Value::as_u64).ok_or("no `max_tokens`")?;
    let mut declared = Vec::new();
    for tool in tools(body)? {
        match tool.get("type").and_then(Value::as_str) {
            Some("mcp_toolset") => {
                let server = text(tool, "mcp_server_name")?;
                let servers = list(body, "mcp_servers")?;
                if servers.iter().filter(|known| known.get("name") == Some(&server.into())).count() != 1 {
                    return Err(format!("a toolset of the server `{server}`, which does not exist"));
                }
            }
            None | Some("custom") => declared.push(function(tool)?),
            Some(other) => return Err(format!("no tools of type `{other}`")),
        }
    }
    if declared.iter().filter(|tool| tool.is_strict).count() > 20 {
        return Err("more than 20 strict tools: too complex".to_owned());
    }
    let instructions = text(body, "system")?.to_owned();
    let mut turns = Vec::new();
    let mut messages = list(body, "messages")?.iter();
    let mut roles = Vec::new();
    while let Some(message) = messages.next() {
        let role = text(message, "role")?;
        if roles.last() == Some(&role) {
            return Err(format!("two messages of `{role}` one after the other"));
        }
        roles.push(role);
        let calls = blocks(message, "tool_use").map(|block| {
            object(block, "input")?;
            Ok((text(block, "id")?.to_owned(), text(block, "name")?.to_owned()))
        });
        let calls = calls.collect::<Result<Vec<_>, String>>()?;
        if calls.is_empty() {
            if role == "user" && blocks(message, "tool_result").next().is_some() {
                return Err("results that follow no calls".to_owned());
            }
            continue;
        }
        let answer = messages.next().ok_or("calls without results")?;
        roles.push(text(answer, "role")?);
        if list(answer, "content")?
            .iter()
            .skip_while(|block| is(block, "tool_result"))
            .any(|block| is(block, "tool_result"))
        {
            return Err("results have to come first in their message".to_owned());
        }
        let results = blocks(answer, "tool_result").map(|block| {
            let content = block.get("content").ok_or("a result without content")?;
            let content = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
            let failed = block.get("is_error") == Some(&true.into());
            Ok((text(block, "tool_use_id")?.to_owned(), content, failed))
        });
        turns.push(outcomes(calls, results.collect::<Result<Vec<_>, String>>()?)?);
    }
    Ok(Seen { instructions, tools: declared, turns })
}

fn function(tool: &Value) -> Result<Declared, String> {
    let (name, schema) = (text(tool, "name")?.to_owned(), Value::from(object(tool, "input_schema")?.clone()));
    check::root(&name, &schema)?;
    let is_strict = tool.get("strict") == Some(&true.into());
    if is_strict {
        check::strict_of_anthropic(&name, &schema)?;
    }
    Ok(Declared { name, schema, is_strict })
}

fn is(block: &Value, kind: &str) -> bool {
    block.get("type").and_then(Value::as_str) == Some(kind)
}

fn blocks<'v>(message: &'v Value, kind: &'v str) -> impl Iterator<Item = &'v Value> {
    message.get("content").and_then(Value::as_array).into_iter().flatten().filter(move |block| is(block, kind))
}

pub(super) fn write(turn: usize, said: Turn) -> Value {
    let (content, reason): (Vec<Value>, _) = match said {
        Turn::Say(text) => (vec![json!({ "type": "text", "text": text })], "end_turn"),
        Turn::Call(calls) => {
            let calls = calls.into_iter().enumerate().map(|(index, (name, arguments))| {
                json!({ "type": "tool_use", "id": id(turn, index), "name": name, "input": arguments })
            });
            (calls.collect(), "tool_use")
        }
    };
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": content,
        "stop_reason": reason, "stop_sequence": null,
    })
}
