//! The property that tells the branches of a union apart.

use std::collections::HashSet;

use serde_json::Value;

use super::Lowering;
use super::alternatives::{Alternatives, Choice, Numbers};
use super::objects::ObjectAlternative;
use crate::shape::TagKey;

#[derive(Debug)]
pub(super) struct Tag {
    pub(super) key: TagKey,
    /// The value of each branch, in their order: its text, or JSON text where it is no string.
    pub(super) values: Vec<String>,
}

impl Lowering<'_, '_> {
    /// The first property that every branch requires and gives a constant of its own.
    pub(super) fn tag(&mut self, branches: &[ObjectAlternative]) -> Option<Tag> {
        let candidates = branches.first()?.required.clone();
        candidates.into_iter().find_map(|key| {
            let constants: Vec<Value> =
                branches.iter().map(|branch| self.constant(branch, &key)).collect::<Option<_>>()?;
            let are_texts = constants.iter().all(Value::is_string);
            if !are_texts && constants.iter().any(Value::is_string) {
                return None;
            }
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let values: Vec<String> = constants.iter().map(text).collect();
            let distinct: HashSet<&String> = values.iter().collect();
            let is_tag = distinct.len() == values.len();
            is_tag.then_some(Tag { key: TagKey { name: key, is_text: are_texts }, values })
        })
    }

    fn constant(&mut self, branch: &ObjectAlternative, key: &str) -> Option<Value> {
        let property = branch.property(key).filter(|_| branch.required.iter().any(|name| name == key))?;
        let allowed = self.expander.all(self.schemas, property, self.reporter);
        let none = Alternatives::nothing();
        let strings = Alternatives { strings: allowed.strings.clone(), ..none.clone() };
        let numbers = Alternatives { numbers: allowed.numbers.clone(), ..none.clone() };
        let booleans = Alternatives { booleans: allowed.booleans.clone(), ..none };
        match (&allowed.strings, &allowed.numbers, &allowed.booleans) {
            (Choice::Only(only), ..) if only.len() == 1 && allowed == strings => only.first().cloned().map(Value::from),
            (_, Numbers::Only(only), _) if only.len() == 1 && allowed == numbers => {
                only.first().filter(|number| !number.is_f64()).cloned().map(Value::from)
            }
            (.., Choice::Only(only)) if only.len() == 1 && allowed == booleans => {
                only.first().copied().map(Value::from)
            }
            _ => None,
        }
    }
}
