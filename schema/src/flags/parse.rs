//! From words to arguments.

use std::collections::{HashMap, HashSet};

use mcp_bindgen_model::{nearest, printable};
use serde_json::{Map, Value};

use super::Flags;
use super::fault::{FlagFault, FlagFaultKind};
use super::kebab::kebab;
use super::names::{Found, Meaning};
use super::typed::{Unfit, exact, expected, typed, whole_array};
use super::view::View;
use super::words::{Given, Word, any_name};
use crate::normalize::Kinds;
use crate::texts;

/// The maximum number of characters shown of an invalid word.
const LONGEST_SHOWN: usize = 60;

/// The file that an argument refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileRef<'f> {
    /// A file, by its path as it was written.
    Path(&'f str),
    /// The standard input, which is read at most once.
    Stdin,
}

impl Flags {
    /// Parses the arguments of a call, without the program's own options. `read` returns the text of a file, or an
    /// error.
    ///
    /// # Errors
    /// Fails with all faults of the words, and with missing required properties.
    pub fn parse(
        &self,
        words: &[String],
        read: &mut dyn FnMut(FileRef<'_>) -> Result<String, String>,
    ) -> Result<Map<String, Value>, Vec<FlagFault>> {
        let mut parser = Parser {
            flags: self,
            read,
            arguments: Map::new(),
            written: HashMap::new(),
            several: HashSet::new(),
            attempted: HashSet::new(),
            faults: Vec::new(),
            stdin_is_read: false,
            has_base: false,
        };
        let words = self.words(words);
        let mut once = HashSet::new();
        parser.several = self.paths(&words).filter(|path| !once.insert(path.clone())).collect();
        for word in &words {
            if let Word::Args(given) = word {
                parser.base(*given);
            }
        }
        for word in words {
            parser.word(word);
        }
        let arguments = Value::Object(std::mem::take(&mut parser.arguments));
        parser.missing(&self.root_view(), &arguments, &mut Vec::new());
        match arguments {
            Value::Object(arguments) if parser.faults.is_empty() => Ok(arguments),
            _ => Err(parser.faults),
        }
    }
}

/// How a place was written so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    Whole,
    /// The number of elements.
    Elements(usize),
    /// Something below it.
    Below,
}

struct Parser<'p> {
    flags: &'p Flags,
    read: &'p mut dyn FnMut(FileRef<'_>) -> Result<String, String>,
    arguments: Map<String, Value>,
    written: HashMap<Vec<String>, Written>,
    /// Places that more than one word is for.
    several: HashSet<Vec<String>>,
    /// Places for which a value was given, valid or not.
    attempted: HashSet<Vec<String>>,
    faults: Vec<FlagFault>,
    stdin_is_read: bool,
    has_base: bool,
}

impl Parser<'_> {
    fn fault(&mut self, kind: FlagFaultKind, flag: &str, message: String, help: Option<String>) {
        let (message, help) = (printable(&message), help.map(|help| printable(&help)));
        self.faults.push(FlagFault { kind, flag: printable(flag), message, help });
    }

    fn word(&mut self, word: Word<'_>) {
        match word {
            Word::Args(_) => {}
            Word::Arg(Given::Text(text)) => self.by_any_name(text),
            Word::Arg(_) => {
                let message = "`--arg` takes `NAME=VALUE` or `NAME:=JSON`".to_owned();
                self.fault(FlagFaultKind::NoValue, "--arg", message, None);
            }
            Word::Flag { name, given, meaning } => self.meant(&format!("--{name}"), name, given, meaning, true),
            Word::Own { words, name, .. } => {
                let has_property = self.flags.root_view().property(name).is_some();
                let message = format!("`{}` is an option of mcp-bindgen, not a property", words.join(" "));
                let has_property = has_property && words.first().is_some_and(|word| word.starts_with("--"));
                let help = has_property.then(|| format!("`--arg {name}=VALUE` sets the tool's property `{name}`"));
                self.fault(FlagFaultKind::Own, words.first().copied().unwrap_or_default(), message, help);
            }
            Word::Stray { word, before } => {
                let before = before.filter(|before| before.starts_with("--") && !before.contains('='));
                let switch = before.filter(|before| {
                    let meaning = self.flags.meaning(before.trim_start_matches('-'));
                    matches!(meaning, Meaning::Property(found) if found.view.is_switch())
                });
                let help = switch.map(|switch| format!("`{switch}` takes no value; its opposite is `{switch}=false`"));
                let message = format!("unexpected argument `{}`", shortened(word));
                let help = help.unwrap_or_else(|| "use `--NAME VALUE`".to_owned());
                self.fault(FlagFaultKind::Stray, word, message, Some(help));
            }
        }
    }

    /// Handles `--arg NAME=VALUE`, in which NAME may be a JSON string.
    fn by_any_name(&mut self, text: &str) {
        let (name, given, is_quoted) = any_name(text);
        if given == Given::Nothing {
            let message = format!("missing value in `--arg {}`", shortened(text));
            let help = "use `--arg NAME=VALUE` or `--arg NAME:=JSON`".to_owned();
            return self.fault(FlagFaultKind::NoValue, "--arg", message, Some(help));
        }
        let meaning = self.flags.argument(&name, is_quoted);
        self.meant(&format!("--arg {name}"), &name, given, meaning, false);
    }

    fn meant(&mut self, flag: &str, name: &str, given: Given<'_>, meaning: Meaning<'_>, may_switch: bool) {
        match meaning {
            Meaning::Property(found) => self.property(flag, &found, given, may_switch),
            Meaning::Negated(found) if given == Given::Nothing => {
                self.attempted.insert(found.path.clone());
                self.switch(flag, &found, false);
            }
            Meaning::Negated(found) => {
                let message = format!("`{flag}` takes no value");
                let help = format!("use `--{}=true` or `--{}=false`", found.path.join("."), found.path.join("."));
                self.attempted.insert(found.path);
                self.fault(FlagFaultKind::Value, flag, message, Some(help));
            }
            Meaning::Ambiguous(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("`--{name}`")).collect();
                let message = format!("`{flag}` could mean {}", names.join(" or "));
                let help = "use the exact name, and `--NAME=false` for `false`".to_owned();
                self.fault(FlagFaultKind::Ambiguous, flag, message, Some(help));
            }
            Meaning::Unknown => self.unknown(flag, name),
        }
    }

    fn unknown(&mut self, flag: &str, name: &str) {
        let flags = self.flags;
        let root = flags.root_view();
        let properties = root.properties();
        let forms: Vec<String> = properties.iter().filter_map(|property| kebab(property)).collect();
        let own = flags.own.iter().filter_map(|own| own.long.as_deref());
        let below = flags.list().iter().filter(|flag| flag.path.len() > 1);
        let below: Vec<String> = below.map(|flag| flag.path.join(".")).collect();
        let of_properties = properties.iter().copied().chain(forms.iter().chain(&below).map(String::as_str));
        let near = nearest(name, of_properties.chain(own).chain(["args", "arg"]));
        let help = match near.first() {
            Some(near) if flags.is_own(near) && properties.contains(near) => {
                Some(format!("did you mean `--arg {near}`?"))
            }
            Some(near) => Some(format!("did you mean `--{near}`?")),
            None if root.undeclared().is_some() && !flag.starts_with("--arg ") => {
                Some("use `--arg NAME=VALUE` for an undeclared argument".to_owned())
            }
            None if properties.is_empty() => Some("the tool takes no arguments".to_owned()),
            None => None,
        };
        self.fault(FlagFaultKind::Unknown, flag, format!("the tool has no argument `{}`", shortened(name)), help);
    }

    fn property(&mut self, flag: &str, found: &Found<'_>, given: Given<'_>, may_switch: bool) {
        let view = &found.view;
        self.attempted.insert(found.path.clone());
        match given {
            Given::Json(text) => {
                if let Some(value) = self.json(flag, text) {
                    self.assign(flag, found, value, false);
                }
            }
            Given::Text(text) if view.repeats() => {
                let is_only = !self.several.contains(&found.path);
                if let Some(array) = whole_array(view, text).filter(|_| is_only) {
                    return self.assign(flag, found, array, false);
                }
                let index = if let Some(Written::Elements(count)) = self.written.get(&found.path) { *count } else { 0 };
                if let Some(value) = self.value(flag, &view.item(index), text, true) {
                    self.assign(flag, found, value, true);
                }
            }
            Given::Text(text) => {
                if let Some(value) = self.value(flag, view, text, false) {
                    self.assign(flag, found, value, false);
                }
            }
            Given::Nothing if view.is_switch() && may_switch => self.switch(flag, found, true),
            Given::Nothing => {
                let message = format!("`{flag}` needs a value: {}", expected(view));
                let help = format!("write `{flag}=VALUE` for a value that begins with `--`");
                self.fault(FlagFaultKind::NoValue, flag, message, Some(help));
            }
        }
    }

    fn switch(&mut self, flag: &str, found: &Found<'_>, value: bool) {
        let view = &found.view;
        if view.has(Kinds::BOOLEAN) || view.literals.contains(&value.into()) {
            self.assign(flag, found, value.into(), false);
        } else {
            let message = format!("invalid value `{value}` for `{flag}`: expected {}", expected(view));
            self.fault(FlagFaultKind::Value, flag, message, None);
        }
    }

    /// Parses a word by its place; `@` reads a file if a string is allowed.
    fn value(&mut self, flag: &str, view: &View<'_>, text: &str, is_element: bool) -> Option<Value> {
        if view.has(Kinds::STRING)
            && let Some(name) = text.strip_prefix('@')
        {
            if name.starts_with('@') {
                return Some(name.into());
            }
            return self.file(flag, name, Some(text)).map(Value::String);
        }
        match typed(view, text) {
            Ok(value) => Some(value),
            Err(Unfit { expected, help }) => {
                let message = format!("invalid value `{}` for `{flag}`: expected {expected}", shortened(text));
                let is_file = text.starts_with('@') && (is_element || view.is_array() || view.is_object());
                let help = if is_file {
                    Some(format!("`{flag}:={text}` reads JSON from a file"))
                } else if is_element && text.starts_with('[') {
                    let rule = "a single JSON array is the whole array if each element fits";
                    help.or_else(|| Some(rule.to_owned()))
                } else {
                    help
                };
                self.fault(FlagFaultKind::Value, flag, message, help);
                None
            }
        }
    }

    /// Parses JSON, or reads it from a file after `@`.
    fn json(&mut self, flag: &str, text: &str) -> Option<Value> {
        let read = match text.strip_prefix('@') {
            Some(name) => Some(self.file(flag, name, None)?),
            None => None,
        };
        match exact(read.as_deref().map_or(text, without_mark)) {
            Ok(value) => Some(value),
            // All arguments in one text may contain a secret, which is not repeated.
            Err(error) if flag == "--args" && read.is_none() => {
                self.fault(FlagFaultKind::Json, flag, format!("`{flag}` is not JSON: {error}"), None);
                None
            }
            Err(error) => {
                let message = format!("`{}` of `{flag}` is not JSON: {error}", shortened(text));
                let is_word = !text.is_empty() && text.chars().all(|character| character.is_alphanumeric());
                let help = is_word.then(|| format!("use `{flag}={text}` for text"));
                self.fault(FlagFaultKind::Json, flag, message, help);
                None
            }
        }
    }

    fn file(&mut self, flag: &str, name: &str, literal: Option<&str>) -> Option<String> {
        let is_stdin = name == "-";
        if is_stdin && std::mem::replace(&mut self.stdin_is_read, true) {
            let message = format!("`{flag}` cannot read standard input, which was already read");
            self.fault(FlagFaultKind::Unreadable, flag, message, None);
            return None;
        }
        match (self.read)(if is_stdin { FileRef::Stdin } else { FileRef::Path(name) }) {
            Ok(text) => Some(text),
            Err(error) => {
                let what = if is_stdin { "the standard input".to_owned() } else { format!("`{}`", shortened(name)) };
                let help = literal.map(|literal| format!("use `@{}` for the text `{literal}`", shortened(literal)));
                let message = format!("`{flag}`: failed to read {what}: {error}");
                self.fault(FlagFaultKind::Unreadable, flag, message, help);
                None
            }
        }
    }

    fn base(&mut self, given: Given<'_>) {
        let flag = "--args";
        if std::mem::replace(&mut self.has_base, true) {
            return self.fault(FlagFaultKind::Twice, flag, "duplicate `--args`".to_owned(), None);
        }
        let text = match given {
            Given::Text("-") => "@-",
            Given::Text(text) | Given::Json(text) => text,
            Given::Nothing => {
                let message = "`--args` requires a JSON object, `@FILE`, or `-`".to_owned();
                return self.fault(FlagFaultKind::NoValue, flag, message, None);
            }
        };
        match self.json(flag, text) {
            Some(Value::Object(base)) => self.arguments = base,
            Some(_) => {
                let message = "expected a JSON object for the arguments".to_owned();
                self.fault(FlagFaultKind::Value, flag, message, None);
            }
            None => {}
        }
    }

    /// Assigns a value, unless another flag has set it, a part of it, or a value that contains it.
    fn assign(&mut self, flag: &str, found: &Found<'_>, value: Value, is_element: bool) {
        let path = &found.path;
        let before = self.written.get(path).copied();
        let is_below_whole = (1..path.len()).any(|length| {
            path.get(..length).is_some_and(|above| self.written.get(above).is_some_and(|it| *it != Written::Below))
        });
        let index = match before {
            None => 0,
            Some(Written::Elements(count)) if is_element => count,
            Some(_) => usize::MAX,
        };
        if is_below_whole || index == usize::MAX {
            let name = path.join(".");
            let message = format!("duplicate `{name}`, here by `{flag}`");
            let help = found.view.is_array().then(|| format!("`--{name}:=[..]` is the whole array"));
            return self.fault(FlagFaultKind::Twice, flag, message, help);
        }
        for length in 1..path.len() {
            if let Some(above) = path.get(..length) {
                self.written.entry(above.to_vec()).or_insert(Written::Below);
            }
        }
        self.written.insert(path.clone(), if is_element { Written::Elements(index + 1) } else { Written::Whole });
        let Some((last, above)) = path.split_last() else { return };
        let mut object = &mut self.arguments;
        for key in above {
            let inner = object.entry(key.clone()).or_insert_with(|| Map::new().into());
            if !inner.is_object() {
                *inner = Map::new().into();
            }
            let Some(inner) = inner.as_object_mut() else { return };
            object = inner;
        }
        match object.get_mut(last) {
            Some(Value::Array(elements)) if index > 0 => elements.push(value),
            _ => {
                object.insert(last.clone(), if is_element { vec![value].into() } else { value });
            }
        }
    }

    /// Adds faults for missing required properties, at all levels.
    fn missing(&mut self, view: &View<'_>, value: &Value, path: &mut Vec<String>) {
        let Value::Object(members) = value else { return };
        let flags = self.flags;
        for name in view.required(|tag| members.get(tag).cloned()) {
            path.push(name.to_owned());
            if !members.contains_key(name) && !self.attempted.contains(path) {
                let usage = flags.list().iter().find(|flag| flag.path == *path).map(super::Flag::usage);
                let usage = usage.unwrap_or_else(|| format!("--{}", path.join(".")));
                self.fault(FlagFaultKind::Missing, &path.join("."), format!("`{usage}` is required"), None);
            }
            path.pop();
        }
        for (name, value) in members.iter().filter(|(_, value)| value.is_object()) {
            path.push(name.clone());
            self.missing(&view.member(name), value, path);
            path.pop();
        }
    }
}

/// Files of some editors begin with a byte order mark.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn shortened(text: &str) -> String {
    texts::shortened(text, LONGEST_SHOWN)
}
