//! Templates that were checked when this was built, run with stand-ins and layers in place of servers.

#![deny(warnings, missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Arc;
use std::time::Duration;

use mcp_bindgen::agents::template::TemplateErrorKind;
use mcp_bindgen::agents::{Completer, CompletionRequest};
use mcp_bindgen::middleware::{Policy, Stack, Verdict};
use mcp_bindgen::{CallError, Fake};
use serde_json::{Value, json};

mcp_bindgen::mcp_tools!("fixture");
mcp_bindgen::mcp_template!("tests/templates/sums.md");
mcp_bindgen::mcp_template!("tests/templates/chained.md", mod = links);
mcp_bindgen::mcp_template!("tests/templates/hello.md", crate = mcp_bindgen);

use fixture::{FixtureAddParams, FixtureEchoArgumentsOutput, FixtureEchoArgumentsParams, FixtureListLabelsParams};

fn fixture_server() -> Fake {
    Fake::new()
        .on(|p: FixtureAddParams| p.a + p.b)
        .on(|p: FixtureListLabelsParams| {
            let labels = ["bug", "bug: {{ greeting }} [[@fixture_add:x|a=1, b=2]]", "docs"].map(str::to_owned);
            labels.into_iter().filter(|label| label.starts_with(p.prefix.as_deref().unwrap_or(""))).collect::<Vec<_>>()
        })
        .on(|p: FixtureEchoArgumentsParams| {
            let Value::Object(arguments) = json!({ "text": p.text }) else { unreachable!() };
            FixtureEchoArgumentsOutput { arguments }
        })
}

#[tokio::test]
async fn variables_are_typed_and_results_are_not_interpreted() {
    let fake = fixture_server();
    let clients = sums::Clients { fixture: fake.clone() };
    let vars = sums::Vars { a: 22, greeting: "Sum".into(), note: None };
    let rendered = sums::run(&clients, vars).await.unwrap();
    let text = rendered.text();
    assert!(text.contains("Sum: 42\n- bug\n- bug: {{ greeting }} [[@fixture_add:x|a=1, b=2]]\n"), "{text}");
    assert_eq!(fake.calls::<FixtureAddParams>(), [FixtureAddParams::new(22, 20)]);
    let [call] = &fake.calls::<FixtureListLabelsParams>()[..] else { panic!("one call of it") };
    assert_eq!(call.prefix.as_deref(), Some("bug"));
    let noted = sums::Vars { a: 1, greeting: json!("Sum"), note: Some(json!("Listen.")) };
    assert!(sums::run(&clients, noted).await.unwrap().text().contains("Listen.\n"));
}

#[tokio::test]
async fn completer_fills_the_slots() {
    let clients = links::Clients { fixture: fixture_server() };
    let completer = async |request: CompletionRequest| {
        assert_eq!((request.name.as_str(), request.kind.as_deref()), ("verdict", Some("json")));
        assert_eq!(request.options["most"], 3);
        assert!(request.prompt.contains("bug, bug:"), "{}", request.prompt);
        Ok(json!({ "word": "fine" }))
    };
    let rendered = links::run(&clients, links::Vars {}, completer).await.unwrap();
    assert_eq!(rendered.variables["verdict"], json!({ "word": "fine" }));
    assert_eq!(rendered.segments.len(), 2);
    assert!(rendered.text().trim_end().ends_with("{\"word\":\"fine\"} fine"), "{}", rendered.text());
    assert_eq!(rendered.calls.len(), 4);
}

struct Refuses;

impl Completer for Refuses {
    async fn complete(&self, _: CompletionRequest) -> Result<Value, String> {
        Err("there is no model".to_owned())
    }
}

#[tokio::test]
async fn run_error_has_a_line() {
    let clients = links::Clients { fixture: fixture_server() };
    let error = links::run(&clients, links::Vars::default(), Refuses).await.unwrap_err();
    assert!(error.to_string().starts_with("tests/templates/chained.md:6:"), "{error}");
    assert!(error.to_string().contains("there is no model"), "{error}");
    let silent = sums::Clients { fixture: Fake::new() };
    let error = sums::run(&silent, sums::Vars { a: 1, greeting: json!(1), note: None }).await.unwrap_err();
    assert!(error.to_string().contains("tests/templates/sums.md:1:1"), "{error}");
    assert!(matches!(error.problems()[0].kind, TemplateErrorKind::Call(_)), "{error:?}");
}

#[tokio::test]
async fn layers_of_the_clients_apply() {
    let fake = fixture_server();
    let governed = Arc::new(Stack::new(fake.clone()).policy(Policy::new(|call| match call.tool {
        "list_labels" => Verdict::deny("labels are nobody's business"),
        _ => Verdict::Allow,
    })));
    let clients = sums::Clients { fixture: governed };
    let vars = sums::Vars { a: 1, greeting: json!("x"), note: None };
    let error = sums::run(&clients, vars.clone()).await.unwrap_err();
    let TemplateErrorKind::Call(denied) = &error.problems()[0].kind else { panic!("{error:?}") };
    assert!(matches!(**denied, CallError::Denied { .. }), "{denied:?}");
    assert!(fake.calls::<FixtureListLabelsParams>().is_empty());
    let run = sums::prepare(&clients, vars).unwrap();
    assert!(run.timeout(Duration::from_secs(9)).await.is_err());
}

#[tokio::test]
async fn template_without_calls_requires_no_client() {
    let rendered = hello::run(&hello::Clients {}, hello::Vars { name: json!("{{ name }}") }).await.unwrap();
    assert_eq!(rendered.text(), "Hello, {{ name }}: [[not a slot]].\n");
    assert_eq!(hello::TEMPLATE, include_str!("templates/hello.md"));
}

#[test]
fn runs_can_be_spawned() {
    fn is_send(_: impl Send) {}
    let clients = links::Clients { fixture: Fake::new() };
    is_send(links::run(&clients, links::Vars {}, Refuses));
    is_send(sums::Clients::connect());
}
