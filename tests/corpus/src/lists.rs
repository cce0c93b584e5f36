//! The tool lists of the corpus, with the sample values of their schemas.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::read::GzDecoder;
use mcp_model::Snapshot;
use serde_json::Value;

use crate::Fallible;
use crate::arguments::Arguments;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    Corpus,
    Suite,
}

/// A tool list, and values to put through the types of its tools.
pub(crate) struct List {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    pub(crate) snapshot: Snapshot,
    /// Lines of JSON, each of which [`Samples::parse`] reads.
    pub(crate) samples: Vec<String>,
}

impl List {
    pub(crate) fn tool_name(&self, index: usize) -> &str {
        self.snapshot.tools.get(index).and_then(|tool| tool.get("name")).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn schema(&self, index: usize, side: Side) -> Option<&Value> {
        self.snapshot.tools.get(index)?.get(side.key())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Input,
    Output,
}

impl Side {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }

    fn key(self) -> &'static str {
        match self {
            Self::Input => "inputSchema",
            Self::Output => "outputSchema",
        }
    }
}

/// Values to put through the type of one schema.
pub(crate) struct Samples {
    pub(crate) index: usize,
    pub(crate) side: Side,
    pub(crate) valid: Vec<Value>,
    pub(crate) invalid: Vec<Value>,
    valid_labels: Vec<Value>,
    invalid_labels: Vec<Value>,
}

impl Samples {
    /// Reads `{"server", "tool", "index", "side", "valid": [..], "invalid": [..]}`; the values may have labels.
    pub(crate) fn parse(line: &str) -> Fallible<Self> {
        let mut samples: Value = serde_json::from_str(line)?;
        let mut items = |key: &str| match samples.get_mut(key).map(Value::take) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        let (valid, invalid) = (items("valid"), items("invalid"));
        let (valid_labels, invalid_labels) = (items("valid_labels"), items("invalid_labels"));
        let side = match samples.get("side").and_then(Value::as_str) {
            Some("input") => Side::Input,
            Some("output") => Side::Output,
            other => return Err(format!("a sample is of the side {other:?}").into()),
        };
        let index = samples.get("index").and_then(Value::as_u64).ok_or("a sample has no index")?;
        Ok(Self { index: usize::try_from(index)?, side, valid, invalid, valid_labels, invalid_labels })
    }

    pub(crate) fn valid_label(&self, place: usize) -> Option<String> {
        self.valid_labels.get(place).and_then(Value::as_str).map(str::to_owned)
    }

    pub(crate) fn invalid_label(&self, place: usize) -> Option<String> {
        self.invalid_labels.get(place).and_then(Value::as_str).map(str::to_owned)
    }
}

/// Reads `lists/*.json` and `instances.jsonl.gz`.
pub(crate) fn read(corpus: &Path, arguments: &Arguments) -> Fallible<Vec<List>> {
    let mut samples = read_samples(&corpus.join("instances.jsonl.gz"), arguments)?;
    let mut lists = Vec::new();
    for path in json_files(&corpus.join("lists"))? {
        let name = stem(&path);
        if arguments.selects(&name) {
            let snapshot = Snapshot::load(&path)?;
            let samples = samples.remove(&name).unwrap_or_default();
            lists.push(List { name, origin: Origin::Corpus, snapshot, samples });
        }
    }
    if let (Some(name), None) = (samples.keys().next(), &arguments.only) {
        return Err(format!("there are sample values for {name}, but no such list").into());
    }
    Ok(lists)
}

fn read_samples(path: &Path, arguments: &Arguments) -> Fallible<HashMap<String, Vec<String>>> {
    let file = File::open(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let mut samples: HashMap<String, Vec<String>> = HashMap::new();
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        let line = line?;
        let server = server_of(&line).ok_or("a line of the sample values names no server")?;
        if arguments.selects(server) {
            samples.entry(server.to_owned()).or_default().push(line);
        }
    }
    Ok(samples)
}

/// The file is large, and every line begins with `{"server": "NAME"`.
fn server_of(line: &str) -> Option<&str> {
    line.strip_prefix("{\"server\":")?.trim_start().strip_prefix('"')?.split('"').next()
}

pub(crate) fn json_files(folder: &Path) -> Fallible<Vec<std::path::PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    Ok(paths)
}

pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
