//! The table `[servers.x.drift]`: reading it, printing it, and the errors in it.
#![allow(clippy::unwrap_used)]

use mcp_bindgen_model::{Acceptance, ChangeKind, Class, Config, Date, Drift, DriftRules, ServerConfig};

const TABLE: &str = r#"
[servers.hub]
command = "hub"

[servers.hub.drift]
mode = "deny"
class = { MCPD0006 = "breaking" }
accept = [
    { rule = "MCPD0012", tool = "create_*", at = "/inputSchema/properties/title", until = "2027-01-31", reason = "every caller sends it" },
    { rule = "MCPD0002", reason = "no caller is left" },
]
"#;

fn hub(text: &str) -> ServerConfig {
    Config::parse_toml(text, "mcp.toml".as_ref()).unwrap().servers["hub"].clone()
}

#[track_caller]
fn refuses(table: &str, expected: &str) {
    let text = format!("[servers.hub]\ncommand = \"hub\"\n[servers.hub.drift]\n{table}\n");
    let error = Config::parse_toml(&text, "mcp.toml".as_ref()).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn drift_table_has_mode_classes_and_accepted_changes() {
    let server = hub(TABLE);
    let title = Acceptance::new(ChangeKind::NowRequired, "every caller sends it")
        .tool("create_*")
        .at("/inputSchema/properties/title")
        .until(Date::parse("2027-01-31").unwrap());
    let rules = DriftRules::default()
        .accept(title)
        .accept(Acceptance::new(ChangeKind::ToolRemoved, "no caller is left"))
        .class(ChangeKind::Hints, Class::Breaking);
    assert_eq!((server.drift, &server.drift_rules), (Some(Drift::Deny), &rules));
    assert_eq!(server.drift_rules.accept[1].place.position, Some((10, 5)));
    // A table without `mode` leaves the mode to `[defaults]`.
    let text = TABLE.replace("mode = \"deny\"\n", "");
    assert_eq!((hub(&text).drift, hub(&text).drift_rules), (None, rules));
}

#[test]
fn drift_table_round_trips() {
    let server = hub(TABLE);
    let json = serde_json::json!({ "mcpServers": { "hub": server.to_json() } }).to_string();
    let read = Config::parse_mcp_json(&json, ".mcp.json".as_ref()).unwrap().servers["hub"].clone();
    assert_eq!((read.drift, read.drift_rules), (server.drift, server.drift_rules));
    let word = hub("[servers.hub]\ncommand = \"hub\"\ndrift = \"warn\"\n").to_json();
    assert_eq!(word["drift"], "warn");
}

#[test]
fn acceptance_covers_its_pointer_and_those_below() {
    let accepted = Acceptance::new(ChangeKind::NowRequired, "x").tool("create_*").at("/inputSchema/properties/title");
    let covers = |tool: &str, pointer: &str| accepted.covers(ChangeKind::NowRequired, tool, pointer);
    assert!(covers("create_issue", "/inputSchema/properties/title"));
    assert!(covers("create_issue", "/inputSchema/properties/title/items"));
    assert!(!covers("create_issue", "/inputSchema/properties/titles"));
    assert!(!covers("create_issue", "/inputSchema/properties"));
    assert!(!covers("find", "/inputSchema/properties/title"));
    assert!(!accepted.covers(ChangeKind::ToolRemoved, "create_issue", "/inputSchema/properties/title"));
    // A glob never matches the server itself.
    assert!(!Acceptance::new(ChangeKind::ServerInfo, "x").tool("*").covers(ChangeKind::ServerInfo, "", "/serverInfo"));
    assert!(Acceptance::new(ChangeKind::ServerInfo, "x").covers(ChangeKind::ServerInfo, "", "/serverInfo"));
}

#[test]
fn acceptance_holds_through_its_last_day() {
    let day = |text| Date::parse(text).unwrap();
    let rules = DriftRules::default().accept(Acceptance::new(ChangeKind::ToolRemoved, "x").until(day("2027-01-31")));
    let on = |text| rules.accepted(ChangeKind::ToolRemoved, "find", "", day(text)).is_some();
    assert!(on("2027-01-30") && on("2027-01-31") && !on("2027-02-01"));
}

#[test]
fn null_in_an_accepted_change_is_refused() {
    for key in ["rule", "tool", "at", "until", "reason"] {
        let mut accepted = serde_json::json!({ "rule": "MCPD0012", "reason": "x" });
        accepted[key] = serde_json::Value::Null;
        let server = serde_json::json!({ "command": "hub", "drift": { "accept": [accepted] } });
        let error = ServerConfig::from_json("hub", &server).map(|server| server.drift_rules).unwrap_err().to_string();
        let expected =
            format!("`{key}` in an element of `accept` in `drift` of server `hub` must be a string, not null");
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[test]
fn errors_are_reported_at_their_line() {
    let element = "an element of `accept` in `drift` of server `hub`";
    for (table, expected) in [
        (
            "accept = [{ rule = \"MCPD0099\", reason = \"x\" }]",
            "unknown rule `MCPD0099`\n --> mcp.toml:4:20\n  = help: did you mean `MCPD0009`?".to_owned(),
        ),
        (
            "accept = [{ rule = \"required\", reason = \"x\" }]",
            "unknown rule `required`\n --> mcp.toml:4:20\n  = help: expected an id such as `MCPD0012`; `check` prints them, and the book lists them"
                .to_owned(),
        ),
        (
            "accept = [{ rule = \"MCPD0012\" }]",
            format!("{element} has no `reason`\n --> mcp.toml:4:11\n  = help: add the reason for reviewers: `reason = \"..\"`"),
        ),
        (
            "accept = [{ reason = \"x\" }]",
            format!("{element} has no `rule`\n --> mcp.toml:4:11\n  = help: add the id that `check` prints: `rule = \"MCPD0012\"`"),
        ),
        (
            "accept = [{ rule = \"MCPD0012\", until = \"2027-02-30\", reason = \"x\" }]",
            format!("`until` in {element} is not a date\n --> mcp.toml:4:40\n  = help: write it as `\"2027-01-31\"`"),
        ),
        (
            "accept = [{ rule = \"MCPD0012\", until = 2027-01-31, reason = \"x\" }]",
            format!("`until` in {element} must be a string, not a date\n --> mcp.toml:4:40\n  = help: write it as `\"2027-01-31\"`"),
        ),
        (
            "accept = [{ rule = \"MCPD0012\", at = \"inputSchema\", reason = \"x\" }]",
            format!(
                "`at` in {element} is not a JSON pointer\n --> mcp.toml:4:37\n  = help: start it with `/`, as `check` prints it"
            ),
        ),
        (
            "class = { MCPD0012 = \"harmless\" }",
            "`MCPD0012` in `class` in `drift` of server `hub` has an invalid value\n --> mcp.toml:4:22\n  = help: expected `breaking`, `silent`, `source`, `compatible`, `wording`"
                .to_owned(),
        ),
        (
            "accepts = []",
            "unknown key `accepts` in `drift` of server `hub`\n --> mcp.toml:4:1\n  = help: did you mean `accept`?".to_owned(),
        ),
    ] {
        refuses(table, &expected);
    }
}
