//! Puts values through both sides: reads lines of samples, writes what came out differently, and what was lost.

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, BufWriter, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::formats::{NAMES, same, through};

/// The result of the bindings for a value.
pub struct Ours {
    printed: Result<String, String>,
    /// How often each format held the value.
    held: [usize; 4],
    faults: Vec<String>,
}

/// List, place of the tool in it, side, and both types.
pub type Entry = (&'static str, u64, &'static str, fn(&str, &Value) -> Ours, fn(&str) -> Result<String, String>);

pub fn by_hand<T: Serialize + DeserializeOwned>(text: &str) -> Result<String, String> {
    let value: T = serde_json::from_str(text).map_err(|error| error.to_string())?;
    serde_json::to_string(&value).map_err(|error| error.to_string())
}

pub fn ours<T: Serialize + DeserializeOwned>(text: &str, value: &Value) -> Ours {
    let mut ours = Ours { printed: by_hand::<T>(text), held: [0; 4], faults: Vec::new() };
    let from_value = T::deserialize(value).map_err(|error| error.to_string());
    match (&ours.printed, from_value) {
        (Err(_), Err(_)) => {}
        (Ok(printed), Ok(read)) => {
            let (printed, first) = (serde_json::from_str::<Value>(printed), serde_json::to_value(&read));
            match (printed, first) {
                (Ok(printed), Ok(first)) if same(&printed, &first) => {
                    (ours.held, ours.faults) = through(&read, &first);
                }
                (printed, first) => ours.faults.push(format!("{text}: as text {printed:?}, as a Value {first:?}")),
            }
        }
        (printed, from_value) => {
            let from_value = from_value.map(|_| "read");
            ours.faults.push(format!("{text}: from text {printed:?}, from a Value {from_value:?}"));
        }
    }
    ours
}

pub fn run(table: &[Entry]) -> Result<(), Box<dyn Error>> {
    let types: HashMap<_, _> =
        table.iter().map(|(list, index, side, ours, by_hand)| ((*list, *index, *side), (ours, by_hand))).collect();
    let mut output = BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let samples: Value = serde_json::from_str(&line?)?;
        let text = |key: &str| samples[key].as_str().unwrap_or_default();
        let (server, index, side) = (text("server"), samples["index"].as_u64().unwrap_or_default(), text("side"));
        let Some((ours, by_hand)) = types.get(&(server, index, side)) else { continue };
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let (mut different, mut faults) = (Vec::new(), Vec::new());
        for value in ["valid", "invalid"].iter().flat_map(|key| samples[*key].as_array().into_iter().flatten()) {
            let given = value.to_string();
            let (ours, by_hand) = (ours(&given, value), by_hand(&given));
            let who = match (&ours.printed, &by_hand) {
                (Ok(_), Ok(_)) => "both",
                (Ok(_), Err(_)) => "ours",
                (Err(_), Ok(_)) => "by_hand",
                (Err(_), Err(_)) => "neither",
            };
            let is_alike = match (&ours.printed, &by_hand) {
                (Ok(ours), Ok(by_hand)) => {
                    ours == by_hand || serde_json::from_str::<Value>(ours)? == serde_json::from_str::<Value>(by_hand)?
                }
                (Err(_), Err(_)) => true,
                _ => false,
            };
            for (name, held) in [who].iter().zip([1]).chain(NAMES.iter().zip(ours.held)) {
                *counts.entry(*name).or_default() += held;
            }
            if !is_alike {
                let error = ours.printed.as_ref().err().or(by_hand.as_ref().err());
                different.push(json!({
                    "given": given, "ours": ours.printed.as_ref().ok(), "by_hand": by_hand.as_ref().ok(), "error": error,
                }));
            }
            faults.extend(ours.faults);
        }
        let answer = json!({
            "server": server, "index": index, "side": side, "counts": counts, "different": different, "faults": faults,
        });
        writeln!(output, "{answer}")?;
    }
    Ok(())
}
