//! `init` and `add`: from an empty folder to a server that is called.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::common;

use std::fs;

use common::{Project, fixture_server};

#[test]
fn invalid_option_error_has_no_line_of_mcp_toml() {
    let project = Project::empty();
    project.write("mcp.toml", "[servers.a]\ncommand = \"x\"\n");
    for (words, said) in [
        (
            ["--url", "127.0.0.1:9/mcp"],
            "error: `--url` is not an http or https URL\n  = help: start it with `https://`\n",
        ),
        (["--npm", " "], "error: `--npm` is empty\n"),
        (["--command", ""], "error: `--command` is empty\n"),
    ] {
        let run = project.run(&[&["add", "z", "--no-sync"][..], &words].concat()).exits_with(2);
        assert_eq!(run.stderr, said);
    }
    assert_eq!(project.read("mcp.toml"), "[servers.a]\ncommand = \"x\"\n");
    // A line that is there is named.
    project.write("mcp.toml", "[servers.a]\nurl = \"x\"\n");
    let run = project.run(&["add", "z", "--npm", "x", "--no-sync"]).exits_with(1);
    run.says("error: `url` of server `a` is not an http or https URL\n --> mcp.toml:2:7\n");
}

#[test]
fn empty_folder_becomes_a_working_project() {
    let project = Project::empty();
    let library = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    project.write("Cargo.toml", "[package]\nname = \"app\"\nedition = \"2024\"\n\n[dependencies]\n\n[workspace]\n");
    project.write("src/main.rs", "fn main() {}\n");
    let init = project
        .run(&["init", "--path", library])
        .exits_with(0)
        .says("     Running cargo add mcp-bindgen --path")
        .says("       Wrote mcp.toml")
        .says("        Made mcp/")
        .says("        Next cargo add tokio --features macros,rt-multi-thread");
    assert!(init.stderr.find("Running").unwrap() < init.stderr.find("Wrote").unwrap(), "{}", init.stderr);
    assert!(project.read("Cargo.toml").contains("mcp-bindgen = "));
    assert_eq!(project.read(".gitattributes"), "mcp/*.json text eol=lf\n");
    // The file that it writes is one that it takes.
    project.run(&["check"]).exits_with(1).says("no servers are configured\n --> mcp.toml");

    let written = project.read("mcp.toml");
    project.write("mcp.toml", "# ours\n");
    let manifest = project.read("Cargo.toml");
    project.write("Cargo.toml", &manifest.replacen("mcp-bindgen =", "tokio = \"1\"\nmcp-bindgen =", 1));
    let again = project.run(&["init", "--path", library]).exits_with(0);
    let again = again.says("Kept mcp.toml").says("Kept the dependency");
    assert!(!again.stderr.contains("Running cargo add"), "{}", again.stderr);
    project.write("Cargo.toml", &manifest);
    assert_eq!(project.read("mcp.toml"), "# ours\n");
    project.write("mcp.toml", &written);

    let server = fixture_server().to_str().unwrap();
    let added = project
        .run(&["add", "fixture", "--command", server, "--env", "FIXTURE_KEY", "--tools", "add,find_*"])
        .exits_with(1);
    assert!(added.stderr.contains("FIXTURE_KEY"), "an unset variable: {}", added.stderr);
    assert_eq!(project.read("mcp.toml"), written, "what fails leaves nothing");
    project
        .run(&["add", "fixture", "--command", server, "--tools", "no_such_*"])
        .exits_with(1)
        .says("matches `no_such_*` in `tools`");
    assert!(!project.path("mcp/fixture.json").exists());

    let added = project
        .run(&["add", "fixture", "--command", server])
        .exits_with(0)
        .says("Added fixture to mcp.toml")
        .says("mcp/fixture.json (10 tools)");
    let lines: Vec<&str> = added.stdout.lines().collect();
    assert_eq!(
        lines[..2],
        ["mcp_bindgen::mcp_tools!(\"fixture\");", "let client = fixture::Fixture::connect().await?;"]
    );
    assert!(project.read("mcp.toml").starts_with(written.trim_end()), "{}", project.read("mcp.toml"));
    project.run(&["check"]).exits_with(0);
    assert!(project.run(&["call", "fixture", "add", "--args", r#"{"a":1,"b":2}"#]).exits_with(0).stdout.contains('3'));
    project.run(&["add", "fixture", "--npm", "x"]).exits_with(1).says("server `fixture` already exists");
}

#[test]
fn failed_add_leaves_no_files() {
    let server = fixture_server().to_str().unwrap();
    let project = Project::empty();
    project.write("mcp.toml", "# ours\n");
    project.write("mcp", "no folder");
    let said = project.run(&["add", "fixture", "--command", server]).exits_with(1).says("mcp/fixture.json");
    assert!(said.stderr.contains("`mcp` is a file, expected a directory"), "{}", said.stderr);
    assert_eq!((project.read("mcp.toml").as_str(), project.read("mcp").as_str()), ("# ours\n", "no folder"));
}

#[cfg(unix)]
#[test]
fn link_to_the_configuration_is_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let project = Project::empty();
    project.write("real/mcp.toml", "# ours\n");
    fs::set_permissions(project.path("real/mcp.toml"), fs::Permissions::from_mode(0o440)).unwrap();
    symlink("real/mcp.toml", project.path("mcp.toml")).unwrap();
    project.run(&["add", "x", "--npm", "pkg", "--no-sync"]).exits_with(0);
    assert!(project.path("mcp.toml").is_symlink());
    assert_eq!(project.read("real/mcp.toml"), "# ours\n\n[servers.x]\nnpm = \"pkg\"\n");
    let mode = fs::metadata(project.path("real/mcp.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o440);

    fs::remove_file(project.path("mcp.toml")).unwrap();
    symlink("gone/mcp.toml", project.path("mcp.toml")).unwrap();
    for command in [&["add", "x", "--npm", "pkg", "--no-sync"][..], &["init", "--no-dependency"]] {
        let config = project.path("mcp.toml");
        let command = [command, &["--config", config.to_str().unwrap()]].concat();
        project.run(&command).exits_with(1).says("mcp.toml");
        assert!(config.is_symlink() && !project.path("gone").exists(), "{command:?}");
    }
}

#[test]
fn values_filled_in_by_a_shell_are_warned_about() {
    let project = Project::empty();
    let run = |name: &str, arguments: &[&str]| {
        let mut command = project.command();
        command.args(["add", name, "--no-sync"]).args(arguments).env("MY_FOLDER", "/srv/of-the-project");
        #[cfg(unix)]
        command.env("NO_TEXT", std::os::unix::ffi::OsStrExt::from_bytes(b"\xff") as &std::ffi::OsStr);
        common::Run::of(&command.output().unwrap()).exits_with(0)
    };
    run("a", &["--npm", "p", "--env", "ROOT=/srv/of-the-project"])
        .says("warning: `ROOT` is the current value of `MY_FOLDER`, and is stored in plain text")
        .says("'ROOT=${MY_FOLDER}'");
    run("b", &["--npm", "p", "--env", "API_KEY="]).says("warning: `API_KEY` has no value").says("${API_KEY}");
    run("c", &["--url", "http://c", "--header", "X-Api-Key: "]).says("warning: `X-Api-Key` has no value");
    let fine = run("d", &["--npm", "p", "--env", "ROOT=${MY_FOLDER}", "--env", "LEVEL=debug", "--env", "API_KEY"]);
    assert!(!fine.stderr.contains("warning"), "{}", fine.stderr);
}

#[test]
fn missing_configuration_error_suggests_the_command() {
    let project = Project::empty();
    project.run(&["list"]).exits_with(1).says("= help: run `mcp-bindgen init` or `mcp-bindgen add`");
    project.run(&["init"]).exits_with(0).says("run `cargo init`, then this command again");
}

#[test]
fn invalid_options_of_add_are_refused() {
    let project = Project::empty();
    for (arguments, said) in [
        (&["add", "Bad Name", "--npm", "x"][..], "invalid server name"),
        (&["add", "x"], "required"),
        (&["add", "x", "--npm", "a", "--url", "http://b"], "cannot be used with"),
        (&["add", "x", "--url", "http://b", "--env", "A=b"], "use `--header`"),
        (&["add", "x", "--npm", "a", "--header", "A: b"], "use `--env` for a child process"),
        (&["add", "x", "--npm", "a", "--env", "API_KEY=hunter2-hunter2"], "looks like a secret"),
        (&["add", "x", "--npm", "a", "--", "--token=ghp_0123456789abcdefghijABCDEFGHIJ012345"], "looks like a secret"),
        (
            &["add", "x", "--npm", "a", "--", "--api-key", "hunter2-hunter2"],
            "the value of `api-key` in `args` looks like a secret",
        ),
        (
            &["add", "x", "--npm", "a", "--", "--api-key", "hunter2-hunter2"],
            "use a placeholder, `'${API_KEY}'`, and set",
        ),
        (
            &["add", "x", "--npm", "a", "--", "--token=ghp_0123456789abcdefghijABCDEFGHIJ012345"],
            "`-- '--token=${SECRET}'`",
        ),
        (&["add", "x", "--url", "http://u:hunter2-hunter2@b/"], "`--url 'http://u:${SECRET}@b/'`"),
        (
            &["add", "x", "--npm", "a", "--tools", "ghp_0123456789abcdefghijABCDEFGHIJ012345"],
            "in `tools` looks like a secret",
        ),
        (&["add", "x", "--npm", "a", "--env", "=1"], "invalid variable name"),
        (&["add", "x", "--npm", "a", "--env", ""], "invalid variable name"),
        (&["add", "x", "--npm", "a", "--env", "A B=1"], "invalid variable name `A B`"),
        (&["add", "x", "--npm", "a", "--env", "A=1", "--env", "A=2"], "duplicate `A`"),
        (&["add", "x", "--npm", "a", "--inherit-env", ""], "invalid variable name ``"),
        (&["add", "x", "--npm", "a", "--inherit-env", "API_KEY=hunter2"], "use `--env API_KEY=VALUE`"),
        (
            &["add", "x", "--npm", "a", "--inherit-env", "ghp_0123456789abcdefghijABCDEFGHIJ012345"],
            "the value of `--inherit-env` looks like a secret",
        ),
        (&["add", "x", "--npm", "a", "--inherit-env", "A", "--inherit-env", "A"], "duplicate `A`"),
        (&["add", "x", "--url", "http://b", "--inherit-env", "A"], "use `--header`"),
        (&["add", "x", "--npm", "a", "--env", "A=1", "--inherit-env", "A"], "set by both `--env` and `--inherit-env`"),
        (&["add", "x", "--npm", "a", "--tools", ""], "expected tool names"),
        (&["add", "x", "--npm", "a", "--tools", "b,"], "expected tool names"),
        (&["add", "x", "--url", "http://b", "--header", ": x"], "invalid header name"),
        (&["add", "x", "--url", "http://b", "--header", "X Y: 1"], "invalid header name `X Y`"),
        (&["add", "x", "--url", "http://b", "--header", "A: 1", "--header", "a: 2"], "duplicate `a`"),
        (&["add", "x", "--url", "http://b", "--header", "hunter2"], "expected `--header NAME: VALUE`"),
        (&["add", "x", "--url", "http://b", "--header", "Authorization: Bearer abcdefghijklmn"], "looks like a secret"),
    ] {
        let run = project.run(arguments).exits_with(2).says(said);
        assert!(!run.stderr.contains("hunter2") && !run.stderr.contains("ghp_"), "{}", run.stderr);
    }
    assert_eq!(fs::read_dir(project.path("")).unwrap().count(), 0);

    let quoted = project
        .command()
        .args(["add", "x", "--npm", "a", "--env", "API_KEY=hunter2-hunter2"])
        .env("MY_KEY", "hunter2-hunter2")
        .output()
        .unwrap();
    let said = String::from_utf8(quoted.stderr).unwrap();
    assert!(said.contains("the shell expanded `MY_KEY`") && !said.contains("hunter2"), "{said}");

    project
        .run(&["add", "gone", "--command", "./no-such-program"])
        .exits_with(5)
        .says("use `--no-sync` to add it without connecting");
    assert_eq!(fs::read_dir(project.path("")).unwrap().count(), 0);
    project
        .run(&["add", "gone", "--command", "./no-such-program", "--env", "API_KEY", "--no-sync", "--", "--verbose"])
        .exits_with(0);
    assert_eq!(
        project.read("mcp.toml"),
        "[servers.gone]\ncommand = \"./no-such-program\"\nargs = [\"--verbose\"]\nenv = { API_KEY = \"${API_KEY}\" }\n"
    );

    let other = Project::empty();
    other.write(".mcp.json", "{\"mcpServers\":{}}");
    other.run(&["add", "x", "--npm", "a", "--no-sync"]).exits_with(1).says("belongs to another program");
}

#[test]
fn inherited_variables_are_written_by_name() {
    let project = Project::empty();
    project
        .run(&["add", "x", "--uvx", "a", "--inherit-env", "HTTPS_PROXY", "--inherit-env", "NO_PROXY", "--no-sync"])
        .exits_with(0);
    assert_eq!(project.read("mcp.toml"), "[servers.x]\nuvx = \"a\"\ninherit_env = [\"HTTPS_PROXY\", \"NO_PROXY\"]\n");
}

#[test]
fn program_path_is_relative_to_the_working_directory() {
    let project = Project::empty();
    project.write("mcp.toml", "[defaults]\n");
    project.write("sub/x", "");
    project.install(fixture_server(), "sub/srv");
    let mut add = project.command();
    add.current_dir(project.path("sub")).args(["add", "s", "--command", "./srv"]);
    common::Run::of(&add.output().unwrap()).exits_with(0);
    assert!(project.read("mcp.toml").contains("command = \"sub/srv\""), "{}", project.read("mcp.toml"));
    project.run(&["check"]).exits_with(0);
}

#[test]
fn mismatched_overrides_are_found_before_anything_is_written() {
    let server = fixture_server().to_str().unwrap();
    let project = Project::empty();
    let overrides = r#"{"format":1,"tools":{"gone":{"outputSchema":{"type":"integer"}}}}"#;
    project.write("mcp/fx.overrides.json", overrides);
    let run = project.run(&["add", "fx", "--command", server]).exits_with(1);
    let run = run.says("unknown tool `gone` in the overrides").says("= note: nothing was written");
    assert!(!run.stderr.contains("Added"), "{}", run.stderr);
    assert!(!project.path("mcp.toml").exists() && !project.path("mcp/fx.json").exists());

    project.write("mcp.toml", "[servers.a-b]\nnpm = \"x\"\n");
    let run = project.run(&["add", "a_b", "--npm", "x", "--no-sync"]).exits_with(1);
    run.says("servers `a-b` and `a_b` have the same module name `a_b`");
    project.write("host.json", r#"{ "mcpServers": { "a_b": { "command": "y" } } }"#);
    let run = project.run(&["import", "--from", "host.json", "--all"]).exits_with(1);
    run.says("have the same module name `a_b`").says("= note: nothing was written");
    project.run(&["import", "--from", "host.json", "a_b=c"]).exits_with(0);
    assert!(!project.read("mcp.toml").contains("a_b"), "{}", project.read("mcp.toml"));
}

#[test]
fn server_named_like_a_crate_does_not_shadow_it() {
    let project = Project::empty();
    let run = project.run(&["add", "std", "--command", fixture_server().to_str().unwrap()]).exits_with(0);
    assert!(run.stdout.contains("std_::Std::connect()"), "{}", run.stdout);
    assert!(project.run(&["expand", "std"]).exits_with(0).stdout.contains("pub mod std_ {"));
}
