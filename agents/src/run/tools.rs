//! The tools of a run, turn by turn.

use std::error::Error;

use crate::toolset::Definitions;
use crate::{Answers, Deferred, ModelCall, Prompt, PromptParams, PromptState, Provider, Toolset};

/// The tools of a [`Run`](super::Run): the same for each turn, or those of a prompt whose sections the model opens.
pub struct RunTools(Kind);

enum Kind {
    Toolset(Toolset),
    Deferred(Deferred),
    Prompt(Box<Turning>),
}

/// A prompt, and its rendering for the current turn.
struct Turning {
    base: Option<Toolset>,
    prompt: Prompt,
    params: PromptParams,
    state: PromptState,
    rendered: Option<(crate::RenderedPrompt, Toolset)>,
}

impl RunTools {
    /// Uses the tools and the text of a prompt. The prompt is rendered for each turn, with the sections that the model
    /// has opened. Servers without a list of tools are omitted, as in
    /// [`RenderedPrompt::toolset`](crate::RenderedPrompt::toolset).
    #[must_use]
    pub fn prompt(prompt: Prompt, params: PromptParams, state: PromptState) -> Self {
        Self(Kind::Prompt(Box::new(Turning { base: None, prompt, params, state, rendered: None })))
    }

    /// Uses a prompt like [`prompt`](Self::prompt), after the tools of another toolset, whose values and result limit
    /// apply; see [`RenderedPrompt::toolset_on`](crate::RenderedPrompt::toolset_on).
    #[must_use]
    pub fn prompt_on(base: Toolset, prompt: Prompt, params: PromptParams, state: PromptState) -> Self {
        Self(Kind::Prompt(Box::new(Turning { base: Some(base), prompt, params, state, rendered: None })))
    }

    /// Returns the text and the tools of the next request.
    pub(super) async fn offer(
        &mut self,
        provider: Provider,
    ) -> Result<(Option<String>, Definitions), Box<dyn Error + Send + Sync>> {
        Ok(match &mut self.0 {
            Kind::Toolset(toolset) => (None, toolset.definitions(provider)),
            Kind::Deferred(deferred) => (None, deferred.listed().definitions(provider)),
            Kind::Prompt(turning) => {
                let rendered = turning.prompt.render(&turning.params, &turning.state)?;
                let (toolset, _) = match &turning.base {
                    Some(base) => rendered.toolset_on(base).await?,
                    None => rendered.toolset().await?,
                };
                let (text, definitions) = (rendered.text().to_owned(), toolset.definitions(provider));
                turning.rendered = Some((rendered, toolset));
                (Some(text), definitions)
            }
        })
    }

    pub(super) async fn turn(&mut self, calls: Vec<ModelCall>) -> Answers {
        match &mut self.0 {
            Kind::Toolset(toolset) => toolset.turn(calls).await,
            Kind::Deferred(deferred) => deferred.turn(calls).await,
            Kind::Prompt(turning) => match &turning.rendered {
                Some((rendered, toolset)) => {
                    let answers = toolset.turn(calls).await;
                    turning.state = rendered.state();
                    answers
                }
                None => Answers::default(),
            },
        }
    }

    pub(super) fn state(&self) -> Option<PromptState> {
        match &self.0 {
            Kind::Prompt(turning) => Some(turning.state.clone()),
            _ => None,
        }
    }
}

impl From<Toolset> for RunTools {
    fn from(toolset: Toolset) -> Self {
        Self(Kind::Toolset(toolset))
    }
}

impl From<&Toolset> for RunTools {
    fn from(toolset: &Toolset) -> Self {
        toolset.clone().into()
    }
}

impl From<Deferred> for RunTools {
    fn from(deferred: Deferred) -> Self {
        Self(Kind::Deferred(deferred))
    }
}
