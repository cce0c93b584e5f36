//! The flags of tools on the command line: the program's own options, and help.

mod help;

use clap::{Args, CommandFactory, FromArgMatches};
use mcp_bindgen_schema::flags::{Flags, OwnOption};
use serde_json::{Map, Value, json};

use crate::args::{Behind, Format};
use crate::exit::Failure;
use crate::output::Output;
use crate::trace;

pub(crate) use help::help;

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
) -> Result<Behind<O>, Failure> {
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
pub(crate) fn behind<O: Args>(command: &str, words: &[String], output: &mut Output) -> Result<Behind<O>, Failure> {
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
    let mut properties = Map::new();
    let mut required = Vec::new();
    for argument in arguments.into_iter().flatten() {
        let Some(name) = name_of(argument) else { continue };
        let property = match argument.get("description") {
            Some(said) => json!({ "type": "string", "description": said }),
            None => json!({ "type": "string" }),
        };
        // The first of several arguments of one name counts.
        if properties.contains_key(name) {
            continue;
        }
        properties.insert(name.to_owned(), property);
        if argument.get("required") == Some(&Value::Bool(true)) {
            required.push(name);
        }
    }
    json!({ "type": "object", "properties": properties, "required": required })
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
