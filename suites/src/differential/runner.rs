//! Puts values through the types of both backends: reads lines of samples, writes what came out differently.

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, BufWriter, Write};

use mcp_bindgen::__private::{Wire, from_value, to_value};
use serde_json::{Value, json};

pub type Reprint = fn(&Value) -> Option<Value>;

/// List, place of the tool in it, side, native type, typify's type.
pub type Entry = (&'static str, u64, &'static str, Reprint, Reprint);

pub fn reprint<T: Wire>(value: &Value) -> Option<Value> {
    to_value(&from_value::<T>(value).ok()?).ok()
}

pub fn run(table: &[Entry]) -> Result<(), Box<dyn Error>> {
    let types: HashMap<_, _> =
        table.iter().map(|(list, index, side, native, typify)| ((*list, *index, *side), (native, typify))).collect();
    let mut output = BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let samples: Value = serde_json::from_str(&line?)?;
        let text = |key: &str| samples[key].as_str().unwrap_or_default();
        let key = (text("server"), samples["index"].as_u64().unwrap_or_default(), text("side"));
        let Some((native, typify)) = types.get(&key) else { continue };
        let mut counts = json!({ "both": 0, "native": 0, "typify": 0, "neither": 0 });
        let mut different = Vec::new();
        for value in ["valid", "invalid"].iter().flat_map(|key| samples[*key].as_array().into_iter().flatten()) {
            let (native, typify) = (native(value), typify(value));
            let who = match (&native, &typify) {
                (Some(_), Some(_)) => "both",
                (Some(_), None) => "native",
                (None, Some(_)) => "typify",
                (None, None) => "neither",
            };
            counts[who] = json!(counts[who].as_u64().unwrap_or_default() + 1);
            if let (Some(native), Some(typify)) = (native, typify)
                && native.to_string() != typify.to_string()
            {
                different.push(json!({ "given": value, "native": native, "typify": typify }));
            }
        }
        let (server, index, side) = key;
        let answer = json!({ "server": server, "index": index, "side": side, "counts": counts, "different": different });
        writeln!(output, "{answer}")?;
    }
    Ok(())
}
