//! Templates whose actions call tools: the language, and the checks of actions against tools.
//!
//! A template is minijinja text with slots between `[[` and `]]`. [`Template::parse`] reads it once, without a server
//! and without the values; the output of a tool is never read as a template. [`Tool::check`] reports actions that do
//! not match the tools. The checks are the same in a build and at run time.

mod ast;
mod blocks;
mod check;
mod code;
mod cursor;
mod fault;
mod parse;
mod program;
mod slot;
mod slots;
mod text;
mod value;
mod vocabulary;
mod wanted;
mod words;

pub use ast::{Action, Argument, Completion, OnError, Part, Piece, PieceKind, Segment, Target, Template, Term, Text};
pub use check::{Takes, Tool, Tools};
pub use fault::{Fault, MOST_FAULTS, Place};
pub use program::Program;
pub use slots::{Slot, SlotKind};
pub use vocabulary::{RESERVED, is_variable};
pub use wanted::Wanted;
