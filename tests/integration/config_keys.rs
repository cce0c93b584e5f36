//! The keys of `mcp.toml`, wherever they are listed: the reader, the JSON Schema for editors, and the book.

use std::fs;
use std::path::Path;

use mcp_bindgen_model::{Config, config_reference, config_schema, write_if_changed};
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

#[test]
fn book_lists_every_key() {
    const BEGIN: &str = "<!-- Generated from the table of keys. -->\n\n";
    const END: &str = "<!-- End. -->\n";
    let path = "docs/book/src/configuration.md";
    let chapter = fs::read_to_string(root().join(path)).expect("the chapter is there");
    let (before, rest) = chapter.split_once(BEGIN).expect("the marks are there");
    let (_, after) = rest.split_once(END).expect("the marks are there");
    is_generated(path, &format!("{before}{BEGIN}{}{END}{after}", config_reference()));
}

#[test]
fn schema_in_the_repository_is_the_current_one() {
    is_generated("mcp.schema.json", &format!("{:#}\n", config_schema()));
}

/// Each document, and whether it is a configuration: for the reader and for the schema.
#[test]
fn schema_and_reader_agree() {
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
