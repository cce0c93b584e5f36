//! The tool lists of the corpus, with the sample values of their schemas.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use mcp_bindgen_model::Snapshot;
use mcp_bindgen_schema::Role;
use serde_json::Value;

use crate::{Fallible, role_named, schema_of};

/// The source of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A server.
    Corpus,
    /// The official JSON Schema tests.
    Suite,
}

/// A tool list, and values to put through the types of its tools.
#[derive(Clone, Debug)]
pub struct List {
    /// The name of its file.
    pub name: String,
    /// The source of the list.
    pub origin: Origin,
    /// The list.
    pub snapshot: Snapshot,
    /// Lines of JSON, each of which [`Samples::parse`] reads.
    pub samples: Vec<String>,
}

impl List {
    /// The name of a tool; empty where it has none.
    #[must_use]
    pub fn tool_name(&self, index: usize) -> &str {
        self.snapshot.tools.get(index).and_then(|tool| tool.get("name")).and_then(Value::as_str).unwrap_or_default()
    }

    /// A schema of a tool.
    #[must_use]
    pub fn schema(&self, index: usize, role: Role) -> Option<&Value> {
        schema_of(self.snapshot.tools.get(index)?, role)
    }
}

/// Values to put through the type of one schema.
#[derive(Clone, Debug)]
pub struct Samples {
    /// Which tool of the list.
    pub index: usize,
    /// Which schema of the tool.
    pub role: Role,
    /// Values that are valid under the schema.
    pub valid: Vec<Value>,
    /// Values that are not.
    pub invalid: Vec<Value>,
    valid_labels: Vec<Value>,
    invalid_labels: Vec<Value>,
}

impl Samples {
    /// Reads `{"server", "tool", "index", "side", "valid": [..], "invalid": [..]}`; the values may have labels.
    ///
    /// # Errors
    /// Returns an error if the line is not a line of sample values.
    pub fn parse(line: &str) -> Fallible<Self> {
        let mut samples: Value = serde_json::from_str(line)?;
        let mut items = |key: &str| match samples.get_mut(key).map(Value::take) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        let (valid, invalid) = (items("valid"), items("invalid"));
        let (valid_labels, invalid_labels) = (items("valid_labels"), items("invalid_labels"));
        let side = samples.get("side").and_then(Value::as_str).unwrap_or_default();
        let role = role_named(side).ok_or_else(|| format!("a sample is of the side {side:?}"))?;
        let index = samples.get("index").and_then(Value::as_u64).ok_or("a sample has no index")?;
        Ok(Self { index: usize::try_from(index)?, role, valid, invalid, valid_labels, invalid_labels })
    }

    /// Returns the label of the valid value at that index.
    #[must_use]
    pub fn valid_label(&self, place: usize) -> Option<String> {
        self.valid_labels.get(place).and_then(Value::as_str).map(str::to_owned)
    }

    /// Returns the label of the invalid value at that index.
    #[must_use]
    pub fn invalid_label(&self, place: usize) -> Option<String> {
        self.invalid_labels.get(place).and_then(Value::as_str).map(str::to_owned)
    }
}

/// Reads those of `lists/*.json` whose name is selected, without sample values.
///
/// # Errors
/// Returns an error if the folder or a list cannot be read.
pub fn lists(corpus: &Path, selects: impl Fn(&str) -> bool) -> Fallible<Vec<List>> {
    let mut lists = Vec::new();
    for path in json_files(&corpus.join("lists"))? {
        let name = stem(&path);
        if selects(&name) {
            let snapshot = Snapshot::load(&path)?;
            lists.push(List { name, origin: Origin::Corpus, snapshot, samples: Vec::new() });
        }
    }
    Ok(lists)
}

/// Reads the lines of `instances.jsonl.gz` for those lists whose name is selected.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub fn sample_lines(corpus: &Path, selects: impl Fn(&str) -> bool) -> Fallible<HashMap<String, Vec<String>>> {
    let path = corpus.join("instances.jsonl.gz");
    let file = File::open(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let mut samples: HashMap<String, Vec<String>> = HashMap::new();
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        let line = line?;
        let server = server_of(&line).ok_or("a line of the sample values names no server")?;
        if selects(server) {
            samples.entry(server.to_owned()).or_default().push(line);
        }
    }
    Ok(samples)
}

/// The file is large, and every line begins with `{"server": "NAME"`.
fn server_of(line: &str) -> Option<&str> {
    line.strip_prefix("{\"server\":")?.trim_start().strip_prefix('"')?.split('"').next()
}

/// The JSON files of a folder, sorted.
///
/// # Errors
/// Returns an error if the folder cannot be read.
pub fn json_files(folder: &Path) -> Fallible<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    Ok(paths)
}

/// The name of a file without its extension.
#[must_use]
pub fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads the selected lists with their sample values.
///
/// # Errors
/// Returns an error if a file cannot be read, or sample values belong to a missing list.
pub fn lists_with_samples(corpus: &Path, selects: impl Fn(&str) -> bool) -> Fallible<Vec<List>> {
    let mut samples = sample_lines(corpus, &selects)?;
    let mut lists = lists(corpus, &selects)?;
    for list in &mut lists {
        list.samples = samples.remove(&list.name).unwrap_or_default();
    }
    match samples.keys().next() {
        Some(name) => Err(format!("there are sample values for {name}, but no such list").into()),
        None => Ok(lists),
    }
}
