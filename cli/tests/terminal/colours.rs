//! Tests when output has colours, by terminal, environment and `--color`.

use std::process::Stdio;

use crate::common::Project;
use crate::screen::Terminal;

const RED: &str = "\u{1b}[1;31merror\u{1b}[0m";

/// Returns the error output of a command, at a terminal or elsewhere.
fn error(is_terminal: bool, arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let project = Project::empty();
    project.write("Cargo.toml", "[workspace]\n");
    let mut command = project.command();
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        command.env_remove(name);
    }
    command.args(arguments).env("TERM", "xterm").envs(environment.iter().copied());
    match is_terminal {
        true => Terminal::of(command, 80, [true; 3]).ends().written,
        false => String::from_utf8(command.stdin(Stdio::null()).output().unwrap().stderr).unwrap(),
    }
}

#[test]
fn color_depends_on_the_terminal_the_environment_and_the_option() {
    for (is_terminal, options, environment, is_coloured) in [
        (true, &[][..], &[][..], true),
        (false, &[], &[], false),
        (true, &[], &[("NO_COLOR", "1")], false),
        // An empty one is none.
        (true, &[], &[("NO_COLOR", "")], true),
        (true, &[], &[("TERM", "dumb")], false),
        (true, &[], &[("CLICOLOR", "0")], false),
        (false, &[], &[("CLICOLOR_FORCE", "1")], true),
        (false, &[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        (false, &["--color", "always"], &[("NO_COLOR", "1")], true),
        (false, &["--color=always"], &[], true),
        (true, &["--color", "never"], &[("CLICOLOR_FORCE", "1")], false),
        (true, &["--color", "auto"], &[], true),
        (false, &["--color", "auto"], &[], false),
    ] {
        // Both kinds of errors follow the rule: those of a command, and those of the command line itself.
        for command in [&["list"][..], &["list", "--no-such-option"]] {
            let words = [command, options].concat();
            let said = error(is_terminal, &words, environment);
            assert!(said.contains("error"), "{said}");
            assert_eq!(said.contains('\u{1b}'), is_coloured, "{is_terminal} {words:?} {environment:?}: {said:?}");
            if command.len() == 1 && is_coloured {
                assert!(said.contains(RED), "{said:?}");
            }
        }
    }
}

#[test]
fn colored_screen_shows_the_same_text() {
    let project = Project::new("[servers.a]\ncommand = \"SERVER\"\n");
    let mut command = project.command();
    command.arg("sync").env("TERM", "xterm").env_remove("NO_COLOR");
    let ended = Terminal::of(command, 40, [true; 3]).ends();
    assert!(ended.written.contains("\u{1b}[1;32m     Created\u{1b}[0m mcp/a.json"), "{:?}", ended.written);
    let expected = ["     Created mcp/a.json (10 tools of a)", "    Finished 1 server asked: 1 created"];
    assert_eq!(ended.lines, expected);
}
