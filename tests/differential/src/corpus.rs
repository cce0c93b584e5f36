//! The tool lists of the corpus, and the sample values of their schemas.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;
use mcp_model::Snapshot;

use crate::Fallible;
use crate::arguments::Arguments;
use crate::bindings::Bound;

/// A default run takes no list with more tools.
const MOST_TOOLS: usize = 80;

pub(crate) struct List {
    pub(crate) name: String,
    pub(crate) snapshot: Snapshot,
}

pub(crate) fn lists(arguments: &Arguments) -> Fallible<Vec<List>> {
    let folder = arguments.corpus.join("lists");
    let entries = fs::read_dir(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    let mut lists = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if arguments.selects(&name) {
            lists.push(List { name, snapshot: Snapshot::load(&path)? });
        }
    }
    let Some(most) = arguments.most else { return Ok(lists) };
    lists.retain(|list| list.snapshot.tools.len() <= MOST_TOOLS);
    let step = lists.len().div_ceil(most.max(1)).max(1);
    Ok(lists.into_iter().step_by(step).collect())
}

/// The lines with sample values, by list: `{"server", "index", "side", "valid": [..], "invalid": [..]}`.
pub(crate) fn samples(arguments: &Arguments, bound: &[Bound]) -> Fallible<BTreeMap<String, Vec<String>>> {
    let wanted: HashSet<&str> = bound.iter().map(|list| list.list.name.as_str()).collect();
    let path = arguments.corpus.join("instances.jsonl.gz");
    let file = File::open(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let mut samples: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        let line = line?;
        let server = server_of(&line).ok_or("a line of the sample values names no server")?.to_owned();
        if wanted.contains(server.as_str()) {
            samples.entry(server).or_default().push(line);
        }
    }
    Ok(samples)
}

/// The file is large, and every line begins with `{"server": "NAME"`.
fn server_of(line: &str) -> Option<&str> {
    line.strip_prefix("{\"server\":")?.trim_start().strip_prefix('"')?.split('"').next()
}
