//! Reading typed pieces out of nodes, with one kind of error for every kind of file.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use super::key::{Key, has};
use super::node::{Entry, Kind, Node, SourceText};
use super::warning::ConfigWarning;
use crate::secrets::quoted;
use crate::words::Words;
use crate::{ConfigPlace, ConfigPlaces, FileError, is_server_name, nearest};

/// Reads one file, and collects warnings.
pub(crate) struct Reader<'a> {
    pub(super) source: SourceText<'a>,
    /// `true` if unknown and useless keys are errors: in files of this project, but not in those of other programs.
    pub(super) strict: bool,
    pub(super) warnings: Vec<ConfigWarning>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: Option<&'a str>, path: Option<&'a Path>, strict: bool) -> Self {
        Self { source: SourceText { text, path }, strict, warnings: Vec::new() }
    }

    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> FileError {
        self.source.error(at, message)
    }

    pub(super) fn place(&self, at: usize) -> ConfigPlace {
        let FileError { path, position, .. } = self.error(at, "");
        ConfigPlace { path, position }
    }

    /// Returns the positions of a table, of its keys, and of their members and texts.
    pub(super) fn places(&self, node: &Node) -> ConfigPlaces {
        let mut places = ConfigPlaces::default();
        places.add("", self.place(node.at));
        if let Kind::Table(entries) = &node.kind {
            entries.iter().for_each(|entry| self.add_places(entry, &mut places));
        }
        places
    }

    /// Adds the positions of a key, and of its members and texts.
    pub(super) fn add_places(&self, Entry { key, at, value }: &Entry, places: &mut ConfigPlaces) {
        places.add(key, self.place(*at));
        if let Kind::Table(members) = &value.kind {
            members.iter().for_each(|member| places.add(format!("{key}/{}", member.key), self.place(member.at)));
        }
        for element in value.elements() {
            if let Kind::Text(text) = &element.kind {
                places.add(format!("{key}/{text}"), self.place(element.at));
            }
        }
    }

    /// Fails if a name is not an identifier that every provider accepts.
    pub(super) fn check_snake_case(
        &self,
        at: usize,
        name: &str,
        message: impl FnOnce() -> String,
    ) -> Result<(), FileError> {
        let is_inner = |c: char| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit();
        if name.len() <= 64 && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_inner) {
            return Ok(());
        }
        Err(self.error(at, message()).with_help("use 1 to 64 of a-z, 0-9 and `_`, and begin with a letter"))
    }

    pub(super) fn warn(&mut self, server: &str, error: FileError) {
        self.warnings.push(ConfigWarning::about(server, error));
    }

    pub(super) fn wrong_type(&self, node: &Node, what: &str, expected: &str) -> FileError {
        self.error(node.at, format!("{what} must be {expected}, not {}", node.what()))
    }

    pub(super) fn table<'n>(&self, node: &'n Node, what: &str) -> Result<&'n [Entry], FileError> {
        match &node.kind {
            Kind::Table(entries) => self.each_once(entries),
            _ => Err(self.wrong_type(node, what, "a table")),
        }
    }

    /// Checks that no key is repeated. JSON allows repeated keys, so they are only an error in parts that this program
    /// reads.
    fn each_once<'n>(&self, entries: &'n [Entry]) -> Result<&'n [Entry], FileError> {
        let mut seen = HashSet::new();
        match entries.iter().find(|entry| !seen.insert(entry.key.as_str())) {
            Some(twice) => Err(self.error(twice.at, format!("duplicate key `{}`", quoted(&twice.key)))),
            None => Ok(entries),
        }
    }

    pub(super) fn text(&self, node: &Node, what: &str) -> Result<String, FileError> {
        match &node.kind {
            Kind::Text(text) => Ok(text.clone()),
            _ => Err(self.wrong_type(node, what, "a string")),
        }
    }

    pub(super) fn boolean(&self, node: &Node, what: &str) -> Result<bool, FileError> {
        match &node.kind {
            Kind::Bool(value) => Ok(*value),
            _ => Err(self.wrong_type(node, what, "`true` or `false`")),
        }
    }

    pub(super) fn list<'n>(&self, node: &'n Node, what: &str, expected: &str) -> Result<&'n [Node], FileError> {
        match &node.kind {
            Kind::List(elements) => Ok(elements),
            _ => Err(self.wrong_type(node, what, expected)),
        }
    }

    pub(super) fn texts(&self, node: &Node, what: &str) -> Result<Vec<String>, FileError> {
        let elements = self.list(node, what, "an array of strings")?;
        elements.iter().map(|element| self.text(element, &format!("every element of {what}"))).collect()
    }

    /// Reads strings like [`texts`](Self::texts), each with its node.
    pub(super) fn located_texts<'n>(&self, node: &'n Node, what: &str) -> Result<Vec<(String, &'n Node)>, FileError> {
        Ok(self.texts(node, what)?.into_iter().zip(node.elements()).collect())
    }

    pub(super) fn text_map(&self, node: &Node, what: &str) -> Result<BTreeMap<String, String>, FileError> {
        let Kind::Table(entries) = &node.kind else {
            return Err(self.wrong_type(node, what, "a table of strings"));
        };
        let mut texts = BTreeMap::new();
        for entry in self.each_once(entries)? {
            let text = self.text(&entry.value, &format!("`{}` in {what}", quoted(&entry.key)))?;
            texts.insert(entry.key.clone(), text);
        }
        Ok(texts)
    }

    pub(super) fn word<W: Words>(&self, node: &Node, what: &str) -> Result<W, FileError> {
        self.one_of(node, what, &self.text(node, what)?, W::WORDS)
    }

    pub(super) fn one_of<T: Copy>(
        &self,
        node: &Node,
        what: &str,
        word: &str,
        known: &[(&str, T)],
    ) -> Result<T, FileError> {
        if let Some((_, value)) = known.iter().find(|(name, _)| *name == word) {
            return Ok(*value);
        }
        let names = known.iter().map(|(name, _)| *name);
        // Another word may be anything, a secret in the wrong line included.
        let is_short = word.len() <= 5 && word.bytes().all(|b| b.is_ascii_lowercase());
        let message = if is_short || !nearest(word, names.clone()).is_empty() {
            format!("invalid value `{}` for {what}", quoted(word))
        } else {
            format!("{what} has an invalid value")
        };
        Err(self.error(node.at, message).with_help(suggestion(word, names, "expected")))
    }

    /// Rejects an unknown key before it is read.
    pub(super) fn check_key(&self, entry: &Entry, place: &str, known: &[Key]) -> Result<(), FileError> {
        if has(known, &entry.key) { Ok(()) } else { Err(self.unknown_key(entry, place, known)) }
    }

    pub(super) fn unknown_key(&self, entry: &Entry, place: &str, known: &[Key]) -> FileError {
        self.error(entry.at, format!("unknown key `{}` in {place}", quoted(&entry.key))).with_help(suggestion(
            &entry.key,
            known.iter().map(|key| key.name),
            "known keys:",
        ))
    }
}

/// Splits `server/tool`, an element of `what`. The file must have the server.
pub(super) fn tool_of_server<'t, T>(
    servers: &BTreeMap<String, T>,
    place: &ConfigPlace,
    what: &str,
    text: &'t str,
) -> Result<(&'t str, &'t str), FileError> {
    let Some((server, tool)) = text.split_once('/').filter(|(server, _)| is_server_name(server)) else {
        let message = format!("{what} contains `{}`, which names no tool of a server", quoted(text));
        return Err(place.error(message).with_help("write each as \"server/tool\""));
    };
    check_server(servers, place, what, server)?;
    Ok((server, tool))
}

/// Fails if the file has no such server, which `what` names.
pub(super) fn check_server<T>(
    servers: &BTreeMap<String, T>,
    place: &ConfigPlace,
    what: &str,
    server: &str,
) -> Result<(), FileError> {
    if servers.contains_key(server) {
        return Ok(());
    }
    let help = suggestion(server, servers.keys().map(String::as_str), "known servers:");
    Err(place.error(format!("{what} names the unknown server `{}`", quoted(server))).with_help(help))
}

/// Returns the nearest of the known words, or all of them.
pub(super) fn suggestion<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone, all: &str) -> String {
    match nearest(word, known.clone()).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("{all} {}", known.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    }
}
