//! `completions` and `man`: files for shells and packages.

use std::fs;
use std::path::Path;

use clap::CommandFactory;
use mcp_bindgen_model::FileError;

use crate::args::Arguments;
use crate::exit::{Exit, Result};
use crate::output::Output;

/// Prints the line for a shell's start-up file. The line runs the program each time, because a stored script would
/// complete the options of an older version.
pub(crate) fn run(shell: &str, output: &mut Output) -> Result<Exit> {
    let (file, line) = match shell {
        "bash" => ("~/.bashrc", r#"eval "$(COMPLETE=bash mcp-bindgen)""#),
        "zsh" => ("~/.zshrc, below compinit", r#"eval "$(COMPLETE=zsh mcp-bindgen)""#),
        "fish" => ("~/.config/fish/config.fish", "COMPLETE=fish mcp-bindgen | source"),
        "powershell" => (
            "$PROFILE",
            r#"$env:COMPLETE = "powershell"; mcp-bindgen | Out-String | Invoke-Expression; Remove-Item Env:\COMPLETE"#,
        ),
        // Elvish: no other value is parsed.
        _ => ("~/.config/elvish/rc.elv", "eval (E:COMPLETE=elvish mcp-bindgen | slurp)"),
    };
    output.status("Add", &format!("this line to {file}"));
    output.exact(line)?;
    Ok(Exit::Done)
}

/// Writes a man page for each command.
pub(crate) fn man(folder: &Path, output: &mut Output) -> Result<Exit> {
    fs::create_dir_all(folder)
        .map_err(|error| FileError::new(format!("failed to create the folder: {error}")).in_file(folder))?;
    clap_mangen::generate_to(Arguments::command(), folder)
        .map_err(|error| FileError::new(format!("failed to write the man pages: {error}")).in_file(folder))?;
    output.status("Wrote", &format!("the man pages to {}", folder.display()));
    Ok(Exit::Done)
}
