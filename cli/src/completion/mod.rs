//! Completion in shells, which run the program with `COMPLETE` set. It reads files, contacts no servers, writes
//! nothing, and ignores errors.

mod known;
mod shells;

use std::error::Error as _;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{Elvish, EnvCompleter, Fish, Shells, Zsh};
use mcp_bindgen_model::Config;
use mcp_bindgen_schema::flags::{Flag, Flags};
use serde_json::Value;

use crate::args::{Arguments, CallOptions, OfferOptions};
use crate::flags::{input_schema, name_of, own_options, prompt_schema};
use crate::import::host::Host;
use crate::project;
use known::{Offered, is_harmless, is_quotable, offered, servers, short, snapshot};
use shells::{Shell, unquoted};

/// The variable that shells set to their own name.
const VARIABLE: &str = "COMPLETE";
/// The arguments that name servers of the configuration.
const SERVER_ARGUMENTS: [&str; 4] = ["server", "servers", "old", "new"];
/// The commands of which these are servers of somewhere else.
const WITHOUT_SERVERS: [&str; 2] = ["add", "import"];

/// Answers a shell's request; returns `None` without a request.
pub(crate) fn answer() -> Option<ExitCode> {
    if std::env::var_os(VARIABLE).is_none_or(|shell| shell.is_empty() || shell == "0") {
        return None;
    }
    // Registration has no words.
    let is_asked = std::env::args_os().any(|word| word == "--");
    let shell = std::env::var_os(VARIABLE).map(|shell| shell.to_string_lossy().into_owned()).unwrap_or_default();
    let line = line(&shell, std::env::args_os().collect());
    let words: Vec<OsString> = line.iter().skip_while(|word| *word != "--").skip(1).cloned().collect();
    let words = match Shell::Bash.is(&shell) {
        true => shells::joined(&words, shells::index().unwrap_or_default()).0,
        false => words,
    };
    let completed = CompleteEnv::with_factory(|| command(words.get(1..).unwrap_or_default()))
        .var(VARIABLE)
        .shells(Shells(&[&Shell::Bash, &Elvish, &Fish, &Shell::Powershell, &Zsh]))
        .try_complete(line, std::env::current_dir().ok().as_deref());
    match completed {
        Ok(false) => None,
        Ok(true) => Some(ExitCode::SUCCESS),
        // Messages would appear inside the line that the user is typing.
        Err(_) if is_asked => Some(ExitCode::SUCCESS),
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

/// Returns the words of this process, of which shells give the one that is being written as it is written, with its
/// quotes.
fn line(shell: &str, mut line: Vec<OsString>) -> Vec<OsString> {
    let index = match shell {
        "bash" | "zsh" => shells::index(),
        "fish" => None,
        _ => return line,
    };
    let first = line.iter().position(|word| word == "--").map_or(line.len(), |at| at + 1);
    if let Some(word) = line.get_mut(first..).and_then(|words| match index {
        Some(index) => words.get_mut(index),
        None => words.last_mut(),
    }) {
        *word = unquoted(word);
    }
    line
}

/// Returns the command line with the candidates for these words.
fn command(words: &[OsString]) -> Command {
    let root = Arguments::command();
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
    let named = said.try_get_one::<PathBuf>("config").ok().flatten();
    let named = named.map(PathBuf::as_path);
    // A wrong `MCP_SERVERS` does not hide the servers of the file.
    let of_file = || Config::load(&project::specified(named).ok()??).ok();
    let read = project::read(named).ok().map(|(config, _)| config);
    let Some(config) = read.or_else(of_file) else { return with_hosts(root) };
    let root = with_servers(with_hosts(root), &servers(&config));
    match path.as_slice() {
        [name] => root.mut_subcommand(name, |command| with_offers(command, &path, said, &config)),
        [outer, name] => root.mut_subcommand(outer, |outer| {
            outer.mut_subcommand(name, |command| with_offers(command, &path, said, &config))
        }),
        _ => root,
    }
}

fn with_hosts(root: Command) -> Command {
    let hosts = Host::ALL.into_iter().map(|host| undescribed(host.name())).collect();
    root.mut_subcommand("import", |import| import.mut_arg("from", |from| from.add(offering(hosts))))
}

/// Adds the candidates of a server to the command at this path, with these arguments so far.
fn with_offers(command: Command, path: &[&str], said: &ArgMatches, config: &Config) -> Command {
    let server = || snapshot(config, said.try_get_one::<String>("server").ok()??);
    let names = |listed: &[Value], is_offered: &dyn Fn(&str) -> bool| -> Vec<Offered> {
        let named = listed.iter().filter_map(|item| Some((name_of(item)?, item)));
        named.filter(|(name, _)| is_offered(name)).filter_map(|(name, item)| offered(name, item)).collect()
    };
    let named = |listed: &[Value]| {
        let name = said.try_get_many::<OsString>("words").ok()??.next()?.to_str();
        listed.iter().find(|item| name_of(item) == name).cloned()
    };
    match path {
        ["call"] => {
            let Some((config, snapshot)) = server() else { return command };
            let flags =
                named(&snapshot.tools).map(|tool| Flags::new(input_schema(&tool), own_options::<CallOptions>()));
            with_words(command, names(&snapshot.tools, &|name| config.selects(name)), flags)
        }
        [name @ ("learn" | "expand")] => {
            let Some((config, snapshot)) = server() else { return command };
            let names = names(&snapshot.tools, &|name| config.selects(name));
            let argument = if *name == "learn" { "tool" } else { "tools" };
            command.mut_arg(argument, |argument| argument.add(offering(names)))
        }
        ["prompt", "get"] => {
            let Some((_, snapshot)) = server() else { return command };
            let flags = named(&snapshot.prompts)
                .map(|prompt| Flags::new(&prompt_schema(&prompt), own_options::<OfferOptions>()));
            with_words(command, names(&snapshot.prompts, &|_| true), flags)
        }
        ["resource", "read"] => {
            let Some((_, snapshot)) = server() else { return command };
            // Snapshots have no resources, only templates: what their URIs begin with.
            let begun = |template: &Value| {
                let uri = template.get("uriTemplate")?.as_str()?.split('{').next()?;
                offered(uri, template)
            };
            let uris = snapshot.resource_templates.iter().filter_map(begun).collect();
            command.mut_arg("uri", |uri| uri.add(offering(uris)))
        }
        _ => command,
    }
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
    match flags {
        Some(flags) => with_flags(command, &flags),
        None => command,
    }
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
    let mut taken: Vec<String> = vec!["help".to_owned()];
    taken.extend(command.get_arguments().filter_map(|argument| argument.get_long().map(str::to_owned)));
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
            if !taken.iter().any(|known| known == long) {
                taken.push(long.to_owned());
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
