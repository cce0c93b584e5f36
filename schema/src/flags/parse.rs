//! From words to arguments.

use std::collections::HashMap;
use std::iter::once;

use mcp_bindgen_model::nearest;
use serde_json::{Map, Value};

use super::names::{Found, Meaning};
use super::print::is_plain;
use super::typed::{exact, expected, typed, whole_array};
use super::view::View;
use super::words::{Given, Word, WordKind};
use super::{FlagFault, FlagFaultKind, Flags};
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
        let words = self.words(words);
        let mut times: HashMap<&[String], usize> = HashMap::new();
        words.iter().filter_map(Word::path).for_each(|path| *times.entry(path).or_default() += 1);
        let (arguments, written) = (Map::new().into(), HashMap::new());
        let mut parser = Parser { flags: self, read, arguments, times, written, stdin_is_read: false };
        let bases = words.iter().filter(|word| matches!(word.kind, WordKind::Args)).enumerate();
        let bases = bases.filter_map(|(index, word)| parser.base(word.given, index > 0).err());
        let mut faults: Vec<FlagFault> = bases.collect();
        let has_base = faults.is_empty();
        let mut before = None;
        for word in &words {
            faults.extend(parser.word(word, before).err());
            before = Some(word);
        }
        if has_base {
            parser.missing(&self.root_view(), &parser.arguments, &mut Vec::new(), &mut faults);
        }
        match parser.arguments {
            Value::Object(arguments) if faults.is_empty() => Ok(arguments),
            _ => Err(faults),
        }
    }

    /// Returns the fault of a name that no property has.
    fn unknown(&self, name: &str, by_arg: bool) -> FlagFault {
        fn bare(flag: &str) -> &str {
            flag.strip_prefix("--arg ").or(flag.strip_prefix("--")).unwrap_or(flag)
        }
        let own = self.own.iter().filter_map(|own| own.long.as_deref()).chain(["args", "arg"]);
        let own: Vec<String> = own.map(|own| format!("--{own}")).collect();
        let listed = self.list().iter().flat_map(|flag| {
            let also = flag.also.iter().filter(move |_| flag.path.len() == 1);
            once(&flag.name).chain(also)
        });
        let known: Vec<&str> = listed.chain(&own).map(String::as_str).collect();
        // Not all properties of a large tool are listed.
        let near = nearest(name, known.iter().map(|flag| bare(flag)).chain(self.root_view().declared()));
        let near = near.first().and_then(|near| {
            let known = known.iter().find(|flag| bare(flag) == *near).map(|flag| (*flag).to_owned());
            known.or_else(|| Some(self.flag_of(&[(*near).to_owned()])?.0))
        });
        let help = match near {
            Some(near) => Some(format!("did you mean `{near}`?")),
            None if self.takes_undeclared() && !by_arg => {
                Some("use `--arg NAME=VALUE` for an undeclared argument".to_owned())
            }
            None => self.list().is_empty().then(|| "the tool takes no arguments".to_owned()),
        };
        let message = format!("the tool has no argument `{}`", shortened(name));
        FlagFault::new(FlagFaultKind::Unknown, &message, help)
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
    arguments: Value,
    /// The number of words for each place, with a valid value or not.
    times: HashMap<&'p [String], usize>,
    written: HashMap<&'p [String], Written>,
    stdin_is_read: bool,
}

impl<'p> Parser<'p> {
    /// Reads the base of the arguments.
    fn base(&mut self, given: Given<'_>, is_second: bool) -> Result<(), FlagFault> {
        if is_second {
            return Err(FlagFault::new(FlagFaultKind::Twice, "duplicate `--args`", None));
        }
        let text = match given {
            Given::Text("-") => "@-",
            Given::Text(text) | Given::Json(text) => text,
            Given::Nothing => {
                let message = "`--args` requires a JSON object, `@FILE`, or `-`";
                return Err(FlagFault::new(FlagFaultKind::NoValue, message, None));
            }
        };
        match self.json("--args", text)? {
            base @ Value::Object(_) => self.arguments = base,
            _ => return Err(FlagFault::new(FlagFaultKind::Value, "expected a JSON object for the arguments", None)),
        }
        Ok(())
    }

    fn word(&mut self, word: &'p Word<'p>, before: Option<&Word<'_>>) -> Result<(), FlagFault> {
        match &word.kind {
            // The base was read first.
            WordKind::Args => Ok(()),
            WordKind::Flag { name, by_arg: true, .. } if word.given == Given::Nothing => {
                let written = format!("--arg {}", shortened(name));
                let help = "use `--arg NAME=VALUE` or `--arg NAME:=JSON`".to_owned();
                let message = format!("missing value in `{}`", written.trim_end());
                Err(FlagFault::new(FlagFaultKind::NoValue, &message, Some(help)))
            }
            WordKind::Flag { name, by_arg, meaning } => {
                let flag = format!("{}{name}", if *by_arg { "--arg " } else { "--" });
                match meaning {
                    Meaning::Property(found) => {
                        let (value, is_element) = self.value(&flag, found, word.given)?;
                        self.assign(&flag, found, value, is_element)
                    }
                    Meaning::Unknown => Err(self.flags.unknown(name, *by_arg)),
                    Meaning::TooManyDots => {
                        let message = format!("`{}` has too many dots to find its property", shortened(&flag));
                        let help = "use `--NAME:=JSON` for the property that contains it".to_owned();
                        Err(FlagFault::new(FlagFaultKind::Unknown, &message, Some(help)))
                    }
                    Meaning::Ambiguous(names) => {
                        let names: Vec<String> = names.iter().map(|name| format!("`--{name}`")).collect();
                        let message = format!("`{flag}` could mean {}", names.join(" or "));
                        let help = "use the exact name, and `--NAME=false` for `false`".to_owned();
                        Err(FlagFault::new(FlagFaultKind::Ambiguous, &message, Some(help)))
                    }
                }
            }
            WordKind::Own(name) => {
                let message = format!("`{}` is an option of mcp-bindgen, not a property", word.taken.join(" "));
                let name = name.filter(|name| self.flags.root_view().property(name).is_some());
                let help = name.map(|name| format!("`--arg {name}=VALUE` sets the tool's property `{name}`"));
                Err(FlagFault::new(FlagFaultKind::Own, &message, help))
            }
            WordKind::Stray => {
                let help = match before {
                    Some(Word {
                        given: Given::Nothing,
                        kind: WordKind::Flag { name, meaning: Meaning::Property(found), .. },
                        ..
                    }) if found.view.is_switch() && !found.is_negated => {
                        format!("`--{name}` takes no value; its opposite is `--{name}=false`")
                    }
                    _ => "use `--NAME VALUE`".to_owned(),
                };
                let message = format!("unexpected argument `{}`", shortened(&word.taken.concat()));
                Err(FlagFault::new(FlagFaultKind::Stray, &message, Some(help)))
            }
        }
    }

    /// Returns the value that a flag sets, and `true` if it is one element of an array.
    fn value(&mut self, flag: &str, found: &Found<'_>, given: Given<'_>) -> Result<(Value, bool), FlagFault> {
        let Found { path, view, is_negated } = found;
        let value = match given {
            Given::Nothing if view.is_switch() => {
                let value = Value::Bool(!is_negated);
                if !view.takes(&value) {
                    let message = format!("invalid value `{value}` for `{flag}`: expected {}", expected(view));
                    return Err(FlagFault::new(FlagFaultKind::Value, &message, None));
                }
                value
            }
            Given::Nothing => {
                let message = format!("`{flag}` needs a value: {}", expected(view));
                let help = format!("write `{flag}=VALUE` for a value that begins with `--`");
                return Err(FlagFault::new(FlagFaultKind::NoValue, &message, Some(help)));
            }
            _ if *is_negated => {
                let name = path.join(".");
                let help = format!("use `--{name}=true` or `--{name}=false`");
                let message = format!("`{flag}` takes no value");
                return Err(FlagFault::new(FlagFaultKind::Value, &message, Some(help)));
            }
            Given::Json(text) => self.json(flag, text)?,
            Given::Text(text) => {
                let is_only = self.times.get(path.as_slice()) == Some(&1);
                match whole_array(view, text).filter(|_| is_only) {
                    Some(array) => array,
                    None if view.repeats() => {
                        let written = self.written.get(path.as_slice());
                        let index = if let Some(Written::Elements(count)) = written { *count } else { 0 };
                        return Ok((self.text(flag, &view.item(index), text, true)?, true));
                    }
                    None => self.text(flag, view, text, false)?,
                }
            }
        };
        Ok((value, false))
    }

    /// Parses a word by its place; `@` reads a file if a string is allowed.
    fn text(&mut self, flag: &str, view: &View<'_>, text: &str, is_element: bool) -> Result<Value, FlagFault> {
        if view.kinds().has(Kinds::STRING)
            && let Some(name) = text.strip_prefix('@')
        {
            let is_escaped = name.starts_with('@');
            return if is_escaped { Ok(name.into()) } else { self.file(flag, name, Some(text)).map(Value::String) };
        }
        typed(view, text).map_err(|help| {
            let is_json = is_element || view.kinds().intersects(Kinds::ARRAY | Kinds::OBJECT);
            let help = if is_json && text.starts_with('@') {
                Some(format!("`{flag}:={text}` reads JSON from a file"))
            } else if is_element && text.starts_with('[') {
                help.or_else(|| Some("a single JSON array is the whole array if each element fits".to_owned()))
            } else {
                help
            };
            let message = format!("invalid value `{}` for `{flag}`: expected {}", shortened(text), expected(view));
            FlagFault::new(FlagFaultKind::Value, &message, help)
        })
    }

    /// Parses JSON, or reads it from a file after `@`.
    fn json(&mut self, flag: &str, text: &str) -> Result<Value, FlagFault> {
        let read = text.strip_prefix('@').map(|name| self.file(flag, name, None)).transpose()?;
        exact(read.as_deref().map_or(text, without_mark)).map_err(|error| {
            // All arguments in one text may contain a secret, which is not repeated.
            let is_shown = flag != "--args" || read.is_some();
            let text_of = if is_shown { format!("`{}` of ", shortened(text)) } else { String::new() };
            let is_word = is_shown && !text.is_empty() && text.chars().all(char::is_alphanumeric);
            let help = is_word.then(|| format!("use `{flag}={text}` for text"));
            FlagFault::new(FlagFaultKind::Json, &format!("{text_of}`{flag}` is not JSON: {error}"), help)
        })
    }

    fn file(&mut self, flag: &str, name: &str, literal: Option<&str>) -> Result<String, FlagFault> {
        let is_stdin = name == "-";
        if is_stdin && std::mem::replace(&mut self.stdin_is_read, true) {
            let message = format!("`{flag}` cannot read standard input, which was already read");
            return Err(FlagFault::new(FlagFaultKind::Unreadable, &message, None));
        }
        (self.read)(if is_stdin { FileRef::Stdin } else { FileRef::Path(name) }).map_err(|error| {
            let file = if is_stdin { "the standard input".to_owned() } else { format!("`{}`", shortened(name)) };
            let help = literal.map(|literal| format!("use `@{}` for the text `{literal}`", shortened(literal)));
            FlagFault::new(FlagFaultKind::Unreadable, &format!("`{flag}`: failed to read {file}: {error}"), help)
        })
    }

    /// Assigns a value, unless another flag has set it, a part of it, or a value that contains it.
    fn assign(&mut self, flag: &str, found: &'p Found<'p>, value: Value, is_element: bool) -> Result<(), FlagFault> {
        let path = found.path.as_slice();
        let above = || (1..path.len()).filter_map(|length| path.get(..length));
        let is_inside = above().any(|above| self.written.get(above).is_some_and(|it| *it != Written::Below));
        let index = match self.written.get(path) {
            None => Some(0),
            Some(Written::Elements(count)) if is_element => Some(*count),
            Some(_) => None,
        };
        let Some(index) = index.filter(|_| !is_inside) else {
            let name = path.join(".");
            let is_array = found.view.kinds().has(Kinds::ARRAY);
            let help = is_array.then(|| format!("`--{name}:=[..]` is the whole array"));
            return Err(FlagFault::new(FlagFaultKind::Twice, &format!("duplicate `{name}`, here by `{flag}`"), help));
        };
        for above in above() {
            self.written.entry(above).or_insert(Written::Below);
        }
        self.written.insert(path, if is_element { Written::Elements(index + 1) } else { Written::Whole });
        let mut place = &mut self.arguments;
        for key in path {
            if !place.is_object() {
                *place = Map::new().into();
            }
            let Value::Object(members) = place else { return Ok(()) };
            place = members.entry(key.as_str()).or_insert(Value::Null);
        }
        match place {
            Value::Array(elements) if index > 0 => elements.push(value),
            place => *place = if is_element { vec![value].into() } else { value },
        }
        Ok(())
    }

    /// Adds faults for missing required properties, at all levels.
    fn missing(&self, view: &View<'_>, value: &Value, path: &mut Vec<String>, faults: &mut Vec<FlagFault>) {
        let Value::Object(members) = value else { return };
        for name in view.required(members) {
            path.push(name.to_owned());
            if !members.contains_key(name) && !self.times.contains_key(path.as_slice()) {
                let message = format!("`{}` is required", self.usage(path));
                faults.push(FlagFault::new(FlagFaultKind::Missing, &message, None));
            }
            path.pop();
        }
        for (name, value) in members.iter().filter(|(_, value)| value.is_object()) {
            if let Some(view) = view.property(name).or_else(|| view.undeclared()) {
                path.push(name.clone());
                self.missing(&view, value, path, faults);
                path.pop();
            }
        }
    }

    /// Returns the words that set a required property.
    fn usage(&self, path: &[String]) -> String {
        let name = path.join(".");
        match (self.flags.list().iter().find(|flag| flag.path == path), path) {
            (Some(flag), _) => flag.usage(),
            (None, [first, inner @ ..]) if !is_plain(&name) || self.flags.is_own(&name) => {
                let json = |json, key: &String| format!("{{{}:{json}}}", Value::from(key.as_str()));
                format!("--arg {}:={}", Value::from(first.as_str()), inner.iter().rfold("JSON".to_owned(), json))
            }
            _ => format!("--{name}"),
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
