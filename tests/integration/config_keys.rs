//! The keys of `mcp.toml`, wherever they are listed: the reader, the JSON Schema for editors, and the book.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use mcp_bindgen_model::{Config, config_schema, write_if_changed};
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Compares a file with its generated text, or writes it where `SNAPSHOTS=overwrite`.
fn is_generated(path: &str, expected: &str) {
    let path = root().join(path);
    if std::env::var("SNAPSHOTS").is_ok_and(|word| word == "overwrite") {
        write_if_changed(&path, expected.as_bytes()).expect("the file can be written");
    }
    let actual = fs::read_to_string(&path).expect("the file is there");
    let help = "`SNAPSHOTS=overwrite cargo test --test integration config_keys` writes it";
    assert_eq!(actual, expected, "{} is out of date: {help}", path.display());
}

/// The keys as tables in Markdown, one for each table of the file.
fn reference() -> String {
    fn sections(title: &str, table: &Value, text: &mut String) {
        let keys = table["properties"].as_object().expect("the schema of a table");
        writeln!(text, "### {title}\n\n| key | value | default | effect |\n|---|---|---|---|").unwrap();
        for (key, schema) in keys {
            let more = schema["$comment"].as_str().map(|page| format!(" ([more]({page}))")).unwrap_or_default();
            let effect = schema["description"].as_str().expect("every key has a description");
            let (effect, words) = effect.split_once("; default: ").unwrap_or((effect, ""));
            let default = schema.get("default").map_or_else(|| words.to_owned(), |default| format!("`{default}`"));
            writeln!(text, "| `{key}` | {} | {default} | {effect}{more} |", form(schema)).unwrap();
        }
        text.push('\n');
        for (key, schema) in keys {
            let inside = if title == "The file" {
                key.clone()
            } else {
                format!("{}.{key}", title.trim_matches(['`', '[', ']']))
            };
            if let Some(table) =
                [schema, &schema["anyOf"][1]].into_iter().find(|schema| schema["properties"].is_object())
            {
                sections(&format!("`[{inside}]`"), table, text);
            } else if schema["additionalProperties"]["properties"].is_object() {
                sections(&format!("`[{inside}.NAME]`"), &schema["additionalProperties"], text);
            } else if schema["items"]["properties"].is_object() {
                sections(&format!("`[[{inside}]]`"), &schema["items"], text);
            }
        }
    }
    fn form(schema: &Value) -> String {
        let words = |schema: &Value| {
            let words = schema["enum"].as_array().filter(|words| words.len() < 9)?;
            Some(words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "))
        };
        match (schema["type"].as_str(), schema["pattern"].as_str()) {
            (Some("boolean"), _) => "`true`, `false`".to_owned(),
            (Some("array"), _) if schema["items"]["properties"].is_object() => "list of tables".to_owned(),
            (Some("array"), _) => "list of texts".to_owned(),
            (Some("object"), _) => "table".to_owned(),
            (Some("string"), Some(pattern)) if pattern.contains("ms|") => "duration".to_owned(),
            (Some("string"), Some(pattern)) if pattern.contains("/[smh]") => "rate".to_owned(),
            (Some("string"), Some(_)) => "date".to_owned(),
            (Some("integer" | "number"), _) => "number".to_owned(),
            (Some("string"), None) => "text".to_owned(),
            _ if schema["anyOf"].is_array() => format!("{}, table", words(&schema["anyOf"][0]).unwrap()),
            _ if schema["type"].is_array() => "text, `false`".to_owned(),
            _ if !schema["enum"].is_array() => "any value".to_owned(),
            _ => words(schema).unwrap_or_else(|| "id".to_owned()),
        }
    }
    let mut text = String::new();
    sections("The file", &config_schema(), &mut text);
    text
}

#[test]
fn book_lists_every_key() {
    const BEGIN: &str = "<!-- Generated from the table of keys. -->\n\n";
    const END: &str = "<!-- End. -->\n";
    let path = "docs/book/src/configuration.md";
    let chapter = fs::read_to_string(root().join(path)).expect("the chapter is there");
    let (before, rest) = chapter.split_once(BEGIN).expect("the marks are there");
    let (_, after) = rest.split_once(END).expect("the marks are there");
    is_generated(path, &format!("{before}{BEGIN}{}{END}{after}", reference()));
}

#[test]
fn schema_in_the_repository_is_the_current_one() {
    is_generated("mcp.schema.json", &format!("{:#}\n", config_schema()));
}

/// Each document, and whether it is a configuration: for the reader and for the schema.
#[test]
fn schema_and_parser_agree() {
    let validator = jsonschema::validator_for(&config_schema()).expect("it is a schema");
    let design = r#"
        deny = ["MCP0006"]
        [defaults]
        snapshots = "mcp"
        timeout = "30s"
        drift = "warn"
        live = "ask"
        [servers.github]
        npm = "@modelcontextprotocol/server-github"
        env = { GITHUB_PERSONAL_ACCESS_TOKEN = "${GITHUB_TOKEN}" }
        tools = ["create_issue", "list_*"]
        exclude = ["delete_*"]
        approve = ["merge_*"]
        prefix = false
        connect_timeout = "2m"
        isolation = { home = "temp", network = "none", read = ["/srv"] }
        [servers.github.rust]
        derive = ["Eq"]
        rename = { create_issue = "open_issue" }
        setters = true
        [servers.github.drift]
        mode = "deny"
        class = { MCPD0012 = "source" }
        accept = [{ rule = "MCPD0012", tool = "create_issue", at = "/inputSchema", until = "2027-01-01", reason = "r" }]
        [servers.remote]
        url = "https://mcp.example.com/mcp"
        headers = { Authorization = "Bearer ${API_KEY}" }
        transport = "sse"
        hosted = true
        drift = "ignore"
        ca = "certs/ca.pem"
        client_cert = "${CERT}"
        proxy = "http://proxy.example:3128"
        limit = "10/s"
        [servers.machine]
        url = "https://mcp.example.com/mcp"
        [servers.machine.auth]
        issuer = "https://login.example.com"
        client = "my-agent"
        client_secret = "${CLIENT_SECRET}"
        scopes = ["read"]
        grant = "client_credentials"
        [servers.user]
        url = "https://mcp.example.com/mcp"
        auth = { redirect_port = 8123 }
    "#;
    let mut documents = vec![(design.to_owned(), true), (String::new(), true)];
    for path in ["mcp.toml", "cli/src/commands/init.toml"] {
        documents.push((fs::read_to_string(root().join(path)).expect("the file is there"), true));
    }
    let book = fs::read_to_string(root().join("docs/book/src/configuration.md")).expect("the chapter is there");
    let blocks = book.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    documents.extend(blocks.map(|block| (block.to_owned(), true)));
    for wrong in [
        "deny = [\"MCP1\"]",
        "server = {}",
        "[defaults]\ntimeout = \"30\"",
        "[defaults]\ntimeout = 30",
        "[defaults]\ndrift = \"refuse\"",
        "[servers.a]\nnpm = \"x\"\ntool = []",
        "[servers.a]\nnpm = \"x\"\ntools = \"x\"",
        "[servers.a]\nnpm = \"x\"\nprefix = true",
        "[servers.a]\nnpm = \"x\"\nhosted = \"yes\"",
        "[servers.a]\nnpm = \"x\"\nisolation = { home = \"none\" }",
        "[servers.a]\nnpm = \"x\"\nrust = { setters = 1 }",
        "[servers.a]\nnpm = \"x\"\ndrift = { mode = \"allow\" }",
        "[servers.a]\nnpm = \"x\"\ndrift = { accept = [{ rule = \"MCPD9999\", reason = \"r\" }] }",
        "[servers.a]\nnpm = \"x\"\ntransport = \"ws\"",
        "[servers.a]\nnpm = \"x\"\nlimit = \"10\"",
        "[servers.a]\nnpm = \"x\"\nlimit = \"0/s\"",
        "[servers.a]\nurl = \"https://x\"\nauth = { redirect_port = 0 }",
        "[servers.a]\nurl = \"https://x\"\nauth = { grant = \"password\" }",
        "[servers.a]\nurl = \"https://x\"\nauth = { scope = [] }",
    ] {
        documents.push((wrong.to_owned(), false));
    }
    for (document, is_right) in &documents {
        let read = Config::parse_toml(document, "mcp.toml".as_ref());
        assert_eq!(read.is_ok(), *is_right, "{read:?}\n{document}");
        let value: Value = toml::from_str(document).expect("it is TOML");
        assert_eq!(validator.is_valid(&value), *is_right, "{document}");
    }
    println!("{} documents", documents.len());
    assert!(documents.len() > 18);
}
