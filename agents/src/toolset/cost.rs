//! The cost of a set in a model's context.

#[cfg(feature = "tokens")]
use serde::Serialize;

use super::Toolset;
use crate::Provider;
use crate::json::bytes;

/// The tokenizer for `tokens` of a [`Cost`]: that of OpenAI's models since GPT-4o. The tokenizers of other providers
/// are not public: their totals can differ by tens of percent, the shares of tools hardly.
#[cfg(feature = "tokens")]
pub const TOKENIZER: &str = "o200k_base";

/// The size of a toolset in a request, as compact JSON. Use it to compare toolsets and tools. Providers convert the
/// JSON for their models; for billing see their usage data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cost {
    /// The total in bytes.
    pub bytes: usize,
    /// The total in tokens, counted with [`TOKENIZER`].
    #[cfg(feature = "tokens")]
    pub tokens: usize,
    /// The tools, in the order of the request.
    pub tools: Vec<ToolCost>,
}

/// The size of one tool in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCost {
    /// The tool's name in the toolset.
    pub name: String,
    /// The declaration in bytes.
    pub bytes: usize,
    /// The declaration in tokens, counted with [`TOKENIZER`].
    #[cfg(feature = "tokens")]
    pub tokens: usize,
}

impl Toolset {
    /// Returns the size of the definitions for a provider in bytes and, with feature `tokens`, in tokens. The first
    /// call loads the tokenizer, which takes a fraction of a second.
    ///
    /// ```
    /// use mcp_bindgen_agents::{Provider, Toolset};
    ///
    /// let nothing = Toolset::builder().build()?;
    /// assert_eq!(nothing.cost(Provider::Anthropic).bytes, "[]".len());
    /// # Ok::<(), mcp_bindgen_agents::ToolsetError>(())
    /// ```
    #[must_use]
    pub fn cost(&self, provider: Provider) -> Cost {
        let definitions = self.definitions(provider);
        let tools = self.entries.iter().zip(definitions.declarations()).map(|(entry, declaration)| ToolCost {
            name: entry.public.clone(),
            bytes: bytes(declaration),
            #[cfg(feature = "tokens")]
            tokens: tokens(declaration),
        });
        Cost {
            tools: tools.collect(),
            bytes: bytes(&definitions.tools),
            #[cfg(feature = "tokens")]
            tokens: tokens(&definitions.tools),
        }
    }
}

#[cfg(feature = "tokens")]
fn tokens<T: Serialize + ?Sized>(value: &T) -> usize {
    tokens_of(&serde_json::to_string(value).unwrap_or_default())
}

/// Returns how many tokens a text has.
#[cfg(feature = "tokens")]
pub(super) fn tokens_of(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

#[cfg(all(test, feature = "tokens"))]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_those_of_the_named_tokenizer() {
        // OpenAI's own tokenizer is the reference.
        assert_eq!(bpe_openai::o200k_base().count("hello world"), 2);
        // Hostile text costs time in its length, not more.
        assert!(tokens(&" ".repeat(200_000)) > 1);
    }
}
