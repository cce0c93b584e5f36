//! Finds files outside of the visible folders that a program needs to run: `npx` below `~/.nvm`, a Python
//! environment, the interpreter of a script. Only folders of programs and libraries are made visible, never one with
//! other content.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::view::View;
use super::way::follow;

const LONGEST_FIRST_LINE: u64 = 1024;
/// An interpreter of an interpreter is rare enough.
const MOST_PROGRAMS: usize = 16;
/// The folders beside `bin` that belong to its programs.
const LIBRARIES: [&str; 3] = ["lib", "lib64", "libexec"];

/// Shows a program and its files. Files that the server can write to are ignored, or the server could add files to its
/// next view.
pub(super) fn show(
    view: &mut View,
    program: &Path,
    search: Option<&OsStr>,
    homes: &[PathBuf],
    writable: &[PathBuf],
) -> io::Result<()> {
    let mut seen = Vec::new();
    let mut left = vec![program.to_owned()];
    while let Some(path) = left.pop() {
        if seen.len() == MOST_PROGRAMS || seen.contains(&path) {
            continue;
        }
        seen.push(path.clone());
        let way = follow(&path)?;
        let passed: Vec<&Path> = way.links.iter().map(|(link, _)| link.as_path()).chain([way.real.as_path()]).collect();
        if passed.iter().any(|place| writable.iter().any(|folder| place.starts_with(folder))) {
            continue;
        }
        for folder in passed.iter().flat_map(|place| around(place)) {
            if !homes.iter().any(|home| home.starts_with(&folder)) {
                view.show(&folder)?;
            }
        }
        view.show(&path)?;
        left.extend(interpreters(&way.real, search));
    }
    Ok(())
}

/// Returns the folders that a program belongs to.
fn around(program: &Path) -> Vec<PathBuf> {
    let is = |path: &Path, name: &str| path.file_name() == Some(name.as_ref());
    if let Some(modules) = program.ancestors().filter(|above| is(above, "node_modules")).last() {
        return vec![modules.to_owned()];
    }
    let Some(bin) = program.parent() else { return Vec::new() };
    let Some(above) = bin.parent() else { return Vec::new() };
    if above.join("pyvenv.cfg").is_file() {
        return vec![above.to_owned()];
    }
    if !is(bin, "bin") {
        return Vec::new();
    }
    let libraries = LIBRARIES.iter().map(|name| above.join(name)).filter(|folder| folder.is_dir());
    [bin.to_owned()].into_iter().chain(libraries).collect()
}

/// Returns the programs that the first line of a script names.
fn interpreters(script: &Path, search: Option<&OsStr>) -> Vec<PathBuf> {
    let mut first = Vec::new();
    let read = File::open(script).and_then(|file| file.take(LONGEST_FIRST_LINE).read_to_end(&mut first));
    let Some(line) = read.ok().and_then(|_| first.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()) else {
        return Vec::new();
    };
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(OsStr::from_bytes);
    let interpreter = words.next();
    let is_env = interpreter.is_some_and(|path| Path::new(path).file_name() == Some("env".as_ref()));
    // `env -S NAME=VALUE program`
    let named = words.find(|word| !word.as_bytes().starts_with(b"-") && !word.as_bytes().contains(&b'='));
    let all = interpreter.into_iter().chain(named.filter(|_| is_env));
    all.filter_map(|program| which::which_in(program, search, "/").ok()).collect()
}
