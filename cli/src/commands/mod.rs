//! One module a command.

mod add;
mod auth;
mod call;
mod check;
mod completions;
mod diff;
mod doctor;
mod edit;
mod expand;
mod faults;
mod findings;
mod import;
mod init;
mod learn;
mod list;
mod offers;
mod run;
mod serve;

use std::future::Future;
use std::time::Duration;

use crate::args::{Arguments, Command};
use crate::exit::{Exit, Result};
use crate::output::Output;
use crate::signals::Signals;

pub(crate) fn run(arguments: Arguments, output: &mut Output) -> Result<Exit> {
    let config = arguments.config.as_deref();
    arguments.command.takes(output.format)?;
    match arguments.command {
        Command::Init(init) => until_interrupted(init::run(config, &init, output)),
        Command::Add(add) => until_interrupted(add::run(config, &add, output)),
        Command::Remove { servers, yes } => edit::remove(config, servers, yes, output),
        Command::Rename { old, name } => edit::rename(config, &old, &name, output),
        Command::Set(set) => edit::set(config, &set, output),
        Command::Import(import) => import::run(config, &import, output),
        Command::Sync(servers) => until_interrupted(check::sync(config, &servers, output)),
        Command::Check(check) => until_interrupted(check::run(config, &check, output)),
        Command::Diff(diff) => until_interrupted(diff::run(config, &diff, output)),
        Command::List(list) if list.shapes => list::shapes(config, &list, output),
        Command::List(list) => list::run(config, &list, output),
        Command::Doctor { servers, connect } => {
            until_interrupted(doctor::run(config, &servers.servers, connect, output))
        }
        Command::Expand(expand) => expand::run(config, &expand, output),
        Command::Call(call) => until_interrupted(call::run(config, call, output)),
        Command::Learn(learn) => until_interrupted(learn::run(config, &learn, output)),
        Command::Resource(command) => until_interrupted(offers::resource(config, command, output)),
        Command::Prompt(command) => until_interrupted(offers::prompt(config, command, output)),
        Command::Run(run) => until_interrupted(run::run(config, &run, output)),
        Command::Auth(command) => until_interrupted(auth::run(config, &command, output)),
        Command::Serve(serve) => serve::run(config, &serve, output),
        Command::Log(command) => serve::verify_log(&command, output),
        Command::Completions { shell } => completions::run(&shell, output),
        Command::Man { folder } => completions::man(&folder, output),
    }
}

/// Runs a command that may start servers or programs. A signal drops it, which ends what it started.
fn until_interrupted(command: impl Future<Output = Result<Exit>>) -> Result<Exit> {
    let mut signals = Signals::listen(true, Duration::ZERO)?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        tokio::select! {
            outcome = command => outcome,
            exit = signals.received() => Ok(exit),
        }
    })
}
