//! Tests overrides: typed results for tools that declare none, and corrected parameters. The fixture server answers as
//! three of GitHub's tools do, in text.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

use std::path::Path;

use crate::common::assert_golden;
use mcp_bindgen::model::{Overrides, ServerConfig, Snapshot};
use mcp_bindgen::{CallError, Client, ConnectErrorKind, Servers};
use mcp_bindgen_codegen::{Bindings, Options, apply_overrides, format};
use serde_json::{Value, json};

mcp_bindgen::mcp_tools!("github", path = "fixtures/overrides/github.json");
use github::*;

const SNAPSHOT: &str = "fixtures/overrides/github.json";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn server() -> Github {
    let config = ServerConfig::stdio("github", mcp_fixture_server::program().to_str().expect("the path is text"))
        .args(["--github"]);
    Github::with(Client::new(config))
}

#[tokio::test]
async fn text_results_are_decoded_as_overridden_types() {
    let server = server();
    let issue = server
        .create_issue(GithubCreateIssueParams {
            labels: Some(vec!["bug".to_owned()]),
            // The server declares a number.
            milestone: Some(3_i64),
            ..GithubCreateIssueParams::new("o", "r", "It broke")
        })
        .await
        .unwrap();
    assert_eq!((issue.number, issue.title.as_str(), issue.body), (7, "It broke", None));
    assert_eq!(issue.labels[0].name, "bug");
    assert_eq!(issue.state, GithubCreateIssueOutputState::Open);

    let issues = server.list_issues(GithubListIssuesParams::new("o", "r")).await.unwrap();
    let states: Vec<String> = issues.0.iter().map(|issue| issue.state.to_string()).collect();
    assert_eq!(states, ["closed", "reopened"], "read tolerantly: the second is none of the listed");

    let found = server.search_repositories(GithubSearchRepositoriesParams::new("rust")).await.unwrap();
    assert_eq!((found.total_count, found.items[0].full_name.as_str()), (1, "rust-lang/rust"));
    assert_eq!(found.incomplete_results, None);
    server.client().close().await;
}

#[tokio::test]
async fn servers_passed_to_connect_with_are_shared() {
    let servers = Servers::new().with_client(server().client().clone());
    let github = Github::connect_with(&servers).await.unwrap();
    let shared = servers.client("github").unwrap();
    assert!(shared.is_connected());
    assert_eq!(github.list_issues(GithubListIssuesParams::new("o", "r")).await.unwrap().0.len(), 2);
    servers.shutdown().await;
    assert!(github.list_issues(GithubListIssuesParams::new("o", "r")).await.is_err(), "it is the same connection");
    let error = Github::connect_with(&Servers::new()).await.unwrap_err();
    assert_eq!(error.kind, ConnectErrorKind::Config);
}

#[tokio::test]
async fn original_result_remains_available() {
    let server = server();
    let raw = GithubCall::parse("list_issues", json!({ "owner": "o", "repo": "r" })).unwrap();
    let raw = raw.call(server.client()).await.unwrap();
    assert_eq!(raw.structured(), None);
    let text: Value = serde_json::from_str(&raw.text()).unwrap();
    assert_eq!(text[0]["id"], 9_000_001, "what no type knows of");

    let error = server.create_issue(GithubCreateIssueParams::new("o", "quiet", "It broke")).await.unwrap_err();
    let CallError::Decode { message, result, .. } = error else { panic!("{error}") };
    assert_eq!(message, "the result has no structured content, and its text is not JSON");
    assert_eq!(result.text(), "The issue is open.");

    let error = server.create_issue(GithubCreateIssueParams::new("o", "missing", "It broke")).await.unwrap_err();
    assert!(matches!(error, CallError::Tool(_)), "{error}");
    server.client().close().await;
}

#[test]
fn tool_specs_contain_the_declared_schemas() {
    let snapshot = Snapshot::load(root().join(SNAPSHOT)).unwrap();
    assert_eq!(TOOLS.len(), 3);
    for (spec, tool) in TOOLS.iter().zip(&snapshot.tools) {
        let declared: Value = serde_json::from_str(spec.declared_input_schema()).unwrap();
        assert_eq!((spec.name, &declared), (tool["name"].as_str().unwrap(), &tool["inputSchema"]));
        assert_eq!(spec.declared_output_schema(), None, "{}", spec.name);
        assert!(spec.output_schema.is_some(), "{}", spec.name);
    }
    let milestone: Value = serde_json::from_str(TOOLS[0].input_schema).unwrap();
    assert_eq!(milestone["properties"]["milestone"]["type"], "integer");
    assert_eq!(TOOLS[2].declared_input_schema(), TOOLS[2].input_schema, "what is not overridden is there once");
}

#[test]
fn generated_code_documents_overridden_types() {
    let snapshot = Snapshot::load(root().join(SNAPSHOT)).unwrap();
    let overrides = Overrides::load_beside(root().join(SNAPSHOT)).unwrap().expect("there are overrides");
    let mended = apply_overrides(&snapshot, &overrides).unwrap();
    let (tokens, diagnostics) = Bindings::generate(&mended, &Options::new("github"));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_golden(&root().join("fixtures/overrides/github.rs"), &format(tokens).unwrap());
}
