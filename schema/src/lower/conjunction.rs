use crate::normalize::SchemaId;

/// Schemas that hold together, in their order; none means anything.
pub(super) type Conjunction = Vec<SchemaId>;

pub(super) fn both(left: &[SchemaId], right: &[SchemaId]) -> Conjunction {
    if left.is_empty() || right.is_empty() {
        return [left, right].concat();
    }
    let mut all = [left, right].concat();
    all.sort_unstable();
    all.dedup();
    all
}
