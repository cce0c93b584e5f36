//! Gemini's `generateContent`.

use serde_json::{Value, json};

use super::{Declared, Seen, Turn, check, id, list, object, outcomes, text, tools};

const SIGNATURE: &str = "c2lnbmF0dXJl";

pub(super) fn read(body: &Value) -> Result<Seen, String> {
    let mut declared = Vec::new();
    for tool in tools(body)? {
        for function in list(tool, "functionDeclarations")? {
            declared.push(read_function(function)?);
        }
    }
    if declared.len() > 512 {
        return Err(format!("{} tools, and at most 512 are taken", declared.len()));
    }
    let system = body.get("systemInstruction").ok_or("no `systemInstruction`")?;
    let instructions = list(system, "parts")?.iter().filter_map(|part| part.get("text")?.as_str()).collect();
    let mut turns = Vec::new();
    let mut contents = list(body, "contents")?.iter();
    while let Some(content) = contents.next() {
        let calls: Vec<&Value> = parts(content, "functionCall").collect();
        if calls.is_empty() {
            if parts(content, "functionResponse").next().is_some() {
                return Err("results that follow no calls".to_owned());
            }
            continue;
        }
        let signed = list(content, "parts")?.iter().find(|part| part.get("functionCall").is_some());
        if signed.and_then(|part| part.get("thoughtSignature")) != Some(&SIGNATURE.into()) {
            return Err("the first call has lost its `thoughtSignature`".to_owned());
        }
        let calls = calls.into_iter().map(|call| {
            object(call, "args")?;
            Ok((text(call, "id")?.to_owned(), text(call, "name")?.to_owned()))
        });
        let answer = contents.next().ok_or("calls without results")?;
        let results = parts(answer, "functionResponse").map(|result| {
            text(result, "name")?;
            let response = object(result, "response")?;
            let failed = response.contains_key("error");
            let said = response.get("output").or(response.get("error")).ok_or("neither `output` nor `error`")?;
            let said = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
            Ok((text(result, "id")?.to_owned(), said, failed))
        });
        let results = results.collect::<Result<Vec<_>, String>>()?;
        turns.push(outcomes(calls.collect::<Result<Vec<_>, String>>()?, results)?);
    }
    Ok(Seen { instructions, tools: declared, turns })
}

fn read_function(function: &Value) -> Result<Declared, String> {
    let name = text(function, "name")?.to_owned();
    if function.get("parameters").is_some() && function.get("parametersJsonSchema").is_some() {
        return Err(format!("{name}: `parameters` and `parametersJsonSchema` at once"));
    }
    let schema = function.get("parametersJsonSchema").or(function.get("parameters")).cloned();
    let schema = schema.unwrap_or_else(|| json!({ "type": "object" }));
    check::root(&name, &schema)?;
    Ok(Declared { name, schema, is_strict: false })
}

fn parts<'v>(content: &'v Value, kind: &'v str) -> impl Iterator<Item = &'v Value> {
    content.get("parts").and_then(Value::as_array).into_iter().flatten().filter_map(move |part| part.get(kind))
}

pub(super) fn write(turn: usize, said: Turn) -> Value {
    let parts: Vec<Value> = match said {
        Turn::Say(text) => vec![json!({ "text": text })],
        Turn::Call(calls) => calls
            .into_iter()
            .enumerate()
            .map(|(index, (name, args))| {
                let call = json!({ "id": id(turn, index), "name": name, "args": args });
                // Only the first call of a turn has a signature.
                if index == 0 {
                    json!({ "functionCall": call, "thoughtSignature": SIGNATURE })
                } else {
                    json!({ "functionCall": call })
                }
            })
            .collect(),
    };
    let candidate = json!({ "index": 0, "finishReason": "STOP", "content": { "role": "model", "parts": parts } });
    json!({ "candidates": [candidate], "modelVersion": "scripted" })
}
