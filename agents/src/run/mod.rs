//! Conversations of a model with tools, until it has an answer.

mod model;
mod outcome;
mod tools;

use std::sync::Arc;

use serde_json::{Value, json};

pub use self::model::{Model, Reply};
pub use self::outcome::{Answer, RunError};
pub use self::tools::RunTools;
use crate::{RunEvent, Toolset};

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
/// Fails if the model cannot be asked, or does not come to an end within 50 replies. The error has the messages so far.
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
    /// Fails if the model cannot be asked, tools cannot be offered, or the model does not come to an end. The error has the
    /// messages so far: each call in them has its result, so a conversation can go on from them.
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
            let calls = provider.calls(&reply);
            messages.extend((format.reply)(&reply));
            if calls.is_empty() && !provider.goes_on(&reply) {
                let (text, state) = (provider.text(&reply), self.tools.state());
                return Ok(Answer { text, messages, turns, state, reply });
            }
            calls.iter().for_each(|call| (self.listener)(RunEvent::Called(call.clone())));
            let answers = self.tools.turn(calls).await;
            answers.iter().for_each(|answered| (self.listener)(RunEvent::Answered(answered.clone())));
            messages.extend(match self.model.name() {
                Some(name) => answers.results_for(provider, name),
                None => answers.results(provider),
            });
        }
        Err(RunError::TooManyTurns { turns: self.most_turns, messages })
    }
}
