//! `init`, `add`, `import`, `remove`, `rename` and `set`.

use crate::session::Session;

#[test]
fn init_matches_its_golden() {
    let mut session = Session::empty();
    session.run("init").exits_with(0);
    session.show("mcp.toml");
    session.show(".gitattributes");
    session.runs(&[(0, "init"), (0, "init --config sub/mcp.toml --format json"), (2, "init --no-dependency --path .")]);
    session.project.write("Cargo.toml", "[package\n");
    session.runs(&[(1, "init"), (1, "init --format json")]);
    session.matches("init");
}

#[test]
fn add_matches_its_golden() {
    let mut session = Session::empty();
    session.runs(&[
        (0, "add desk --command SERVER --tools add,list_*"),
        (1, "add desk --command SERVER"),
        (0, "add offers --command SERVER --format json -- --offers"),
        (5, "add gone --command ./no-such-program"),
        (5, "add gone --command ./no-such-program --format json"),
        (0, "add gone --command ./no-such-program --env LEVEL --no-sync"),
        (0, "add far --url https://mcp.example.com/mcp --no-sync --format json"),
    ]);
    session.show("mcp.toml");
    session.runs(&[
        (2, "add docs"),
        (2, "add Docs --npm docs"),
        (2, "add docs --npm docs --header 'A: b'"),
        (2, "add docs --npm docs --env API_KEY=hunter2-hunter2"),
        (2, "add docs --npm docs --env API_KEY=hunter2-hunter2 --format json"),
        (1, "add docs --command SERVER --tools no_such_*"),
    ]);
    session.matches("add");
}

const SERVERS: &str = "[servers.desk]\ncommand = \"SERVER\"\n\n[servers.hub] # ours\ncommand = \"SERVER\"\n";

#[test]
fn remove_matches_its_golden() {
    let mut session = Session::new(SERVERS);
    session.ended("sync").exits_with(0);
    session.runs(&[
        (2, "remove desk"),
        (2, "remove desk --format json"),
        (0, "remove desk --yes"),
        (1, "remove desk --yes"),
        (0, "remove hub --yes --format json"),
    ]);
    session.show("mcp.toml");
    session.matches("remove");
}

#[test]
fn rename_matches_its_golden() {
    let mut session = Session::new(SERVERS);
    session.ended("sync").exits_with(0);
    session.runs(&[(0, "rename hub office"), (0, "rename office files --format json")]);
    session.show("mcp.toml");
    session.runs(&[(1, "rename files desk"), (1, "rename files desk --format json"), (2, "rename files Files")]);
    session.matches("rename");
}

#[test]
fn set_matches_its_golden() {
    let mut session = Session::new(SERVERS);
    session.runs(&[
        (0, "set hub timeout=60s 'tools=[\"list_*\"]' 'env.TOKEN=${TOKEN}'"),
        (0, "set hub timeout=60s --unset tools --format json"),
        (0, "set hub timeout=60s"),
    ]);
    session.show("mcp.toml");
    session.runs(&[
        (1, "set hub timeout=sixty"),
        (1, "set hub timeout=sixty --format json"),
        (2, "set hub env.API_KEY=hunter2-hunter2"),
        (1, "set hub --unset exclude"),
    ]);
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
    session.runs(&[
        (2, "import"),
        (2, "import --format json"),
        (0, "import docs --dry-run"),
        (0, "import docs"),
        (0, "import --all --from cursor"),
        (0, "import --all --from cursor --format json"),
    ]);
    session.show("mcp.toml");
    session.runs(&[
        (2, "import dox --from cursor"),
        (2, "import --from emacs"),
        (1, "import --from broken.json"),
        (1, "import --from broken.json --format json"),
    ]);
    session.matches("import");
}
