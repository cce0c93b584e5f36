/// Which of a tool's two schemas a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The arguments that callers send: always an object, and a type with a name.
    Input,
    /// The structured result that the server answers: any value.
    Output,
}
