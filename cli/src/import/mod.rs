//! The servers that other programs of this machine are configured with.

mod command;
mod entry;
mod fields;
mod formats;
pub(crate) mod host;
mod merge;
mod placeholder;
pub(crate) mod select;
mod table;
mod text;
mod variable;

use std::path::{Path, PathBuf};

use mcp_bindgen_model::{FileError, read_text};

pub(crate) use self::entry::{Entry, Origin, relative};
use self::host::{Folders, Host, Source};
pub(crate) use self::table::{put_list, reach, table};
pub(crate) use self::variable::{Variable, in_capitals, server_name, settled, shown, variable};

/// The servers and problems that were found.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) entries: Vec<Entry>,
    /// The files that were read.
    pub(crate) files: Vec<PathBuf>,
    /// The places that have no file.
    pub(crate) missing: Vec<PathBuf>,
    /// The notes on files.
    pub(crate) notes: Vec<(PathBuf, String)>,
    /// The errors in files.
    pub(crate) errors: Vec<FileError>,
}

/// Looks for the files of hosts and reads them.
pub(crate) fn of_hosts(hosts: &[Host], folders: &Folders) -> Found {
    let mut found = Found::default();
    for host in hosts {
        for path in folders.files(*host) {
            if path.is_file() {
                found.file(*host, &path, folders);
            } else {
                found.missing.push(path);
            }
        }
        if *host == Host::ClaudeCode {
            found.switch_off(folders);
        }
    }
    found.entries = merge::merged(found.entries);
    found
}

/// Reads one file.
pub(crate) fn of_file(path: &Path, folders: &Folders) -> Found {
    let mut found = Found::default();
    found.file(Host::of(path).unwrap_or(Host::File), path, folders);
    found.entries = merge::merged(found.entries);
    found
}

impl Found {
    fn file(&mut self, host: Host, path: &Path, folders: &Folders) {
        match read_text(path).and_then(|text| formats::read(Source { host, path, folders }, &text)) {
            Ok(reading) => {
                self.files.push(path.to_owned());
                self.notes.extend(reading.notes.into_iter().map(|note| (path.to_owned(), note)));
                self.entries.extend(reading.entries);
            }
            Err(error) => self.errors.push(error),
        }
    }

    /// Applies the settings of Claude Code to the servers in `.mcp.json`.
    fn switch_off(&mut self, folders: &Folders) {
        for path in folders.claude_settings().into_iter().filter(|path| path.is_file()) {
            match read_text(&path).and_then(|text| text::parse(&path, &text)) {
                Ok((settings, _)) => {
                    let disabled = formats::names(settings.get("disabledMcpjsonServers"));
                    let is_off = |entry: &Entry| {
                        disabled.contains(&entry.name)
                            && entry.origins.iter().all(|origin| origin.path.ends_with(".mcp.json"))
                    };
                    let why = "it is listed in `disabledMcpjsonServers`";
                    formats::switch_off(&mut self.entries, is_off, why);
                }
                Err(error) => self.errors.push(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    fn folders(os: &'static str, root: &Path) -> Folders {
        let named = [("APPDATA", root.join("AppData/Roaming")), ("LOCALAPPDATA", root.join("AppData/Local"))];
        Folders {
            os,
            projects: vec![root.join("home/work/app/inner"), root.join("home/work/app")],
            home: Some(root.join("home")),
            named: named.into(),
            target: root.join("home/work/app"),
        }
    }

    fn write(path: &Path, name: &str) {
        let server = format!("{{ \"{name}\": {{ \"command\": \"{name}\" }} }}");
        let is_settings = path.ends_with("settings.json");
        let text = match path.to_str().unwrap() {
            _ if path.extension().unwrap() == "toml" => format!("[mcp_servers.{name}]\ncommand = \"{name}\"\n"),
            path if path.to_lowercase().contains("zed") => format!("{{ \"context_servers\": {server} }}"),
            path if is_settings && path.contains(".gemini") => format!("{{ \"mcpServers\": {server} }}"),
            _ if is_settings => format!("{{ \"mcp\": {{ \"servers\": {server} }} }}"),
            path if path.contains("vscode") || path.contains("/User/") => format!("{{ \"servers\": {server} }}"),
            _ => format!("{{ \"mcpServers\": {server} }}"),
        };
        mcp_bindgen_model::write_if_changed(path, text.as_bytes()).unwrap();
    }

    #[test]
    fn every_host_path_is_searched_on_every_platform() {
        let mut count = 0;
        for os in ["linux", "macos", "windows"] {
            let root = tempfile::tempdir().unwrap();
            let folders = folders(os, root.path());
            for made in ["AppData/Local/Packages/Claude_x1", "AppData/Local/Packages/Other_x1"] {
                fs::create_dir_all(root.path().join(made)).unwrap();
            }
            for base in ["home/.config", "home/Library/Application Support", "AppData/Roaming"] {
                fs::create_dir_all(root.path().join(base).join("Code/User/profiles/a1")).unwrap();
            }
            let mut places: Vec<(Host, PathBuf)> = Vec::new();
            for host in Host::searched() {
                places.extend(folders.files(host).into_iter().map(|path| (host, path)));
            }
            for (index, (host, path)) in places.iter().enumerate() {
                write(path, &format!("s{index}"));
                assert_eq!(Host::of(path), Some(*host), "{}", path.display());
            }
            let found = of_hosts(&Host::searched().collect::<Vec<_>>(), &folders);
            assert!(found.errors.is_empty() && found.missing.is_empty(), "{:?}", found.errors);
            let origins: BTreeSet<(Host, PathBuf)> = found
                .entries
                .iter()
                .flat_map(|entry| entry.origins.iter().map(|origin| (origin.host, origin.path.clone())))
                .collect();
            assert_eq!(origins, places.iter().cloned().collect());
            assert_eq!(found.entries.len(), places.len());
            count += places.len();
            let has = |end: &str| places.iter().any(|(_, path)| path.ends_with(end));
            assert_eq!(has("Library/Application Support/Claude/claude_desktop_config.json"), os == "macos");
            assert_eq!(has("home/.config/Code/User/profiles/a1/mcp.json"), os == "linux");
            assert_eq!(has("Packages/Claude_x1/LocalCache/Roaming/Claude/claude_desktop_config.json"), os == "windows");
            assert_eq!(has("AppData/Roaming/Zed/settings.json"), os == "windows");
        }
        println!("{count} places");
    }

    #[test]
    fn truncated_host_files_are_errors_without_secrets() {
        let root = Path::new("/r");
        let folders = folders("linux", root);
        let mut count = 0;
        for (host, path, text) in [
            (
                Host::ClaudeDesktop,
                "x.json",
                include_str!("../../tests/import/claude-desktop/claude_desktop_config.json"),
            ),
            (Host::ClaudeCode, ".claude.json", include_str!("../../tests/import/claude-code/claude.json")),
            (Host::Cursor, "x.json", include_str!("../../tests/import/cursor/mcp.json")),
            (Host::Vscode, "x.json", include_str!("../../tests/import/vscode/mcp.json")),
            (Host::Windsurf, "x.json", include_str!("../../tests/import/windsurf/mcp_config.json")),
            (Host::Codex, "x.toml", include_str!("../../tests/import/codex/config.toml")),
            (Host::Zed, "x.json", include_str!("../../tests/import/zed/settings.json")),
            (Host::Gemini, "x.json", include_str!("../../tests/import/gemini/settings.json")),
        ] {
            let path = root.join(path);
            let source = Source { host, path: &path, folders: &folders };
            for end in (0..text.len()).step_by(3) {
                count += 1;
                match formats::read(source, text.get(..end).unwrap()) {
                    Ok(reading) => assert!(reading.notes.iter().all(|note| !note.contains("planted"))),
                    Err(error) => {
                        assert!(!error.to_string().contains("planted") && error.position.is_some(), "{error}");
                    }
                }
            }
        }
        println!("{count} broken files");
    }

    #[test]
    fn variables_override_host_folders() {
        let mut folders = folders("linux", Path::new("/r"));
        for (variable, folder) in [("CODEX_HOME", "/codex"), ("COPILOT_HOME", "/copilot"), ("XDG_CONFIG_HOME", "/xdg")]
        {
            folders.named.insert(variable, folder.into());
        }
        for (host, file) in [
            (Host::Codex, "/codex/config.toml"),
            (Host::Vscode, "/copilot/mcp-config.json"),
            (Host::Vscode, "/xdg/Code/User/mcp.json"),
            (Host::Zed, "/xdg/zed/settings.json"),
            (Host::ClaudeDesktop, "/xdg/Claude/claude_desktop_config.json"),
        ] {
            assert!(folders.files(host).iter().any(|path| path == Path::new(file)), "{file}");
        }
    }

    #[test]
    fn nearest_host_configuration_takes_precedence() {
        let root = tempfile::tempdir().unwrap();
        let folders = folders("linux", root.path());
        let app = root.path().join("home/work/app");
        let servers = |command: &str| format!("\"mcpServers\": {{ \"x\": {{ \"command\": \"{command}\" }} }}");
        let project = app.display();
        let user = format!("{{ \"projects\": {{ \"{project}\": {{ {} }} }}, {} }}", servers("local"), servers("user"));
        let reached = |found: &Found| match &found.entries.first().unwrap().found {
            Ok(server) => reach(server),
            Err(why) => why.clone(),
        };
        let home = root.path().join("home/.claude.json");
        mcp_bindgen_model::write_if_changed(&app.join(".mcp.json"), format!("{{ {} }}", servers("project")).as_bytes())
            .unwrap();
        mcp_bindgen_model::write_if_changed(&home, user.as_bytes()).unwrap();
        let found = of_hosts(&[Host::ClaudeCode], &folders);
        assert_eq!((found.entries.len(), reached(&found)), (1, "command local".to_owned()));
        assert_eq!(found.entries.first().unwrap().notes.len(), 2);
        mcp_bindgen_model::write_if_changed(&home, format!("{{ {} }}", servers("user")).as_bytes()).unwrap();
        assert_eq!(reached(&of_hosts(&[Host::ClaudeCode], &folders)), "command project");
    }
}
