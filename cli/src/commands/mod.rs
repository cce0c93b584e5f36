//! One module a command.

mod call;
mod check;
mod expand;
mod faults;
mod list;
mod shapes;
mod source;
mod sync;

use std::future::Future;

use crate::args::{Arguments, Command};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::signals;

pub(crate) fn run(arguments: Arguments, output: &mut Output) -> Result<Exit, Failure> {
    let config = arguments.config.as_deref();
    match arguments.command {
        Command::Sync(servers) => until_interrupted(sync::run(config, &servers, output)),
        Command::Check(servers) => until_interrupted(check::run(config, &servers, output)),
        Command::List(list) if list.shapes => shapes::run(config, &list.source, output),
        Command::List(list) => list::run(config, &list.source, output),
        Command::Expand(expand) => expand::run(config, &expand, output),
        Command::Call(call) => until_interrupted(call::run(config, call, output)),
    }
}

/// Runs what talks to servers. When the program is told to end it is dropped, and with it the servers that it started.
fn until_interrupted(command: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        tokio::select! {
            outcome = command => outcome,
            exit = signals::told_to_end() => Ok(exit?),
        }
    })
}
