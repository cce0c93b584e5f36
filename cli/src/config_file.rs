//! `mcp.toml` as people wrote it: what is added leaves every comment and every key where it was.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mcp_model::{FileError, write_if_changed};
use toml_edit::{DocumentMut, Item, Table};

use crate::exit::Failure;

const BOM: char = '\u{feff}';

/// An `mcp.toml`, to be changed.
pub(crate) struct ConfigFile {
    path: PathBuf,
    document: DocumentMut,
    /// What toml_edit would take away.
    has_bom: bool,
    has_windows_ends: bool,
}

impl ConfigFile {
    /// Reads it; one that is not there is empty.
    ///
    /// # Errors
    /// Where it cannot be read, or is no TOML.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(FileError::new(format!("cannot read the file: {error}")).in_file(path).into()),
        };
        Self::parse(&text, path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self, Failure> {
        let bare = text.strip_prefix(BOM).unwrap_or(text);
        let document: DocumentMut = bare
            .parse()
            .map_err(|error: toml_edit::TomlError| FileError::new(error.to_string().trim_end()).in_file(path))?;
        Ok(Self {
            path: path.to_owned(),
            document,
            has_bom: bare.len() < text.len(),
            has_windows_ends: text.contains("\r\n"),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds the table `[servers.NAME]`.
    ///
    /// # Errors
    /// Where there is one already, and where `servers` is no table.
    pub(crate) fn add_server(&mut self, name: &str, mut table: Table) -> Result<(), Failure> {
        if !self.document.contains_key("servers") {
            let mut servers = Table::new();
            servers.set_implicit(true);
            self.document.insert("servers", Item::Table(servers));
        }
        let is_first = self.document.iter().all(|(key, _)| key == "servers")
            && self
                .document
                .get("servers")
                .and_then(Item::as_table_like)
                .is_none_or(|servers| servers.iter().next().is_none());
        let about_nothing = self.document.trailing().as_str().unwrap_or_default().to_owned();
        let servers = self.document.get_mut("servers").and_then(Item::as_table_like_mut).ok_or_else(|| {
            FileError::new("`servers` is no table").in_file(&self.path).with_help("write `[servers.NAME]` tables")
        })?;
        if servers.contains_key(name) {
            let error = FileError::new(format!("there is a server `{name}` already"))
                .in_file(&self.path)
                .with_help(format!("change its table `[servers.{name}]`, or take another name"));
            return Err(error.into());
        }
        if is_first && !about_nothing.trim().is_empty() {
            // All that such a file has are comments: they stay above what they introduce.
            table.decor_mut().set_prefix(format!("{}\n\n", about_nothing.trim_end()));
            servers.insert(name, Item::Table(table));
            self.document.set_trailing("");
        } else {
            table.decor_mut().set_prefix(if is_first { "" } else { "\n" });
            servers.insert(name, Item::Table(table));
        }
        Ok(())
    }

    /// As it will be written.
    pub(crate) fn to_text(&self) -> String {
        let mut text = self.document.to_string();
        if self.has_windows_ends {
            text = text.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        if self.has_bom {
            text.insert(0, BOM);
        }
        text
    }

    /// Writes it, at once.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(crate) fn save(&self) -> Result<bool, FileError> {
        write_if_changed(&self.path, self.to_text().as_bytes())
    }
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
    fn what_was_there_stays_as_it_was() {
        let text = "# ours\n[defaults] # always\ntimeout = \"30s\"\n\n# about a\n[servers.a]\nnpm = 'x' # why\n\n[deny]\n# at the end\n";
        let new = added(text, "b").unwrap();
        let expected = "# ours\n[defaults] # always\ntimeout = \"30s\"\n\n# about a\n[servers.a]\nnpm = 'x' # why\n\n[servers.b]\nnpm = \"pkg\"\n\n[deny]\n# at the end\n";
        assert_eq!(new, expected);
    }

    #[test]
    fn the_first_table_stands_below_the_comments_that_introduce_it() {
        assert_eq!(added("", "a").unwrap(), "[servers.a]\nnpm = \"pkg\"\n");
        assert_eq!(added("# ours\n", "a").unwrap(), "# ours\n\n[servers.a]\nnpm = \"pkg\"\n");
        assert_eq!(added("[defaults]\n", "a").unwrap(), "[defaults]\n\n[servers.a]\nnpm = \"pkg\"\n");
    }

    #[test]
    fn line_ends_and_marks_of_other_editors_stay() {
        assert_eq!(
            added("\u{feff}[defaults]\r\n", "a").unwrap(),
            "\u{feff}[defaults]\r\n\r\n[servers.a]\r\nnpm = \"pkg\"\r\n"
        );
    }

    #[test]
    fn other_ways_to_write_a_table_are_understood() {
        let inline = added("servers = { a = { npm = \"x\" } }\n", "b").unwrap();
        let dotted = added("servers.a.npm = \"x\"\n", "b").unwrap();
        for text in [inline, dotted] {
            let read: toml_edit::DocumentMut = text.parse().unwrap();
            assert_eq!(read["servers"]["b"]["npm"].as_str(), Some("pkg"), "{text}");
            assert_eq!(read["servers"]["a"]["npm"].as_str(), Some("x"), "{text}");
        }
        assert!(added("[servers.a]\nnpm = \"x\"\n", "a").unwrap_err().contains("there is a server `a` already"));
        assert!(added("servers = 5\n", "a").unwrap_err().contains("`servers` is no table"));
        assert!(added("[servers", "a").unwrap_err().contains("mcp.toml"));
    }
}
