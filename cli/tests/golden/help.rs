//! The help texts.

use crate::common::assert_golden;
use crate::session::Session;

/// Of packages, and in no list.
const HIDDEN: [&str; 1] = ["man"];

#[test]
fn help_of_every_command_matches_its_golden() {
    let session = Session::empty();
    let mut commands = vec![String::new()];
    commands.extend(HIDDEN.map(str::to_owned));
    let mut at = 0;
    while let Some(command) = commands.get(at).cloned() {
        at += 1;
        let text = session.ended(&format!("{command} --help")).exits_with(0).stdout;
        assert_eq!(session.ended(&format!("{command} -h")).exits_with(0).stdout, text, "`-h` of {command}");
        for line in text.lines() {
            assert!(line.chars().count() <= 100 && line.trim_end() == line, "{command}: {line:?}");
        }
        let name = if command.is_empty() { "mcp-bindgen".to_owned() } else { command.replace(' ', "-") };
        assert_golden(&format!("help/{name}.txt"), &text);
        commands.extend(below(&text).map(|name| format!("{command} {name}").trim().to_owned()));
    }
    println!("help of {at} commands");
}

/// The commands that a help text lists.
fn below(help: &str) -> impl Iterator<Item = &str> {
    let commands = help.split_once("Commands:\n").map(|(_, commands)| commands).unwrap_or_default();
    commands
        .lines()
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
}

#[test]
fn invalid_command_lines_match_their_golden() {
    let mut session = Session::empty();
    for line in [
        "--version",
        "",
        "chek",
        "chek --format json",
        "check --ofline",
        "check --format=json --ofline",
        "--format jsn list",
        "list --format github",
        "serve --format markdown",
        "resource",
        "resource reed",
        "check --quiet --verbose",
        "call desk add --timeout soon",
        "add desk --npm a --url http://b",
    ] {
        session.run(line);
    }
    session.matches("usage");
}
