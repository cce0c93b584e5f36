//! The flags of tools at the command line: which options stay the program's own, and what help shows.

mod help;
mod prompt;
mod shell;
mod width;

use clap::{CommandFactory, Parser};
use mcp_schema::flags::OwnOption;

use crate::args::Behind;
use crate::exit::Failure;

pub(crate) use help::help;
pub(crate) use prompt::prompt_schema;
pub(crate) use shell::command_line;
pub(crate) use width::{cut, terminal_width};

/// The options that no property of a tool can have.
pub(crate) fn own_options() -> Vec<OwnOption> {
    own_options_of::<Behind>()
}

/// The options of a command that may stand behind a name whose flags a server decides.
pub(crate) fn own_options_of<P: CommandFactory>() -> Vec<OwnOption> {
    P::command().get_arguments().filter_map(own_option).collect()
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

/// Reads the program's own options from behind the name of a tool.
pub(crate) fn behind<P: Parser>(words: &[String]) -> Result<P, Failure> {
    P::try_parse_from(words).map_err(|error| {
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
