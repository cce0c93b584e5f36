//! Finds invalid references.

use crate::ground::percent;

/// A `$ref`.
#[derive(Clone, Debug)]
pub(in super::super) struct Reference {
    /// Where it stands in the schema.
    pub(in super::super) pointer: String,
    /// Where it leads.
    pub(in super::super) target: String,
}

impl Reference {
    /// The place in the same document that it leads to, where it says so by a JSON pointer.
    pub(in super::super) fn local_pointer(&self) -> Option<String> {
        let pointer = self.target.strip_prefix('#')?;
        (pointer.is_empty() || pointer.starts_with('/'))
            .then(|| percent::decode(pointer).unwrap_or_else(|| pointer.to_owned()))
    }

    /// Returns `true` if a validator's complaint is about this reference.
    pub(in super::super) fn explains(&self, complaint: &str) -> bool {
        let target = self.target.trim_start_matches('#');
        let decoded = percent::decode(target);
        !target.is_empty() && [Some(target), decoded.as_deref()].iter().flatten().any(|form| complaint.contains(form))
    }
}
