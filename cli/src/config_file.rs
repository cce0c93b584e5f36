//! Edits `mcp.toml` without changing existing comments and keys.

mod servers;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mcp_bindgen_model::{Config, FileError, read_text, write_if_changed};
use similar::{ChangeTag, TextDiff};
use toml_edit::{DocumentMut, Item, Table, TableLike};

use crate::changes::{Lock, lock};
use crate::exit::Failure;
use crate::project;

pub(crate) use servers::set;

const BOM: char = '\u{feff}';

/// An `mcp.toml`, to be changed.
pub(crate) struct ConfigFile {
    path: PathBuf,
    document: DocumentMut,
    /// The original text, without its byte order mark.
    text: String,
    has_bom: bool,
    /// The lock of a run that writes the file.
    _lock: Lock,
}

impl ConfigFile {
    /// Reads the file; a missing one is empty.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is not TOML.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let text = current(path)?.unwrap_or_default();
        Self::parse(&text, path)
    }

    /// Opens the file for writing: until this is dropped, other runs cannot write it. A command with a long preparation
    /// reads the file again, so that concurrent changes are kept.
    ///
    /// # Errors
    /// Fails like [`open`](Self::open), or if another program holds the lock.
    pub(crate) fn locked(path: &Path) -> Result<Self, Failure> {
        // A link that leads nowhere has no folder to lock.
        current(path)?;
        let lock = lock(path)?;
        Ok(Self { _lock: lock, ..Self::open(path)? })
    }

    fn parse(text: &str, path: &Path) -> Result<Self, Failure> {
        let bare = text.strip_prefix(BOM).unwrap_or(text);
        // Its own error repeats the line, which may hold a secret.
        let document: DocumentMut = bare.parse().map_err(|_: toml_edit::TomlError| {
            Config::parse_toml(bare, path).err().unwrap_or_else(|| FileError::new("not valid TOML").in_file(path))
        })?;
        Ok(Self {
            path: path.to_owned(),
            document,
            text: bare.to_owned(),
            has_bom: bare.len() < text.len(),
            _lock: None,
        })
    }

    /// Returns the new configuration, as every reader sees it.
    ///
    /// # Errors
    /// Fails if something in it is wrong.
    pub(crate) fn config(&self) -> Result<Config, FileError> {
        let mut config = Config::parse_toml(&self.to_text(), &self.path)?;
        let folder = std::path::absolute(&self.path).ok().and_then(|path| path.parent().map(Path::to_owned));
        config.servers.values_mut().for_each(|server| server.folder.clone_from(&folder));
        Ok(config)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds the table `[servers.NAME]`.
    ///
    /// # Errors
    /// Fails if the server already exists, or if `servers` is not a table.
    pub(crate) fn add_server(&mut self, name: &str, mut table: Table) -> Result<(), Failure> {
        if !self.document.contains_key("servers") {
            let mut servers = Table::new();
            servers.set_implicit(true);
            self.document.insert("servers", Item::Table(servers));
        }
        let servers = self.document.get("servers").and_then(Item::as_table_like);
        let is_first = self.document.len() == 1 && servers.is_none_or(TableLike::is_empty);
        let about_nothing = self.document.trailing().as_str().unwrap_or_default().to_owned();
        let servers = self.document.get_mut("servers").and_then(Item::as_table_like_mut).ok_or_else(|| {
            FileError::new("`servers` is not a table").in_file(&self.path).with_help("write `[servers.NAME]` tables")
        })?;
        if servers.contains_key(name) {
            let error = FileError::new(format!("server `{name}` already exists"))
                .in_file(&self.path)
                .with_help(format!("change its table `[servers.{name}]`, or use another name"));
            return Err(error.into());
        }
        let has_comments_alone = is_first && !about_nothing.trim().is_empty();
        table.decor_mut().set_prefix(match is_first {
            // They stay above the part that they introduce.
            true if has_comments_alone => format!("{}\n\n", about_nothing.trim_end()),
            true => String::new(),
            false => "\n".to_owned(),
        });
        servers.insert(name, Item::Table(table));
        if has_comments_alone {
            self.document.set_trailing("");
        }
        Ok(())
    }

    /// Returns the text to write; unchanged parts are kept byte for byte.
    pub(crate) fn to_text(&self) -> String {
        let (before, after) = (DocumentMut::to_string, self.document.to_string());
        let before = self.text.parse().as_ref().map(before).unwrap_or_default();
        let mut text = kept(&self.text, &before, &after);
        if self.has_bom {
            text.insert(0, BOM);
        }
        text
    }

    /// Writes it, at once.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub(crate) fn save(&self) -> Result<bool, FileError> {
        write_if_changed(&self.path, self.to_text().as_bytes())
    }
}

/// Merges a change into a text. `before` and `after` are the printed forms of toml_edit, which removes each `\r` and
/// reformats some headers. Unchanged lines keep their original form.
fn kept(text: &str, before: &str, after: &str) -> String {
    let (ends, unix_ends) = (text.matches("\r\n").count(), text.matches('\n').count());
    // New lines end as most do.
    let end = if ends > 0 && ends * 2 >= unix_ends { "\r\n" } else { "\n" };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let words = |line: &str| line.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let diff = TextDiff::from_lines(before, after);
    let mut written = String::new();
    for change in diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Delete) {
        let as_it_was =
            change.old_index().filter(|_| change.tag() == ChangeTag::Equal).and_then(|line| lines.get(line));
        match as_it_was.filter(|line| words(line) == words(change.value())) {
            Some(line) => written.push_str(line),
            None => written.push_str(&change.value().replace('\n', end)),
        }
        if change.value().ends_with('\n') && !written.ends_with('\n') {
            written.push_str(end);
        }
    }
    written
}

/// Returns the exact text of a file, if it exists. An unreadable file or a broken link must not be replaced, and is an
/// error.
pub(crate) fn current(path: &Path) -> Result<Option<String>, FileError> {
    if project::is_missing(path)? {
        return Ok(None);
    }
    let failed = |error: io::Error| FileError::new(error.to_string()).in_file(path);
    fs::read_to_string(path).map(Some).map_err(|error| read_text(path).err().unwrap_or_else(|| failed(error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml_edit::value;

    fn added(text: &str, name: &str) -> Result<String, String> {
        let mut file = ConfigFile::parse(text, Path::new("mcp.toml")).map_err(|failure| failure.message)?;
        let mut table = Table::new();
        table.insert("npm", value("pkg"));
        file.add_server(name, table).map_err(|failure| failure.message)?;
        Ok(file.to_text())
    }

    #[test]
    fn added_server_leaves_the_file_otherwise_unchanged() {
        let text = "# ours\n[defaults] # always\ntimeout = \"30s\"\n\n# about a\n[servers.a]\nnpm = 'x' # why\n\n[deny]\n# at the end\n";
        let new = added(text, "b").unwrap();
        let expected = "# ours\n[defaults] # always\ntimeout = \"30s\"\n\n# about a\n[servers.a]\nnpm = 'x' # why\n\n[servers.b]\nnpm = \"pkg\"\n\n[deny]\n# at the end\n";
        assert_eq!(new, expected);
    }

    #[test]
    fn first_server_table_follows_the_leading_comments() {
        assert_eq!(added("", "a").unwrap(), "[servers.a]\nnpm = \"pkg\"\n");
        assert_eq!(added("# ours\n", "a").unwrap(), "# ours\n\n[servers.a]\nnpm = \"pkg\"\n");
        assert_eq!(added("[defaults]\n", "a").unwrap(), "[defaults]\n\n[servers.a]\nnpm = \"pkg\"\n");
    }

    #[test]
    fn bom_and_crlf_are_preserved() {
        assert_eq!(
            added("\u{feff}[defaults]\r\n", "a").unwrap(),
            "\u{feff}[defaults]\r\n\r\n[servers.a]\r\nnpm = \"pkg\"\r\n"
        );
    }

    #[test]
    fn every_line_preserves_its_line_ending_and_spacing() {
        let text = "[servers.a]\r\nnpm = \"x\"\nargs = [\"\"\"\nmulti\r\nline\"\"\"]\n# end";
        let new = added(text, "b").unwrap();
        assert_eq!(
            new,
            "[servers.a]\r\nnpm = \"x\"\nargs = [\"\"\"\nmulti\r\nline\"\"\"]\n\n[servers.b]\nnpm = \"pkg\"\n# end"
        );
        // A new header has what toml_edit knows of the first one.
        let text = "[servers . \"a\"]\nnpm = 'x'\n[ servers.b ]\nnpm = 'y'";
        assert_eq!(added(text, "c").unwrap(), format!("{text}\n\n[servers .c]\nnpm = \"pkg\"\n"));
        let dotted = "a.x = 1\nb = 2\na.y = 3\n";
        let new = added(dotted, "c").unwrap();
        assert_eq!(new.parse::<DocumentMut>().unwrap()["a"]["y"].as_integer(), Some(3), "{new}");
    }

    #[test]
    fn inline_and_dotted_tables_are_supported() {
        let inline = added("servers = { a = { npm = \"x\" } }\n", "b").unwrap();
        let dotted = added("servers.a.npm = \"x\"\n", "b").unwrap();
        for text in [inline, dotted] {
            let read: toml_edit::DocumentMut = text.parse().unwrap();
            assert_eq!(read["servers"]["b"]["npm"].as_str(), Some("pkg"), "{text}");
            assert_eq!(read["servers"]["a"]["npm"].as_str(), Some("x"), "{text}");
        }
        assert!(added("[servers.a]\nnpm = \"x\"\n", "a").unwrap_err().contains("server `a` already exists"));
        assert!(added("servers = 5\n", "a").unwrap_err().contains("`servers` is not a table"));
        let broken = added("[servers.a]\nenv = { TOKEN = \"hunter2-hunter2\"\n", "b").unwrap_err();
        assert!(broken.contains("\n --> mcp.toml:2:") && !broken.contains("hunter2"), "{broken}");
    }
}
