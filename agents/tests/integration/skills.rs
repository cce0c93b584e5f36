//! Skills of a server, listed, checked and loaded by a model.

use mcp_bindgen_agents::{Skill, SkillError, Toolset};
use mcp_bindgen_model::{ServerConfig, Snapshot};
use mcp_bindgen_runtime::middleware::{Approval, ApprovalAnswer, Stack};
use mcp_bindgen_runtime::{CallError, Client};
use serde_json::json;

fn client(arg: &str) -> Client {
    let program = mcp_fixture_server::program();
    Client::new(ServerConfig::stdio("docs", program.to_str().unwrap()).args([arg]))
}

#[tokio::test]
async fn skills_are_listed_and_their_files_verified() {
    let client = client("--skills");
    let skills = Skill::list(&client).await.unwrap();
    let paths: Vec<&str> = skills.iter().map(Skill::path).collect();
    assert_eq!(paths, ["pdf", "tampered", "renamed", "daily"], "both pages, without the malformed one");
    let [pdf, tampered, renamed, daily] = skills.as_slice() else { panic!("{skills:?}") };
    assert!(pdf.load(&client).await.unwrap().contains("# PDF"));
    for path in ["references/FORMS.md", "./references/FORMS.md"] {
        assert_eq!(pdf.read(&client, path).await.unwrap().as_text(), Some("Use form 7.\n"));
    }
    for path in ["unlisted.md", "../tampered/SKILL.md", "references/../SKILL.md", "/SKILL.md", "", "SKILL.md?x"] {
        let error = pdf.read(&client, path).await.unwrap_err();
        assert!(matches!(error, SkillError::Unlisted { .. }), "{path}: {error}");
    }
    for (skill, what) in [(tampered, "digest"), (renamed, "metadata")] {
        let error = skill.load(&client).await.unwrap_err();
        assert!(matches!(error, SkillError::Changed { .. }), "{what}: {error}");
    }
    assert!(daily.load(&client).await.unwrap().contains("Today."));

    let hidden = Skill::get(&client, "skill://acme/billing/refunds/SKILL.md").await.unwrap();
    assert_eq!((hidden.path(), hidden.name.as_str()), ("acme/billing/refunds", "refunds"));
    assert!(hidden.load(&client).await.unwrap().contains("Refund."));
    let unknown = Skill::get(&client, "skill://nothing/SKILL.md").await.unwrap_err();
    assert!(matches!(&unknown, SkillError::Call(CallError::Rpc { code: -32602, .. })), "{unknown:?}");
    client.close().await;
}

#[tokio::test]
async fn model_loads_skills_with_approval() {
    let client = client("--skills");
    let toolset = Toolset::builder()
        .functions_through(|functions| {
            Stack::new(functions).approval(Approval::of(
                ["load_skill"],
                async |request| match request.arguments["skill"].as_str() {
                    Some("daily") => ApprovalAnswer::Decline("not generated ones".to_owned()),
                    _ => ApprovalAnswer::Approve,
                },
            ))
        })
        .skills(client.clone())
        .await
        .unwrap()
        .build()
        .unwrap();
    assert_eq!(toolset.names().collect::<Vec<_>>(), ["docs_load_skill", "docs_read_skill_file"]);
    let definitions = toolset.definitions(mcp_bindgen_agents::Provider::Anthropic);
    let load = &definitions.tools[0];
    assert_eq!(load["input_schema"]["properties"]["skill"]["enum"], json!(["pdf", "tampered", "renamed", "daily"]));
    assert!(load["description"].as_str().unwrap().contains("\n- pdf: Fills in forms."), "{load}");
    let loaded = toolset.dispatch("docs_load_skill", json!({ "skill": "pdf" })).await;
    assert!(
        loaded.success && loaded.message.contains("written by the server `docs`") && loaded.message.contains("# PDF")
    );
    let read = toolset.dispatch("docs_read_skill_file", json!({ "skill": "pdf", "file": "references/FORMS.md" })).await;
    assert!(
        read.success && read.message.contains("Use form 7.") && read.message.contains("server `docs`"),
        "{}",
        read.message
    );
    for (skill, expected) in [("tampered", "has changed"), ("daily", "not generated ones"), ("pfd", "pdf")] {
        let refused = toolset.dispatch("docs_load_skill", json!({ "skill": skill })).await;
        assert!(!refused.success && refused.message.contains(expected), "{skill}: {}", refused.message);
        assert!(!refused.message.contains("Evil"));
    }
    client.close().await;
}

#[tokio::test]
async fn server_without_skills_has_no_skill_tools() {
    let client = client("--offers");
    assert!(Skill::list(&client).await.unwrap().is_empty());
    let toolset = Toolset::builder().skills(client.clone()).await.unwrap().build().unwrap();
    assert!(toolset.is_empty());
    client.close().await;
}

#[tokio::test]
async fn snapshots_contain_skills_and_report_their_changes() {
    let client = client("--skills");
    let snapshot = client.snapshot().await.unwrap();
    client.close().await;
    assert_eq!(snapshot.skills.len(), 5, "as the server sent them");
    let read = Snapshot::parse(&snapshot.to_text()).unwrap();
    assert_eq!(read.skills.len(), 5);
    assert!(mcp_bindgen_schema::drift::diff(&snapshot, &read).is_empty());
    let mut changed = read.clone();
    let pdf = changed.skills.iter_mut().find(|skill| skill["uri"] == "skill://pdf/SKILL.md").unwrap();
    pdf["resources"][1]["digest"] = json!("sha256:0");
    changed.skills.retain(|skill| skill["uri"] != "skill://daily/SKILL.md");
    changed.skills.push(json!({ "uri": "skill://new/SKILL.md" }));
    let told: Vec<String> = mcp_bindgen_schema::drift::diff(&read, &changed)
        .iter()
        .map(|change| format!("{} {}", change.class.name(), change.detail))
        .collect();
    assert_eq!(
        told,
        [
            "compatible skill `skill://daily/SKILL.md` is gone",
            "compatible skill `skill://new/SKILL.md` is new",
            "wording skill `skill://pdf/SKILL.md` has other content in `skill://pdf/references/FORMS.md`",
        ]
    );
}
