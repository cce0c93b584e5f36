//! What ends a command from outside.

use std::io;

use crate::exit::Exit;

/// Waits until the program is told to end, and says with which code.
#[cfg(unix)]
pub(crate) async fn told_to_end() -> io::Result<Exit> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    // Under `nohup` a terminal that closes is to be ignored, which listening would end.
    let mut hang_up = if ignores(SignalKind::hangup()) { None } else { Some(signal(SignalKind::hangup())?) };
    let hung_up = async {
        match &mut hang_up {
            Some(hang_up) => hang_up.recv().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = interrupt.recv() => Ok(Exit::Interrupted),
        _ = terminate.recv() => Ok(Exit::Terminated),
        _ = hung_up => Ok(Exit::HungUp),
    }
}

#[cfg(not(unix))]
pub(crate) async fn told_to_end() -> io::Result<Exit> {
    tokio::signal::ctrl_c().await.map(|()| Exit::Interrupted)
}

/// Whether whoever started the program had the signal ignored, where that can be seen.
#[cfg(unix)]
fn ignores(signal: tokio::signal::unix::SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    ignored.is_some_and(|ignored| ignored >> (signal.as_raw_value() - 1) & 1 == 1)
}
