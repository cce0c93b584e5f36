//! `--deny CLASS`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use mcp_bindgen_schema::drift::{Change, Class};

use crate::exit::Exit;

/// Which changes fail a command.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Denied {
    /// Exit with 4 only for changes of this class and of those before it.
    #[arg(long, value_name = "CLASS", value_parser = class())]
    pub(crate) deny: Option<Class>,
}

impl Denied {
    /// The exit code for changes; `otherwise` where no class was named.
    pub(crate) fn exit(self, changes: &[Change], otherwise: Exit) -> Exit {
        match self.deny {
            None => otherwise,
            Some(class) if changes.iter().any(|change| change.class <= class) => Exit::OutOfDate,
            Some(_) => Exit::Done,
        }
    }
}

fn class() -> impl TypedValueParser<Value = Class> {
    let named = |name: String| Class::ALL.into_iter().find(|class| class.name() == name).unwrap_or(Class::Breaking);
    PossibleValuesParser::new(Class::ALL.map(Class::name)).map(named)
}
