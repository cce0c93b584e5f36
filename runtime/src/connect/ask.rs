//! What a server answers in rounds: the calls of tools, prompts, and what resources hold.

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, CustomRequest, GetMeta, GetPromptRequest,
    GetPromptRequestParams, InputResponses, ReadResourceRequest, ReadResourceRequestParams, RequestMetaObject,
};
use serde_json::{Map, Value};

/// One question to a server, asked again with what it wanted to know in between.
pub(crate) enum Ask {
    /// `list` is the count of changes to the list of tools for which it was let through.
    Tool {
        params: CallToolRequestParams,
        list: Option<u64>,
    },
    Prompt(GetPromptRequestParams),
    Resource(ReadResourceRequestParams),
    /// Whatever a program asks in the protocol's own words.
    Raw {
        method: &'static str,
        params: Map<String, Value>,
        meta: RequestMetaObject,
    },
}

impl Ask {
    pub(crate) fn tool(name: String, arguments: Map<String, Value>, list: Option<u64>) -> Self {
        Self::Tool { params: CallToolRequestParams::new(name).with_arguments(arguments), list }
    }

    pub(super) fn list(&self) -> Option<u64> {
        match self {
            Self::Tool { list, .. } => *list,
            Self::Prompt(_) | Self::Resource(_) | Self::Raw { .. } => None,
        }
    }

    pub(crate) fn prompt(name: String, arguments: Map<String, Value>) -> Self {
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = (!arguments.is_empty()).then_some(arguments);
        Self::Prompt(params)
    }

    pub(crate) fn resource(uri: String) -> Self {
        Self::Resource(ReadResourceRequestParams::new(uri))
    }

    pub(crate) fn raw(method: &'static str, params: Map<String, Value>) -> Self {
        Self::Raw { method, params, meta: RequestMetaObject::default() }
    }

    pub(super) fn set_meta(&mut self, meta: &Map<String, Value>) {
        let meta: Option<RequestMetaObject> = serde_json::from_value(Value::Object(meta.clone())).ok();
        match self {
            Self::Tool { params, .. } => params.meta = meta,
            Self::Prompt(params) => params.meta = meta,
            Self::Resource(params) => params.meta = meta,
            Self::Raw { meta: own, .. } => *own = meta.unwrap_or_default(),
        }
    }

    /// The answers to what the server asked, and what it wants to be told again.
    pub(super) fn go_on(&mut self, state: Option<String>, answers: Option<InputResponses>) {
        let (request_state, input_responses) = match self {
            Self::Tool { params, list } => {
                // A call that the server works on goes on, also where it changes its list meanwhile.
                *list = None;
                (&mut params.request_state, &mut params.input_responses)
            }
            Self::Prompt(params) => (&mut params.request_state, &mut params.input_responses),
            Self::Resource(params) => (&mut params.request_state, &mut params.input_responses),
            Self::Raw { params, .. } => {
                let responses = answers.map(|answers| Value::Object(answers.into_iter().collect()));
                for (key, value) in [("requestState", state.map(Value::String)), ("inputResponses", responses)] {
                    match value {
                        Some(value) => params.insert(key.to_owned(), value),
                        None => params.remove(key),
                    };
                }
                return;
            }
        };
        *request_state = state;
        *input_responses = answers;
    }

    pub(super) fn request(&self) -> ClientRequest {
        match self {
            Self::Tool { params, .. } => ClientRequest::CallToolRequest(CallToolRequest::new(params.clone())),
            Self::Prompt(params) => ClientRequest::GetPromptRequest(GetPromptRequest::new(params.clone())),
            Self::Resource(params) => ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params.clone())),
            Self::Raw { method, params, meta } => {
                let mut request = CustomRequest::new(*method, Some(Value::Object(params.clone())));
                *request.get_meta_mut() = meta.clone();
                ClientRequest::CustomRequest(request)
            }
        }
    }
}
