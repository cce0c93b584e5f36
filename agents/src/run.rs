//! Conversations of a model with tools, until it has an answer.

use std::error::Error;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::provider::keep;
use crate::toolset::Definitions;
use crate::{
    Answers, Deferred, ModelCall, Prompt, PromptParams, PromptState, Provider, RenderedPrompt, RunEvent, Toolset,
};

/// How many replies a model may need.
const MOST_TURNS: usize = 50;

/// Runs a conversation: asks the model, makes its calls, and asks again with the results, until it replies without calls.
///
/// This is [`Run`] with its defaults. The messages are in the provider's format: [`Provider::user_message`](crate::Provider::user_message)
/// and [`Provider::prompt_messages`](crate::Provider::prompt_messages) make them.
///
/// ```
/// use std::convert::Infallible;
///
/// use mcp_bindgen_agents::{Model, Provider, Reply, Toolset, run};
/// use serde_json::{Map, Value, json};
///
/// /// A client of the provider's API.
/// struct Client;
///
/// impl Model for Client {
///     type Error = Infallible;
///
///     fn provider(&self) -> Provider {
///         Provider::Anthropic
///     }
///
///     async fn reply(&self, mut request: Map<String, Value>, _: Reply) -> Result<Value, Infallible> {
///         request.insert("model".to_owned(), json!("claude-opus-4-1"));
///         request.insert("max_tokens".to_owned(), json!(1024));
///         // let body = http.post(URL).json(&request).send().await?.json().await?;
///         Ok(json!({ "stop_reason": "end_turn", "content": [{ "type": "text", "text": "You are Ada." }] }))
///     }
/// }
///
/// # async fn example(toolset: Toolset) -> Result<(), Box<dyn std::error::Error>> {
/// let question = Provider::Anthropic.user_message("Who am I?");
/// let answer = run(&Client, &toolset, vec![question]).await?;
/// assert_eq!(answer.text, "You are Ada.");
/// # Ok(())
/// # }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(example(Toolset::builder().build().unwrap())).unwrap();
/// ```
///
/// # Errors
/// Fails if the model cannot be asked, its reply is an error of the API or has no message, or it does not come to an end
/// within 50 replies. The error has the messages so far.
pub async fn run<M: Model>(model: &M, toolset: &Toolset, messages: Vec<Value>) -> Result<Answer, RunError<M::Error>> {
    Run::new(model, toolset.clone()).messages(messages).await
}

/// A conversation of a model with tools, with options; see [`run`].
///
/// ```no_run
/// # async fn example<M: mcp_bindgen_agents::Model>(model: &M, prompt: mcp_bindgen_agents::Prompt) -> Result<(), Box<dyn std::error::Error>> {
/// use mcp_bindgen_agents::{PromptParams, PromptState, Run, RunEvent, RunTools};
///
/// let tools = RunTools::prompt(prompt, PromptParams::new(), PromptState::new());
/// let answer = Run::new(model, tools)
///     .on_event(|event| match event {
///         RunEvent::Text(piece) => print!("{piece}"),
///         RunEvent::Answered(answered) => println!("[{}]", answered.name),
///         _ => {}
///     })
///     .max_turns(20)
///     .messages(vec![model.provider().user_message("Open a ticket.")])
///     .await?;
/// // Store `answer.messages` and `answer.state` with the conversation.
/// # drop(answer);
/// # Ok(())
/// # }
/// ```
#[must_use = "a run does nothing until `messages` is called and awaited"]
pub struct Run<'m, M> {
    model: &'m M,
    tools: RunTools,
    instructions: Option<String>,
    most_turns: usize,
    listener: Listener,
}

/// A listener to the events of a run.
type Listener = Arc<dyn Fn(RunEvent) + Send + Sync>;

impl<'m, M: Model> Run<'m, M> {
    /// Creates a run with a [`Toolset`], a [`Deferred`](crate::Deferred) toolset, or [`RunTools::prompt`].
    pub fn new(model: &'m M, tools: impl Into<RunTools>) -> Self {
        let listener: Listener = Arc::new(|_| {});
        Self { model, tools: tools.into(), instructions: None, most_turns: MOST_TURNS, listener }
    }

    /// Sets the instructions of the model (its system message). The text of a prompt follows them.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Limits the replies of the model; 50 by default.
    pub fn max_turns(mut self, turns: usize) -> Self {
        self.most_turns = turns;
        self
    }

    /// Calls a listener with pieces of streamed replies, calls and their answers. A slow listener delays the run.
    pub fn on_event(mut self, listener: impl Fn(RunEvent) + Send + Sync + 'static) -> Self {
        self.listener = Arc::new(listener);
        self
    }

    /// Goes on from these messages until the model replies without calls. Dropping the future cancels calls that are under
    /// way.
    ///
    /// # Errors
    /// Fails if the model cannot be asked, its reply is an error of the API or has no message, tools cannot be offered, or the
    /// model does not come to an end. The error has the messages so far: each call in them has its result, so a conversation
    /// can go on from them.
    pub async fn messages(mut self, mut messages: Vec<Value>) -> Result<Answer, RunError<M::Error>> {
        let provider = self.model.provider();
        let format = provider.format();
        for turns in 1..=self.most_turns {
            let (text, definitions) = match self.tools.offer(provider).await {
                Ok(offered) => offered,
                Err(error) => return Err(RunError::Tools { error, messages }),
            };
            let texts: Vec<&str> = self.instructions.iter().map(String::as_str).chain(text.as_deref()).collect();
            let system = Some(texts.join("\n\n")).filter(|text| !text.is_empty());
            let mut request = format.request(system.as_deref(), &messages, definitions.tools);
            if let Some(mode) = definitions.mode {
                request.insert("toolConfig".to_owned(), json!({ "functionCallingConfig": { "mode": mode } }));
            }
            let reply = match self.model.reply(request, Reply::new(provider, self.listener.clone())).await {
                Ok(reply) => reply,
                Err(error) => return Err(RunError::Model { error, messages }),
            };
            if let Some(reason) = provider.fault(&reply) {
                return Err(RunError::Reply { provider, reason, reply, messages });
            }
            let calls = provider.calls(&reply);
            messages.extend(format.reply(&reply));
            if calls.is_empty() && !provider.goes_on(&reply) {
                let text = provider.text(&reply);
                let state = self.tools.prompt.map(|turning| turning.state);
                return Ok(Answer { text, messages, turns, state, reply });
            }
            calls.iter().for_each(|call| (self.listener)(RunEvent::Called(call.clone())));
            let answers = self.tools.turn(calls).await;
            answers.iter().for_each(|answered| (self.listener)(RunEvent::Answered(answered.clone())));
            messages.extend(provider.printed(&answers, self.model.name()));
        }
        Err(RunError::TooManyTurns { turns: self.most_turns, messages })
    }
}

/// A model behind a provider's API, for [`run`](run()).
pub trait Model: Sync {
    /// The reason why it cannot be asked.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Returns the format of requests and replies.
    fn provider(&self) -> Provider;

    /// Returns the model's name in the API, if it is known: some formats of results depend on it, see
    /// [`Provider::results_for`](crate::Provider::results_for).
    fn name(&self) -> Option<&str> {
        None
    }

    /// Sends a request, and returns the whole body of the response, such as the object with `choices` of Chat Completions. The
    /// run fails with [`RunError::Reply`] if the body is an error of the API, or has no message; a message may be empty.
    ///
    /// The request has instructions, messages and tools in the provider's format; add the model and other options. For a
    /// streamed response pass each event to [`Reply::push`] and return [`Reply::finish`]; otherwise the second argument is not
    /// needed.
    ///
    /// # Errors
    /// Fails if there is no response. It may also fail for an error of the API.
    fn reply(
        &self,
        request: Map<String, Value>,
        reply: Reply,
    ) -> impl Future<Output = Result<Value, Self::Error>> + Send;
}

/// A streamed reply: it is put together from the events of a stream.
///
/// ```
/// use mcp_bindgen_agents::{Provider, Reply};
/// use serde_json::json;
///
/// let mut reply = Reply::of(Provider::OpenAiChat);
/// for text in ["Hel", "lo"] {
///     reply.push(&json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }));
/// }
/// reply.push(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }));
/// assert_eq!(Provider::OpenAiChat.text(&reply.finish()), "Hello");
/// ```
pub struct Reply {
    provider: Provider,
    listener: Listener,
    whole: Value,
}

impl Reply {
    /// Creates an empty reply, for programs without a [`Run`].
    #[must_use]
    pub fn of(provider: Provider) -> Self {
        Self::new(provider, Arc::new(|_| {}))
    }

    fn new(provider: Provider, listener: Listener) -> Self {
        Self { provider, listener, whole: Value::Null }
    }

    /// Adds an event of the stream: its data as JSON. An error of the API becomes the member `error` of the reply, for which a
    /// [`Run`] fails. Unknown events are ignored.
    pub fn push(&mut self, event: &Value) {
        if let Some(error) = Provider::error_in(event) {
            keep(&mut self.whole, "error", error.clone());
        }
        let events = self.provider.format().add(&mut self.whole, event);
        events.into_iter().for_each(|event| (self.listener)(event));
    }

    /// Returns the whole reply, in the form of a response that is not streamed. If the stream broke off, its last call is
    /// unfinished and will not be made; if it broke off before any text or call, a [`Run`] fails.
    #[must_use]
    pub fn finish(self) -> Value {
        self.whole
    }
}

/// The tools of a [`Run`]: the same for each turn, or those of a prompt whose sections the model opens.
pub struct RunTools {
    /// The tools that the model sees in the current turn.
    listed: Toolset,
    /// The toolset by which it finds and calls others.
    deferred: Option<Deferred>,
    prompt: Option<Box<Turning>>,
}

/// A prompt, and its rendering for the current turn.
struct Turning {
    base: Toolset,
    prompt: Prompt,
    params: PromptParams,
    state: PromptState,
    rendered: Option<RenderedPrompt>,
}

impl RunTools {
    /// Uses the tools and the text of a prompt. The prompt is rendered for each turn, with the sections that the model
    /// has opened. Servers without a list of tools are omitted, as in
    /// [`RenderedPrompt::toolset`](crate::RenderedPrompt::toolset).
    #[must_use]
    pub fn prompt(prompt: Prompt, params: PromptParams, state: PromptState) -> Self {
        Self::prompt_on(Toolset::default(), prompt, params, state)
    }

    /// Uses a prompt like [`prompt`](Self::prompt), after the tools of another toolset, whose values and result limit
    /// apply; see [`RenderedPrompt::toolset_on`](crate::RenderedPrompt::toolset_on).
    #[must_use]
    pub fn prompt_on(base: Toolset, prompt: Prompt, params: PromptParams, state: PromptState) -> Self {
        let turning = Turning { base: base.clone(), prompt, params, state, rendered: None };
        Self { prompt: Some(Box::new(turning)), ..base.into() }
    }

    /// Returns the text and the tools of the next request.
    async fn offer(
        &mut self,
        provider: Provider,
    ) -> Result<(Option<String>, Definitions), Box<dyn Error + Send + Sync>> {
        let mut text = None;
        if let Some(turning) = &mut self.prompt {
            let rendered = turning.prompt.render(&turning.params, &turning.state)?;
            (self.listed, _) = rendered.toolset_on(&turning.base).await?;
            text = Some(rendered.text().to_owned());
            turning.rendered = Some(rendered);
        }
        Ok((text, self.listed.definitions(provider)))
    }

    async fn turn(&mut self, calls: Vec<ModelCall>) -> Answers {
        let answers = match &self.deferred {
            Some(deferred) => deferred.turn(calls).await,
            None => self.listed.turn(calls).await,
        };
        if let Some(turning) = &mut self.prompt
            && let Some(rendered) = &turning.rendered
        {
            turning.state = rendered.state();
        }
        answers
    }
}

impl From<Toolset> for RunTools {
    fn from(toolset: Toolset) -> Self {
        Self { listed: toolset, deferred: None, prompt: None }
    }
}

impl From<&Toolset> for RunTools {
    fn from(toolset: &Toolset) -> Self {
        toolset.clone().into()
    }
}

impl From<Deferred> for RunTools {
    fn from(deferred: Deferred) -> Self {
        Self { listed: deferred.listed().clone(), deferred: Some(deferred), prompt: None }
    }
}

impl From<&Deferred> for RunTools {
    fn from(deferred: &Deferred) -> Self {
        deferred.clone().into()
    }
}

/// The model's answer, and the conversation with it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// The text of the last reply.
    pub text: String,
    /// All messages, those of the run and the last reply included unless it is empty, in the provider's format.
    pub messages: Vec<Value>,
    /// How many replies of the model it took.
    pub turns: usize,
    /// The state of the prompt, if there is one: with the sections that the model opened.
    pub state: Option<PromptState>,
    /// The last reply, as the model returned it.
    pub reply: Value,
}

/// Why a run has no answer. Each has the messages so far.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError<E> {
    /// The model cannot be asked.
    #[error("the model cannot be asked: {error}")]
    #[non_exhaustive]
    Model {
        /// The error of [`Model::reply`].
        #[source]
        error: E,
        /// The messages so far.
        messages: Vec<Value>,
    },
    /// The reply cannot be used: it is an error of the API, it is not the body of a response of this provider, or its stream
    /// broke off before any text or call.
    #[error("the reply of {} cannot be used: {reason}", provider.label())]
    #[non_exhaustive]
    Reply {
        /// The provider whose format the reply should have.
        provider: Provider,
        /// The reason: the error message of the API, or what the reply lacks.
        reason: String,
        /// The reply, as the model returned it. It has what arrived of a stream before an error; with OpenAI Responses
        /// only whole items.
        reply: Value,
        /// The messages so far, without this reply.
        messages: Vec<Value>,
    },
    /// The tools of a prompt cannot be offered: [`RenderError`](crate::RenderError) or [`ToolsetError`](crate::ToolsetError).
    #[error("the tools cannot be offered: {error}")]
    #[non_exhaustive]
    Tools {
        /// The error.
        #[source]
        error: Box<dyn std::error::Error + Send + Sync>,
        /// The messages so far.
        messages: Vec<Value>,
    },
    /// The model still requested calls in the last reply that was allowed.
    #[error("no answer after {turns} replies of the model; `Run::max_turns` allows more")]
    #[non_exhaustive]
    TooManyTurns {
        /// The number of replies.
        turns: usize,
        /// The messages so far.
        messages: Vec<Value>,
    },
}

impl<E> RunError<E> {
    /// Returns the messages so far.
    #[must_use]
    pub fn messages(&self) -> &[Value] {
        match self {
            Self::Model { messages, .. }
            | Self::Reply { messages, .. }
            | Self::Tools { messages, .. }
            | Self::TooManyTurns { messages, .. } => messages,
        }
    }
}
