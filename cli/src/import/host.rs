//! The programs in which users configure servers, and the paths of their files.

use std::collections::{HashMap, HashSet};
use std::env;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use mcp_bindgen_model::matches_glob;

use crate::project::{matching, slashed};

/// A program that has servers, or a kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub(crate) enum Host {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    Vscode,
    Windsurf,
    Codex,
    Zed,
    Gemini,
    /// Its files are only read if the user names them.
    Opencode,
    /// A file of no host that is known.
    File,
}

impl Host {
    /// Returns those whose files are looked for.
    pub(crate) fn searched() -> impl Iterator<Item = Self> {
        Self::value_variants().iter().copied().filter(|host| !matches!(host, Self::Opencode | Self::File))
    }

    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Returns the host of a file, by its path.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let path = format!("/{}", slashed(path));
        let is_its = |name: &&str| matches_glob(&format!("*/{name}"), &path);
        FILES.iter().find(|(_, _, names)| names.iter().any(is_its)).map(|(host, ..)| *host)
    }
}

/// The variables that name folders of a user.
const VARIABLES: [&str; 5] = ["APPDATA", "CODEX_HOME", "COPILOT_HOME", "LOCALAPPDATA", "XDG_CONFIG_HOME"];

/// The folders of a user and a project.
#[derive(Clone, Debug)]
pub(crate) struct Folders {
    /// The operating system, which determines the paths of files: `linux`, `macos` or `windows`.
    pub(crate) os: &'static str,
    /// Those that a project's files may be in, the nearest first.
    pub(crate) projects: Vec<PathBuf>,
    pub(crate) home: Option<PathBuf>,
    /// Those that environment variables name.
    pub(crate) named: HashMap<&'static str, PathBuf>,
    /// The folder of the mcp.toml that servers go to.
    pub(crate) target: PathBuf,
}

impl Folders {
    /// Returns the folders of this process. The projects are the folders from the current one up to the root of its
    /// repository; without a repository, the current one alone.
    pub(crate) fn of_this_process(here: &Path, target: &Path) -> Self {
        let is_absolute = |path: &PathBuf| path.is_absolute();
        let named = |name| Some((name, env::var_os(name).map(PathBuf::from).filter(is_absolute)?));
        let root = here.ancestors().position(|folder| folder.join(".git").exists()).unwrap_or(0);
        Self {
            os: env::consts::OS,
            projects: here.ancestors().take(root + 1).map(Path::to_owned).collect(),
            home: env::home_dir().filter(is_absolute),
            named: VARIABLES.into_iter().filter_map(named).collect(),
            target: target.to_owned(),
        }
    }

    /// Returns the files that a host reads, those that win first: whether they are there is not asked.
    pub(crate) fn files(&self, host: Host) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for (_, base, names) in FILES.iter().filter(|(of, ..)| *of == host) {
            for folder in self.folders(*base) {
                files.extend(names.iter().flat_map(|name| {
                    name.split('/').fold(vec![folder.clone()], |folders, part| {
                        folders.iter().flat_map(|folder| matching(folder, part)).collect()
                    })
                }));
            }
        }
        // The folder of a user may be one of a project too.
        let mut known = HashSet::new();
        files.retain(|file| known.insert(file.clone()));
        files
    }

    fn folders(&self, base: Base) -> Vec<PathBuf> {
        let at_home = |name: &str| Some(self.home.as_ref()?.join(name));
        let named = |name: &str| self.named.get(name).cloned();
        let folder = match (base, self.os) {
            (Base::Project, _) => return self.projects.clone(),
            (Base::Home, _) => self.home.clone(),
            (Base::Own(variable, name), _) => named(variable).or_else(|| at_home(name)),
            (Base::Windows(variable), "windows") => named(variable),
            (Base::Applications, "windows") => named("APPDATA"),
            (Base::Applications, "macos") => at_home("Library/Application Support"),
            (Base::Config, "macos") => at_home(".config"),
            (Base::Named | Base::Windows(_), _) | (Base::Config, "windows") => None,
            (Base::Applications | Base::Config, _) => named("XDG_CONFIG_HOME").or_else(|| at_home(".config")),
        };
        folder.into_iter().collect()
    }

    /// Returns the settings in which Claude Code says which servers of a project are off.
    pub(crate) fn claude_settings(&self) -> Vec<PathBuf> {
        let names = [".claude/settings.local.json", ".claude/settings.json"];
        let project = self.projects.iter().flat_map(|project| names.map(|name| project.join(name)));
        project.chain(self.home.iter().map(|home| home.join(".claude/settings.json"))).collect()
    }

    /// Returns the folder of a project's file; for a user's file, the project in use.
    pub(crate) fn workspace(&self, file: &Path) -> Option<&Path> {
        let of_project = |row: &&(Host, Base, &[&str])| matches!(row.1, Base::Project);
        let has = |project: &&PathBuf| {
            let mut names = FILES.iter().filter(of_project).flat_map(|(.., names)| *names);
            names.any(|name| project.join(name) == file)
        };
        self.projects.iter().find(has).or_else(|| self.projects.last()).map(PathBuf::as_path)
    }
}

/// The file that servers are read from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) host: Host,
    pub(super) path: &'a Path,
    pub(super) folders: &'a Folders,
}

/// The folders that files are looked for in.
#[derive(Clone, Copy)]
enum Base {
    /// Each folder of the project.
    Project,
    Home,
    /// The configuration of desktop applications.
    Applications,
    /// `.config`, or `XDG_CONFIG_HOME` on Linux; not on Windows.
    Config,
    /// The folder that a variable of Windows names.
    Windows(&'static str),
    /// The folder that a variable of the host names; by default this one in the user's home.
    Own(&'static str, &'static str),
    /// None: the file is only read if the user names it, and is known by its name.
    Named,
}

/// The files of each host, those that win first. A `*` stands for any folders.
const FILES: [(Host, Base, &[&str]); 27] = [
    (Host::ClaudeDesktop, Base::Applications, &["Claude/claude_desktop_config.json"]),
    // Windows redirects an application from its store.
    (
        Host::ClaudeDesktop,
        Base::Windows("LOCALAPPDATA"),
        &["Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json"],
    ),
    (Host::ClaudeDesktop, Base::Named, &["claude_desktop_config.json"]),
    // Its servers for one project come before those that the project shares.
    (Host::ClaudeCode, Base::Home, &[".claude.json"]),
    (Host::ClaudeCode, Base::Project, &[".mcp.json"]),
    (Host::Cursor, Base::Project, &[".cursor/mcp.json"]),
    (Host::Cursor, Base::Home, &[".cursor/mcp.json"]),
    (Host::Vscode, Base::Project, &[".vscode/mcp.json", ".vscode/settings.json"]),
    (Host::Vscode, Base::Own("COPILOT_HOME", ".copilot"), &["mcp-config.json"]),
    (Host::Vscode, Base::Applications, &["Code/User/mcp.json", "Code/User/profiles/*/mcp.json"]),
    (Host::Vscode, Base::Applications, &["Code/User/settings.json"]),
    (Host::Vscode, Base::Applications, &["Code - Insiders/User/mcp.json", "Code - Insiders/User/profiles/*/mcp.json"]),
    (Host::Vscode, Base::Applications, &["Code - Insiders/User/settings.json"]),
    (Host::Vscode, Base::Named, &["Code*/User/*/mcp.json", "Code*/User/*/settings.json"]),
    (Host::Windsurf, Base::Project, &[".devin/mcp_config.json", ".devin/config.local.json", ".devin/config.json"]),
    (Host::Windsurf, Base::Windows("APPDATA"), &["devin/mcp_config.json"]),
    (Host::Windsurf, Base::Home, &[".config/devin/mcp_config.json", ".codeium/windsurf/mcp_config.json"]),
    (Host::Windsurf, Base::Home, &[".codeium/mcp_config.json"]),
    (Host::Windsurf, Base::Named, &["mcp_config.json"]),
    (Host::Codex, Base::Project, &[".codex/config.toml"]),
    (Host::Codex, Base::Own("CODEX_HOME", ".codex"), &["config.toml"]),
    (Host::Zed, Base::Project, &[".zed/settings.json"]),
    (Host::Zed, Base::Windows("APPDATA"), &["Zed/settings.json"]),
    (Host::Zed, Base::Config, &["zed/settings.json"]),
    (Host::Gemini, Base::Project, &[".gemini/settings.json"]),
    (Host::Gemini, Base::Home, &[".gemini/settings.json"]),
    (Host::Opencode, Base::Named, &["opencode.json", "opencode.jsonc"]),
];
