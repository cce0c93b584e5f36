//! `import`: of what is written out, the secrets are replaced and nothing else.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::Project;

#[test]
fn text_around_a_secret_is_preserved() {
    let project = Project::empty();
    let servers = r#"{ "mcpServers": {
        "u": { "url": "https://h.example/x/mcp?api_key=0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9&profile=aa" },
        "a": { "command": "x", "args": ["--api_key=abcdef1234567890"] },
        "o": { "command": "x", "env": { "OPTS": "--token=tttt1234tttt --verbose --mode fast" } },
        "s": { "command": "bash", "args": ["-lc", "export API_KEY=k1234kkk; cd /srv && ./run"] },
        "p": { "command": "x", "env": { "OPTS": "--passphrase=correct horse" } },
        "d": { "command": "x", "description": "use password=hunter22222 here" }
    } }"#;
    project.write("h.json", servers);
    let run = project.run(&["import", "--from", "h.json", "--all"]).exits_with(0);
    let config = project.read("mcp.toml");
    for line in [
        "url = \"https://h.example/x/mcp?api_key=${U_API_KEY}&profile=aa\"",
        "args = [\"--api_key=${A_API_KEY}\"]",
        "\"--token=${O_TOKEN} --verbose --mode fast\"",
        "args = [\"-lc\", \"export API_KEY=${S_API_KEY}; cd /srv && ./run\"]",
        "\"--passphrase=${P_PASSPHRASE}\"",
        "description = \"use password=.. here\"",
    ] {
        assert!(config.contains(line), "not written: {line}\n{config}");
    }
    // The command reports a likely secret whose extent is unclear.
    let run = run.says("the plain text in env `OPTS` after `passphrase`, to its end");
    let run = run.says("a likely secret in `description` was not imported");
    assert!(!run.stderr.contains("D_PASSWORD"), "{}", run.stderr);
    // The library finds neither a secret nor a part of one in the written configuration.
    let read = mcp_bindgen_model::Config::parse_toml(&config, "mcp.toml".as_ref()).unwrap();
    assert!(read.warnings.is_empty(), "{:?}", read.warnings);
}

#[test]
fn suggested_command_can_be_typed() {
    let project = Project::empty();
    project.write("h.json", r#"{ "mcpServers": { "weird\u001b[31m": { "command": "x" } } }"#);
    let run = project.run(&["import", "--from", "h.json"]).exits_with(2);
    let line = run.stderr.lines().find_map(|line| line.split_once("mcp-bindgen import ")).unwrap().1;
    let words: Vec<&str> = line.split(' ').collect();
    project.run(&[&["import"], &words[..]].concat()).exits_with(0).says("Imported");
}
