//! The validators of the bound tools: each is compiled when it is first used.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, RwLock};

use serde_json::Value;

use super::{Refusal, UnusableSchema, Validator};
use crate::ground::redact::Redactor;
use crate::ground::sync::{read, write};

type Compiled = Arc<Result<Validator, UnusableSchema>>;

/// The key of a static text, which is its address. Hashing a long schema at every call would cost more than most
/// checks.
type TypeKey = (usize, usize);

static COMPILED: LazyLock<RwLock<HashMap<TypeKey, Compiled>>> = LazyLock::new(RwLock::default);

pub(super) fn check(tool: &str, schema: &'static str, value: &Value, redactor: &Redactor) -> Result<(), Refusal> {
    match &*compiled(tool, schema) {
        Ok(validator) => Ok(validator.check_redacted(value, redactor)?),
        Err(unusable) => Err(unusable.clone().into()),
    }
}

fn compiled(tool: &str, schema: &'static str) -> Compiled {
    let place = (schema.as_ptr().addr(), schema.len());
    let known = read(&COMPILED).get(&place).cloned();
    known.unwrap_or_else(|| {
        // Other calls do not wait for the compilation.
        let schema = serde_json::from_str(schema).map_err(|error| UnusableSchema::new("", error.to_string()));
        let compiled = Arc::new(schema.and_then(|schema| Validator::new(&schema)));
        let kept = Arc::clone(write(&COMPILED).entry(place).or_insert_with(|| Arc::clone(&compiled)));
        // Of calls at the same time, only the first warns.
        if Arc::ptr_eq(&kept, &compiled) {
            warn(tool, &kept);
        }
        kept
    })
}

/// Warns of what is not validated.
fn warn(tool: &str, compiled: &Result<Validator, UnusableSchema>) {
    for skipped in compiled.iter().flat_map(Validator::skipped) {
        tracing::warn!(tool, pointer = skipped.pointer, "part of the schema is not validated: {skipped}");
    }
    if let Err(unusable) = compiled {
        tracing::warn!(tool, "unusable schema: {unusable}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schema_is_compiled_once_and_survives_a_poisoned_lock() {
        let schema = r#"{"type": "integer"}"#;
        assert!(check("count", schema, &json!(5), &Redactor::default()).is_ok());
        let first = compiled("count", schema);
        let poisoned = std::thread::spawn(|| {
            let _held = COMPILED.write();
            panic!("poisons the lock");
        });
        assert!(poisoned.join().is_err());
        assert!(check("count", schema, &json!("5"), &Redactor::default()).is_err());
        assert!(Arc::ptr_eq(&first, &compiled("count", schema)));
    }

    #[test]
    fn malformed_schema_is_refused_every_time() {
        for _ in 0..2 {
            let refusal = check("broken", "{", &json!({}), &Redactor::default()).unwrap_err();
            assert!(matches!(refusal, Refusal::UnusableSchema(_)), "{refusal}");
        }
    }
}
