//! Completion in shells, which run the program with `COMPLETE` set. It reads files, contacts no servers, writes
//! nothing, and ignores errors.

mod bash;
mod known;
mod quoted;
mod words;

use std::error::Error as _;
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::{Arg, ArgAction, Command, CommandFactory};
use clap_complete::CompleteEnv;
use clap_complete::engine::ArgValueCandidates;
use clap_complete::env::{Elvish, EnvCompleter, Fish, Shells, Zsh};
use mcp_bindgen_schema::flags::{Flag, Flags};

use crate::args::{Arguments, OfferOptions};
use crate::flags::{own_options, own_options_of, prompt_schema};
use crate::import::host::Host;
use known::{Known, Offered, is_harmless, is_quotable, one_line};
use quoted::{Powershell, unquoted};
use words::Said;

/// The variable that shells set to their own name.
const VARIABLE: &str = "COMPLETE";
/// The arguments that name servers of the configuration.
const SERVER_ARGUMENTS: [&str; 4] = ["server", "servers", "old", "new"];
/// The commands of which these are servers of somewhere else.
const WITHOUT_SERVERS: [&str; 2] = ["add", "import"];

/// Answers a shell; `None` where none asks.
pub(crate) fn answer() -> Option<ExitCode> {
    if std::env::var_os(VARIABLE).is_none_or(|shell| shell.is_empty() || shell == "0") {
        return None;
    }
    // Registration has no words.
    let is_asked = std::env::args_os().any(|word| word == "--");
    let shell = std::env::var_os(VARIABLE).map(|shell| shell.to_string_lossy().into_owned()).unwrap_or_default();
    let line = line(&shell, std::env::args_os().collect());
    let words: Vec<OsString> = line.iter().skip_while(|word| *word != "--").skip(1).cloned().collect();
    let words = match bash::Bash.is(&shell) {
        true => bash::joined(&words, bash::index().unwrap_or_default()).0,
        false => words,
    };
    let completed = CompleteEnv::with_factory(|| command(words.get(1..).unwrap_or_default()))
        .var(VARIABLE)
        .shells(Shells(&[&bash::Bash, &Elvish, &Fish, &Powershell, &Zsh]))
        .try_complete(line, std::env::current_dir().ok().as_deref());
    match completed {
        Ok(false) => None,
        Ok(true) => Some(ExitCode::SUCCESS),
        // Messages would appear inside the line that the user is typing.
        Err(_) if is_asked => Some(ExitCode::SUCCESS),
        Err(error) => {
            let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
            if cause.is_none_or(|cause| cause.kind() != io::ErrorKind::BrokenPipe) {
                // There is no other place to say it.
                drop(error.print());
            }
            Some(ExitCode::from(2))
        }
    }
}

/// The words of this process, of which shells give the one that is being written as it is written, with its quotes.
fn line(shell: &str, mut line: Vec<OsString>) -> Vec<OsString> {
    let index = match shell {
        "bash" | "zsh" => bash::index(),
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

/// The command line, with what can stand at these words of it.
fn command(words: &[OsString]) -> Command {
    let root = Arguments::command();
    if words.is_empty() {
        return root;
    }
    let said = Said::read(&root, words);
    let known = Known::of(said.config.clone());
    let root = with_servers(root, &known);
    let path: Vec<&str> = said.path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["call"] => root.mut_subcommand("call", |call| with_tools(call, &said, &known)),
        ["learn"] => root.mut_subcommand("learn", |learn| naming_tools(learn, "tool", &said, &known)),
        ["expand"] => root.mut_subcommand("expand", |expand| naming_tools(expand, "tools", &said, &known)),
        ["import"] => root.mut_subcommand("import", |import| {
            let hosts = Host::ALL.into_iter().map(|host| Offered::new(host.name())).collect();
            import.mut_arg("from", |from| from.add(offering(hosts)))
        }),
        ["prompt", "get"] => {
            root.mut_subcommand("prompt", |prompt| prompt.mut_subcommand("get", |get| with_prompts(get, &said, &known)))
        }
        ["resource", "read"] => root.mut_subcommand("resource", |resource| {
            resource.mut_subcommand("read", |read| with_uris(read, &said, &known))
        }),
        _ => root,
    }
}

fn with_servers(command: Command, known: &Known) -> Command {
    // `mut_arg` would put them behind the others.
    let command = command.mut_args(|argument| match SERVER_ARGUMENTS.contains(&argument.get_id().as_str()) {
        true => {
            let known = known.clone();
            argument.add(ArgValueCandidates::new(move || known.servers()))
        }
        false => argument,
    });
    command.mut_subcommands(|inner| match WITHOUT_SERVERS.contains(&inner.get_name()) {
        true => inner,
        false => with_servers(inner, known),
    })
}

/// `words` holds the name and all behind it: here only the name, so that what follows is completed as options.
fn with_names(command: Command, names: Vec<Offered>) -> Command {
    command.mut_arg("words", |words| {
        let words = words.num_args(1).trailing_var_arg(false).action(ArgAction::Set);
        words.add(offering(names))
    })
}

fn with_tools(call: Command, said: &Said, known: &Known) -> Command {
    let Some((config, snapshot)) = said.positionals.first().and_then(|server| known.snapshot(server)) else {
        return call;
    };
    let offered = snapshot.tools.iter().filter(|tool| known::name_of(tool).is_some_and(|name| config.selects(name)));
    let call = with_names(call, offered.filter_map(|tool| Offered::by(known::name_of(tool)?, tool)).collect());
    let name = said.positionals.get(1).map(String::as_str);
    match snapshot.tools.iter().find(|tool| name.is_some() && known::name_of(tool) == name) {
        Some(tool) => {
            let schema = tool.get("inputSchema").unwrap_or(&serde_json::Value::Null);
            with_flags(call, &Flags::new(schema, own_options()))
        }
        None => call,
    }
}

/// The names of a server's tools for one argument.
fn naming_tools(command: Command, argument: &'static str, said: &Said, known: &Known) -> Command {
    let Some((config, snapshot)) = said.positionals.first().and_then(|server| known.snapshot(server)) else {
        return command;
    };
    let offered = snapshot.tools.iter().filter(|tool| known::name_of(tool).is_some_and(|name| config.selects(name)));
    let names = offered.filter_map(|tool| Offered::by(known::name_of(tool)?, tool)).collect();
    command.mut_arg(argument, |argument| argument.add(offering(names)))
}

fn with_prompts(get: Command, said: &Said, known: &Known) -> Command {
    let Some((_, snapshot)) = said.positionals.first().and_then(|server| known.snapshot(server)) else {
        return get;
    };
    let names = snapshot.prompts.iter().filter_map(|prompt| Offered::by(known::name_of(prompt)?, prompt)).collect();
    let get = with_names(get, names);
    let name = said.positionals.get(1).map(String::as_str);
    match snapshot.prompts.iter().find(|prompt| name.is_some() && known::name_of(prompt) == name) {
        Some(prompt) => with_flags(get, &Flags::new(&prompt_schema(prompt), own_options_of::<OfferOptions>())),
        None => get,
    }
}

/// Snapshots have no resources, only templates: what their URIs begin with.
fn with_uris(read: Command, said: &Said, known: &Known) -> Command {
    let Some((_, snapshot)) = said.positionals.first().and_then(|server| known.snapshot(server)) else {
        return read;
    };
    let begun = |template: &serde_json::Value| {
        let uri = template.get("uriTemplate")?.as_str()?.split('{').next()?;
        Offered::by(uri, template)
    };
    let uris = snapshot.resource_templates.iter().filter_map(begun).collect();
    read.mut_arg("uri", |uri| uri.add(offering(uris)))
}

fn offering(offered: Vec<Offered>) -> ArgValueCandidates {
    ArgValueCandidates::new(move || offered.iter().map(Offered::candidate).collect())
}

/// The command with the flags of a tool or prompt.
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
            by_arg.extend(is_harmless(name).then(|| Offered::new(format!("{name}="))));
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
    let argument = argument.help(one_line(flag.description.as_deref().unwrap_or_default()));
    if flag.value.is_none() {
        return argument.action(ArgAction::SetTrue);
    }
    let values = flag.values.iter().filter(|value| is_quotable(value)).map(Offered::new).collect();
    argument.action(ArgAction::Append).add(offering(values))
}
