//! The definition is sound, and no command is without goldens.

use std::fs;
use std::path::Path;

use clap::CommandFactory;

/// Each command that does something, by its words; the hidden ones too.
fn leaves(command: &clap::Command, words: &str) -> Vec<String> {
    let below: Vec<&clap::Command> = command.get_subcommands().collect();
    if below.is_empty() {
        return vec![words.to_owned()];
    }
    let of = |below: &clap::Command| leaves(below, format!("{words} {}", below.get_name()).trim_start());
    below.into_iter().flat_map(of).collect()
}

#[test]
fn every_command_has_a_golden_run() {
    let goldens = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
    let files = fs::read_dir(&goldens).unwrap().map(|file| file.unwrap().path());
    let transcripts: String = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .map(|path| fs::read_to_string(path).unwrap() + "\n")
        .collect();
    let runs: Vec<(&str, bool)> = transcripts
        .split("$ mcp-bindgen ")
        .skip(1)
        .filter_map(|run| Some((run.lines().next()?, run.lines().any(|line| line == "exit 0"))))
        .filter(|(line, _)| !line.contains("--help"))
        .collect();
    let commands = leaves(&super::Arguments::command(), "");
    assert!(commands.len() >= 19, "{commands:?}");
    for command in &commands {
        let help = goldens.join(format!("help/{}.txt", command.replace(' ', "-")));
        assert!(help.is_file(), "`{command}` has no golden help text");
        let mut ended = [[false; 2]; 2];
        for (line, is_done) in &runs {
            if line.strip_prefix(command.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')) {
                ended[usize::from(line.contains("--format json"))][usize::from(*is_done)] = true;
            }
        }
        let [[text_fails, text], [json_fails, json]] = ended;
        assert!(text && text_fails, "`{command}` has to succeed and to fail in the goldens");
        assert!(json_fails, "`{command} --format json` has to fail in the goldens");
        // Those two have text alone, and who serves is told to end.
        let is_text = ["completions", "man", "serve"].contains(&command.as_str());
        assert!(json || is_text, "`{command} --format json` has to succeed in the goldens");
    }
    println!("{} commands, {} runs", commands.len(), runs.len());
}

#[test]
fn command_definition_is_valid() {
    super::Arguments::command().debug_assert();
    super::Behind::<super::CallOptions>::command().debug_assert();
    super::Behind::<super::OfferOptions>::command().debug_assert();
}
