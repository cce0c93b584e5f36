//! The flags of tools on the command line: the program's own options, and help.

use clap::{Args, CommandFactory, FromArgMatches};
use mcp_bindgen_model::printable;
use mcp_bindgen_schema::flags::{Flag, Flags, OwnOption};
use serde_json::{Map, Value, json};

use crate::args::{Behind, Format};
use crate::exit::{Failure, Result};
use crate::output::{Output, commanding_nobody, present};
use crate::text::{command_line, help_width, one_line, shortened, wrapped};
use crate::trace;

/// Between words that stay on one line; `printable` lets none of it through.
const TOGETHER: &str = "\u{1f}";
const INDENT: usize = 10;
/// The maximum number of characters of a description, and of listed values.
const LONGEST_DESCRIPTION: usize = 600;
const MOST_VALUES: usize = 20;

/// Returns the program's options that are allowed after the name of a tool or prompt, besides the server's flags.
pub(crate) fn own_options<O: Args>() -> Vec<OwnOption> {
    Behind::<O>::command().get_arguments().filter_map(own_option).collect()
}

fn own_option(argument: &clap::Arg) -> Option<OwnOption> {
    let option = match (argument.get_long(), argument.get_short()) {
        (Some(long), Some(short)) => OwnOption::new(long).short(short),
        (Some(long), None) => OwnOption::new(long),
        (None, Some(short)) => OwnOption::letter(short),
        (None, None) => return None,
    };
    Some(if argument.get_action().takes_values() { option.takes_value() } else { option })
}

/// Parses the program's own options after a name, as far as possible before the flags of a server are known.
pub(crate) fn early<O: Args>(
    command: &str,
    own: &[OwnOption],
    words: &[String],
    output: &mut Output,
) -> Result<Behind<O>> {
    let early: Behind<O> = behind(command, &told_already(own, words), output)?;
    output.format = early.format.unwrap_or(output.format);
    if !matches!(output.format, Format::Text | Format::Json) {
        return Err(Failure::usage(format!("`{command}` has the formats `text` and `json`")));
    }
    Ok(early)
}

/// Returns the options that are the program's whatever flags there are. A word that begins with two dashes is never a
/// value, nor is one behind anything but a flag.
fn told_already(own: &[OwnOption], words: &[String]) -> Vec<String> {
    let is_letter = |word: &str| word.starts_with('-') && !word.starts_with("--");
    let may_be_value = |before: &str| {
        let name = before.strip_prefix("--").filter(|name| !name.contains('='));
        name.is_some_and(|name| !own.iter().any(|own| own.long.as_deref() == Some(name)))
    };
    let mut before = "";
    let mut told = Vec::new();
    for word in words {
        if !(is_letter(word) && may_be_value(before)) {
            told.push(word.clone());
        }
        before = word;
    }
    Flags::new(&Value::Null, own.to_vec()).split(&told).own
}

/// Parses the program's own options after a name, and applies their output settings.
pub(crate) fn behind<O: Args>(command: &str, words: &[String], output: &mut Output) -> Result<Behind<O>> {
    let parser = Behind::<O>::command().name(format!("mcp-bindgen {command}"));
    let read = parser.try_get_matches_from(words).and_then(|matches| Behind::from_arg_matches(&matches));
    let read: Behind<O> = read.map_err(|error| {
        let said = error.render().to_string();
        Failure::usage(said.strip_prefix("error: ").unwrap_or(&said).trim_end().to_owned())
    })?;
    output.changes(read.quiet, read.verbose, read.color)?;
    trace::begin(read.verbose);
    Ok(read)
}

/// Returns the name of a tool or prompt in a list.
pub(crate) fn name_of(listed: &Value) -> Option<&str> {
    listed.get("name")?.as_str()
}

/// Returns the schema of a tool's arguments, or `null` if it is missing.
pub(crate) fn input_schema(tool: &Value) -> &Value {
    tool.get("inputSchema").unwrap_or(&Value::Null)
}

/// Returns the schema of a prompt's arguments. The protocol has texts for them, and nothing else.
pub(crate) fn prompt_schema(prompt: &Value) -> Value {
    let arguments = prompt.get("arguments").and_then(Value::as_array);
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for argument in arguments.into_iter().flatten() {
        // The first of several arguments of one name counts.
        let Some(name) = name_of(argument).filter(|name| !properties.contains_key(*name)) else { continue };
        let description = argument.get("description").cloned();
        properties.insert(name.to_owned(), present([("type", Some(json!("string"))), ("description", description)]));
        if argument.get("required") == Some(&Value::Bool(true)) {
            required.push(name);
        }
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

/// Returns the help of a tool or prompt, which a command takes. All that it shows of the server's is made harmless.
pub(crate) fn help(command: &str, server: &str, tool: &str, described: &Value, flags: &Flags) -> String {
    let width = help_width();
    let mut lines = Vec::new();
    let said = described.get("description").and_then(Value::as_str).unwrap_or_default();
    let about = format!("{server}/{}: {}", printable(tool), described_briefly(said));
    lines.extend(wrapped(about.trim_end_matches([':', ' ']), width, 0, 0));
    lines.push(String::new());
    let usage = wrapped(&usage(command, server, tool, flags), width.saturating_sub(4), 0, 0);
    lines.extend(usage.join("\n    ").replace(TOGETHER, " ").lines().map(str::to_owned));
    let (required, optional): (Vec<&Flag>, Vec<&Flag>) = flags.list().iter().partition(|flag| flag.is_required);
    for (title, flags) in [("Required:", required), ("Optional:", optional)] {
        if !flags.is_empty() {
            lines.extend([String::new(), title.to_owned()]);
            flags.iter().for_each(|flag| entry(flag, width, &mut lines));
        }
    }
    let mut more = format!(
        "Every flag also accepts `--NAME:=JSON`, and `@FILE` for text. `--args JSON` passes all arguments at once. \
         Options of `mcp-bindgen {command}` are also accepted here."
    );
    if flags.list().iter().any(|flag| flag.repeats) {
        more.push_str(" A flag with `...` adds one element each time, or takes one JSON array for all of them.");
    }
    if flags.list().is_empty() {
        let kind = if command == "call" { "tool" } else { "prompt" };
        more = format!("The {kind} declares no arguments. Options of `mcp-bindgen {command}` are also accepted here.");
    }
    if flags.takes_undeclared() {
        more.push_str(" `--arg NAME=VALUE` sends an undeclared argument.");
    }
    lines.push(String::new());
    lines.extend(wrapped(&more, width, 0, 0));
    commanding_nobody(&lines.join("\n")).into_owned()
}

fn usage(command: &str, server: &str, tool: &str, flags: &Flags) -> String {
    let mut words = vec![format!("Usage: mcp-bindgen {command} {server} {}", command_line([&*printable(tool)]))];
    let required = flags.list().iter().filter(|flag| flag.is_required && flag.path.len() == 1);
    words.extend(required.map(|flag| printable(&flag.usage()).replace(' ', TOGETHER)));
    if flags.list().iter().any(|flag| !flag.is_required) || flags.takes_undeclared() {
        words.push(format!("[--NAME{TOGETHER}VALUE]..."));
    }
    words.join(" ")
}

fn entry(flag: &Flag, width: usize, lines: &mut Vec<String>) {
    let mut forms = vec![flag.usage() + if flag.repeats { "..." } else { "" }];
    forms.extend(flag.also.iter().cloned());
    let forms = printable(&forms.join(", "));
    lines.extend(wrapped(&forms, width, 2, 2));
    let mut text = described_briefly(flag.description.as_deref().unwrap_or_default());
    if !flag.values.is_empty() {
        let shown: Vec<String> = flag.values.iter().take(MOST_VALUES).map(|value| printable(value)).collect();
        let more = flag.values.len().saturating_sub(MOST_VALUES);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        text.push_str(&format!(" [possible values: {}{more}]", shown.join(", ")));
    }
    if let Some(default) = &flag.default {
        let default = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
        text.push_str(&format!(" [default: {}]", described_briefly(&default)));
    }
    lines.extend(wrapped(&text, width, INDENT, INDENT));
}

fn described_briefly(text: &str) -> String {
    printable(&shortened(&one_line(text), LONGEST_DESCRIPTION, "…"))
}

#[cfg(test)]
mod tests {
    use super::own_options;
    use crate::args::CallOptions;

    #[test]
    fn reserved_option_names_are_fixed() {
        let mut names: Vec<String> =
            own_options::<CallOptions>().into_iter().filter_map(|option| option.long).collect();
        names.sort();
        let kept = ["color", "config", "dry-run", "format", "help", "quiet", "timeout", "verbose", "yes"];
        assert_eq!(names, kept, "each takes a flag away from the tools that have a property of that name");
    }
}
