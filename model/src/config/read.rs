//! Reading typed pieces out of nodes, with one kind of error for every kind of file.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::time::Duration;

use super::keys::{Key, has};
use super::node::{Entry, Kind, Node, SourceText};
use super::warning::ConfigWarning;
use crate::secrets::quoted;
use crate::{
    ConfigPlace, Drift, FileError, Live, PatternPlaces, Pin, Prefix, Rate, SecretStore, ServerConfig, Types,
    UnknownKeys, duration, is_server_name, nearest,
};

/// Reads one file; collects what is worth a warning.
pub(super) struct Reader<'a> {
    pub(super) source: SourceText<'a>,
    /// Whether unknown and useless keys are errors: they are in files of our own, not in those of other programs.
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

    /// Splits `server/tool`, an element of `what`.
    pub(super) fn tool_of_server<'t>(
        &self,
        at: usize,
        what: &str,
        text: &'t str,
    ) -> Result<(&'t str, &'t str), FileError> {
        text.split_once('/').filter(|(server, _)| is_server_name(server)).ok_or_else(|| {
            let message = format!("{what} contains `{}`, which names no tool of a server", quoted(text));
            self.error(at, message).with_help("write each as \"server/tool\"")
        })
    }

    pub(super) fn warn(&mut self, server: &str, error: FileError) {
        self.warnings.push(ConfigWarning::about(server, error));
    }

    fn wrong_type(&self, node: &Node, what: &str, expected: &str) -> FileError {
        self.error(node.at, format!("{what} must be {expected}, not {}", node.what()))
    }

    pub(super) fn table<'n>(&self, node: &'n Node, what: &str) -> Result<&'n [Entry], FileError> {
        match &node.kind {
            Kind::Table(entries) => self.each_once(entries),
            _ => Err(self.wrong_type(node, what, "a table")),
        }
    }

    /// JSON lets a key stand twice; it is an error where we read it, and the business of others elsewhere.
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

    pub(super) fn secret_stores(&self, node: &Node, what: &str) -> Result<Vec<SecretStore>, FileError> {
        let nodes = self.list(node, what, "an array of strings")?;
        if nodes.is_empty() {
            let expected = SecretStore::WORDS.map(|word| format!("`\"{word}\"`")).join(", ");
            return Err(self
                .error(node.at, format!("{what} is empty"))
                .with_help(format!("expected some of {expected}")));
        }
        let known = SecretStore::WORDS.map(|word| (word, ()));
        let store = |node: &Node| {
            let what = format!("every element of {what}");
            let word = self.text(node, &what)?;
            match SecretStore::parse(&word) {
                Some(store) => Ok(store),
                None => self.one_of(node, &what, &word, &known).map(|()| SecretStore::Env),
            }
        };
        nodes.iter().map(store).collect()
    }

    /// As [`texts`](Self::texts), of a key whose elements are found to be wrong only beside a snapshot.
    pub(super) fn patterns(
        &self,
        node: &Node,
        what: &str,
        key: &'static str,
        places: &mut PatternPlaces,
    ) -> Result<Vec<String>, FileError> {
        let patterns = self.texts(node, what)?;
        let nodes: &[Node] = if let Kind::List(nodes) = &node.kind { nodes } else { &[] };
        for (pattern, node) in patterns.iter().zip(nodes) {
            places.add(key, pattern, self.place(node.at));
        }
        Ok(patterns)
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

    pub(super) fn duration(&self, node: &Node, what: &str) -> Result<Duration, FileError> {
        let help = "write a whole number above zero with a unit: \"500ms\", \"30s\", \"2m\" or \"1h\"";
        let Kind::Text(text) = &node.kind else {
            return Err(self.wrong_type(node, what, "a duration such as \"30s\"").with_help(help));
        };
        duration::parse_duration(text)
            .ok_or_else(|| self.error(node.at, format!("{what} is not a duration")).with_help(help))
    }

    pub(super) fn rate(&self, node: &Node, what: &str) -> Result<Rate, FileError> {
        let help = "write a whole number above zero with a time: \"10/s\", \"100/m\" or \"1000/h\"";
        let Kind::Text(text) = &node.kind else {
            return Err(self.wrong_type(node, what, "a rate such as \"10/s\"").with_help(help));
        };
        Rate::parse(text).ok_or_else(|| self.error(node.at, format!("{what} is not a rate")).with_help(help))
    }

    pub(super) fn drift(&self, node: &Node, what: &str) -> Result<Drift, FileError> {
        let word = self.text(node, what)?;
        self.one_of(node, what, &word, &Drift::ALL.map(|drift| (drift.name(), drift)))
    }

    pub(super) fn pin(&self, node: &Node, what: &str) -> Result<Pin, FileError> {
        let word = self.text(node, what)?;
        self.one_of(node, what, &word, &Pin::ALL.map(|pin| (pin.name(), pin)))
    }

    pub(super) fn live(&self, node: &Node, what: &str) -> Result<Live, FileError> {
        let word = self.text(node, what)?;
        self.one_of(node, what, &word, &Live::ALL.map(|live| (live.name(), live)))
    }

    pub(super) fn types(&self, node: &Node, what: &str) -> Result<Types, FileError> {
        let word = self.text(node, what)?;
        self.one_of(node, what, &word, &Types::ALL.map(|types| (types.name(), types)))
    }

    pub(super) fn unknown(&self, node: &Node, what: &str) -> Result<UnknownKeys, FileError> {
        let word = self.text(node, what)?;
        self.one_of(node, what, &word, &UnknownKeys::ALL.map(|unknown| (unknown.name(), unknown)))
    }

    pub(super) fn prefix(&self, node: &Node, what: &str) -> Result<Prefix, FileError> {
        let help = "use a word as the prefix, or `prefix = false` for none";
        match &node.kind {
            Kind::Bool(false) => Ok(Prefix::None),
            Kind::Text(text) => Prefix::named(text)
                .ok_or_else(|| self.error(node.at, format!("{what} is not a valid prefix")).with_help(help)),
            _ => Err(self.wrong_type(node, what, "a string or `false`").with_help(help)),
        }
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

    /// A key that is not among the known ones is an error, before anything else can read it.
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

/// Fails if the file has no such server, which `what` names.
pub(super) fn check_server(
    servers: &BTreeMap<String, ServerConfig>,
    server: &str,
    place: &ConfigPlace,
    what: &str,
) -> Result<(), FileError> {
    if servers.contains_key(server) {
        return Ok(());
    }
    let help = suggestion(server, servers.keys().map(String::as_str), "known servers:");
    Err(place.error(format!("{what} names the unknown server `{}`", quoted(server))).with_help(help))
}

/// The nearest of the known words, or all of them.
pub(super) fn suggestion<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone, all: &str) -> String {
    match nearest(word, known.clone()).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("{all} {}", known.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    }
}
