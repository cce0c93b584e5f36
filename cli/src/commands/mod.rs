//! One module a command.

mod call;
mod check;
mod expand;
mod list;
mod source;
mod sync;

use crate::args::{Arguments, Command};
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) async fn run(arguments: Arguments, output: &mut Output) -> Result<Exit, Failure> {
    let config = arguments.config.as_deref();
    match arguments.command {
        Command::Sync(servers) => sync::run(config, &servers, output).await,
        Command::Check(servers) => check::run(config, &servers, output).await,
        Command::List(source) => list::run(config, &source, output),
        Command::Expand(expand) => expand::run(config, &expand, output),
        Command::Call(call) => call::run(config, call, output).await,
    }
}
