//! `completions` and `man`: files for shells and packages.

use std::path::Path;

use clap::CommandFactory;
use mcp_bindgen_model::FileError;

use crate::args::{Arguments, Shell};
use crate::exit::{Exit, Failure, Result};
use crate::output::Output;

/// Prints the line for a shell's start-up file. The line runs the program each time, because a stored script would
/// complete the options of an older version.
pub(crate) fn run(shell: Shell, output: &mut Output) -> Result<Exit> {
    let (file, line) = match shell {
        Shell::Bash => ("~/.bashrc", r#"eval "$(COMPLETE=bash mcp-bindgen)""#),
        Shell::Zsh => ("~/.zshrc, below compinit", r#"eval "$(COMPLETE=zsh mcp-bindgen)""#),
        Shell::Fish => ("~/.config/fish/config.fish", "COMPLETE=fish mcp-bindgen | source"),
        Shell::Powershell => (
            "$PROFILE",
            r#"$env:COMPLETE = "powershell"; mcp-bindgen | Out-String | Invoke-Expression; Remove-Item Env:\COMPLETE"#,
        ),
        Shell::Elvish => ("~/.config/elvish/rc.elv", "eval (E:COMPLETE=elvish mcp-bindgen | slurp)"),
    };
    output.status("Add", &format!("this line to {file}"));
    output.exact(line)?;
    Ok(Exit::Done)
}

/// Writes a man page for each command.
pub(crate) fn man(folder: &Path, output: &mut Output) -> Result<Exit> {
    let failed = |error| Failure::new(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder)
        .map_err(|error| FileError::new(format!("failed to create the folder: {error}")).in_file(folder))?;
    clap_mangen::generate_to(Arguments::command(), folder).map_err(failed)?;
    output.status("Wrote", &format!("the man pages to {}", folder.display()));
    Ok(Exit::Done)
}
