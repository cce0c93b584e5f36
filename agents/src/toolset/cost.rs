//! The cost of a set in a model's context.

use std::io;

use serde::Serialize;

use super::Toolset;
use crate::Provider;

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

/// The length of a value as compact JSON.
pub(crate) fn bytes<T: Serialize + ?Sized>(value: &T) -> usize {
    bytes_up_to(value, usize::MAX)
}

/// The length of a value as compact JSON, or some length above `most`: long values are not counted to their end.
pub(crate) fn bytes_up_to<T: Serialize + ?Sized>(value: &T, most: usize) -> usize {
    let mut counter = Counter { count: 0, most };
    // What is counted was JSON before.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.count
}

#[cfg(feature = "tokens")]
fn tokens<T: Serialize + ?Sized>(value: &T) -> usize {
    tokens_of(&serde_json::to_string(value).unwrap_or_default())
}

/// How many tokens a text has.
#[cfg(feature = "tokens")]
pub(super) fn tokens_of(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

struct Counter {
    count: usize,
    most: usize,
}

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.count += bytes.len();
        if self.count > self.most { Err(io::ErrorKind::Other.into()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_compact_json() {
        let value = serde_json::json!({ "a": [1, "課題"] });
        assert_eq!(bytes(&value), value.to_string().len());
        assert!((5..value.to_string().len()).contains(&bytes_up_to(&value, 4)));
    }

    #[cfg(feature = "tokens")]
    #[test]
    fn tokens_are_those_of_the_named_tokenizer() {
        // As OpenAI's own tokenizer counts them.
        assert_eq!(bpe_openai::o200k_base().count("hello world"), 2);
        // Hostile text costs time in its length, not more.
        assert!(tokens(&" ".repeat(200_000)) > 1);
    }
}
