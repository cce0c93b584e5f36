//! Prompts of sections, which declare the servers and tools that they need. A section that is closed shows its summary, and
//! what it needs is neither offered nor started; a model opens it where it wants more.

mod admitted;
mod check;
mod error;
mod function;
mod inventory;
mod mcp_section;
mod names;
mod offered;
mod opening;
mod params;
mod placed;
mod plain;
mod prompt;
mod render;
mod section;
mod server;
mod state;
mod template;
mod text;
mod tools;
mod toolset;
mod view;

pub use error::{PromptError, PromptWarning, RenderError};
pub use function::SectionTool;
pub use mcp_section::{InventoryChanges, McpSection};
pub use names::RESERVED_NAMES;
pub use offered::{RenderedServer, RenderedTool};
pub use opening::Opened;
pub use params::{PromptParams, SectionParams};
pub use prompt::{Prompt, PromptBuilder};
pub use render::RenderedPrompt;
pub use section::{AnySection, Section};
pub use server::{SectionServer, SectionStack};
pub use state::{OpenSections, PromptState, Visibility};
pub use tools::{Offered, OfferedTool};
