//! Calls that a person has to approve.

use mcp_bindgen_runtime::middleware::{Approval, Stack};
use mcp_bindgen_runtime::{CallOptions, ElicitationAnswer, PassedInput};

use super::*;
use crate::{MemoryApprovalStore, ask_client};

fn governed(server: &Server) -> Proxy {
    governed_with(server, [1; 32])
}

fn governed_with(server: &Server, key: [u8; 32]) -> Proxy {
    Proxy::builder()
        .connecting(server.name, server.connect(), |client| {
            // Two that ask about one call, and one question.
            Stack::new(client)
                .approval(Approval::of(["write_*"], ask_client))
                .approval(Approval::of(["*_file"], ask_client))
        })
        .key(key)
        .approvals(MemoryApprovalStore::default())
        .build()
        .expect("it is sound")
}

fn files() -> Server {
    Server::echo("files", &["write_file", "list"])
}

#[tokio::test]
async fn session_client_is_elicited_once_and_only_approval_counts() {
    let answers: [(Value, bool); 4] = [
        (json!({ "approve": true }), true),
        (json!({ "approve": false }), false),
        (json!({}), false),
        (Value::Null, false),
    ];
    for (answer, is_yes) in answers {
        let server = files();
        let proxy = governed(&server);
        let asked = Arc::new(Mutex::new(Vec::new()));
        let hears = asked.clone();
        let options = ClientOptions::new().on_elicitation(move |request| {
            hears.lock().unwrap().push(request.message);
            let answer = answer.clone();
            async move {
                match answer {
                    Value::Object(content) => ElicitationAnswer::Accept(content),
                    _ => ElicitationAnswer::Decline,
                }
            }
        });
        let client = client(&proxy, options);
        let result =
            call(&client, "files_write_file", json!({ "path": "a\u{202e}\u{1b}[31m" })).await.expect("a result");
        assert_eq!(!result.is_error, is_yes, "{result:?}");
        let asked = asked.lock().unwrap().clone();
        let [question] = &*asked else { panic!("asked {} times", asked.len()) };
        assert!(question.contains("`write_file`") && question.contains("`files`"), "{question}");
        assert!(!question.contains('\u{1b}') && !question.contains('\u{202e}'), "{question}");
        assert_eq!(server.heard("tools/call").len(), usize::from(is_yes));
        assert!(!call(&client, "files_list", json!({})).await.expect("a result").is_error);
    }
}

#[tokio::test]
async fn client_without_elicitation_is_denied_with_the_reason() {
    let server = files();
    let proxy = governed(&server);
    // One that is asked by addresses alone is not asked by a form.
    let by_url = ClientOptions::new().capabilities(json!({ "elicitation": { "url": {} } }));
    for client in [
        legacy(&proxy),
        modern(&proxy),
        client(&proxy, by_url.clone()),
        client(&proxy, by_url.protocol_version(MODERN)),
    ] {
        let result = call(&client, "files_write_file", json!({})).await.expect("a result");
        assert!(result.is_error && result.text().contains("elicitation"), "{result:?}");
    }
    assert!(server.heard("tools/call").is_empty());
}

/// A client without a session that returns the questions that it receives.
struct Asked(Client);

impl Asked {
    fn of(proxy: &Proxy) -> Self {
        let options = ClientOptions::new().protocol_version(MODERN).capabilities(json!({ "elicitation": {} }));
        Self(client(proxy, options))
    }

    async fn call(&self, arguments: Value, input: PassedInput) -> Result<ToolResult, CallError> {
        let call = ToolCall::new("proxy", "files_write_file", object(arguments));
        soon(self.0.call_tool(call.with(CallOptions::new().pass_input(input)))).await
    }

    /// Returns the state of a question.
    async fn state(&self, arguments: Value) -> String {
        let asked = self.call(arguments, PassedInput::new()).await.expect("a result");
        assert!(asked.needs_input(), "{asked:?}");
        state_of(&asked)
    }
}

fn state_of(asked: &ToolResult) -> String {
    asked.extra["requestState"].as_str().expect("a state").to_owned()
}

fn answered(state: &str, answer: Value) -> PassedInput {
    PassedInput::new().responses(object(json!({ "approval": answer }))).state(state.to_owned())
}

fn yes() -> Value {
    json!({ "action": "accept", "content": { "approve": true } })
}

#[tokio::test]
async fn approval_of_a_client_without_a_session_is_valid_at_any_instance() {
    let server = files();
    let store = Arc::new(MemoryApprovalStore::default());
    #[derive(Debug)]
    struct Same(Arc<MemoryApprovalStore>);
    impl crate::ApprovalStore for Same {
        fn spend<'a>(
            &'a self,
            approval: &'a str,
            expires: std::time::SystemTime,
        ) -> futures_util::future::BoxFuture<'a, Result<bool, crate::ApprovalStoreError>> {
            self.0.spend(approval, expires)
        }
    }
    let instance = || {
        let builder = Proxy::builder().connecting("files", server.connect(), |client| {
            Stack::new(client).approval(Approval::of(["write_*"], ask_client))
        });
        builder.key([3; 32]).approvals(Same(store.clone())).build().expect("it is sound")
    };
    let (one, two) = (Asked::of(&instance()), Asked::of(&instance()));
    let state = one.state(json!({ "path": "a", "n": 1 })).await;
    assert!(server.heard("tools/call").is_empty());
    let done = two.call(json!({ "n": 1, "path": "a" }), answered(&state, yes())).await.expect("a result");
    assert!(!done.is_error && done.text().contains("write_file"), "{done:?}");
    // It is spent, for all instances.
    for client in [&one, &two] {
        let error =
            client.call(json!({ "path": "a", "n": 1 }), answered(&state, yes())).await.expect_err("it is spent");
        assert!(
            matches!(&error, CallError::Rpc { code: -32602, message, .. } if message.contains("already used")),
            "{error}"
        );
    }
    assert_eq!(server.heard("tools/call").len(), 1);
    // The server also received nothing of the proxy's own state.
    let params = &server.heard("tools/call")[0]["params"];
    assert!(params.get("requestState").is_none() && params.get("inputResponses").is_none(), "{params}");
}

#[tokio::test]
async fn approval_is_valid_for_one_call_and_cannot_be_forged() {
    let server = files();
    let proxy = governed(&server);
    let client = Asked::of(&proxy);
    // For other arguments the approval is invalid, and the client is asked again.
    let state = client.state(json!({ "path": "a" })).await;
    let other = client.call(json!({ "path": "b" }), answered(&state, yes())).await.expect("a result");
    assert!(other.needs_input(), "{other:?}");
    // A no, an answer of another form, and none.
    for answer in [json!({ "action": "decline" }), json!({ "action": "accept" }), json!("yes"), json!(null)] {
        let state = client.state(json!({ "path": "a" })).await;
        let denied = client.call(json!({ "path": "a" }), answered(&state, answer)).await.expect("a result");
        assert!(denied.is_error && denied.text().contains("declined"), "{denied:?}");
    }
    // Another proxy's signature, and one that was altered.
    let foreign = Asked::of(&governed_with(&server, [2; 32])).state(json!({ "path": "a" })).await;
    let own = client.state(json!({ "path": "a" })).await;
    let altered = format!("{own}A");
    for state in [foreign, altered] {
        let error = client.call(json!({ "path": "a" }), answered(&state, yes())).await.expect_err("it is refused");
        assert!(matches!(error, CallError::Rpc { code: -32602, .. }), "{error}");
    }
    // The state of a server is not the state of the proxy, and is not an approval.
    let asked = client.call(json!({ "path": "a" }), PassedInput::new().state("opaque".to_owned())).await;
    assert!(matches!(&asked, Ok(asked) if asked.needs_input()), "{asked:?}");
    assert!(server.heard("tools/call").is_empty());
}

#[tokio::test]
async fn approval_passes_through_nested_proxies() {
    let server = files();
    let inner = governed_with(&server, [2; 32]);
    let outer = Proxy::builder()
        .connecting("files", move |options| client(&inner, options), |client| client)
        .names(mcp_bindgen_agents::NameStyle::ToolOnly)
        .build()
        .expect("it is sound");
    let client = Asked::of(&outer);
    let state = client.state(json!({ "path": "a" })).await;
    let done = client.call(json!({ "path": "a" }), answered(&state, yes())).await.expect("a result");
    assert!(!done.is_error && done.text().contains("write_file"), "{done:?}");
    // It is for the inner one to say how often.
    let error = client.call(json!({ "path": "a" }), answered(&state, yes())).await.expect_err("it is spent");
    assert!(error.to_string().contains("already used"), "{error}");
    assert_eq!(server.heard("tools/call").len(), 1);
}

/// A layer that adds to arguments.
struct Adding<C>(C);

impl<C: CallTool> CallTool for Adding<C> {
    async fn call_tool(&self, mut call: ToolCall) -> Result<ToolResult, CallError> {
        call.arguments.insert("added".to_owned(), json!(true));
        self.0.call_tool(call).await
    }
}

#[tokio::test]
async fn two_approval_layers_ask_separately_about_a_changed_call() {
    let server = files();
    let builder = Proxy::builder().connecting("files", server.connect(), |client| {
        let below = Stack::new(client).approval(Approval::of(["write_*"], ask_client));
        Stack::new(Adding(below)).approval(Approval::of(["write_*"], ask_client))
    });
    let proxy = builder.build().expect("it is sound");
    let client = Asked::of(&proxy);
    let first = client.state(json!({ "path": "a" })).await;
    let asked = client.call(json!({ "path": "a" }), answered(&first, yes())).await.expect("a result");
    assert!(asked.needs_input(), "{asked:?}");
    let done = client.call(json!({ "path": "a" }), answered(&state_of(&asked), yes())).await.expect("a result");
    assert!(!done.is_error && done.text().contains("added"), "{done:?}");
    // A no to the second is one.
    let first = client.state(json!({ "path": "a" })).await;
    let asked = client.call(json!({ "path": "a" }), answered(&first, yes())).await.expect("a result");
    let no = answered(&state_of(&asked), json!({ "action": "decline" }));
    let denied = client.call(json!({ "path": "a" }), no).await.expect("a result");
    assert!(denied.is_error && denied.text().contains("declined"), "{denied:?}");
    assert_eq!(server.heard("tools/call").len(), 1);
}

#[tokio::test]
async fn earlier_input_responses_reach_the_server_after_an_approval() {
    let server = files().modern();
    let proxy = governed(&server);
    let client = Asked::of(&proxy);
    let which = json!({ "which": { "action": "accept", "content": { "n": 7 } } });
    let input = PassedInput::new().responses(object(which.clone())).state("the server's".to_owned());
    let asked = client.call(json!({}), input).await.expect("a result");
    let _ = client.call(json!({}), answered(&state_of(&asked), yes())).await.expect("a result");
    let heard = server.heard("tools/call");
    let [params] = &*heard.iter().map(|call| &call["params"]).collect::<Vec<_>>() else { panic!("{heard:?}") };
    assert_eq!((&params["inputResponses"], &params["requestState"]), (&which, &json!("the server's")));
}

#[tokio::test]
async fn input_request_of_a_server_after_an_approval_is_nested() {
    let server = Server::new("files", &["write_file"], |_, request, out| {
        let params = &request["params"];
        if params["requestState"].is_null() {
            let asked = json!({ "method": "elicitation/create", "params": { "message": "Which?" } });
            return out.result(request, json!({
                "resultType": "input_required", "inputRequests": { "approval": asked }, "requestState": "the server's"
            }));
        }
        let told = json!({ "responses": params["inputResponses"], "state": params["requestState"] });
        out.result(request, json!({ "resultType": "complete", "content": [], "structuredContent": told }));
    });
    let server = server.modern();
    let proxy = governed(&server);
    let client = Asked::of(&proxy);
    let first = client.state(json!({})).await;
    let asked = client.call(json!({}), answered(&first, yes())).await.expect("a result");
    assert_eq!(asked.extra["inputRequests"]["approval"]["params"]["message"], "Which?");
    let second = state_of(&asked);
    assert_ne!(second, "the server's", "it says that the call was approved");
    let which = json!({ "action": "accept", "content": { "which": 7 } });
    let done = client.call(json!({}), answered(&second, which.clone())).await.expect("a result");
    let told = done.structured.expect("what it was told");
    assert_eq!(told, json!({ "responses": { "approval": which }, "state": "the server's" }));
    assert_eq!(server.heard("tools/call").len(), 2);
    let error = client.call(json!({}), answered(&second, yes())).await.expect_err("it is spent");
    assert!(error.to_string().contains("already used"), "{error}");
}
