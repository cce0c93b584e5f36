//! `remove`, `rename` and `set`: what becomes of the files of a server.

use crate::common::{Project, Run};

const CONFIG: &str = "\
# Ours.

# about desk
[servers.desk] # why
command = \"SERVER\"

[servers.desk.rust]
derive = []

[servers.hub]
command = \"SERVER\"
";
const OVERRIDES: &str = "{ \"format\": 1, \"tools\": {\"add\": {\"outputSchema\": {\"type\": \"object\"}}} }";

fn project() -> Project {
    let project = Project::new(CONFIG);
    project.run(&["sync"]).exits_with(0);
    project.write("mcp/desk.overrides.json", OVERRIDES);
    project
}

/// Every file of the project, with its text.
fn files(project: &Project) -> Vec<(String, String)> {
    let names = [
        "mcp.toml",
        "mcp/desk.json",
        "mcp/desk.overrides.json",
        "mcp/hub.json",
        "mcp/office.json",
        "mcp/office.overrides.json",
    ];
    let there = names.into_iter().filter(|name| project.path(name).exists());
    there.map(|name| (name.to_owned(), project.read(name))).collect()
}

/// Runs a command that fails, and changes nothing.
#[track_caller]
fn fails(project: &Project, arguments: &[&str], code: i32) -> Run {
    let before = files(project);
    let run = project.run(arguments).exits_with(code);
    assert_eq!(files(project), before, "{arguments:?}");
    run
}

#[test]
fn remove_deletes_the_table_the_snapshot_and_the_overrides() {
    let project = project();
    let hub = project.read("mcp/hub.json");
    fails(&project, &["remove", "desk"], 2).says("use `--yes` to remove without confirmation");
    project.run(&["remove", "desk", "desk", "--yes"]).exits_with(0).says("Deleted mcp/desk.overrides.json");
    let rest = format!("# Ours.\n\n{}", CONFIG.split_once("derive = []\n\n").unwrap().1);
    let server = crate::common::fixture_server().to_str().unwrap();
    assert_eq!(
        files(&project),
        [("mcp.toml".to_owned(), rest.replace("SERVER", server)), ("mcp/hub.json".to_owned(), hub)]
    );
    project.run(&["check", "--offline"]).exits_with(0);
    fails(&project, &["remove", "desk", "hub", "--yes"], 1).says("unknown server `desk`");
    project.run(&["remove", "hub", "--yes"]).exits_with(0);
    assert_eq!(files(&project), [("mcp.toml".to_owned(), "# Ours.\n".to_owned())]);
}

#[test]
fn remove_deletes_a_server_with_an_invalid_table() {
    let project = Project::new(&format!("[servers.bad]\ncomand = \"x\"\n\n{CONFIG}"));
    project.run(&["list"]).exits_with(1);
    project.run(&["remove", "bad", "--yes"]).exits_with(0);
    project.run(&["list"]).exits_with(1).says("mcp-bindgen sync");
    // A fault elsewhere in the file is shown at its line.
    let project = Project::new(&format!("{CONFIG}\n[servers.bad]\ncomand = \"x\"\n"));
    fails(&project, &["remove", "desk", "--yes"], 1).says(" --> mcp.toml:14:1\n").says("nothing was written");
}

#[test]
fn rename_moves_the_table_the_snapshot_and_the_overrides() {
    let project = project();
    let (config, snapshot, hub) =
        (project.read("mcp.toml"), project.read("mcp/desk.json"), project.read("mcp/hub.json"));
    project.run(&["rename", "desk", "office"]).exits_with(0).says("Moved mcp/desk.json to mcp/office.json");
    let renamed = [
        ("mcp.toml", config.replace("[servers.desk", "[servers.office")),
        ("mcp/hub.json", hub),
        ("mcp/office.json", snapshot.replace("\"server\": \"desk\"", "\"server\": \"office\"")),
        ("mcp/office.overrides.json", OVERRIDES.to_owned()),
    ];
    assert_eq!(files(&project), renamed.map(|(name, text)| (name.to_owned(), text)));
    project.run(&["check", "office"]).exits_with(0);
    project.run(&["rename", "office", "desk"]).exits_with(0);
    assert_eq!((project.read("mcp.toml"), project.read("mcp/desk.json")), (config, snapshot));
}

#[test]
fn joined_tools_follow_renamed_servers() {
    let text = "[servers.eu]\nnpm = \"x\"\n[servers.us]\nnpm = \"x\"\n[tools.search]\nof = [ \"eu/search\", \"us/search\" ] # both\n";
    let project = Project::new(text);
    project.run(&["rename", "eu", "de"]).exits_with(0);
    let renamed = text.replace("servers.eu", "servers.de").replace("\"eu/search", "\"de/search");
    assert_eq!(project.read("mcp.toml"), renamed);
    project.run(&["remove", "us", "--yes"]).exits_with(1).says("tool `search` names the unknown server `us`");
    assert_eq!(project.read("mcp.toml"), renamed);
}

#[test]
fn rename_overwrites_nothing() {
    let project = project();
    fails(&project, &["rename", "desk", "hub"], 1).says("server `hub` already exists");
    let same = fails(&project, &["rename", "desk", "desk"], 1).says("server `desk` already exists");
    assert!(!same.stderr.contains("help"), "{}", same.stderr);
    for name in ["Hub", "-x", &"x".repeat(65)] {
        fails(&project, &["rename", "desk", "--", name], 2)
            .says("beginning with a letter or a digit")
            .says("1 to 64 of");
    }
    fails(&project, &["rename", "dsk", "office"], 1).says("did you mean `desk`?");
    project.write("mcp/office.overrides.json", "{}");
    fails(&project, &["rename", "desk", "office"], 1).says(" --> mcp/office.overrides.json\n");
    // A run that was interrupted goes on.
    project.write("mcp/office.overrides.json", OVERRIDES);
    project.run(&["rename", "desk", "office"]).exits_with(0);
    project.run(&["check", "office"]).exits_with(0);
    // Servers whose names make one module cannot be bound together.
    project.run(&["rename", "office", "a-b"]).exits_with(0);
    fails(&project, &["rename", "hub", "a_b"], 1).says("module");
}

#[test]
fn remove_and_rename_preserve_files_that_are_not_snapshots() {
    let project =
        Project::new("[defaults]\nsnapshots = \".\"\n[servers.package]\nnpm = \"x\"\n[servers.old]\nnpm = \"y\"\n");
    let others = ["package.json", "package.overrides.json", "old.json"];
    // The last is the snapshot of another server.
    let texts = ["{\"name\": \"app\"}", "{\"compilerOptions\": {}}", "{\"server\": \"package\", \"tools\": []}"];
    others.iter().zip(texts).for_each(|(name, text)| project.write(name, text));
    let said = "package.json: not a snapshot of package";
    project.run(&["remove", "package", "--yes"]).exits_with(0).says(said).says("package.overrides.json: not");
    project.run(&["rename", "old", "new"]).exits_with(0).says("old.json: not a snapshot of old");
    assert_eq!(others.map(|name| project.read(name)), texts);
    assert!(!project.path("new.json").exists());
}

#[cfg(unix)]
#[test]
fn rename_refuses_symbolic_links() {
    let project = project();
    std::fs::rename(project.path("mcp/desk.json"), project.path("desk.json")).unwrap();
    for (target, said) in [("../desk.json", "symbolic links are not moved"), ("../gone.json", "broken symbolic link")] {
        std::os::unix::fs::symlink(target, project.path("mcp/desk.json")).unwrap();
        let config = project.read("mcp.toml");
        project.run(&["rename", "desk", "office"]).exits_with(1).says(said).says(" --> mcp/desk.json");
        assert_eq!(project.read("mcp.toml"), config);
        assert!(project.path("mcp/desk.json").is_symlink() && !project.path("mcp/office.json").exists());
        std::fs::remove_file(project.path("mcp/desk.json")).unwrap();
    }
}

#[test]
fn failed_change_of_one_file_undoes_the_others() {
    let project = project();
    std::fs::remove_file(project.path("mcp/desk.overrides.json")).unwrap();
    std::fs::create_dir(project.path("mcp/desk.overrides.json")).unwrap();
    let before = [project.read("mcp.toml"), project.read("mcp/desk.json")];
    for arguments in [&["remove", "desk", "--yes"][..], &["rename", "desk", "office"]] {
        project.run(arguments).exits_with(1).says(" --> mcp/desk.overrides.json");
        assert_eq!([project.read("mcp.toml"), project.read("mcp/desk.json")], before, "{arguments:?}");
        assert!(!project.path("mcp/office.json").exists());
    }
}

#[test]
fn set_changes_the_keys_of_a_server() {
    let project = project();
    let arguments = [
        "set",
        "desk",
        "timeout=60s",
        "tools=[\"add\"]",
        "env.PORT=8080",
        "prefix=false",
        "description=5",
        "--unset",
        "rust",
    ];
    project.run(&arguments).exits_with(0).says("Changed desk in mcp.toml: timeout, tools, env.PORT");
    let server = crate::common::fixture_server().to_str().unwrap();
    let expected = format!(
        "# about desk\n[servers.desk] # why\ncommand = \"{server}\"\ntimeout = \"60s\"\ntools = [\"add\"]\n\
         env = {{ PORT = \"8080\" }}\nprefix = false\ndescription = \"5\"\n\n[servers.hub]\n"
    );
    let written = project.read("mcp.toml");
    assert!(written.contains(&expected), "{written}");
    fails(&project, &arguments, 1).says("server `desk` has no `rust`");
    fails(&project, &["set", "desk", "timeout=60s"], 0).says("Unchanged");
    project
        .run(&["set", "desk", "url=https://mcp.example.com/mcp", "--unset", "command", "--unset", "env"])
        .exits_with(0)
        .says("Next mcp-bindgen sync desk");
}

#[test]
fn set_refuses_invalid_values() {
    let project = project();
    for (arguments, code, said) in [
        (&["timeout=sixty"][..], 1, "`timeout` of server `desk` is not a duration\n --> mcp.toml\n  = help: "),
        (&["timeot=60s"], 1, "unknown key `timeot` in server `desk`\n --> mcp.toml\n  = help: did you mean `timeout`?"),
        (&["hosted=1"], 1, "has `hosted`, which has no effect beside `command`"),
        (&["tools=add"], 1, "`tools` of server `desk` must be an array of strings, not a string"),
        (&["unknown=5"], 1, "`unknown` of server `desk`"),
        (&["--unset", "command"], 1, "has no transport"),
        (&["command.x=1"], 1, "`command` is not a table"),
        (&["hunter2"], 2, "expected `KEY=VALUE`"),
        (&["env.A=1", "env.\"A\"=2"], 2, "duplicate `env"),
        (&["timeout=60s", "--unset", "timeout"], 2, "duplicate `timeout`"),
        (&["--unset", "a b"], 2, "invalid key for `--unset`"),
        (&[], 2, "<KEY=VALUE>..."),
    ] {
        fails(&project, &[&["set", "desk"], arguments].concat(), code).says(said);
    }
    fails(&project, &["set", "none", "timeout=60s"], 1).says("unknown server `none`");
    for secret in ["env.API_KEY=hunter2-hunter2", "args=[\"--token\", \"hunter2-hunter2\"]"] {
        let run = fails(&project, &["set", "desk", secret], 2).says("looks like a secret");
        assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
    }
}

#[test]
fn set_warns_about_patterns_that_match_no_tool() {
    let project = project();
    let run = project.run(&["set", "desk", "tools=[\"nope_*\"]"]).exits_with(0).says("Changed desk");
    run.says("warning: no tool of server `desk` matches `nope_*` in `tools`");
}

#[test]
fn set_refuses_to_replace_a_secret_with_another() {
    let project = Project::new("[servers.a]\nnpm = \"x\"\nenv = { API_TOKEN = \"supersecretvalue1\" }\n");
    fails(&project, &["set", "a", "env.API_TOKEN=anothersecretvalue2"], 2).says("looks like a secret");
    // Other keys can be set as long as it is there.
    project.run(&["set", "a", "timeout=60s"]).exits_with(0);
}

#[test]
fn set_warns_about_values_filled_in_by_a_shell() {
    let project = Project::new("[servers.a]\nnpm = \"x\"\n");
    let mut command = project.command();
    command.args(["set", "a", "env.FOO=abcdefghijkl"]).env("MYVAR", "abcdefghijkl");
    let run = Run::of(&command.output().unwrap()).exits_with(0);
    run.says("warning: `env.FOO` is the current value of `MYVAR`").says("`'env.FOO=${MYVAR}'`");
}

#[test]
fn files_of_other_programs_are_never_written() {
    for (file, code, said) in [(Some(".mcp.json"), 1, "never writes it"), (None, 1, "no mcp.toml or .mcp.json")] {
        let project = Project::empty();
        if let Some(file) = file {
            project.write(file, "{\"mcpServers\": {\"desk\": {\"command\": \"x\"}}}");
        }
        for arguments in [&["remove", "desk", "--yes"][..], &["rename", "desk", "hub"], &["set", "desk", "timeout=60s"]]
        {
            project.run(arguments).exits_with(code).says(said);
            project.run(&[arguments, &["--config", "none.toml"]].concat()).exits_with(1).says("none.toml");
            assert!(!project.path("mcp.toml").exists());
        }
    }
}
