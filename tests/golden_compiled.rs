//! The golden files compile without a warning, side by side.

#![deny(warnings, missing_docs)]

macro_rules! include_golden {
    ($($stem:literal,)*) => {
        $(include!(concat!("../fixtures/features/", $stem, ".rs"));)*
    };
}

include_golden![
    "all_of",
    "annotations",
    "array",
    "boolean_and_null",
    "const",
    "deprecated",
    "documented_keywords",
    "enum_other",
    "enum_string",
    "integer",
    "malformed",
    "map",
    "named_keys",
    "names",
    "no_params",
    "nullable_default_null",
    "number",
    "object",
    "optional",
    "optional_nullable",
    "output",
    "prompts",
    "recursion",
    "ref",
    "ref_elsewhere",
    "required_nullable",
    "string",
    "true_and_false",
    "tuple",
    "union_conversions",
    "union_of_required",
    "union_overlapping",
    "union_tagged",
    "union_untagged",
    "wrapped",
];

include!("../fixtures/overrides/github.rs");
