//! Prompts of sections that declare the servers and tools they need. A closed section shows its summary, and its
//! tools are neither offered nor started until a model opens it.

mod check;
mod error;
mod function;
mod host;
mod inventory;
mod mcp_section;
mod names;
mod offered;
mod opening;
mod params;
mod placed;
mod prompt;
mod render;
mod section;
mod server;
mod state;
mod template;
mod text;
mod toolset;
mod view;

pub use error::{PromptError, PromptWarning, RenderError};
pub use function::SectionTool;
pub use host::{Host, HostConfig};
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
