//! The names in generated code, which keep it short and independent of the caller's prelude.

pub use std::borrow::ToOwned;
pub use std::boxed::Box;
pub use std::clone::Clone;
pub use std::cmp::{Eq, Ord, PartialEq, PartialOrd};
pub use std::collections::BTreeMap;
pub use std::convert::{From, Into};
pub use std::default::Default;
pub use std::fmt::Debug;
pub use std::hash::Hash;
pub use std::marker::{Copy, Send};
pub use std::option::Option::{self, None, Some};
pub use std::result::Result::{self, Err, Ok};
pub use std::string::String;
pub use std::vec::Vec;

pub use serde_json::{Map, Value};

pub use crate::{CallError, CallTool, Client, ConnectError, Nullable, Prefixed};
pub use crate::{ServerSpec, Servers, Tool, ToolCall, ToolResult, ToolSpec};
