//! Templates whose actions call tools: their language, and whether what they say of tools is so.
//!
//! A template is text of minijinja with slots between `[[` and `]]`. [`Template::parse`] reads it once, without a server and
//! without the values; what a tool answers is never read as a template. [`Tool::check`] says what of its actions does not
//! fit the tools that there are: the same where a crate is built and where a template runs.

mod ast;
mod blocks;
mod check;
mod code;
mod cursor;
mod fault;
mod parse;
mod slot;
mod slots;
mod text;
mod value;
mod vocabulary;
mod wanted;
mod words;

pub use ast::{Action, Argument, Completion, OnError, Part, Piece, PieceKind, Segment, Target, Template, Term, Text};
pub use blocks::{Effect, effect};
pub use check::{Takes, Tool, Tools};
pub use fault::{Fault, MOST_FAULTS, Place};
pub use slots::{Slot, SlotKind};
pub use vocabulary::{RESERVED, is_variable};
pub use wanted::Wanted;
