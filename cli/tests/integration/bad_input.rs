//! Tests faults outside of the program: missing, broken and read-only files, and servers that send odd data. Each
//! gives a clear error with its place and the next step, or a sane result. No command stops half-way.

use std::fs;
use std::process::Command;

use crate::common::{Project, Run, fixture_server};
use serde_json::{Value, json};

const SERVER: &str = "[servers.s]\ncommand = \"SERVER\"\n";
const ADD: [&str; 5] = ["add", "x", "--npm", "x", "--no-sync"];

/// Every file below the project, with what it says.
fn files(project: &Project) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![project.path("")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push((path.display().to_string(), fs::read(&path).unwrap_or_default())),
            }
        }
    }
    files.sort();
    files
}

/// That each command fails with this, and changes nothing.
#[track_caller]
fn refused(project: &Project, commands: &[&[&str]], said: &[&str]) {
    let before = files(project);
    for command in commands {
        let run = project.run(command).exits_with(1);
        assert!(run.stderr.starts_with("error: ") || run.stderr.contains("\nerror: "), "{command:?}: {}", run.stderr);
        said.iter()
            .for_each(|said| assert!(run.stderr.contains(said), "{command:?}: not said: {said}\n{}", run.stderr));
        assert_eq!(files(project), before, "{command:?}");
    }
}

const READERS: &[&[&str]] =
    &[&["check"], &["sync"], &["list"], &["check", "--offline"], &["expand", "s"], &["call", "s", "t"]];

#[test]
fn duplicate_server_names_are_an_error() {
    let project = Project::empty();
    project.write("mcp.toml", "[servers.s]\nnpm = \"x\"\n\n[servers.s]\nnpm = \"y\"\n");
    refused(&project, READERS, &["duplicate key `s`\n --> mcp.toml:4:10\n"]);
    refused(&project, &[&ADD], &["duplicate key `s`\n --> mcp.toml:4:10\n"]);
    project.write("hosts.json", r#"{"mcpServers": {"s": {"command": "x"}, "s": {"command": "y"}}}"#);
    refused(&project, &[&["--config", "hosts.json", "list"]], &["duplicate key `s`\n --> hosts.json:1:"]);
    fs::remove_file(project.path("mcp.toml")).unwrap();
    // The program that the file is of takes the last one, and so does whoever imports it.
    let import = project.run(&["import", "--from", "hosts.json", "--all"]).exits_with(0);
    assert!(import.stderr.contains("hosts.json: duplicate key `s`: the last one is used"), "{}", import.stderr);
    assert_eq!(project.read("mcp.toml"), "[servers.s]\ncommand = \"y\"\n");
    // Added again, and imported under a name that is taken.
    refused(
        &project,
        &[&["add", "s", "--npm", "x", "--no-sync"]],
        &["server `s` already exists\n --> mcp.toml\n  = help: "],
    );
    project.write("hosts.json", r#"{"mcpServers": {"s": {"command": "z"}}}"#);
    refused(
        &project,
        &[&["import", "--from", "hosts.json", "--all"]],
        &["already has other servers with these names: `s`", "`s=NAME`", "nothing was written"],
    );
}

#[test]
fn configuration_that_is_a_directory_is_an_error() {
    let project = Project::empty();
    fs::create_dir_all(project.path("sub/mcp.toml")).unwrap();
    // One further up is not what is meant.
    project.write("mcp.toml", "[servers.s]\nnpm = \"x\"\n");
    for command in READERS.iter().chain([&&ADD[..]]) {
        let output = project.command().current_dir(project.path("sub")).args(*command).output().unwrap();
        Run::of(&output)
            .exits_with(1)
            .says("error: expected a file, found a directory\n --> mcp.toml\n  = help: move it, or specify");
    }
    refused(
        &project,
        &[&["--config", "sub/mcp.toml", "list"]],
        &["expected a file, found a directory\n --> sub/mcp.toml"],
    );
    let init = project.command().current_dir(project.path("sub")).args(["init", "--no-dependency"]).output().unwrap();
    Run::of(&init).exits_with(1).says("expected a file, found a directory\n --> mcp.toml\n");
    assert!(!project.path("sub/.gitattributes").exists(), "nothing is half done");
}

#[test]
fn configuration_in_a_parent_folder_is_found() {
    let project = Project::new(SERVER);
    fs::create_dir_all(project.path("a/b")).unwrap();
    let below =
        |words: &[&str]| Run::of(&project.command().current_dir(project.path("a/b")).args(words).output().unwrap());
    below(&["sync"]).exits_with(0);
    below(&["check"]).exits_with(0);
    below(&ADD).exits_with(0);
    assert!(project.path("mcp/s.json").is_file() && project.read("mcp.toml").contains("[servers.x]"));
    assert_eq!(fs::read_dir(project.path("a/b")).unwrap().count(), 0);
}

#[test]
fn text_encodings_of_other_editors_are_read_and_preserved() {
    let project = Project::new("\u{feff}[servers.s]\r\ncommand = \"SERVER\"\r\n");
    project.run(&["sync"]).exits_with(0);
    project.run(&["check"]).exits_with(0);
    let before = project.read("mcp.toml");
    project.run(&ADD).exits_with(0);
    assert_eq!(project.read("mcp.toml"), format!("{before}\r\n[servers.x]\r\nnpm = \"x\"\r\n"));

    let project = Project::empty();
    fs::write(project.path("mcp.toml"), b"# caf\xe9\n[servers.s]\nnpm = \"x\"\n").unwrap();
    refused(&project, READERS, &["error: the file is not UTF-8 text\n --> mcp.toml:1:6\n"]);
    refused(&project, &[&ADD, &["init", "--no-dependency"]], &["the file is not UTF-8 text\n --> mcp.toml:1:6\n"]);

    // The error does not repeat text that cannot be parsed, because it may contain a secret.
    project.write("mcp.toml", "[servers.s]\nenv = { TOKEN = \"hunter2-hunter2\"\n");
    for command in READERS.iter().chain([&&ADD[..]]) {
        let run = project.run(command).exits_with(1).says("error: not valid TOML: ").says("\n --> mcp.toml:2:");
        assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
    }

    project.write("mcp.toml", "");
    refused(
        &project,
        &READERS[..4],
        &["no servers are configured\n --> mcp.toml\n  = help: run `mcp-bindgen add NAME --npm PACKAGE`"],
    );
    project.run(&["expand", "s"]).exits_with(1).says("unknown server `s`");
    project.run(&["doctor"]).exits_with(0);
    project.run(&ADD).exits_with(0);
    assert_eq!(project.read("mcp.toml"), "[servers.x]\nnpm = \"x\"\n");
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_followed_and_preserved() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let project = Project::new(SERVER);
    project.write("shared/ours.toml", &project.read("mcp.toml"));
    project.write("shared/snapshots/kept", "");
    fs::set_permissions(project.path("shared/ours.toml"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::remove_file(project.path("mcp.toml")).unwrap();
    symlink("shared/ours.toml", project.path("mcp.toml")).unwrap();
    symlink("shared/snapshots", project.path("mcp")).unwrap();
    project.run(&ADD).exits_with(0);
    project.run(&["sync", "s"]).exits_with(0);
    assert!(project.path("mcp.toml").is_symlink() && project.path("mcp").is_symlink());
    assert!(
        project.read("shared/ours.toml").contains("[servers.x]") && project.path("shared/snapshots/s.json").is_file()
    );
    assert_eq!(fs::metadata(project.path("shared/ours.toml")).unwrap().permissions().mode() & 0o777, 0o640);

    fs::remove_file(project.path("shared/ours.toml")).unwrap();
    let said = "error: broken symbolic link\n --> mcp.toml\n  = help: create the target, or remove the link";
    refused(&project, READERS, &[said]);
    refused(&project, &[&ADD, &["init", "--no-dependency"]], &[said]);
    assert!(project.path("mcp.toml").is_symlink());
}

#[test]
fn file_at_the_snapshot_folder_is_an_error() {
    let project = Project::new(SERVER);
    project.write("mcp", "mine");
    let cannot = "`mcp` is a file, expected a directory\n --> mcp/s.json\n";
    for command in [&["check"][..], &["sync"], &["check", "--offline"], &["list"], &["expand", "s"]] {
        project.run(command).exits_with(1).says(cannot);
    }
    let add = project.run(&["add", "x", "--command", fixture_server().to_str().unwrap()]).exits_with(1);
    assert!(
        add.stderr.contains("`mcp` is a file, expected a directory\n --> mcp/x.json\n  = help: move it, or choose"),
        "{}",
        add.stderr
    );
    project
        .run(&["init", "--no-dependency"])
        .exits_with(1)
        .says("expected a directory for snapshots, found a file\n --> mcp\n");
    project.run(&["doctor"]).exits_with(1).says("`mcp` is a file, expected a directory");
    assert!(project.read("mcp") == "mine" && !project.read("mcp.toml").contains("[servers.x]"));
    assert!(!project.path(".gitattributes").exists(), "nothing is half done");
    // A call needs no snapshot.
    project
        .run(&["call", "s", "add", "--a", "1", "--b", "2"])
        .exits_with(0)
        .says("warning: failed to read the file: `mcp`");
}

/// The program, of which the system says that it may not write to folders without that right, whoever runs it.
#[cfg(target_os = "linux")]
fn without_privileges(project: &Project, line: &str) -> Command {
    // Root reads and writes what it likes by this capability alone.
    let bare = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override", "sh", "-c"];
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    let words = if is_root { &bare[..] } else { &bare[3..] };
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(project.path("")).env_remove("MCP_SERVERS");
    command.arg(line.replace("PROGRAM", env!("CARGO_BIN_EXE_mcp-bindgen")));
    command
}

#[cfg(target_os = "linux")]
#[test]
fn unwritable_folder_is_an_error() {
    use std::os::unix::fs::PermissionsExt;

    let project = Project::new(SERVER);
    project.run(&["sync"]).exits_with(0);
    let server = fixture_server().display();
    let mode = |mode| {
        ["", "mcp"].map(|folder| fs::set_permissions(project.path(folder), fs::Permissions::from_mode(mode)).unwrap())
    };
    mode(0o555);
    let run = |line: &str| Run::of(&without_privileges(&project, line).output().unwrap());
    // It really is read-only.
    run("echo x > probe").exits_with(2);
    let before = files(&project);
    let denied = "error: failed to write the file: Permission denied (os error 13)\n --> ";
    let help = "\n  = help: files are replaced as a whole, which requires write permission for the folder\n";
    for (words, file) in [
        (format!("add x --command {server} --no-sync"), "mcp.toml"),
        (format!("add x --command {server}"), "mcp/x.json"),
        ("init --no-dependency".to_owned(), ".gitattributes"),
        ("list -o list.html --format html".to_owned(), "list.html"),
        ("expand s -o s.rs".to_owned(), "s.rs"),
    ] {
        run(&format!("PROGRAM {words}")).exits_with(1).says(&format!("{denied}{file}{help}"));
    }
    // Commands that only read still work, and so do commands with nothing to write.
    run("PROGRAM check").exits_with(0);
    run("PROGRAM sync").exits_with(0).says("Unchanged mcp/s.json");
    run("PROGRAM list").exits_with(0);
    assert_eq!(files(&project), before);
    mode(0o755);
}

/// A system that takes no more than so much of a file: as a full disk, in the middle of writing.
#[cfg(unix)]
#[test]
fn write_that_fails_midway_leaves_the_old_file() {
    let project = Project::new(SERVER);
    let program = env!("CARGO_BIN_EXE_mcp-bindgen");
    let limited = |words: &str| project.shell(&format!("trap '' XFSZ; ulimit -f 1; exec {program} {words}"));
    limited("sync").exits_with(1).says("error: failed to write the file: File too large").says("\n --> mcp/s.json\n");
    assert_eq!(fs::read_dir(project.path("mcp")).unwrap().count(), 0, "no part of a file stays");
    project.run(&["sync"]).exits_with(0);
    let old = project.read("mcp/s.json").replace("Adds two", "Sums two");
    project.write("mcp/s.json", &old);
    let before = files(&project);
    limited("sync").exits_with(1).says("failed to write the file: File too large");
    limited("list --format html -o page.html").exits_with(1).says("\n --> page.html\n");
    let server = fixture_server().display();
    limited(&format!("add x --command {server}")).exits_with(1).says("\n --> mcp/x.json\n");
    assert_eq!(files(&project), before);
    project.run(&["sync"]).exits_with(0).says("Updated mcp/s.json");
}

#[test]
fn edited_snapshot_error_has_its_position() {
    let project = Project::new(SERVER);
    project.run(&["sync"]).exits_with(0);
    let synced = project.read("mcp/s.json");
    let anew = "\n  = help: run `mcp-bindgen sync s` to write it again\n";
    for (edited, place) in [
        (synced.replacen("      }\n", "      },\n", 1), ":"),
        (synced.replacen("\"tools\": [", "\"tools\": 5, \"was\": [", 1), ""),
        (synced.replacen("\"format\": 1", "\"format\": \"1\"", 1), ""),
    ] {
        project.write("mcp/s.json", &edited);
        for (command, code) in
            [(&["list"][..], 1), (&["expand", "s"], 1), (&["check"], 4), (&["check", "--offline"], 4)]
        {
            project.run(command).exits_with(code).says(&format!("\n --> mcp/s.json{place}")).says(anew);
        }
        // Enough for a call, which says what it goes without.
        let call = project.run(&["call", "s", "add", "--a", "1", "--b", "2"]).exits_with(0);
        assert!(call.stderr.starts_with("warning: ") && call.stdout.contains('3'), "{}", call.stderr);
        project.run(&["sync"]).exits_with(0);
        assert_eq!(project.read("mcp/s.json"), synced);
    }
}

#[test]
fn newer_snapshot_format_error_suggests_an_upgrade() {
    let project = Project::new(SERVER);
    let newer = "{\"format\":7,\"server\":\"s\",\"tools\":[]}";
    project.write("mcp/s.json", newer);
    for command in [
        &["check"][..],
        &["check", "--offline"],
        &["sync"],
        &["list"],
        &["expand", "s"],
        &["learn", "s", "add", "--args", "{}", "--yes"],
        &["diff", "mcp/s.json", "mcp/s.json"],
        &["doctor"],
    ] {
        let run = project.run(command).exits_with(1).says("install mcp-bindgen 0.7 or later");
        assert!(!run.stderr.contains("run `mcp-bindgen sync"), "{command:?}: {}", run.stderr);
        assert_eq!(project.read("mcp/s.json"), newer, "{command:?}");
    }
    project.run(&["call", "s", "add", "--a", "1", "--b", "2"]).exits_with(0).says("warning: the snapshot has format 7");
}

/// A server that answers with what lies in files: `pages` of its list, each a line.
#[cfg(unix)]
fn serving(pages: &[Value]) -> Project {
    let project = Project::empty();
    for (number, page) in pages.iter().enumerate() {
        project.write(&format!("page-{number}"), &page.to_string());
    }
    let script = r#"page=0
while read -r line; do
  id=$(printf '%s\n' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) result=$(cat page-$page); page=$((page + 1)); [ -e page-$page ] || page=0 ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"called"}]}' ;;
    *) [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;
    project.write("server.sh", script);
    project.write("mcp.toml", "[servers.s]\ncommand = \"sh\"\nargs = [\"server.sh\"]\n");
    project
}

#[cfg(unix)]
fn tool(name: &str) -> Value {
    json!({ "name": name, "description": "Does it.", "inputSchema": { "type": "object" } })
}

#[cfg(unix)]
#[test]
fn duplicate_tool_of_a_changing_list_is_reported() {
    let project = serving(&[
        json!({ "tools": [tool("a"), tool("b")], "nextCursor": "1" }),
        // `b` has moved, and somebody has changed it meanwhile.
        json!({ "tools": [{ "name": "b", "description": "Does more.", "inputSchema": { "type": "object" } }, tool("c")] }),
    ]);
    project.run(&["sync"]).exits_with(0).says("Created mcp/s.json (4 tools of s)");
    // The snapshot keeps both tools, also after several syncs, and the bindings contain one of the two.
    project.run(&["check"]).exits_with(0);
    let list = project.run(&["list", "s"]).exits_with(0).says("warning[MCP0004]: another tool has the same name");
    assert_eq!(list.stdout.matches("s::s_b(").count(), 1, "{}", list.stdout);
    project.run(&["expand", "s"]).exits_with(0);
    let called = project.run(&["call", "s", "c"]).exits_with(0);
    assert_eq!(called.stdout, "called\n");
}

#[cfg(unix)]
#[test]
fn list_ends_at_a_repeated_cursor_without_new_items() {
    let more = |name: &str, cursor: &str| json!({ "tools": [tool(name)], "nextCursor": cursor });
    // The cursor of the last page leads to the same page, to the first one, and is empty.
    for pages in [
        vec![more("a", "1"), more("b", "1"), more("b", "1")],
        vec![more("a", "1"), more("b", "2"), more("a", "1")],
        vec![more("a", ""), more("b", ""), json!({ "tools": [], "nextCursor": "" })],
    ] {
        let project = serving(&pages);
        project.run(&["sync"]).exits_with(0).says("Created mcp/s.json (2 tools of s)");
    }
}

#[cfg(unix)]
#[test]
fn tool_names_with_spaces_and_escapes_can_be_called() {
    let hostile = "esc\u{1b}[31m\u{202e}red";
    let with_space = json!({ "name": "with space", "inputSchema": { "type": "object", "properties": { "a b": { "type": "string" } } } });
    let project = serving(&[json!({ "tools": [with_space, tool(hostile), tool("--help"), tool("two\nlines")] })]);
    project.run(&["sync"]).exits_with(0);
    project.run(&["check"]).exits_with(0);
    for words in [
        &["with space", "--a b", "x"][..],
        &["with space", "--arg", "a b=x"],
        &[hostile],
        &["two\nlines"],
        &["--", "--help"],
    ] {
        let called = project.run(&[&["call", "s"], words].concat()).exits_with(0);
        assert_eq!((called.stdout.as_str(), called.stderr.as_str()), ("called\n", ""), "{words:?}");
    }
    let list = project.run(&["list", "s"]).exits_with(0);
    assert!(
        list.stdout.contains("s/esc\\u{1b}[31m\\u{202e}red") && list.stdout.contains("s/two\\nlines"),
        "{}",
        list.stdout
    );
    let near = project.run(&["call", "s", "esc\u{1b}[31m\u{202e}rad"]).exits_with(1);
    assert!(near.stderr.contains("did you mean `esc\\u{1b}[31m\\u{202e}red`?"), "{}", near.stderr);
    project.run(&["call", "s", "with"]).exits_with(1).says("did you mean `with space`?");
    let help = project.run(&["call", "s", hostile, "--help"]).exits_with(0);
    for text in [&list.stdout, &list.stderr, &near.stderr, &help.stdout] {
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    }
}

#[cfg(unix)]
#[test]
fn thousands_of_tools_are_synced_checked_and_called() {
    let tools: Value = (0..2720).map(|number| tool(&format!("tool_{number:04}"))).collect();
    let project = serving(&[json!({ "tools": tools })]);
    project.run(&["sync"]).exits_with(0).says("Created mcp/s.json (2720 tools of s)");
    project.run(&["check"]).exits_with(0);
    let called = project.run(&["call", "s", "tool_2719"]).exits_with(0);
    assert_eq!(called.stdout, "called\n");
    project.run(&["call", "s", "tool_272"]).exits_with(1).says("did you mean");
    let add = project.run(&["add", "t", "--command", "sh", "--", "server.sh"]).exits_with(0);
    assert!(add.stderr.contains("and 2708 more tools"), "{}", add.stderr);
}

#[test]
fn malformed_host_file_is_an_error_with_its_position() {
    let project = Project::empty();
    for (text, said) in [
        ("{\"mcpServers\": {\"a\": {\"env\": {\"TOKEN\": \"hunter2-hunter2\"}", "not valid JSON: unterminated object"),
        ("", ""),
        ("{\"mcpServers\": []}", ""),
    ] {
        project.write("hosts.json", text);
        let run = project.run(&["import", "--from", "hosts.json", "--all"]).exits_with(1).says(said).says("hosts.json");
        assert!(!run.stderr.contains("hunter2") && !project.path("mcp.toml").exists(), "{}", run.stderr);
    }
    project.write(".mcp.json", "{\"mcpServers\": {\"a\": {\"env\": {\"TOKEN\": \"hunter2-hunter2\"}");
    for command in [&["list"][..], &["check"], &["sync"]] {
        let run = project.run(command).exits_with(1).says("\n --> .mcp.json:1:");
        assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
    }
}
