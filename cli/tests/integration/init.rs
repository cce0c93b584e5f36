//! `init`: what is there is kept, and what is in force stays so.

use crate::common;

use std::fs;

use common::{Project, Run};

fn init_in(project: &Project, folder: &str) -> Run {
    fs::create_dir_all(project.path(folder)).unwrap();
    let output = project.command().current_dir(project.path(folder)).args(["init", "--no-dependency"]).output();
    Run::of(&output.unwrap()).exits_with(0)
}

#[test]
fn init_preserves_an_existing_configuration() {
    let project = Project::new("[servers.fx]\ncommand = \"SERVER\"\n");
    let kept = init_in(&project, "sub");
    assert!(kept.stderr.contains("Kept ") && !project.path("sub/mcp.toml").exists(), "{}", kept.stderr);

    let hosts = Project::empty();
    hosts.write(".mcp.json", r#"{ "mcpServers": { "x": { "command": "y" } } }"#);
    init_in(&hosts, "").says("Kept .mcp.json").says("Next mcp-bindgen import --from .mcp.json");
    assert!(!hosts.path("mcp.toml").exists() && hosts.path("mcp").is_dir());

    let workspace = Project::empty();
    workspace.write("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n");
    workspace.write("a/Cargo.toml", "[package]\nname = \"a\"\nedition = \"2024\"\n");
    workspace.write("a/src/lib.rs", "");
    workspace.write("a/mcp.toml", "# the member's\n");
    init_in(&workspace, "a").says("Kept mcp.toml");
    assert!(!workspace.path("mcp.toml").exists() && workspace.path("a/mcp").is_dir());
    fs::remove_file(workspace.path("a/mcp.toml")).unwrap();
    init_in(&workspace, "a");
    assert!(workspace.path("mcp.toml").exists());
}

#[test]
fn init_writes_the_schema_of_the_configuration() {
    let project = Project::empty();
    init_in(&project, "").says("Wrote mcp.schema.json");
    assert!(project.read("mcp.toml").starts_with("#:schema ./mcp.schema.json\n"));
    let schema = project.read("mcp.schema.json");
    assert_eq!(schema, format!("{:#}\n", mcp_bindgen_model::config_schema()));
    init_in(&project, "").says("Kept mcp.toml").says("Kept mcp.schema.json");
    // That of an older version is replaced.
    project.write("mcp.schema.json", "{}\n");
    init_in(&project, "").says("Wrote mcp.schema.json");
    assert_eq!(project.read("mcp.schema.json"), schema);

    let hosts = Project::empty();
    hosts.write(".mcp.json", r#"{ "mcpServers": { "x": { "command": "y" } } }"#);
    init_in(&hosts, "");
    assert!(!hosts.path("mcp.schema.json").exists());
}

#[test]
fn git_attributes_cover_the_snapshot_folder() {
    let project = Project::empty();
    project.write("mcp.toml", "[defaults]\nsnapshots = \"my snaps\"\n");
    let other = "# not \"my snaps/*.json\" text eol=lf\r\n*.png binary";
    project.write(".gitattributes", other);
    init_in(&project, "");
    let rule = "\"my snaps/*.json\" text eol=lf";
    assert_eq!(project.read(".gitattributes"), format!("{other}\r\n{rule}\r\n"));
    assert!(project.path("my snaps").is_dir() && !project.path("mcp").exists());
    init_in(&project, "").says("Kept .gitattributes");
    for (folder, rule) in [(".", Some("/*.json text eol=lf\n")), ("../elsewhere", None)] {
        let project = Project::empty();
        project.write("sub/mcp.toml", &format!("[defaults]\nsnapshots = \"{folder}\"\n"));
        init_in(&project, "sub");
        assert_eq!(fs::read_to_string(project.path("sub/.gitattributes")).ok().as_deref(), rule);
    }

    let project = Project::empty();
    mcp_bindgen_model::write_if_changed(&project.path(".gitattributes"), b"\xff").unwrap();
    project.run(&["init"]).exits_with(1).says("the file is not UTF-8 text").says(" --> .gitattributes:1:1");
    assert!(!project.path("mcp.toml").exists(), "nothing is half done");
}

#[test]
fn init_options_apply_or_are_refused() {
    let project = Project::empty();
    project.run(&["init", "--config", "x.json"]).exits_with(2).says("belongs to another program");
    project.run(&["init", "--path", "/nonexistent"]).exits_with(2).says("no crate found");
    assert_eq!(fs::read_dir(project.path("")).unwrap().count(), 0);

    let library = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    project.write("Cargo.toml", "[package]\nname = \"app\"\nedition = \"2024\"\n\n[workspace]\n");
    project.write("src/lib.rs", "");
    let quiet = project.run(&["init", "-q", "--path", library]).exits_with(0);
    assert_eq!(quiet.stderr, "");
    let manifest = project.read("Cargo.toml");
    project.write("Cargo.toml", &manifest.replace("mcp-bindgen = { ", "mcp = { package = \"mcp-bindgen\", "));
    let renamed = project.read("Cargo.toml");
    assert_ne!(renamed, manifest);
    // It is the dependency that was asked for.
    let kept = project.run(&["init", "--path", library]).exits_with(0).says("Kept the dependency `mcp`");
    assert!(!kept.stderr.contains("warning"), "{}", kept.stderr);
    let other = project.run(&["init", "--path", "other"]).exits_with(0).says("Kept the dependency `mcp`");
    other.says(
        "warning: `--path` was not used\n  = help: in the crate that calls tools, `cargo add mcp-bindgen --path other`",
    );
    assert_eq!(project.read("Cargo.toml"), renamed);
}

#[test]
#[cfg(unix)]
fn signal_to_init_also_ends_cargo() {
    use std::process::{Command, Stdio};
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    let project = Project::empty();
    let manifest = "[package]\nname = \"app\"\nedition = \"2024\"\n\n[workspace]\n";
    project.write("app/Cargo.toml", manifest);
    let waits = "touch ../started\nsleep 1\necho '# added' >> Cargo.toml";
    project.write_program("cargo", &format!("case \"$*\" in add*)\n{waits};; esac\n"));
    let mut command = project.command();
    command.current_dir(project.path("app")).env("CARGO", project.path("cargo")).arg("init").stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    while !project.path("started").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "cargo was not run");
        sleep(Duration::from_millis(10));
    }
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(143));
    sleep(Duration::from_millis(1500));
    assert_eq!(project.read("app/Cargo.toml"), manifest);
    assert!(!project.path("app/mcp.toml").exists());
}

#[test]
#[cfg(unix)]
fn failed_cargo_add_suggests_a_path_and_says_what_was_written() {
    let said = "error: the crate `mcp-bindgen` could not be found in registry index.";
    for (changes, note) in [
        ("", "= note: nothing was written\n"),
        ("echo '# added' >> Cargo.toml\n", "= note: cargo changed Cargo.toml; nothing else was written\n"),
    ] {
        let project = Project::empty();
        project.write("app/Cargo.toml", "[package]\nname = \"app\"\nedition = \"2024\"\n\n[workspace]\n");
        let added = format!("echo \"$*\" >> ../added\necho \"{}\" >&2\n{changes}exit 101", said.replace('`', "\\`"));
        project.write_program("cargo", &format!("case \"$*\" in add*)\n{added};; esac\n"));
        let mut command = project.command();
        command.current_dir(project.path("app")).env("CARGO", project.path("cargo")).arg("init");
        let run = Run::of(&command.output().unwrap()).exits_with(1);
        let run = run.says(said).says("cargo failed to add `mcp-bindgen`: its error is on stderr");
        run.says("= help: if no registry has it, use `--path PATH`").says(note);
        assert_eq!(project.read("added"), "add mcp-bindgen\n");
        let names: Vec<_> =
            fs::read_dir(project.path("app")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["Cargo.toml"], "{names:?}");
    }
    let help = Project::empty().run(&["init", "--help"]).exits_with(0).stdout;
    assert!(help.contains("--path <PATH>") && help.contains("such as a clone of its repository"), "{help}");
}
