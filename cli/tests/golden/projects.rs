//! `init`, `add`, `import`, `remove`, `rename` and `set`.

use crate::session::Session;

#[test]
fn init_matches_its_golden() {
    let mut session = Session::empty();
    session.run("init").exits_with(0);
    session.show("mcp.toml");
    session.show(".gitattributes");
    session.run("init").exits_with(0);
    session.run("init --config sub/mcp.toml --format json").exits_with(0);
    session.run("init --no-dependency --path .").exits_with(2);
    session.project.write("Cargo.toml", "[package\n");
    session.run("init").exits_with(1);
    session.run("init --format json").exits_with(1);
    session.matches("init");
}

#[test]
fn add_matches_its_golden() {
    let mut session = Session::empty();
    session.run("add desk --command SERVER --tools add,list_*").exits_with(0);
    session.run("add desk --command SERVER").exits_with(1);
    session.run("add offers --command SERVER --format json -- --offers").exits_with(0);
    session.run("add gone --command ./no-such-program").exits_with(5);
    session.run("add gone --command ./no-such-program --format json").exits_with(5);
    session.run("add gone --command ./no-such-program --env LEVEL --no-sync").exits_with(0);
    session.run("add far --url https://mcp.example.com/mcp --no-sync --format json").exits_with(0);
    session.show("mcp.toml");
    session.run("add docs").exits_with(2);
    session.run("add Docs --npm docs").exits_with(2);
    session.run("add docs --npm docs --header 'A: b'").exits_with(2);
    session.run("add docs --npm docs --env API_KEY=hunter2-hunter2").exits_with(2);
    session.run("add docs --npm docs --env API_KEY=hunter2-hunter2 --format json").exits_with(2);
    session.run("add docs --command SERVER --tools no_such_*").exits_with(1);
    session.matches("add");
}

const SERVERS: &str = "[servers.desk]\ncommand = \"SERVER\"\n\n[servers.hub] # ours\ncommand = \"SERVER\"\n";

#[test]
fn remove_matches_its_golden() {
    let mut session = Session::new(SERVERS);
    session.ended("sync").exits_with(0);
    session.run("remove desk").exits_with(2);
    session.run("remove desk --format json").exits_with(2);
    session.run("remove desk --yes").exits_with(0);
    session.run("remove desk --yes").exits_with(1);
    session.run("remove hub --yes --format json").exits_with(0);
    session.show("mcp.toml");
    session.matches("remove");
}

#[test]
fn rename_matches_its_golden() {
    let mut session = Session::new(SERVERS);
    session.ended("sync").exits_with(0);
    session.run("rename hub office").exits_with(0);
    session.run("rename office files --format json").exits_with(0);
    session.show("mcp.toml");
    session.run("rename files desk").exits_with(1);
    session.run("rename files desk --format json").exits_with(1);
    session.run("rename files Files").exits_with(2);
    session.matches("rename");
}

#[test]
fn set_matches_its_golden() {
    let mut session = Session::new(SERVERS);
    session.run("set hub timeout=60s 'tools=[\"list_*\"]' 'env.TOKEN=${TOKEN}'").exits_with(0);
    session.run("set hub timeout=60s --unset tools --format json").exits_with(0);
    session.run("set hub timeout=60s").exits_with(0);
    session.show("mcp.toml");
    session.run("set hub timeout=sixty").exits_with(1);
    session.run("set hub timeout=sixty --format json").exits_with(1);
    session.run("set hub env.API_KEY=hunter2-hunter2").exits_with(2);
    session.run("set hub --unset exclude").exits_with(1);
    session.matches("set");
}

const CURSOR: &str = r#"{
  // Of a user.
  "mcpServers": {
    "Git Hub": { "command": "npx", "args": ["-y", "@x/github"], "env": { "GITHUB_TOKEN": "hunter2-hunter2-hunter2" } },
    "docs": { "url": "https://docs.example.com/mcp" }
  }
}
"#;

#[test]
fn import_matches_its_golden() {
    let mut session = Session::empty();
    session.project.write("home/.cursor/mcp.json", CURSOR);
    session.project.write("broken.json", "{ \"mcpServers\": {\n");
    session.run("import").exits_with(2);
    session.run("import --format json").exits_with(2);
    session.run("import docs --dry-run").exits_with(0);
    session.run("import docs").exits_with(0);
    session.run("import --all --from cursor").exits_with(0);
    session.run("import --all --from cursor --format json").exits_with(0);
    session.show("mcp.toml");
    session.run("import dox --from cursor").exits_with(2);
    session.run("import --from emacs").exits_with(2);
    session.run("import --from broken.json").exits_with(1);
    session.run("import --from broken.json --format json").exits_with(1);
    session.matches("import");
}
