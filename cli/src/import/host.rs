//! The programs in which users configure servers, and the paths of their files.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

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
        if host == Host::ClaudeCode {
            // It has servers for one project, which come before those that the project shares.
            files.extend(self.at_home(".claude.json"));
        }
        for project in &self.projects {
            files.extend(in_project(host).iter().map(|name| project.join(name)));
        }
        match host {
            Host::ClaudeDesktop => {
                files.extend(self.applications().map(|folder| folder.join("Claude/claude_desktop_config.json")));
                files.extend(self.store_packages());
            }
            Host::Cursor => files.extend(self.at_home(".cursor/mcp.json")),
            Host::Vscode => {
                let copilot = self.copilot.clone().or_else(|| self.at_home(".copilot"));
                files.extend(copilot.map(|folder| folder.join("mcp-config.json")));
                let products = ["Code", "Code - Insiders"].map(|product| Some(self.applications()?.join(product)));
                for user in products.into_iter().flatten().map(|product| product.join("User")) {
                    let profiles = inside(&user.join("profiles"), "");
                    files.extend([&user].into_iter().chain(&profiles).map(|folder| folder.join("mcp.json")));
                    files.push(user.join("settings.json"));
                }
            }
            Host::Windsurf => {
                let devin = match self.platform {
                    Platform::Windows => self.app_data.as_ref().map(|folder| folder.join("devin")),
                    _ => self.at_home(".config/devin"),
                };
                files.extend(devin.map(|folder| folder.join("mcp_config.json")));
                files.extend(self.at_home(".codeium/windsurf/mcp_config.json"));
                files.extend(self.at_home(".codeium/mcp_config.json"));
            }
            Host::Codex => {
                let codex = self.codex.clone().or_else(|| self.at_home(".codex"));
                files.extend(codex.map(|folder| folder.join("config.toml")));
            }
            Host::Zed => {
                let zed = match self.platform {
                    Platform::Windows => self.app_data.as_ref().map(|folder| folder.join("Zed")),
                    Platform::Macos => self.at_home(".config/zed"),
                    Platform::Linux => self.applications().map(|folder| folder.join("zed")),
                };
                files.extend(zed.map(|folder| folder.join("settings.json")));
            }
            Host::Gemini => files.extend(self.at_home(".gemini/settings.json")),
            Host::ClaudeCode | Host::Opencode | Host::File => {}
        }
        // The folder of a user may be one of a project too.
        let mut known = HashSet::new();
        files.retain(|file| known.insert(file.clone()));
        files
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

    /// Returns the configuration folder of desktop applications.
    fn applications(&self) -> Option<PathBuf> {
        match self.platform {
            Platform::Linux => self.xdg_config.clone().or_else(|| self.at_home(".config")),
            Platform::Macos => self.at_home("Library/Application Support"),
            Platform::Windows => self.app_data.clone(),
        }
    }

    /// Returns the folders to which Windows redirects an application from its store.
    fn store_packages(&self) -> Vec<PathBuf> {
        let Some(local) = self.local_app_data.as_ref().filter(|_| self.platform == Platform::Windows) else {
            return Vec::new();
        };
        let config = |package: PathBuf| package.join("LocalCache/Roaming/Claude/claude_desktop_config.json");
        inside(&local.join("Packages"), "Claude_").into_iter().map(config).collect()
    }
}

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

/// Returns the folders in a folder whose names begin so, in order.
fn inside(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_named = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(start);
    let mut found: Vec<PathBuf> = entries.filter(is_named).map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// Returns the folder and those above it, as far as the root of its repository; without one, the folder alone.
fn projects(here: &Path) -> Vec<PathBuf> {
    let root = here.ancestors().position(|folder| folder.join(".git").exists()).unwrap_or(0);
    here.ancestors().take(root + 1).map(Path::to_owned).collect()
}
