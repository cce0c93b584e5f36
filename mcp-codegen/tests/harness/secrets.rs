//! A secret that is written out in a configuration is seen nowhere, whatever stands around it.

use mcp_bindgen_model::Config;
use serde_json::{Map, Value, json};

use super::{config, watchdog};

const SECRET: &str = "sk-planted-9f8e7d6c5b4a3928";
/// The mark of a secret; a part of it must not appear either.
const MARK: &str = "9f8e7d6c";

/// Texts of configurations are shorter, and each stands in dozens of documents.
const LONGEST: usize = 4096;

/// Plants a secret in a configuration beside `text`: `Debug`, warnings and errors never show it.
pub(crate) fn check(text: &str) -> bool {
    if text.len() > LONGEST {
        return false;
    }
    watchdog::in_time(text, || {
        // The mark alone would be said to be seen.
        let text = text.replace(MARK, "");
        let mut is_read = false;
        for entry in entries(&text) {
            let json = json!({"mcpServers": {"planted": entry}}).to_string();
            for document in [json, toml(&entry)] {
                for reading in config::readings(&document) {
                    match reading {
                        Ok(config) => is_read |= hidden(&config, &document),
                        Err(error) => unseen(&format!("{error} {error:?}"), &document),
                    }
                }
            }
        }
        is_read
    })
}

fn hidden(config: &Config, document: &str) -> bool {
    unseen(&format!("{config:?} {config:#?}"), document);
    for error in config.warnings.iter().map(|warning| &warning.error) {
        unseen(&error.to_string(), document);
    }
    for server in config.servers.values() {
        unseen(&format!("{server:?} {:?}", server.transport), document);
        if let Ok(expanded) = server.expand(|_| Some(SECRET.to_owned())) {
            unseen(&format!("{:?}", expanded.transport), document);
        }
    }
    config.servers.contains_key("planted")
}

fn unseen(shown: &str, document: &str) {
    assert!(!shown.contains(MARK), "the planted secret is shown:\n{shown}\nof\n{document}");
}

/// Servers with the secret in every place where people write one.
fn entries(text: &str) -> Vec<Value> {
    let stdio = |args: Vec<String>, env: Value| {
        let args: Vec<_> = [text.to_owned()].into_iter().chain(args).chain([text.to_owned()]).collect();
        json!({"command": "server", "args": args, "env": env, "description": text})
    };
    let keys = ["API_KEY", "GITHUB_TOKEN", "PASSWORD", "ANYTHING"];
    let env: Map<_, _> =
        keys.iter().map(|key| ((*key).to_owned(), SECRET.into())).chain([(text.to_owned(), SECRET.into())]).collect();
    let argument = |args: &[&str]| stdio(args.iter().map(|arg| arg.replace("{}", SECRET)).collect(), json!({}));
    vec![
        stdio(Vec::new(), Value::Object(env)),
        argument(&["--api-key={}"]),
        argument(&["--token", "{}"]),
        argument(&["--header", "Authorization: Bearer {}"]),
        argument(&["--header", "X-Api-Key: {}"]),
        argument(&["{}"]),
        json!({"type": "http", "url": format!("https://user:{SECRET}@example.com/mcp"), "description": text}),
        json!({"type": "http", "url": format!("https://example.com/mcp?api_key={SECRET}"), "description": text}),
        json!({"type": "http", "url": "https://example.com/mcp", "description": text,
               "headers": {"Authorization": format!("Bearer {SECRET}"), "X-Api-Key": SECRET, text: SECRET}}),
    ]
}

/// The same as a table of `mcp.toml`, whose strings may be written as those of JSON are.
fn toml(entry: &Value) -> String {
    let mut table = "[servers.planted]\n".to_owned();
    for (key, value) in entry.as_object().into_iter().flatten().filter(|(key, _)| *key != "type") {
        let value = match value {
            Value::Object(map) => {
                let members: Vec<_> =
                    map.iter().map(|(key, value)| format!("{} = {value}", Value::from(key.as_str()))).collect();
                format!("{{ {} }}", members.join(", "))
            }
            other => other.to_string(),
        };
        table.push_str(&format!("{key} = {value}\n"));
    }
    table
}
