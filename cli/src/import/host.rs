//! The programs in which users configure servers, and the paths of their files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::project::matching;

/// A program that has servers, or a kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    /// Those whose files are looked for.
    pub(crate) const ALL: [Self; 8] = [
        Self::ClaudeDesktop,
        Self::ClaudeCode,
        Self::Cursor,
        Self::Vscode,
        Self::Windsurf,
        Self::Codex,
        Self::Zed,
        Self::Gemini,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Codex => "codex",
            Self::Zed => "zed",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::File => "file",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().chain([Self::Opencode, Self::File]).find(|host| host.name() == name)
    }

    /// Returns the host of a file, by its path.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let parts: Vec<&str> = path.components().filter_map(|part| part.as_os_str().to_str()).collect();
        let ends_with = |end: &[&str]| parts.ends_with(end);
        let in_code = || parts.iter().any(|part| *part == "Code" || *part == "Code - Insiders");
        Some(match *parts.last()? {
            "claude_desktop_config.json" => Self::ClaudeDesktop,
            ".mcp.json" | ".claude.json" => Self::ClaudeCode,
            "mcp-config.json" => Self::Vscode,
            "mcp_config.json" => Self::Windsurf,
            "config.json" | "config.local.json" if parts.contains(&".devin") => Self::Windsurf,
            _ if ends_with(&[".cursor", "mcp.json"]) => Self::Cursor,
            "mcp.json" | "settings.json" if parts.contains(&".vscode") || in_code() => Self::Vscode,
            "config.toml" => Self::Codex,
            "opencode.json" | "opencode.jsonc" => Self::Opencode,
            _ if ends_with(&[".zed", "settings.json"]) || ends_with(&["zed", "settings.json"]) => Self::Zed,
            _ if ends_with(&["Zed", "settings.json"]) => Self::Zed,
            _ if ends_with(&[".gemini", "settings.json"]) => Self::Gemini,
            _ => return None,
        })
    }
}

/// The operating system, which determines the paths of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Platform {
    Linux,
    Macos,
    Windows,
}

impl Platform {
    pub(crate) const THIS: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::Macos
    } else {
        Self::Linux
    };
}

/// The folders of a user and a project.
#[derive(Clone, Debug)]
pub(crate) struct Folders {
    pub(crate) platform: Platform,
    /// Those that a project's files may be in, the nearest first.
    pub(crate) projects: Vec<PathBuf>,
    pub(crate) home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, of Linux.
    pub(crate) xdg_config: Option<PathBuf>,
    /// `APPDATA`, of Windows.
    pub(crate) app_data: Option<PathBuf>,
    /// `LOCALAPPDATA`, of Windows.
    pub(crate) local_app_data: Option<PathBuf>,
    /// `CODEX_HOME`.
    pub(crate) codex: Option<PathBuf>,
    /// `COPILOT_HOME`.
    pub(crate) copilot: Option<PathBuf>,
}

impl Folders {
    /// Returns the folders of this process. The projects are the folders from the current one up to its repository.
    pub(crate) fn of_this_process(here: &Path) -> Self {
        let variable = |name: &str| {
            let path = std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        Self {
            platform: Platform::THIS,
            projects: projects(here),
            home: std::env::home_dir().filter(|home| home.is_absolute()),
            xdg_config: variable("XDG_CONFIG_HOME"),
            app_data: variable("APPDATA"),
            local_app_data: variable("LOCALAPPDATA"),
            codex: variable("CODEX_HOME"),
            copilot: variable("COPILOT_HOME"),
        }
    }

    /// Returns the files that a host reads, those that win first: whether they are there is not asked.
    pub(crate) fn files(&self, host: Host) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for project in &self.projects {
            files.extend(in_project(host).iter().map(|name| project.join(name)));
        }
        let user = USER_FILES.iter().filter(|(of, ..)| *of == host).filter_map(|(_, base, path)| {
            Some(path.split('/').fold(vec![self.base(*base)?], |folders, part| {
                folders.iter().flat_map(|folder| matching(folder, part)).collect()
            }))
        });
        let user: Vec<PathBuf> = user.flatten().collect();
        // Claude Code has servers for one project there, which come before those that the project shares.
        let at = if host == Host::ClaudeCode { 0 } else { files.len() };
        files.splice(at..at, user);
        // The folder of a user may be one of a project too.
        let mut known = HashSet::new();
        files.retain(|file| known.insert(file.clone()));
        files
    }

    fn base(&self, base: Base) -> Option<PathBuf> {
        match (base, self.platform) {
            (Base::Home, _) => self.home.clone(),
            (Base::Applications | Base::Config, Platform::Linux) => {
                self.xdg_config.clone().or_else(|| self.at_home(".config"))
            }
            (Base::Applications, Platform::Macos) => self.at_home("Library/Application Support"),
            (Base::Applications | Base::AppData, Platform::Windows) => self.app_data.clone(),
            (Base::LocalAppData, Platform::Windows) => self.local_app_data.clone(),
            (Base::Config | Base::DotConfig, Platform::Macos) | (Base::DotConfig, Platform::Linux) => {
                self.at_home(".config")
            }
            (Base::Codex, _) => self.codex.clone().or_else(|| self.at_home(".codex")),
            (Base::Copilot, _) => self.copilot.clone().or_else(|| self.at_home(".copilot")),
            _ => None,
        }
    }

    /// Returns the settings in which Claude Code says which servers of a project are off.
    pub(crate) fn claude_settings(&self) -> Vec<PathBuf> {
        let names = [".claude/settings.local.json", ".claude/settings.json"];
        let project = self.projects.iter().flat_map(|project| names.map(|name| project.join(name)));
        project.chain(self.at_home(".claude/settings.json")).collect()
    }

    /// Returns the folder of a project's file; for a user's file, the project in use.
    pub(crate) fn workspace(&self, file: &Path) -> Option<&Path> {
        let holder = self.projects.iter().find(|project| {
            let inside = file.strip_prefix(project).ok();
            inside.is_some_and(|inside| {
                Host::ALL.into_iter().any(|host| in_project(host).iter().any(|name| inside == Path::new(name)))
            })
        });
        holder.or_else(|| self.projects.last()).map(PathBuf::as_path)
    }

    fn at_home(&self, name: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(name))
    }
}

/// A folder of a user.
#[derive(Clone, Copy)]
enum Base {
    Home,
    /// The configuration of desktop applications.
    Applications,
    /// `APPDATA`, of Windows alone.
    AppData,
    /// `LOCALAPPDATA`, of Windows alone.
    LocalAppData,
    /// `.config`, or `XDG_CONFIG_HOME` on Linux; not on Windows.
    Config,
    /// `.config`; not on Windows.
    DotConfig,
    Codex,
    Copilot,
}

/// The files of a user, those of a host that win first. A `*` stands for any folders.
const USER_FILES: [(Host, Base, &str); 19] = [
    (Host::ClaudeCode, Base::Home, ".claude.json"),
    (Host::ClaudeDesktop, Base::Applications, "Claude/claude_desktop_config.json"),
    // Windows redirects an application from its store.
    (Host::ClaudeDesktop, Base::LocalAppData, "Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json"),
    (Host::Cursor, Base::Home, ".cursor/mcp.json"),
    (Host::Vscode, Base::Copilot, "mcp-config.json"),
    (Host::Vscode, Base::Applications, "Code/User/mcp.json"),
    (Host::Vscode, Base::Applications, "Code/User/profiles/*/mcp.json"),
    (Host::Vscode, Base::Applications, "Code/User/settings.json"),
    (Host::Vscode, Base::Applications, "Code - Insiders/User/mcp.json"),
    (Host::Vscode, Base::Applications, "Code - Insiders/User/profiles/*/mcp.json"),
    (Host::Vscode, Base::Applications, "Code - Insiders/User/settings.json"),
    (Host::Windsurf, Base::AppData, "devin/mcp_config.json"),
    (Host::Windsurf, Base::DotConfig, "devin/mcp_config.json"),
    (Host::Windsurf, Base::Home, ".codeium/windsurf/mcp_config.json"),
    (Host::Windsurf, Base::Home, ".codeium/mcp_config.json"),
    (Host::Codex, Base::Codex, "config.toml"),
    (Host::Zed, Base::AppData, "Zed/settings.json"),
    (Host::Zed, Base::Config, "zed/settings.json"),
    (Host::Gemini, Base::Home, ".gemini/settings.json"),
];

fn in_project(host: Host) -> &'static [&'static str] {
    match host {
        Host::ClaudeCode => &[".mcp.json"],
        Host::Cursor => &[".cursor/mcp.json"],
        Host::Vscode => &[".vscode/mcp.json", ".vscode/settings.json"],
        Host::Windsurf => &[".devin/mcp_config.json", ".devin/config.local.json", ".devin/config.json"],
        Host::Codex => &[".codex/config.toml"],
        Host::Zed => &[".zed/settings.json"],
        Host::Gemini => &[".gemini/settings.json"],
        Host::ClaudeDesktop | Host::Opencode | Host::File => &[],
    }
}

/// Returns the folder and those above it, as far as the root of its repository; without one, the folder alone.
fn projects(here: &Path) -> Vec<PathBuf> {
    let root = here.ancestors().position(|folder| folder.join(".git").exists()).unwrap_or(0);
    here.ancestors().take(root + 1).map(Path::to_owned).collect()
}
