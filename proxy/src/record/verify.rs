//! Checks a log of calls.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::{Map, Value};

use super::line::{CallLogError, hash_of};

/// Returns the number of lines, each of which has the hash of the one before.
pub(super) fn lines(path: &Path) -> Result<usize, CallLogError> {
    let file = File::open(path).map_err(|error| CallLogError::new(path, None, error.to_string()))?;
    let mut reader = BufReader::new(file);
    let (mut number, mut previous, mut text) = (0, String::new(), String::new());
    loop {
        text.clear();
        let wrong = |message: &str| CallLogError::new(path, Some(number + 1), message);
        let read = reader.read_line(&mut text).map_err(|error| wrong(&error.to_string()))?;
        if read == 0 {
            return Ok(number);
        }
        let line = text.strip_suffix('\n').ok_or_else(|| wrong("the line is incomplete"))?;
        let mut line: Map<String, Value> = serde_json::from_str(line).map_err(|_| wrong("the line is not JSON"))?;
        let hash = line.remove("hash");
        let hash = hash.as_ref().and_then(Value::as_str).ok_or_else(|| wrong("the line has no `hash`"))?;
        if line.get("previous").and_then(Value::as_str) != Some(&previous) {
            return Err(wrong("the line does not follow the one before it: a line was removed, added or moved"));
        }
        if hash_of(&line) != hash {
            return Err(wrong("the line was changed"));
        }
        hash.clone_into(&mut previous);
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use std::fs;
    use std::time::SystemTime;

    use serde_json::json;

    use super::super::CallLog;
    use super::*;

    #[test]
    fn a_changed_removed_or_added_line_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.jsonl");
        let write = |numbers: std::ops::Range<u32>| {
            let log = CallLog::open(&path).unwrap();
            for number in numbers {
                log.write(SystemTime::now(), Map::from_iter([("tool".to_owned(), json!(number.to_string()))]));
            }
        };
        write(0..2);
        // Another process goes on, past a line that broke off.
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("{\"tool\":");
        fs::write(&path, text).unwrap();
        write(2..4);
        assert_eq!(CallLog::verify(&path), Ok(4));

        let whole = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = whole.lines().collect();
        let fault = |lines: &[&str]| {
            fs::write(&path, lines.join("\n") + "\n").unwrap();
            CallLog::verify(&path).unwrap_err().to_string()
        };
        let changed = lines[1].replace("\"tool\":\"1\"", "\"tool\":\"9\"");
        assert!(fault(&[lines[0], &changed, lines[2], lines[3]]).contains(".jsonl:2: the line was changed"));
        assert!(fault(&[lines[0], lines[2], lines[3]]).contains(":2: the line does not follow"));
        assert!(fault(&[lines[1], lines[2], lines[3]]).contains(":1: the line does not follow"));
        assert!(fault(&[lines[0], lines[0], lines[1]]).contains(":2: the line does not follow"));
    }

    #[test]
    fn one_process_at_a_time_writes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.jsonl");
        let log = CallLog::open(&path).unwrap();
        assert!(CallLog::open(&path).unwrap_err().to_string().contains("another process"));
        drop(log);
        assert!(CallLog::open(&path).is_ok());
    }
}
