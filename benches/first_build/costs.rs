//! Measures the CPU time of each crate: cargo runs this program in place of rustc, and it records the time of the real
//! one.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use mcp_samples::Fallible;

/// One run of rustc.
pub(crate) struct Cost {
    pub(crate) package: String,
    pub(crate) seconds: f64,
}

/// Runs rustc as cargo asks for it, and writes a file with its CPU time into `folder`.
pub(crate) fn compile(folder: &Path) -> Fallible<ExitCode> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (rustc, arguments) = arguments.split_first().ok_or("expected a command")?;
    let status = Command::new(rustc).args(arguments).status()?;
    if let (Ok(name), Ok(version)) = (std::env::var("CARGO_PKG_NAME"), std::env::var("CARGO_PKG_VERSION")) {
        let text = format!("{name} {version}\n{}\n", of_children()?);
        fs::write(folder.join(std::process::id().to_string()), text)?;
    }
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(crate) fn read(folder: &Path) -> Fallible<Vec<Cost>> {
    let mut costs = Vec::new();
    for entry in fs::read_dir(folder)? {
        let text = fs::read_to_string(entry?.path())?;
        let (package, seconds) = text.trim_end().split_once('\n').ok_or("expected a package and its seconds")?;
        costs.push(Cost { package: package.to_owned(), seconds: seconds.parse()? });
    }
    Ok(costs)
}

/// The CPU time of all children that ended, and of theirs, in seconds. Linux tells it in hundredths.
pub(crate) fn of_children() -> Fallible<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').ok_or("expected the fields of a process")?;
    let ticks: Vec<u32> = fields.split_whitespace().skip(13).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.into_iter().map(f64::from).sum::<f64>() / 100.0)
}
