//! Items for generated code, and everything else in `__private`. Generated code uses no other hidden items but
//! [`__format!`](crate::__format), which bindings of every version refer to.

mod call_value;
mod connect;
mod conversions;
mod format;
pub mod json_schema;
mod offers;
pub mod prelude;

pub use call_value::{print_call, read_call};
/// A required property that is not set yet.
#[derive(Clone, Copy, Debug)]
pub struct Unset;

pub use connect::{OverHttp, OverStdio};
pub use offers::{fill_in, get_prompt, read_resource};

pub use crate::call::{Offer, call, decode, encode, place_of, print_arguments, read_arguments, send};
pub use crate::ground::wire::*;
// The language puts exported macros at the root of the crate, too.
pub use crate::{
    __checked, __from, __json_schema, __literal_enum, __newtype, __object, __serde_call, __string_enum, __tagged_union,
    __tool, __untagged_union, __wire_through_serde,
};
