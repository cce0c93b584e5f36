//! The files that a server sees, by its configuration and the needs of its program.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use mcp_bindgen_model::Isolation;

use super::Refusal;
use super::view::{Place, View, Way, follow, path_text};
use crate::ConnectErrorKind as Kind;
use crate::connect::process::environment::CERTIFICATES;
use crate::connect::process::{Program, which};

/// The system's programs and libraries.
const SYSTEM: &str = "\
    /usr,/bin,/sbin,/lib,/lib32,/lib64,/libx32,/nix/store,/gnu/store,/run/current-system,/run/opengl-driver,\
    /sys/devices/system/cpu";
/// The files of `/etc` that programs need to run: names, certificates, time zones. The rest may hold secrets of the machine.
const SETTINGS: &str = "\
    alternatives,ca-certificates,ca-certificates.conf,crypto-policies,fonts,gai.conf,group,host.conf,hosts,\
    ld.so.cache,ld.so.conf,ld.so.conf.d,locale.alias,locale.conf,localtime,mime.types,nsswitch.conf,os-release,\
    passwd,pki/ca-trust,pki/tls/cert.pem,pki/tls/certs,pki/tls/openssl.cnf,protocols,resolv.conf,services,\
    ssl/cert.pem,ssl/certs,ssl/openssl.cnf,static,terminfo,timezone,zoneinfo";
/// The beginnings of the names of folders in `/etc` with the settings of languages.
const LANGUAGES: [&str; 2] = ["java", "python3"];
/// The folders in which other programs keep sockets and temporary files.
const PRIVATE: &str = "/run,/tmp,/var/run,/var/tmp";
/// The folders that each isolated server has for itself, and that cannot be shared.
const OWN: &str = "/dev,/proc";
/// The other folders that no home may contain.
const OTHERS: &str = "/etc,/var/tmp,/sys";
const HOME_WITHOUT_ONE: &str = "/tmp/home";
const HOME_VARIABLES: [&str; 6] =
    ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"];
const LONGEST_FIRST_LINE: u64 = 1024;
/// An interpreter of an interpreter is rare enough.
const MOST_PROGRAMS: usize = 16;
/// The folders of programs, and of what belongs to them.
const OF_PROGRAMS: [&str; 4] = ["bin", "lib", "lib64", "libexec"];

/// The files and variables of a server.
pub(super) struct Plan {
    pub(super) view: View,
    pub(super) env: Vec<(&'static str, OsString)>,
    /// The folders that the server may write to, if it is restricted.
    pub(super) writable: Vec<PathBuf>,
    /// The homes of the user that exist, as they are given: that of this process, and another one of the system.
    homes: Vec<(PathBuf, Way)>,
    temp_home: Option<PathBuf>,
}

/// Plans the folders that a server sees. The needs of its program are added later.
pub(super) fn plan(isolation: &Isolation, program: &Program<'_>) -> Result<Plan, Refusal> {
    let is_restricted = isolation.read.is_some() || isolation.write.is_some();
    let view = without_folders(is_restricted);
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let homes = homes(std::env::home_dir(), rustix::process::getuid().as_raw(), &users);
    let mut plan = Plan { view, env: Vec::new(), writable: Vec::new(), homes, temp_home: None };
    if !program.env.contains_key("TMPDIR") {
        plan.env.push(("TMPDIR", "/tmp".into()));
    }
    if isolation.temp_home {
        plan.hide_homes(program, is_restricted)?;
    }
    plan.show_folders(isolation)?;
    plan.show_certificates(program, |name| std::env::var_os(name));
    Ok(plan)
}

impl Plan {
    /// Replaces the homes by empty folders. No other setting may set a variable of `home = "temp"`.
    fn hide_homes(&mut self, program: &Program<'_>, is_restricted: bool) -> Result<(), Refusal> {
        let wrong =
            |what: String| Err((Kind::Config, format!("{what}; `home = \"temp\"` sets it, remove one of the two")));
        if program.env.contains_key("HOME") {
            return wrong("its `env` sets `HOME`".to_owned());
        }
        if let Some(name) = program.inherit_env.iter().find(|name| HOME_VARIABLES.contains(&name.as_str())) {
            return wrong(format!("its `inherit_env` contains `{name}`, which reveals the real home"));
        }
        for (given, way) in &self.homes {
            let contains = |paths: &str| paths.split(',').any(|path| Path::new(path).starts_with(&way.real));
            if !contains(OWN) && !contains(SYSTEM) && !contains(OTHERS) {
                self.view.put_at(way, Place::Empty);
                self.temp_home.get_or_insert_with(|| given.clone());
            } else if !is_restricted && std::env::home_dir().as_ref() == Some(given) {
                let message = format!(
                    "`home = \"temp\"` cannot hide the home `{}`, which contains the system; set `HOME` to \
                     another folder, or list folders in `read` and `write`",
                    path_text(given)
                );
                return Err((Kind::Config, message));
            }
        }
        let home = self.temp_home.get_or_insert_with(|| {
            self.view.put(HOME_WITHOUT_ONE, Place::Empty);
            HOME_WITHOUT_ONE.into()
        });
        self.env.push(("HOME", home.clone().into_os_string()));
        Ok(())
    }

    fn show_folders(&mut self, isolation: &Isolation) -> Result<(), Refusal> {
        let mut ways = Vec::new();
        for folder in isolation.read.as_deref().unwrap_or_default() {
            ways.push(("read", folder, self.way_of("read", folder)?, Place::Read));
        }
        for folder in isolation.write.as_deref().unwrap_or_default() {
            let way = self.way_of("write", folder)?;
            self.writable.push(way.real.clone());
            ways.push(("write", folder, way, Place::Write));
        }
        for (key, folder, way, place) in ways {
            let is_in = |link: &Path| self.writable.iter().find(|writable| link.starts_with(writable));
            if let Some(writable) = way.links.iter().find_map(|(link, _)| is_in(link)) {
                let message = format!(
                    "`{key}` of its `isolation` contains `{}`, which uses a symbolic link in `{}`, where the server \
                     may write; use the real path",
                    path_text(Path::new(folder)),
                    path_text(writable)
                );
                return Err((Kind::Config, message));
            }
            self.view.put_at(&way, place);
        }
        Ok(())
    }

    /// Follows a folder of `read` or `write`.
    fn way_of(&self, key: &str, folder: &str) -> Result<Way, Refusal> {
        let folder = Path::new(folder);
        let wrong = |what: &str| {
            Err((Kind::Config, format!("`{key}` of its `isolation` contains `{}`, {what}", path_text(folder))))
        };
        let path = match folder.strip_prefix("~") {
            Ok(rest) => match std::env::home_dir().filter(|home| home.is_absolute()) {
                Some(home) => home.join(rest),
                None => return wrong("but the home folder is unknown: `HOME` is not set"),
            },
            Err(_) => folder.to_owned(),
        };
        let way = match std::path::absolute(path).and_then(|path| follow(&path)) {
            Ok(way) => way,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return wrong("which does not exist"),
            Err(_) if folder.as_os_str().is_empty() => return wrong("which is not a directory"),
            Err(error) => return wrong(&format!("which cannot be mounted: {error}")),
        };
        if is_own(&way.real) {
            return wrong("but every isolated server has its own `/dev` and `/proc`");
        }
        if self.temp_home.is_some() && self.homes.iter().any(|(_, home)| home.real == way.real) {
            return wrong("the home that `home = \"temp\"` hides; use folders inside it, or remove one of the two");
        }
        Ok(way)
    }

    /// Shows the certificates that the child's variables name. Paths that the server can write to are ignored, and
    /// homes and their parents are never shown.
    fn show_certificates(&mut self, program: &Program<'_>, variable: impl Fn(&str) -> Option<OsString>) {
        for name in CERTIFICATES.split(',') {
            let Some(value) = variable(name).filter(|_| !program.env.contains_key(name)) else { continue };
            let paths =
                if name == "SSL_CERT_DIR" { std::env::split_paths(&value).collect() } else { vec![value.into()] };
            for path in paths.into_iter().filter(|path| path.is_absolute()) {
                let Ok(way) = follow(&path) else { continue };
                if !is_own(&way.real) && !self.contains_home(&way.real) && way.passes(&self.writable).is_none() {
                    let _ = self.view.show(&path);
                }
            }
        }
    }

    /// Shows a program and the files outside of the visible folders that it needs to run: `npx` below `~/.nvm`, a Python
    /// environment, the interpreter of a script. Only folders of programs and libraries are made visible, never one with
    /// other content. Files that the server can write to are ignored, or the server could add files to its next view.
    pub(super) fn show_program(&mut self, program: &Path, search: Option<&OsStr>) -> io::Result<()> {
        let mut seen = Vec::new();
        let mut left = vec![program.to_owned()];
        while let Some(path) = left.pop() {
            if seen.len() == MOST_PROGRAMS || seen.contains(&path) {
                continue;
            }
            let way = follow(&path)?;
            if way.passes(&self.writable).is_none() {
                for folder in way.places().into_iter().flat_map(around) {
                    if !self.contains_home(&folder) {
                        self.view.show(&folder)?;
                    }
                }
                self.view.show(&path)?;
                left.append(&mut interpreters(&way.real, search));
            }
            seen.push(path);
        }
        Ok(())
    }

    fn contains_home(&self, folder: &Path) -> bool {
        self.homes.iter().any(|(_, home)| home.real.starts_with(folder))
    }

    /// Returns the working directory of the server: `cwd`, which it must see. Without `cwd` it is this process's
    /// directory if the server sees that, or else the temporary home or `/`.
    pub(super) fn folder_to_start_in(&self, cwd: Option<&str>) -> Result<PathBuf, Refusal> {
        let Some(cwd) = cwd else {
            let current = std::env::current_dir().ok().filter(|current| self.view.shows(current));
            return Ok(current.or_else(|| self.temp_home.clone()).unwrap_or_else(|| "/".into()));
        };
        let way = std::path::absolute(cwd).and_then(|cwd| follow(&cwd));
        let cwd = path_text(Path::new(cwd));
        match way.ok().filter(|way| way.real.is_dir()) {
            Some(way) if self.view.shows(&way.real) => Ok(way.real),
            Some(_) => {
                let advice = "add it to `read` or `write`";
                Err((Kind::Config, format!("its `isolation` does not include the folder `{cwd}` (cwd); {advice}")))
            }
            None => Err((Kind::Spawn, format!("the folder `{cwd}` (cwd) does not exist"))),
        }
    }
}

/// Returns `true` for a path in the folders that each isolated server has for itself.
fn is_own(path: &Path) -> bool {
    OWN.split(',').any(|own| path.starts_with(own))
}

/// Returns the homes of a user that exist: the one of this process, and the one in the lines of `/etc/passwd`.
fn homes(own: Option<PathBuf>, user: u32, users: &str) -> Vec<(PathBuf, Way)> {
    let user = user.to_string();
    let of_user = users.lines().find_map(|line| match *line.split(':').collect::<Vec<_>>() {
        [_, _, id, _, _, home, ..] if id == user => Some(PathBuf::from(home)),
        _ => None,
    });
    let mut homes: Vec<(PathBuf, Way)> = Vec::new();
    for given in [own, of_user] {
        if let Some(given) = given.filter(|given| given.is_absolute() && given.is_dir())
            && let Ok(way) = follow(&given)
            && homes.iter().all(|(_, home)| home.real != way.real)
        {
            homes.push((given, way));
        }
    }
    homes
}

/// Returns the view without folders of the configuration: the files that every program needs, or all files of this
/// process. The server has some folders for itself.
fn without_folders(is_restricted: bool) -> View {
    let mut view = View::default();
    view.put("/dev", Place::Devices);
    view.put("/dev/shm", Place::Empty);
    view.put("/dev/tty", Place::Nothing);
    view.put("/proc", Place::Processes);
    // Root may write there, whatever it was deprived of.
    for knobs in ["/proc/sys", "/proc/sysrq-trigger"].into_iter().filter(|knobs| Path::new(knobs).exists()) {
        view.put(knobs, Place::Read);
    }
    let is_folder = |path: &&str| Path::new(path).symlink_metadata().is_ok_and(|found| found.is_dir());
    for private in PRIVATE.split(',').filter(is_folder) {
        view.put(private, Place::Empty);
    }
    if !is_restricted {
        view.put("/", Place::Write);
        view.put("/sys", Place::Read);
    }
    // Missing files are not needed. The others may be in folders that are hidden, such as /run.
    let mut show = |path: &Path| drop(view.show(path));
    let etc = Path::new("/etc");
    SYSTEM.split(',').for_each(|path| show(path.as_ref()));
    if !is_restricted {
        show(&etc.join("resolv.conf"));
        return view;
    }
    SETTINGS.split(',').for_each(|setting| show(&etc.join(setting)));
    // Their settings are in separate folders, with links.
    for entry in std::fs::read_dir(etc).into_iter().flatten() {
        let Ok(entry) = entry else { continue };
        if LANGUAGES.iter().any(|language| entry.file_name().as_encoded_bytes().starts_with(language.as_bytes())) {
            show(&entry.path());
        }
    }
    view
}

/// Returns the folders that a program belongs to.
fn around(program: &Path) -> Vec<PathBuf> {
    if let Some(modules) = program.ancestors().filter(|above| above.ends_with("node_modules")).last() {
        return vec![modules.to_owned()];
    }
    let mut folders = program.ancestors().skip(1);
    match (folders.next(), folders.next()) {
        (Some(_), Some(above)) if above.join("pyvenv.cfg").is_file() => vec![above.to_owned()],
        (Some(bin), Some(above)) if bin.ends_with("bin") => {
            OF_PROGRAMS.iter().map(|name| above.join(name)).filter(|folder| folder.is_dir()).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the programs that the first line of a script names.
fn interpreters(script: &Path, search: Option<&OsStr>) -> Vec<PathBuf> {
    let mut first = Vec::new();
    let read = File::open(script).and_then(|file| file.take(LONGEST_FIRST_LINE).read_to_end(&mut first));
    let Some(line) = first.strip_prefix(b"#!").filter(|_| read.is_ok()) else { return Vec::new() };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let (mut programs, mut follows_env) = (Vec::new(), false);
    for word in line.split(u8::is_ascii_whitespace) {
        // `env -S NAME=VALUE program`
        if word.is_empty() || follows_env && (word.starts_with(b"-") || word.contains(&b'=')) {
            continue;
        }
        let program = OsStr::from_bytes(word);
        programs.extend(which(program, search, Path::new("/")));
        if follows_env || Path::new(program).file_name() != Some("env".as_ref()) {
            break;
        }
        follows_env = true;
    }
    programs
}

#[cfg(test)]
mod tests;
