//! Changes of servers that the file has.

use std::collections::BTreeSet;
use std::ops::Range;

use mcp_bindgen_model::{Config, FileError};
use toml_edit::{Array, Document, InlineTable, Item, Key, Table, TableLike, Value};

use super::ConfigFile;
use crate::exit::Failure;

impl ConfigFile {
    /// Returns the table of a server.
    ///
    /// # Errors
    /// Fails if there is no such server, with the nearest name.
    pub(crate) fn server(&mut self, name: &str) -> Result<&mut dyn TableLike, Failure> {
        if self.servers().is_none_or(|servers| !servers.contains_key(name)) {
            self.checked()?.server(name)?;
        }
        let path = self.path.clone();
        let table = self.servers().and_then(|servers| servers.get_mut(name)?.as_table_like_mut());
        Ok(table.ok_or_else(|| FileError::new(format!("server `{name}` is not a table")).in_file(path))?)
    }

    /// Removes the table of a server, with the comments right above it and right below it.
    ///
    /// # Errors
    /// Fails if there is no such server.
    pub(crate) fn remove_server(&mut self, name: &str) -> Result<(), Failure> {
        self.server(name)?;
        self.remove(&[Key::new("servers"), Key::new(name)])
    }

    /// Removes a key of a server, with the comments right above it. Returns `true` if it was present.
    ///
    /// # Errors
    /// Fails like [`set`].
    pub(crate) fn unset(&mut self, server: &str, path: &[Key]) -> Result<bool, Failure> {
        let Some((last, table)) = inner(self.server(server)?, path, false)? else { return Ok(false) };
        if table.is_dotted() && table.len() == 1 {
            // Without a line of its own the table would be gone.
            return Ok(table.remove(last).is_some());
        }
        if !table.contains_key(last) {
            return Ok(false);
        }
        let path: Vec<Key> = ["servers", server].map(Key::new).into_iter().chain(path.iter().cloned()).collect();
        self.remove(&path).map(|()| true)
    }

    fn remove(&mut self, path: &[Key]) -> Result<(), Failure> {
        match without(&self.document.to_string(), path).and_then(|text| text.parse().ok()) {
            Some(document) => self.document = document,
            None => drop(inner(self.document.as_table_mut(), path, false)?.map(|(last, table)| table.remove(last))),
        }
        Ok(())
    }

    /// Renames a server; its table and its comments stay in place.
    ///
    /// # Errors
    /// Fails if there is no such server, or the new name is taken.
    pub(crate) fn rename_server(&mut self, old: &str, new: &str) -> Result<(), Failure> {
        self.server(old)?;
        let path = self.path.clone();
        let Some(servers) = self.servers() else { return Ok(()) };
        if servers.contains_key(new) {
            let error = FileError::new(format!("server `{new}` already exists")).in_file(path);
            // The server itself need not be removed.
            let help = (old != new).then(|| format!("use another name, or `mcp-bindgen remove {new}` first"));
            return Err(FileError { help, ..error }.into());
        }
        let names: Vec<String> = servers.iter().map(|(name, _)| name.to_owned()).collect();
        // Keys have an order of their own: each is taken out and put back.
        for name in names {
            let (Some(key), Some(item)) = (servers.key(&name).cloned(), servers.remove(&name)) else { continue };
            let key = if name == old { renamed(&key, new) } else { key };
            servers.entry_format(&key).or_insert(item);
        }
        self.rename_in_joined_tools(old, new);
        Ok(())
    }

    /// Renames a server in the lists of `[tools]`.
    fn rename_in_joined_tools(&mut self, old: &str, new: &str) {
        let tools = self.document.get_mut("tools").and_then(Item::as_table_like_mut);
        let lists = tools.into_iter().flat_map(TableLike::iter_mut).filter_map(|(_, tool)| tool.get_mut("of"));
        for value in lists.filter_map(Item::as_array_mut).flat_map(Array::iter_mut) {
            let Some((server, tool)) = value.as_str().and_then(|text| text.split_once('/')) else { continue };
            if server == old {
                let mut renamed = Value::from(format!("{new}/{tool}"));
                *renamed.decor_mut() = value.decor().clone();
                *value = renamed;
            }
        }
    }

    /// Returns the configuration after the changes.
    ///
    /// # Errors
    /// Fails if the result is invalid. Nothing is written then, and only existing parts of the file have a line.
    pub(crate) fn checked(&self) -> Result<Config, Failure> {
        let error = match self.config() {
            Ok(config) => return Ok(config),
            Err(error) => error,
        };
        let before = self.before().err();
        let mut error =
            before.filter(|before| before.message == error.message).unwrap_or(FileError { position: None, ..error });
        error.path = Some(self.path.clone());
        Err(Failure::new(format!("{error}\n  = note: nothing was written")))
    }

    /// Returns the configuration before the changes.
    ///
    /// # Errors
    /// Fails if the result is invalid.
    pub(crate) fn before(&self) -> Result<Config, FileError> {
        Config::parse_toml(&self.text, &self.path)
    }

    fn servers(&mut self) -> Option<&mut dyn TableLike> {
        self.document.get_mut("servers")?.as_table_like_mut()
    }
}

/// Sets a key of a table, and creates missing tables. Comments after the old value stay.
///
/// # Errors
/// Fails if a value is found where a table is expected.
pub(crate) fn set(table: &mut dyn TableLike, path: &[Key], mut value: Value) -> Result<(), Failure> {
    let Some((last, table)) = inner(table, path, true)? else { return Ok(()) };
    value.decor_mut().clear();
    match table.get_mut(last).and_then(Item::as_value_mut) {
        Some(known) => {
            *value.decor_mut() = known.decor().clone();
            *known = value;
        }
        None => {
            // The space before the `}` of an inline table stays there.
            let before = table.iter_mut().last().and_then(|(_, item)| item.as_value_mut()?.decor_mut().into());
            if let Some(before) = before
                && before.suffix().and_then(|suffix| suffix.as_str()) == Some(" ")
            {
                before.set_suffix("");
                value.decor_mut().set_suffix(" ");
            }
            table.insert(last, Item::Value(value));
        }
    }
    Ok(())
}

/// Returns the table of the last key, or `None` if a table on the path is missing and must not be created.
fn inner<'t, 'k>(
    mut table: &'t mut dyn TableLike,
    path: &'k [Key],
    makes: bool,
) -> Result<Option<(&'k str, &'t mut dyn TableLike)>, Failure> {
    let Some((last, outer)) = path.split_last() else { return Ok(None) };
    for key in outer {
        let key = key.get();
        if !table.contains_key(key) {
            if !makes {
                return Ok(None);
            }
            table.insert(key, Item::Value(InlineTable::new().into()));
        }
        let found = table.get_mut(key).and_then(Item::as_table_like_mut);
        table = found.ok_or_else(|| Failure::new(format!("`{key}` is not a table\n  = note: nothing was written")))?;
    }
    Ok(Some((last.get(), table)))
}

/// Returns a text without the lines at a path, or `None` if the path leads to a part of a value.
///
/// Comments right above the item belong to it, and comments right below a table belong to that table. Text above an
/// empty line introduces the file or a section, and stays.
fn without(text: &str, path: &[Key]) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let (last, outer) = path.split_last()?;
    let table = outer.iter().try_fold(document.as_table(), |table, key| table.get(key.get())?.as_table())?;
    let removed = table.get(last.get())?;
    let has_header = removed.as_table().is_some_and(|table| !table.is_dotted());
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let lines = |item: &Item| -> BTreeSet<usize> {
        let line = |at: usize| ends.partition_point(|end| *end < at);
        let places = places(item).into_iter().filter(|place| !place.is_empty());
        places.flat_map(|place| line(place.start)..=line(place.end - 1)).collect()
    };
    let (all, own) = (lines(document.as_item()), lines(removed));
    let is_empty = |line: &&str| line.trim().is_empty();
    let mut kept = String::new();
    let mut was_own = false;
    // Comments and empty lines since the last line that is something else.
    let mut between: Vec<&str> = Vec::new();
    for (number, line) in text.split_inclusive('\n').map(Some).chain([None]).enumerate() {
        if let Some(line) = line.filter(|_| !all.contains(&number)) {
            between.push(line);
            continue;
        }
        let is_own = own.contains(&number);
        let (mut start, mut end) = (0, between.len());
        // Without an empty line, comments belong to the following item.
        if was_own && has_header && (line.is_none() || between.iter().any(is_empty)) {
            start = between.iter().position(is_empty).unwrap_or(end);
        }
        if is_own {
            let is_inside = was_own && line.is_some_and(|line| !line.trim_start().starts_with('['));
            end = between.iter().rposition(is_empty).filter(|_| !is_inside).map_or(0, |last| last + 1);
        }
        if was_own && (kept.is_empty() || kept.ends_with("\n\n")) {
            start += between.iter().skip(start).take_while(|line| is_empty(line)).count();
        }
        kept.extend(between.get(start..end).unwrap_or_default().iter().copied());
        kept.extend(line.filter(|_| !is_own));
        while was_own && line.is_none() && kept.ends_with("\n\n") {
            kept.pop();
        }
        between.clear();
        was_own = is_own;
    }
    Some(kept)
}

/// Returns the places of headers and values.
fn places(item: &Item) -> Vec<Range<usize>> {
    let of_table =
        |table: &Table| table.iter().flat_map(|(_, item)| places(item)).chain(table.span()).collect::<Vec<_>>();
    match item {
        Item::Table(table) => of_table(table),
        Item::ArrayOfTables(tables) => tables.iter().flat_map(of_table).collect(),
        Item::Value(value) => value.span().into_iter().collect(),
        Item::None => Vec::new(),
    }
}

fn renamed(key: &Key, new: &str) -> Key {
    Key::new(new).with_leaf_decor(key.leaf_decor().clone()).with_dotted_decor(key.dotted_decor().clone())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn edited(text: &str, edit: impl FnOnce(&mut ConfigFile) -> Result<(), Failure>) -> Result<String, String> {
        let mut file = ConfigFile::parse(text, Path::new("mcp.toml")).map_err(|failure| failure.message)?;
        edit(&mut file).map_err(|failure| failure.message)?;
        Ok(file.to_text())
    }

    fn removed(text: &str, name: &str) -> Result<String, String> {
        edited(text, |file| file.remove_server(name))
    }

    fn renamed(text: &str, old: &str, new: &str) -> Result<String, String> {
        edited(text, |file| file.rename_server(old, new))
    }

    fn changed(text: &str, key: &str, value: &str) -> Result<String, String> {
        edited(text, |file| set(file.server("a")?, &Key::parse(key).unwrap(), value.parse().unwrap()))
    }

    #[test]
    fn removing_a_server_leaves_the_file_otherwise_unchanged() {
        let a = "# about a\n[servers.a]\nnpm = 'x' # why\n\n[servers.a.rust]\nderive = []\n";
        let b = "# about b\n[servers.b]\nnpm = 'y'\n# at the end\n";
        let both = format!("# ours\n[defaults]\n\n{a}\n{b}");
        assert_eq!(removed(&both, "a").unwrap(), format!("# ours\n[defaults]\n\n{b}"));
        assert_eq!(removed(&both, "b").unwrap(), format!("# ours\n[defaults]\n\n{a}"));
        for (text, rest) in [
            ("[servers.a]\nnpm = 'x'\n\n[servers.b]\nnpm = 'y'\n", "[servers.b]\nnpm = 'y'\n"),
            (
                "# Ours.\n\n# about a\n[servers.a]\nnpm = 'x'\n\n[servers.b]\nnpm = 'y'\n",
                "# Ours.\n\n[servers.b]\nnpm = 'y'\n",
            ),
            ("# Ours.\n\n[servers.a]\nnpm = 'x'\n", "# Ours.\n"),
            ("deny = []\n[servers.a]\nnpm = 'x'\n\n[servers.b]\nnpm = 'y'\n", "deny = []\n\n[servers.b]\nnpm = 'y'\n"),
            ("[servers]\na = { npm = 'x' }\nb = { npm = 'y' } # b\n", "[servers]\nb = { npm = 'y' } # b\n"),
            ("servers.a.npm = 'x'\nservers.b.npm = 'y'\n", "servers.b.npm = 'y'\n"),
            ("servers = { a = { npm = 'x' }, b = { npm = 'y' } }\n", "servers = { b = { npm = 'y' } }\n"),
            (
                "\u{feff}# Ours.\r\n\r\n[servers.a]\r\nnpm = 'x'\r\n[servers.b]\r\n",
                "\u{feff}# Ours.\r\n\r\n[servers.b]\r\n",
            ),
            ("[servers.a]\nnpm = 'x'\n", ""),
        ] {
            assert_eq!(removed(text, "a").unwrap(), rest, "{text}");
        }
    }

    #[test]
    fn comments_above_an_empty_line_are_preserved() {
        for (text, rest) in [
            (
                "[servers]\n# Ours.\n\n# about a\na = { npm = 'x' }\n# b\nb = {}\n",
                "[servers]\n# Ours.\n\n# b\nb = {}\n",
            ),
            (
                "# Ours.\n\n# about a\nservers.a.npm = 'x'\nservers.a.args = []\n\nservers.b.npm = 'y'\n",
                "# Ours.\n\nservers.b.npm = 'y'\n",
            ),
            (
                "[servers.a]\nnpm = 'x'\n# in a\n\ncwd = 'y'\n\n# == Two ==\n\n# rust\n[servers.a.rust]\n\n[servers.b]\n",
                "# == Two ==\n\n[servers.b]\n",
            ),
        ] {
            assert_eq!(removed(text, "a").unwrap(), rest, "{text}");
        }
        let text = "[servers.a]\nnpm = 'x'\n\n# limits\n\n# slow\ntimeout = '9s'\n# tools = []\n\n[servers.b]\n";
        let rest = "[servers.a]\nnpm = 'x'\n\n# limits\n\n# tools = []\n\n[servers.b]\n";
        assert_eq!(edited(text, |file| file.unset("a", &[Key::new("timeout")]).map(drop)).unwrap(), rest);
    }

    #[test]
    fn comments_below_a_removed_table_are_removed() {
        let a = "[servers.a]\nnpm = 'x'\n";
        let text = format!("{a}\n# about b\n[servers.b]\nnpm = 'y'\n# approve = []\n\n# about c\n[servers.c]\n");
        assert_eq!(removed(&text, "b").unwrap(), format!("{a}\n# about c\n[servers.c]\n"));
        // Comments right above another header belong to it.
        let text = "[servers.b]\nnpm = \"\"\"\n# text\"\"\"\n# about c\n[servers.c]\n";
        assert_eq!(removed(text, "b").unwrap(), "# about c\n[servers.c]\n");
    }

    #[test]
    fn renamed_server_stays_in_its_position() {
        for text in [
            "# about A\n[servers.A] # why\nnpm = 'x'\n\n[servers.b]\nnpm = 'y'\n\n# more\n[servers.A.rust]\nderive = []\n",
            "[servers]\n# about A\nA = { npm = 'x' } # why\nb = { npm = 'y' }\n",
            "[servers]\n# about A\nA.npm = 'x'\nA.args = []\nb.npm = 'y'\n",
            "# about A\nservers.A.npm = 'x'\nservers.b.npm = 'y'\n",
            "servers = { A = { npm = 'x' }, b = { npm = 'y' } }\n",
            "[servers.A]\r\nnpm = 'x'\r\n[servers.b]\nnpm = 'y'\r\n",
        ] {
            let (old, new) = (text.replace('A', "a"), text.replace('A', "long-name"));
            let about = |text: &str| text.replace("# about long-name", "# about a");
            assert_eq!(renamed(&old, "a", "long-name").unwrap(), about(&new), "{text}");
        }
        assert_eq!(renamed("[servers . \"a\"]\nnpm = 'x'\n", "a", "c").unwrap(), "[servers . c]\nnpm = 'x'\n");
        let taken = renamed("[servers.a]\nnpm = 'x'\n[servers.b]\nnpm = 'y'\n", "a", "b").unwrap_err();
        assert!(taken.starts_with("server `b` already exists\n --> mcp.toml\n"), "{taken}");
    }

    #[test]
    fn keys_are_set_in_place() {
        const TABLE: &str = "[servers.a]\nnpm = 'x'\n[servers.a.env]\nA = 'x'\n";
        for (text, key, value, new) in [
            ("[servers.a]\nnpm = 'x' # why\n\n[deny]\n", "npm", "'y'", "[servers.a]\nnpm = 'y' # why\n\n[deny]\n"),
            (
                "[servers.a]\nnpm = 'x'\n\n[servers.b]\n",
                "timeout",
                "'9s'",
                "[servers.a]\nnpm = 'x'\ntimeout = '9s'\n\n[servers.b]\n",
            ),
            ("[servers.a]\nnpm = 'x'\n", "env.TOKEN", "'${T}'", "[servers.a]\nnpm = 'x'\nenv = { TOKEN = '${T}' }\n"),
            ("[servers.a]\nenv = { A = 'x' }\n", "env.B", "'y'", "[servers.a]\nenv = { A = 'x', B = 'y' }\n"),
            (TABLE, "env.B", "'y'", format!("{TABLE}B = 'y'\n").as_str()),
            ("servers.a.npm = 'x'\n", "timeout", "'9s'", "servers.a.npm = 'x'\nservers.a.timeout = '9s'\n"),
            ("[servers]\na = { npm = 'x' }\n", "tools", "['t']", "[servers]\na = { npm = 'x', tools = ['t'] }\n"),
        ] {
            assert_eq!(changed(text, key, value).unwrap(), new, "{text}");
        }
        assert!(changed("[servers.a]\nenv = 5\n", "env.A", "'x'").unwrap_err().contains("`env` is not a table"));
        let without = edited("[servers.a]\nnpm = 'x'\nenv = { A = 'x' }\n", |file| {
            assert!(file.unset("a", &Key::parse("env.A").unwrap())?);
            assert!(!file.unset("a", &Key::parse("cwd.A").unwrap())?);
            Ok(())
        });
        assert_eq!(without.unwrap(), "[servers.a]\nnpm = 'x'\nenv = {}\n");
    }

    #[test]
    fn unknown_server_error_suggests_the_nearest_name() {
        let text = "[servers.github]\nnpm = 'x'\n";
        assert!(removed(text, "gitub").unwrap_err().contains("did you mean `github`?"));
        assert!(removed("", "a").unwrap_err().contains("unknown server `a`"));
    }
}
