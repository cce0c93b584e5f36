//! Changes of servers that the file has.

use mcp_model::{Config, FileError};
use toml_edit::{InlineTable, Item, Key, Table, TableLike, Value};

use super::ConfigFile;
use crate::exit::Failure;

impl ConfigFile {
    /// Returns the table of a server.
    ///
    /// # Errors
    /// Fails if there is no such server, and names the nearest.
    pub(crate) fn server(&mut self, name: &str) -> Result<&mut dyn TableLike, Failure> {
        if self.servers().is_none_or(|servers| !servers.contains_key(name)) {
            self.checked()?.server(name)?;
        }
        let path = self.path.clone();
        let table = self.servers().and_then(|servers| servers.get_mut(name)?.as_table_like_mut());
        Ok(table.ok_or_else(|| FileError::new(format!("server `{name}` is not a table")).in_file(path))?)
    }

    /// Removes the table of a server, with the comments right above it.
    ///
    /// # Errors
    /// Fails if there is no such server.
    pub(crate) fn remove_server(&mut self, name: &str) -> Result<(), Failure> {
        self.server(name)?;
        let removed = self.servers().and_then(|servers| servers.remove(name));
        let Some((position, comments)) = removed.as_ref().and_then(Item::as_table).and_then(first_header) else {
            return Ok(());
        };
        // A comment above an empty line introduces the file, or a part of it.
        let introduction = comments.rfind("\n\n").and_then(|end| comments.get(..=end)).unwrap_or_default();
        let has_gap = self.document.to_string().starts_with('\n') && !self.text.starts_with('\n');
        self.edit_below(position, |below| match below.trim_start_matches('\n') {
            rest if introduction.contains('#') => format!("{introduction}\n{rest}"),
            rest if has_gap => rest.to_owned(),
            _ => below.to_owned(),
        });
        Ok(())
    }

    /// Edits the text above the first header behind a position, or at the end of the file.
    fn edit_below(&mut self, position: isize, edit: impl Fn(&str) -> String) {
        let is_header = |table: &Table| !table.is_implicit() && table.position().is_some_and(|at| at > position);
        let mut next: Option<isize> = None;
        each_table(self.document.as_table_mut(), &mut |table| {
            next = next.into_iter().chain(table.position().filter(|_| is_header(table))).min();
        });
        if next.is_none() {
            let mut below = edit(self.document.trailing().as_str().unwrap_or_default());
            if below.ends_with("\n\n") {
                below.pop();
            }
            self.document.set_trailing(below);
        }
        each_table(self.document.as_table_mut(), &mut |table| {
            if is_header(table) && table.position() == next {
                let below = edit(&prefix(table));
                table.decor_mut().set_prefix(below);
            }
        });
    }

    /// Gives a server another name; its table and its comments stay where they are.
    ///
    /// # Errors
    /// Fails if there is no such server, or the new name is taken.
    pub(crate) fn rename_server(&mut self, old: &str, new: &str) -> Result<(), Failure> {
        self.server(old)?;
        let path = self.path.clone();
        let Some(servers) = self.servers() else { return Ok(()) };
        if servers.contains_key(new) {
            let error = FileError::new(format!("server `{new}` already exists")).in_file(path);
            return Err(error.with_help(format!("use another name, or `mcp-bindgen remove {new}` first")).into());
        }
        let names: Vec<String> = servers.iter().map(|(name, _)| name.to_owned()).collect();
        // Keys have an order of their own: each is taken out and put back.
        for name in names {
            let (Some(key), Some(item)) = (servers.key(&name).cloned(), servers.remove(&name)) else { continue };
            let key = if name == old { renamed(&key, new) } else { key };
            servers.entry_format(&key).or_insert(item);
        }
        Ok(())
    }

    /// Returns what the file will say.
    ///
    /// # Errors
    /// Fails if the result is invalid. Nothing is written then, and only what is in the file already has a line.
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

    /// Returns what the file says without the changes.
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

/// Sets a key of a table, and makes the tables on the way. Comments behind the old value stay.
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

/// Removes a key of a table, and says whether it was there.
///
/// # Errors
/// As [`set`].
pub(crate) fn unset(table: &mut dyn TableLike, path: &[Key]) -> Result<bool, Failure> {
    Ok(inner(table, path, false)?.is_some_and(|(last, table)| table.remove(last).is_some()))
}

/// The table that the last of the keys is in; None where one on the way is not there and none is made.
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

/// Returns the position of the first header of a table, and the text above it.
fn first_header(table: &Table) -> Option<(isize, String)> {
    let own = table.position().filter(|_| !table.is_implicit() && !table.is_dotted()).map(|at| (at, prefix(table)));
    let inner = table.iter().filter_map(|(_, item)| first_header(item.as_table()?));
    own.into_iter().chain(inner).min()
}

fn prefix(table: &Table) -> String {
    table.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().replace('\r', "")
}

fn each_table(table: &mut Table, visit: &mut impl FnMut(&mut Table)) {
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(inner) => {
                visit(inner);
                each_table(inner, visit);
            }
            Item::ArrayOfTables(tables) => {
                for inner in tables.iter_mut() {
                    visit(inner);
                    each_table(inner, visit);
                }
            }
            _ => {}
        }
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
    fn removed_servers_leave_everything_else_as_it_was() {
        let a = "# about a\n[servers.a]\nnpm = 'x' # why\n\n[servers.a.rust]\nderive = []\n";
        let b = "# about b\n[servers.b]\nnpm = 'y'\n# at the end\n";
        let both = format!("# ours\n[defaults]\n\n{a}\n{b}");
        assert_eq!(removed(&both, "a").unwrap(), format!("# ours\n[defaults]\n\n{b}"));
        assert_eq!(removed(&both, "b").unwrap(), format!("# ours\n[defaults]\n\n{a}# at the end\n"));
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
    fn renamed_servers_stay_where_they_are() {
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
            (
                "[servers.a]\nnpm = 'x'\n[servers.a.env]\nA = 'x'\n",
                "env.B",
                "'y'",
                "[servers.a]\nnpm = 'x'\n[servers.a.env]\nA = 'x'\nB = 'y'\n",
            ),
            ("servers.a.npm = 'x'\n", "timeout", "'9s'", "servers.a.npm = 'x'\nservers.a.timeout = '9s'\n"),
            ("[servers]\na = { npm = 'x' }\n", "tools", "['t']", "[servers]\na = { npm = 'x', tools = ['t'] }\n"),
        ] {
            assert_eq!(changed(text, key, value).unwrap(), new, "{text}");
        }
        assert!(changed("[servers.a]\nenv = 5\n", "env.A", "'x'").unwrap_err().contains("`env` is not a table"));
        let without = edited("[servers.a]\nnpm = 'x'\nenv = { A = 'x' }\n", |file| {
            assert!(unset(file.server("a")?, &Key::parse("env.A").unwrap())?);
            assert!(!unset(file.server("a")?, &Key::parse("cwd.A").unwrap())?);
            Ok(())
        });
        assert_eq!(without.unwrap(), "[servers.a]\nnpm = 'x'\nenv = {}\n");
    }

    #[test]
    fn unknown_servers_are_named_with_the_nearest() {
        let text = "[servers.github]\nnpm = 'x'\n";
        assert!(removed(text, "gitub").unwrap_err().contains("did you mean `github`?"));
        assert!(removed("", "a").unwrap_err().contains("there is no server `a`"));
    }
}
