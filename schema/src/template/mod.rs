//! Templates whose actions call tools: their language, and whether what they say of tools is so.
//!
//! A template is text of minijinja with slots between `[[` and `]]`. [`Template::parse`] reads it once, without a server and
//! without the values; what a tool answers is never read as a template.

mod ast;

pub use ast::{
    Action, Argument, Completion, Fault, OnError, Part, Piece, PieceKind, Place, Segment, Target, Template, Term, Text,
};
