//! Completion in shells, which run the program with `COMPLETE` set. It reads files, contacts no servers, writes
//! nothing, and ignores errors.

mod shells;

use std::collections::BTreeSet;
use std::error::Error as _;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, io};

use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{Elvish, Fish, Shells, Zsh};
use mcp_bindgen_model::{Config, ServerConfig, Snapshot, printable};
use mcp_bindgen_schema::apply_views;
use mcp_bindgen_schema::flags::{Flag, Flags};
use serde_json::Value;

use crate::args::{Arguments, CallOptions, OfferOptions};
use crate::flags::{input_schema, name_of, own_options, prompt_schema};
use crate::import::host::Host;
use crate::project;
use crate::text::{cut, one_line};
use shells::{QUOTABLE, Shell, is_plain, unquoted};

/// The variable that shells set to their own name.
const VARIABLE: &str = "COMPLETE";
/// The arguments that name servers of the configuration.
const SERVER_ARGUMENTS: [&str; 4] = ["server", "servers", "old", "new"];
/// The commands of which these are servers of somewhere else.
const WITHOUT_SERVERS: [&str; 2] = ["add", "import"];
/// The maximum length of a candidate.
const LONGEST_CANDIDATE: usize = 256;
/// The maximum width of a description, in columns.
const HELP_COLUMNS: usize = 80;

/// A candidate, and its description.
type Offered = (String, String);

/// Answers a shell's request; returns `None` without a request.
pub(crate) fn answer() -> Option<ExitCode> {
    let shell = env::var_os(VARIABLE).filter(|shell| !shell.is_empty() && shell != "0")?;
    let mut line: Vec<OsString> = env::args_os().collect();
    // Registration has no words.
    let first = line.iter().position(|word| word == "--").map(|at| at + 1);
    let end = line.len();
    let words = line.get_mut(first.unwrap_or(end)..).unwrap_or_default();
    // Shells give the word that is being written as it is written, with its quotes.
    let written = match shell.to_str() {
        Some("bash" | "zsh") => shells::index().and_then(|index| words.get_mut(index)),
        Some("fish") => words.last_mut(),
        _ => None,
    };
    if let Some(word) = written {
        *word = unquoted(word);
    }
    let words = match shell == "bash" {
        true => shells::joined(words, shells::index().unwrap_or_default()).0,
        false => words.to_vec(),
    };
    let completed = CompleteEnv::with_factory(|| command(words.get(1..).unwrap_or_default()))
        .var(VARIABLE)
        .shells(Shells(&[&Shell::Bash, &Elvish, &Fish, &Shell::Powershell, &Zsh]))
        .try_complete(line, env::current_dir().ok().as_deref());
    match completed {
        Ok(false) => None,
        Ok(true) => Some(ExitCode::SUCCESS),
        // Messages would appear inside the line that the user is typing.
        Err(_) if first.is_some() => Some(ExitCode::SUCCESS),
        Err(error) => {
            let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
            if cause.is_none_or(|cause| cause.kind() != io::ErrorKind::BrokenPipe) {
                // No other output is available.
                drop(error.print());
            }
            Some(ExitCode::from(2))
        }
    }
}

/// Returns the command line with the candidates for these words.
fn command(words: &[OsString]) -> Command {
    let hosts = Host::searched().map(|host| undescribed(&host.name())).collect();
    let root = Arguments::command()
        .mut_subcommand("import", |import| import.mut_arg("from", |from| from.add(offering(hosts))));
    if words.is_empty() {
        return root;
    }
    // The line is not finished yet.
    let parsed = root.clone().no_binary_name(true).ignore_errors(true).try_get_matches_from(words).unwrap_or_default();
    let (mut path, mut said) = (Vec::new(), &parsed);
    while let Some((name, inner)) = said.subcommand() {
        path.push(name);
        said = inner;
    }
    let named = said.try_get_one::<PathBuf>("config").ok().flatten().map(PathBuf::as_path);
    // A wrong `MCP_SERVERS` does not hide the servers of the file.
    let of_file = || Config::load(&project::find(named).ok()??).ok();
    let read = project::read(named).ok().map(|(config, _)| config);
    let Some(config) = read.or_else(of_file) else { return root };
    let servers = config.servers.keys().filter(|name| is_harmless(name)).map(|name| undescribed(name));
    let root = with_servers(root, &servers.collect::<Vec<_>>());
    match path.as_slice() {
        [name] => root.mut_subcommand(name, |command| with_offers(command, &path, said, &config)),
        [outer, name] => root.mut_subcommand(outer, |outer| {
            outer.mut_subcommand(name, |command| with_offers(command, &path, said, &config))
        }),
        _ => root,
    }
}

/// Adds the candidates of a server to the command at this path, with these arguments so far.
fn with_offers(command: Command, path: &[&str], said: &ArgMatches, config: &Config) -> Command {
    let Some((server, snapshot)) = server(said, config) else { return command };
    let named = |listed: &[Value]| {
        let name = said.try_get_many::<OsString>("words").ok()??.next()?.to_str();
        listed.iter().find(|item| name_of(item) == name).cloned()
    };
    let offer = |item: &Value| offered(name_of(item)?, item);
    let is_selected = |tool: &&Value| name_of(tool).is_some_and(|name| server.selects(name));
    let tools = || snapshot.tools.iter().filter(is_selected).filter_map(offer).collect();
    match path {
        ["call"] => {
            let flags =
                named(&snapshot.tools).map(|tool| Flags::new(input_schema(&tool), own_options::<CallOptions>()));
            with_words(command, tools(), flags)
        }
        ["learn"] => command.mut_arg("tool", |tool| tool.add(offering(tools()))),
        ["expand"] => command.mut_arg("tools", |tool| tool.add(offering(tools()))),
        ["prompt", "get"] => {
            let flags = named(&snapshot.prompts)
                .map(|prompt| Flags::new(&prompt_schema(&prompt), own_options::<OfferOptions>()));
            with_words(command, snapshot.prompts.iter().filter_map(offer).collect(), flags)
        }
        ["resource", "read"] => {
            // Snapshots have no resources, only templates: what their URIs begin with.
            let begun = |template: &Value| offered(template.get("uriTemplate")?.as_str()?.split('{').next()?, template);
            let uris = snapshot.resource_templates.iter().filter_map(begun).collect();
            command.mut_arg("uri", |uri| uri.add(offering(uris)))
        }
        _ => command,
    }
}

/// Returns the server that the arguments name, with its snapshot.
fn server<'c>(said: &ArgMatches, config: &'c Config) -> Option<(&'c ServerConfig, Snapshot)> {
    let found = config.servers.get(said.try_get_one::<String>("server").ok()??)?;
    let snapshot = Snapshot::load(config.snapshot_path(&found.name)).ok()?;
    Some((found, apply_views(&snapshot, found).unwrap_or(snapshot)))
}

fn with_servers(command: Command, names: &[Offered]) -> Command {
    // `mut_arg` would put them behind the others.
    let command = command.mut_args(|argument| match SERVER_ARGUMENTS.contains(&argument.get_id().as_str()) {
        true => argument.add(offering(names.to_vec())),
        false => argument,
    });
    command.mut_subcommands(|inner| match WITHOUT_SERVERS.contains(&inner.get_name()) {
        true => inner,
        false => with_servers(inner, names),
    })
}

/// `words` holds the name and all behind it: here only the name, so that what follows is completed as options.
fn with_words(command: Command, names: Vec<Offered>, flags: Option<Flags>) -> Command {
    let command = command.mut_arg("words", |words| {
        words.num_args(1).trailing_var_arg(false).action(ArgAction::Set).add(offering(names))
    });
    flags.iter().fold(command, with_flags)
}

fn undescribed(text: &str) -> Offered {
    (text.to_owned(), String::new())
}

fn offering(offered: Vec<Offered>) -> ArgValueCandidates {
    ArgValueCandidates::new(move || {
        let help = |help: &str| (!help.is_empty()).then(|| help.to_owned().into());
        offered.iter().map(|(text, said)| CompletionCandidate::new(text).help(help(said))).collect()
    })
}

/// Returns the command with the flags of a tool or prompt.
fn with_flags(mut command: Command, flags: &Flags) -> Command {
    let mut by_arg = Vec::new();
    let known = command.get_arguments().filter_map(|argument| argument.get_long().map(str::to_owned));
    let mut taken: BTreeSet<String> = known.chain(["help".to_owned()]).collect();
    for flag in flags.list() {
        // A key that the user chooses is not known.
        if flag.name.ends_with(".KEY") || flag.name.contains(".KEY.") {
            continue;
        }
        if let Some(name) = flag.name.strip_prefix("--arg ") {
            by_arg.extend(is_harmless(name).then(|| undescribed(&format!("{name}="))));
            continue;
        }
        let negated = flag.also.iter().filter(|form| form.starts_with("--no-"));
        for form in std::iter::once(&flag.name).chain(negated) {
            let Some(long) = form.strip_prefix("--").filter(|long| is_harmless(long)) else { continue };
            if taken.insert(long.to_owned()) {
                command = command.arg(argument(long, flag));
            }
        }
    }
    if command.get_arguments().any(|argument| argument.get_id() == "arg") {
        command = command.mut_arg("arg", |arg| arg.add(offering(by_arg)));
    }
    command
}

fn argument(long: &str, flag: &Flag) -> Arg {
    // The program's own arguments have identifiers without it.
    let argument = Arg::new(format!("--{long}")).long(long.to_owned());
    let argument = argument.help(short(flag.description.as_deref().unwrap_or_default()));
    if flag.value.is_none() {
        return argument.action(ArgAction::SetTrue);
    }
    let values = flag.values.iter().filter(|value| is_quotable(value)).map(|value| undescribed(value)).collect();
    argument.action(ArgAction::Append).add(offering(values))
}

/// Returns a name with its description, if it is safe for a shell.
fn offered(name: &str, described: &Value) -> Option<Offered> {
    let help = short(described.get("description").and_then(Value::as_str).unwrap_or_default());
    is_harmless(name).then(|| (name.to_owned(), help))
}

/// Returns `true` if shells read a text as one plain word. They insert candidates unchanged into a line that is then
/// executed, so a server's name such as `$(..)` must not get there.
fn is_harmless(text: &str) -> bool {
    is_word_of(text, is_plain)
}

/// Returns `true` if shells read a text as one word when quoted, and execute none of it when unquoted.
fn is_quotable(text: &str) -> bool {
    is_word_of(text, |character| is_plain(character) || QUOTABLE.contains(character))
}

fn is_word_of(text: &str, may_stand: impl Fn(char) -> bool) -> bool {
    (1..=LONGEST_CANDIDATE).contains(&text.len()) && !text.starts_with('-') && text.chars().all(may_stand)
}

fn short(text: &str) -> String {
    cut(&printable(&one_line(text)), HELP_COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::{is_harmless, is_quotable};

    #[test]
    fn completion_candidates_cannot_run_code() {
        for fine in ["list_issues", "auth-method", "note:///", "a.b", "課題"] {
            assert!(is_harmless(fine) && is_quotable(fine), "{fine}");
        }
        for quoted in ["New York", "R&D", "none (yet)", "a;b"] {
            assert!(is_quotable(quoted) && !is_harmless(quoted), "{quoted}");
        }
        for odd in [
            "",
            "-rf",
            "$(touch x)",
            "`x`",
            "a\"b",
            "a\\b",
            "!!",
            "a\nb",
            "a\x0bb",
            "\x1b[2J",
            "~root",
            "a*",
            "\u{202e}x",
            "a'b",
        ] {
            assert!(!is_harmless(odd) && !is_quotable(odd), "{odd:?}");
        }
    }
}
