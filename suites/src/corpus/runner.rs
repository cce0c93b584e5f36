//! Puts values through types: reads lines of samples, writes a line of verdicts for each.

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub type Reprint = fn(Value) -> Result<Value, String>;

/// List, place of the tool in it, side, type.
pub type Entry = (&'static str, u64, &'static str, Reprint);

pub fn reprint<T: Serialize + DeserializeOwned>(value: Value) -> Result<Value, String> {
    let parsed: T = serde_json::from_value(value).map_err(|error| error.to_string())?;
    serde_json::to_value(&parsed).map_err(|error| format!("parsed, but does not print: {error}"))
}

pub fn run(table: &[Entry]) -> Result<(), Box<dyn Error>> {
    let types: HashMap<_, _> =
        table.iter().map(|(list, index, side, reprint)| ((*list, *index, *side), *reprint)).collect();
    let mut output = BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let samples: Value = serde_json::from_str(&line?)?;
        let text = |key: &str| samples[key].as_str().unwrap_or_default();
        let key = (text("server"), samples["index"].as_u64().unwrap_or_default(), text("side"));
        let verdicts = match types.get(&key) {
            Some(reprint) => json!({
                "valid": each(&samples["valid"], |value| valid(*reprint, value)),
                "invalid": each(&samples["invalid"], |value| invalid(*reprint, value)),
            }),
            None => Value::Null,
        };
        writeln!(output, "{verdicts}")?;
    }
    Ok(())
}

fn each(values: &Value, judge: impl Fn(&Value) -> Value) -> Vec<Value> {
    values.as_array().into_iter().flatten().map(judge).collect()
}

/// Null where the value came back as it was.
fn valid(reprint: Reprint, value: &Value) -> Value {
    match guarded(reprint, value) {
        Ok(printed) if &printed == value => Value::Null,
        Ok(printed) => json!({ "printed": printed }),
        Err(error) => json!({ "error": error }),
    }
}

/// Returns JSON `true` if the value was refused, and `PANIC` if reading it panicked.
fn invalid(reprint: Reprint, value: &Value) -> Value {
    match guarded(reprint, value) {
        Ok(_) => json!(false),
        Err(error) if error == PANIC => json!(PANIC),
        Err(_) => json!(true),
    }
}

const PANIC: &str = "panic";

fn guarded(reprint: Reprint, value: &Value) -> Result<Value, String> {
    catch_unwind(AssertUnwindSafe(|| reprint(value.clone()))).unwrap_or_else(|_| Err(PANIC.to_owned()))
}
