//! The flags of tools at the command line: which options stay the program's own, and what help shows.

mod help;
mod prompt;
mod shell;
mod width;

use clap::{Args, CommandFactory, FromArgMatches};
use mcp_schema::flags::{Flags, OwnOption};
use serde_json::Value;

use crate::args::{Behind, CallOptions, Format};
use crate::exit::Failure;
use crate::output::Output;
use crate::trace;

pub(crate) use help::help;
pub(crate) use prompt::prompt_schema;
pub(crate) use shell::command_line;
pub(crate) use width::{cut, terminal_width};

/// The options that no property of a tool can have.
pub(crate) fn own_options() -> Vec<OwnOption> {
    own_options_of::<CallOptions>()
}

/// The options that may stand behind a name whose flags a server decides, beside these.
pub(crate) fn own_options_of<O: Args>() -> Vec<OwnOption> {
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

/// Reads the program's own options from behind a name, before it is known which flags a server adds, and says and shows from
/// now on what they want.
pub(crate) fn early<O: Args>(
    command: &str,
    own: &[OwnOption],
    words: &[String],
    output: &mut Output,
) -> Result<Behind<O>, Failure> {
    // A word that begins with two dashes is never a value, so these can be told already.
    let long = own.iter().filter_map(OwnOption::without_letter);
    let early: Behind<O> = behind(command, &Flags::new(&Value::Null, long).split(words).own)?;
    output.format = early.format.unwrap_or(output.format);
    if !matches!(output.format, Format::Text | Format::Json) {
        return Err(Failure::usage(format!("`{command}` has the formats `text` and `json`")));
    }
    output.changes(early.quiet, early.color);
    trace::begin(early.verbose);
    Ok(early)
}

/// Reads the program's own options from behind a name.
pub(crate) fn behind<O: Args>(command: &str, words: &[String]) -> Result<Behind<O>, Failure> {
    let parser = Behind::<O>::command().name(format!("mcp-bindgen {command}"));
    let read = parser.try_get_matches_from(words).and_then(|matches| Behind::from_arg_matches(&matches));
    read.map_err(|error| {
        let said = error.render().to_string();
        Failure::usage(said.strip_prefix("error: ").unwrap_or(&said).trim_end().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::own_options;

    #[test]
    fn the_names_that_are_kept_are_few() {
        let mut names: Vec<String> = own_options().into_iter().filter_map(|option| option.long).collect();
        names.sort();
        let kept = ["color", "config", "dry-run", "format", "help", "quiet", "timeout", "verbose", "yes"];
        assert_eq!(names, kept, "each takes a flag away from the tools that have a property of that name");
    }
}
