//! Which folders a server sees, by its configuration.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use mcp_bindgen_model::Isolation;

use super::view::{Place, View};
use super::way::{Way, follow};
use super::{Refusal, path_text};
use crate::ConnectErrorKind as Kind;
use crate::connect::process::Program;
use crate::connect::process::environment::CERTIFICATES;

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
/// The folders in which other programs keep sockets and temporary files.
const PRIVATE: [&str; 4] = ["/run", "/tmp", "/var/run", "/var/tmp"];
/// The folders that each isolated server has for itself, and that cannot be shared.
const OWN: [&str; 2] = ["/dev", "/proc"];
const HOME_WITHOUT_ONE: &str = "/tmp/home";
const HOME_VARIABLES: [&str; 6] =
    ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"];

/// The files and variables of a server.
pub(super) struct Plan {
    pub(super) view: View,
    pub(super) env: Vec<(&'static str, OsString)>,
    /// The homes of the user, as they really are.
    pub(super) homes: Vec<PathBuf>,
    /// The folders that the server may write to, if it is restricted.
    pub(super) writable: Vec<PathBuf>,
    temp_home: Option<PathBuf>,
}

/// Plans the folders that a server sees. The needs of its program are added later.
pub(super) fn plan(isolation: &Isolation, program: &Program<'_>) -> Result<Plan, Refusal> {
    let homes = homes();
    let is_restricted = isolation.read.is_some() || isolation.write.is_some();
    let mut plan = Plan {
        view: if is_restricted { system_alone() } else { whole() },
        env: Vec::new(),
        homes: homes.iter().map(|home| home.way.real.clone()).collect(),
        writable: Vec::new(),
        temp_home: None,
    };
    if !program.env.contains_key("TMPDIR") {
        plan.env.push(("TMPDIR", "/tmp".into()));
    }
    if isolation.temp_home {
        check_variables(program)?;
        plan.hide_homes(&homes, is_restricted)?;
    }
    plan.show_folders(isolation)?;
    plan.show_certificates(program);
    Ok(plan)
}

impl Plan {
    fn hide_homes(&mut self, homes: &[Home], is_restricted: bool) -> Result<(), Refusal> {
        for home in homes {
            if !home.can_be_hidden() {
                if home.is_of_process && !is_restricted {
                    let message = format!(
                        "`home = \"temp\"` cannot hide the home `{}`, which contains the system; set `HOME` to \
                         another folder, or list folders in `read` and `write`",
                        path_text(&home.given)
                    );
                    return Err((Kind::Config, message));
                }
                continue;
            }
            self.view.put_at(&home.way, Place::Empty);
            self.temp_home.get_or_insert_with(|| home.given.clone());
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
        for (key, folders, place) in [("read", &isolation.read, Place::Read), ("write", &isolation.write, Place::Write)]
        {
            for folder in folders.iter().flatten() {
                let way = self.way_of(key, folder)?;
                if place == Place::Write {
                    self.writable.push(way.real.clone());
                }
                ways.push((key, folder, way, place.clone()));
            }
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

    /// Shows the certificates that the child's variables name. Paths that the server can write to are ignored, and
    /// homes and their parents are never shown.
    fn show_certificates(&mut self, program: &Program<'_>) {
        for name in CERTIFICATES.iter().filter(|name| !program.env.contains_key(**name)) {
            let Some(value) = std::env::var_os(name) else { continue };
            let paths =
                if *name == "SSL_CERT_DIR" { std::env::split_paths(&value).collect() } else { vec![value.into()] };
            for path in paths.into_iter().filter(|path| path.is_absolute()) {
                let Ok(way) = follow(&path) else { continue };
                let mut passed = way.links.iter().map(|(link, _)| link).chain([&way.real]);
                let is_hidden = self.homes.iter().any(|home| home.starts_with(&way.real))
                    || OWN.iter().any(|own| way.real.starts_with(own))
                    || passed.any(|place| self.writable.iter().any(|folder| place.starts_with(folder)));
                if !is_hidden {
                    let _ = self.view.show(&path);
                }
            }
        }
    }

    fn way_of(&self, key: &str, folder: &str) -> Result<Way, Refusal> {
        let wrong = |what: String| {
            (Kind::Config, format!("`{key}` of its `isolation` contains `{}`, {what}", path_text(Path::new(folder))))
        };
        let path = match folder.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => match std::env::home_dir() {
                Some(home) if home.is_absolute() => home.join(rest.trim_start_matches('/')),
                _ => return Err(wrong("but the home folder is unknown: `HOME` is not set".to_owned())),
            },
            _ => PathBuf::from(folder),
        };
        if folder.is_empty() {
            return Err(wrong("which is not a directory".to_owned()));
        }
        let followed = std::path::absolute(&path).and_then(|path| follow(&path));
        let way = followed.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => wrong("which does not exist".to_owned()),
            _ => wrong(format!("which cannot be mounted: {error}")),
        })?;
        if OWN.iter().any(|own| way.real.starts_with(own)) {
            return Err(wrong("but every isolated server has its own `/dev` and `/proc`".to_owned()));
        }
        if self.temp_home.is_some() && self.homes.contains(&way.real) {
            return Err(wrong(
                "the home that `home = \"temp\"` hides; use folders inside it, or remove one of the two".to_owned(),
            ));
        }
        Ok(way)
    }

    /// Returns the working directory of the server: `cwd`, which it must see. Without `cwd` it is this process's
    /// directory if the server sees that, or else the temporary home or `/`.
    pub(super) fn folder_to_start_in(&self, cwd: Option<&str>) -> Result<PathBuf, Refusal> {
        let Some(cwd) = cwd else {
            let current = std::env::current_dir().ok().filter(|current| self.view.shows(current));
            return Ok(current.or_else(|| self.temp_home.clone()).unwrap_or_else(|| "/".into()));
        };
        let way = std::path::absolute(cwd).and_then(|cwd| follow(&cwd));
        let Some(way) = way.ok().filter(|way| way.real.is_dir()) else {
            return Err((Kind::Spawn, format!("the folder `{}` (cwd) does not exist", path_text(Path::new(cwd)))));
        };
        if self.view.shows(&way.real) {
            return Ok(way.real);
        }
        let cwd = path_text(Path::new(cwd));
        let message = format!("its `isolation` does not include the folder `{cwd}` (cwd); add it to `read` or `write`");
        Err((Kind::Config, message))
    }
}

/// A home of the user.
struct Home {
    given: PathBuf,
    way: Way,
    /// `true` for the home that this process uses; the system may name another one.
    is_of_process: bool,
}

impl Home {
    /// Returns `true` if an empty folder can replace the home.
    fn can_be_hidden(&self) -> bool {
        let mut others = SYSTEM.split(',').chain(OWN).chain(["/etc", "/var/tmp", "/sys"]);
        !others.any(|other| Path::new(other).starts_with(&self.way.real))
    }
}

/// Returns the existing homes: that of this process, and that of the user if it differs.
fn homes() -> Vec<Home> {
    let user = rustix::process::getuid().as_raw().to_string();
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let of_user = known.lines().find_map(|line| {
        let mut fields = line.split(':').skip(2);
        (fields.next() == Some(&user)).then(|| fields.nth(2).map(PathBuf::from))?
    });
    let mut homes: Vec<Home> = Vec::new();
    for (given, is_of_process) in [(std::env::home_dir(), true), (of_user, false)] {
        let Some(given) = given.filter(|given| given.is_absolute() && given.is_dir()) else { continue };
        let Ok(way) = follow(&given) else { continue };
        if !homes.iter().any(|home| home.way.real == way.real) {
            homes.push(Home { given, way, is_of_process });
        }
    }
    homes
}

/// Checks that no other setting sets a variable of `home = "temp"`.
fn check_variables(program: &Program<'_>) -> Result<(), Refusal> {
    let wrong = |what: String| Err((Kind::Config, format!("{what}; `home = \"temp\"` sets it, remove one of the two")));
    if program.env.contains_key("HOME") {
        return wrong("its `env` sets `HOME`".to_owned());
    }
    match program.inherit_env.iter().find(|name| HOME_VARIABLES.contains(&name.as_str())) {
        Some(name) => wrong(format!("its `inherit_env` contains `{name}`, which reveals the real home")),
        None => Ok(()),
    }
}

/// Returns the view of this process, except for folders that each server has for itself.
fn whole() -> View {
    let mut view = own();
    view.put("/", Place::Write);
    view.put("/sys", Place::Read);
    // In folders that are hidden, such as /run.
    for needed in SYSTEM.split(',').chain(["/etc/resolv.conf"]) {
        let _ = view.show(Path::new(needed));
    }
    view
}

/// Returns the files that every program needs.
fn system_alone() -> View {
    let mut view = own();
    // Missing folders are not needed.
    for system in SYSTEM.split(',') {
        let _ = view.show(Path::new(system));
    }
    let etc = Path::new("/etc");
    for setting in SETTINGS.split(',') {
        let _ = view.show(&etc.join(setting));
    }
    // Their settings are in separate folders, with links.
    for entry in std::fs::read_dir(etc).into_iter().flatten().flatten() {
        if ["java", "python3"].iter().any(|start| entry.file_name().as_encoded_bytes().starts_with(start.as_bytes())) {
            let _ = view.show(&entry.path());
        }
    }
    view
}

fn own() -> View {
    let mut view = View::default();
    view.put("/dev", Place::Devices);
    view.put("/dev/shm", Place::Empty);
    view.put("/dev/tty", Place::Nothing);
    view.put("/proc", Place::Processes);
    // Root may write there, whatever it was deprived of.
    for knobs in ["/proc/sys", "/proc/sysrq-trigger"] {
        if Path::new(knobs).exists() {
            view.put(knobs, Place::Read);
        }
    }
    for private in PRIVATE {
        if Path::new(private).symlink_metadata().is_ok_and(|found| found.is_dir()) {
            view.put(private, Place::Empty);
        }
    }
    view
}
