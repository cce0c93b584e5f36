//! Crates outside this workspace, as users write them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

mod common;

use common::{Crate, Run, dependency, root};

const CONFIG: &str = "[servers.github]\ncommand = \"server\"\n";
const SMALL_CONFIG: &str = "[servers.github]\ncommand = \"server\"\ntools = [\"create_issue\"]\n";

/// A crate that has `mcp-bindgen` for its one dependency, and a snapshot of GitHub's tools.
fn stranger(name: &'static str, main: &str) -> Crate {
    let package = Crate::new(name, "2024", &format!("[dependencies]\nmcp-bindgen = {}", dependency(".")));
    package.write("mcp.toml", CONFIG);
    package.write("mcp/github.json", &github());
    package.write("src/main.rs", main);
    package
}

fn github() -> String {
    std::fs::read_to_string(root().join("fixtures/snapshots/github.json")).expect("the snapshot can be read")
}

#[test]
#[ignore = "takes long; a suite of its own: .ci/run compiled"]
fn one_dependency_is_enough_for_typed_calls() {
    let package = stranger(
        "stranger-typed",
        r#"
        #![deny(warnings)]
        mcp_bindgen::mcp_tools!("github");
        use github::{GithubCall, GithubCreateIssueParams};
        fn main() {
            let plain = GithubCreateIssueParams::new("o", "r", "t");
            let cleared = GithubCreateIssueParams { labels: Some(vec![]), ..plain.clone() };
            println!("{}", GithubCall::CreateIssue(plain).arguments());
            println!("{}", GithubCall::CreateIssue(cleared).arguments());
        }
        "#,
    );
    let run = package.run(&["run"]).succeeds();
    let lines: Vec<&str> = run.stdout.lines().collect();
    let plain = r#"{"owner":"o","repo":"r","title":"t"}"#;
    let cleared = r#"{"owner":"o","repo":"r","title":"t","labels":[]}"#;
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (line, expected) in lines.iter().zip([plain, cleared]) {
        let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("the program prints JSON");
        assert_eq!(json(line), json(expected));
    }
}

#[test]
#[ignore = "takes long; a suite of its own: .ci/run compiled"]
fn view_changes_the_generated_bindings() {
    let package = stranger(
        "stranger-view",
        r#"
        #![deny(warnings)]
        mcp_bindgen::mcp_tools!("github", tools = ["create_issue"]);
        use github::{GithubOpenIssueParams, TOOLS};
        fn main() {
            let params = GithubOpenIssueParams::new("r", "t");
            let call = mcp_bindgen::ToolCall::of(&params).expect("it prints");
            println!("{} {}", call.tool, serde_json::Value::Object(call.arguments));
            println!("{} {:?}", TOOLS[0].prefixed, TOOLS[0].annotations.destructive);
            let sent = serde_json::json!({ "owner": "o", "repo": "r", "title": "t" });
            let read: GithubOpenIssueParams = mcp_bindgen::parse_arguments(&sent).expect("what is sent can be read");
            println!("{}", read == GithubOpenIssueParams::new("r", "t"));
            let other = serde_json::json!({ "owner": "x", "repo": "r", "title": "t" });
            println!("{}", mcp_bindgen::parse_arguments::<GithubOpenIssueParams>(&other).unwrap_err());
        }
        "#,
    );
    let view = "view.create_issue = { name = \"open_issue\", fixed = { owner = \"o\" }, default = { labels = [\"bug\"] }, \
                hide = [\"milestone\"], hints = { destructive = true } }\n";
    package.write("mcp.toml", &format!("{CONFIG}{view}"));
    package.write(
        "Cargo.toml",
        &package.read("Cargo.toml").replace("[dependencies]", "[dependencies]\nserde_json = \"1\""),
    );
    let run = package.run(&["run"]).succeeds();
    let expected = "create_issue {\"repo\":\"r\",\"title\":\"t\",\"owner\":\"o\",\"labels\":[\"bug\"]}\ngithub_open_issue Some(true)\ntrue\n\
                    github: invalid arguments for `create_issue` at `/owner`: the configuration sets this argument; leave it out\n";
    assert_eq!(run.stdout, expected);
}

#[test]
#[ignore = "takes long; a suite of its own: .ci/run compiled"]
fn unknown_field_is_a_rustc_error() {
    let package = stranger(
        "stranger-wrong",
        r#"
        mcp_bindgen::mcp_tools!("github", tools = ["create_issue"]);
        use github::GithubCreateIssueParams;
        fn main() {
            let _ = GithubCreateIssueParams { lables: None, ..GithubCreateIssueParams::new("o", "r", "t") };
        }
        "#,
    );
    let run = package.run(&["build"]).fails();
    assert!(
        run.stderr.contains("error[E0560]: struct `GithubCreateIssueParams` has no field named `lables`"),
        "{run:?}"
    );
    assert!(run.stderr.contains("a field with a similar name exists"), "{run:?}");
}

#[test]
#[ignore = "takes long; a suite of its own: .ci/run compiled"]
fn unused_bindings_cause_no_warnings() {
    let package = stranger(
        "stranger-unused",
        r#"
        #![deny(warnings)]
        mcp_bindgen::mcp_tools!("github");
        mod private {
            mcp_bindgen::mcp_tools!("github", tools = ["create_issue"]);
        }
        fn main() {}
        "#,
    );
    let run = package.run(&["build"]).succeeds();
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
}

#[test]
#[ignore = "takes long; a suite of its own: .ci/run compiled"]
fn changed_file_rebuilds_only_its_crate() {
    let package = stranger("stranger-rebuilt", "mcp_bindgen::mcp_tools!(\"github\");\nfn main() {}\n");
    package.write("mcp.toml", SMALL_CONFIG);
    let build = || package.run(&["build", "--message-format=json"]).succeeds();
    assert_eq!(stale(&build()).last().map(String::as_str), Some("stranger-rebuilt"));
    assert_eq!(stale(&build()), [""; 0], "nothing changed");

    package.write("mcp/github.json", &github());
    assert_eq!(stale(&build()), [""; 0], "a file written without a change");

    package.write("mcp/github.json", &github().replacen("\"description\": \"", "\"description\": \"Now: ", 1));
    assert_eq!(stale(&build()), ["stranger-rebuilt"], "the snapshot changed");
    assert_eq!(stale(&build()), [""; 0]);

    package.write("mcp.toml", &SMALL_CONFIG.replace("create_issue", "get_issue"));
    assert_eq!(stale(&build()), ["stranger-rebuilt"], "the configuration changed");
    assert_eq!(stale(&build()), [""; 0]);
}

#[test]
#[ignore = "takes long; a suite of its own: .ci/run compiled"]
fn build_script_reruns_when_its_files_change() {
    let tables = format!(
        "[dependencies]\nmcp-bindgen = {}\n[build-dependencies]\nmcp-bindgen-codegen = {}",
        dependency("."),
        dependency("mcp-codegen")
    );
    let package = Crate::new("stranger-scripted", "2024", &tables);
    package.write("mcp.toml", SMALL_CONFIG);
    package.write("mcp/github.json", &github());
    package.write(
        "build.rs",
        r#"
        fn main() -> Result<(), Box<dyn std::error::Error>> {
            mcp_bindgen_codegen::Builder::new().server("github").compile()?;
            Ok(())
        }
        "#,
    );
    package.write(
        "src/lib.rs",
        r#"
        #![deny(warnings)]
        mcp_bindgen::include_bindings!("github");
        pub fn title() -> String {
            github::GithubCreateIssueParams::new("o", "r", "t").title
        }
        "#,
    );
    let build = || package.run(&["build", "--message-format=json"]).succeeds();
    assert!(stale(&build()).contains(&"stranger-scripted".to_owned()));
    assert_eq!(stale(&build()), [""; 0], "nothing changed");
    package.write("mcp/github.json", &github().replacen("\"description\": \"", "\"description\": \"Now: ", 1));
    assert_eq!(stale(&build()), ["stranger-scripted"], "the snapshot changed");
}

/// Returns overrides that set the type of `create_issue`'s result.
fn overriding(kind: &str) -> String {
    format!(r#"{{"tools": {{"create_issue": {{"outputSchema": {{"type": "{kind}"}}}}}}}}"#)
}

#[test]
#[ignore = "takes long; a suite of its own: .ci/run compiled"]
fn changed_override_rebuilds_only_its_crate() {
    let package = Crate::new(
        "stranger-overriding",
        "2024",
        &format!(
            "[workspace]\nmembers = [\"other\"]\n[dependencies]\nmcp-bindgen = {0}\nstranger-beside = {{ path = \"other\" }}",
            dependency(".")
        ),
    );
    package.write("mcp.toml", "[servers.github]\ncommand = \"x\"\n[servers.beside]\ncommand = \"x\"\n");
    package.write("mcp/github.json", &github());
    package.write("mcp/beside.json", &github());
    package.write("mcp/github.overrides.json", &overriding("string"));
    package.write("src/main.rs", "mcp_bindgen::mcp_tools!(\"github\", tools = [\"create_issue\"]);\nfn main() {}\n");
    let manifest = "[package]\nname = \"stranger-beside\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\nmcp-bindgen = ";
    package.write("other/Cargo.toml", &format!("{manifest}{}\n", dependency(".")));
    package.write("other/src/lib.rs", "mcp_bindgen::mcp_tools!(\"beside\", tools = [\"create_issue\"]);\n");
    let build = || package.run(&["build", "--message-format=json"]).succeeds();
    assert!(stale(&build()).contains(&"stranger-overriding".to_owned()));
    assert_eq!(stale(&build()), [""; 0], "nothing changed");

    package.write("mcp/github.overrides.json", &overriding("integer"));
    assert_eq!(stale(&build()), ["stranger-overriding"], "the overrides changed");
    assert_eq!(stale(&build()), [""; 0]);

    std::fs::remove_file(package.path("mcp/github.overrides.json")).expect("the file can be removed");
    assert_eq!(stale(&build()), ["stranger-overriding"], "the overrides are gone");
    assert_eq!(stale(&build()), [""; 0]);

    // As the README says: rustc cannot be told of a file that is not there.
    package.write("mcp/github.overrides.json", &overriding("string"));
    assert_eq!(stale(&build()), [""; 0], "new overrides alone");
    let snapshot = std::fs::File::options().append(true).open(package.path("mcp/github.json")).expect("the snapshot");
    snapshot.set_modified(std::time::SystemTime::now()).expect("the file can be touched");
    assert_eq!(stale(&build()), ["stranger-overriding"], "a file that the macro reads is touched");
}

#[test]
#[ignore = "takes long; a suite of its own: .ci/run compiled"]
fn build_script_detects_new_changed_and_removed_overrides() {
    let tables = |more: &str| {
        let library = dependency(".");
        let codegen = dependency("mcp-codegen");
        format!(
            "[dependencies]\nmcp-bindgen = {library}\n{more}[build-dependencies]\nmcp-bindgen-codegen = {codegen}\n"
        )
    };
    let script = |server: &str| {
        format!(
            "fn main() -> Result<(), mcp_bindgen_codegen::build_script::BuildError> {{\n    \
             mcp_bindgen_codegen::build_script::Builder::new().server(\"{server}\").tools([\"create_issue\"]).compile()\n}}\n"
        )
    };
    let library = |server: &str| format!("mcp_bindgen::include_bindings!(\"{server}\");\n");
    let beside = "stranger-scripted-beside = { path = \"other\" }\n";
    let tables_here = format!("[workspace]\nmembers = [\"other\"]\n{}", tables(beside));
    let package = Crate::new("stranger-scripted-overriding", "2024", &tables_here);
    package.write("mcp.toml", "[servers.github]\ncommand = \"x\"\n[servers.beside]\ncommand = \"x\"\n");
    package.write("mcp/github.json", &github());
    package.write("mcp/beside.json", &github());
    package.write("build.rs", &script("github"));
    package.write("src/lib.rs", &library("github"));
    let manifest = "[package]\nname = \"stranger-scripted-beside\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    package.write("other/Cargo.toml", &format!("{manifest}{}", tables("")));
    package.write("other/build.rs", &script("beside"));
    package.write("other/src/lib.rs", &library("beside"));
    let build = || package.run(&["build", "--message-format=json"]).succeeds();
    assert!(stale(&build()).contains(&"stranger-scripted-overriding".to_owned()));
    assert_eq!(stale(&build()), [""; 0], "nothing changed");

    let change = |text: Option<String>, what: &str| {
        let path = package.path("mcp/github.overrides.json");
        match text {
            Some(text) => package.write("mcp/github.overrides.json", &text),
            None => std::fs::remove_file(path).expect("the file can be removed"),
        }
        assert_eq!(stale(&build()), ["stranger-scripted-overriding"], "{what}");
        assert_eq!(stale(&build()), [""; 0], "nothing changed after: {what}");
    };
    if cfg!(unix) {
        change(Some(overriding("string")), "there are overrides");
        change(Some(overriding("integer")), "they changed");
        change(None, "they are gone");
        change(Some(overriding("string")), "they are there again");
    }
}

#[test]
#[ignore = "takes long; a suite of its own: .ci/run compiled"]
fn configuration_warning_does_not_fail_the_build() {
    let package = stranger("stranger-warned", "");
    package
        .write("mcp.toml", &SMALL_CONFIG.replace("\"server\"", "\"./bin/server\"\nenv = { API_KEY = \"hunter22\" }"));
    let main = |attributes: &str| {
        let text = format!(
            r#"
            #![deny(warnings, clippy::all, clippy::pedantic)]
            {attributes}
            mod bindings {{
                mcp_bindgen::mcp_tools!("github");
            }}
            fn main() {{
                println!("{{:?}}", bindings::github::SERVER.folder);
            }}
            "#
        );
        package.write("src/main.rs", &text);
    };
    main("");
    let run = package.run(&["run"]).succeeds();
    let said = "warning: use of deprecated constant `bindings::_::configuration`: `API_KEY` of server `github` looks like a secret in plain text";
    assert!(run.stderr.contains(said) && run.stderr.contains(" --> mcp.toml:"), "{}", run.stderr);
    assert!(run.stderr.contains("mcp_tools!(\"github\")"), "it stands at the literal: {}", run.stderr);
    // The folder of a relative command is known to the program, but is not in the tokens.
    let folder = package.path("").components().collect::<std::path::PathBuf>();
    assert_eq!(run.stdout.trim(), format!("Some({folder:?})"));

    main("#[allow(deprecated)]");
    let run = package.run(&["build"]).succeeds();
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
}

#[test]
#[ignore = "takes long; a suite of its own: .ci/run compiled"]
fn failing_build_script_prints_a_readable_error() {
    let package = Crate::new(
        "stranger-failing",
        "2024",
        &format!("[build-dependencies]\nmcp-bindgen-codegen = {}", dependency("mcp-codegen")),
    );
    package.write("mcp.toml", "[servers.github]\ncomand = \"server\"\n");
    package.write("src/lib.rs", "");
    package.write(
        "build.rs",
        r#"
        fn main() -> Result<(), Box<dyn std::error::Error>> {
            mcp_bindgen_codegen::build_script::Builder::new().server("github").compile()?;
            Ok(())
        }
        "#,
    );
    let run = package.run(&["build"]).fails();
    let text =
        "Error: unknown key `comand` in server `github`\n   --> mcp.toml:2:1\n    = help: did you mean `command`?";
    assert!(run.stderr.contains(text), "{}", run.stderr);
}

#[test]
#[ignore = "takes long; a suite of its own: .ci/run compiled"]
fn bindings_compile_in_edition_2021_renamed_and_without_prelude() {
    let tables =
        format!("[dependencies]\nmcp = {}", dependency(".").replace("path", "package = \"mcp-bindgen\", path"));
    let package = Crate::new("stranger-strict", "2021", &tables);
    package.write("mcp.toml", CONFIG);
    package.write("mcp/github.json", &github());
    package.write(
        "src/lib.rs",
        r#"//! A crate with its own ideas.
        #![deny(missing_docs, warnings)]

        /// The library under another name.
        pub mod renamed {
            mcp::mcp_tools!("github", crate = mcp);
        }

        /// Without the prelude, and with names of its own for what is in it.
        pub mod strict {
            #![no_implicit_prelude]
            ::mcp::mcp_tools!("github", crate = ::mcp);

            /// Not the usual one.
            pub struct Option;
            /// Not the usual one.
            pub struct String;
            /// Not the usual one.
            pub struct Result;
        }
        "#,
    );
    let run = package.run(&["build"]).succeeds();
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
}

#[test]
#[ignore = "takes long; a suite of its own: .ci/run compiled"]
fn custom_derive_is_applied_to_generated_types() {
    let tables = format!(
        "[dependencies]\nmcp-bindgen = {}\ntraced = {{ path = \"traced\" }}\n\n[workspace]\nmembers = [\"traced\"]",
        dependency(".")
    );
    let package = Crate::new("stranger-deriving", "2024", &tables);
    package
        .write("traced/Cargo.toml", "[package]\nname = \"traced\"\nedition = \"2024\"\n\n[lib]\nproc-macro = true\n");
    package.write(
        "traced/src/lib.rs",
        r#"
        use proc_macro::{TokenStream, TokenTree};

        #[proc_macro_derive(Traced)]
        pub fn traced(item: TokenStream) -> TokenStream {
            let mut words = item.into_iter().filter_map(|token| match token {
                TokenTree::Ident(word) => Some(word.to_string()),
                _ => None,
            });
            words.find(|word| word == "struct" || word == "enum");
            let name = words.next().unwrap();
            format!("impl crate::Traced for {name} {{ const NAME: &'static str = {name:?}; }}").parse().unwrap()
        }
        "#,
    );
    let config = "[servers.tracker]\ncommand = \"x\"\nrust.derive = [\"::traced::Traced\", \"PartialOrd\"]\n";
    package.write("mcp.toml", config);
    package.write("mcp/tracker.json", include_str!("../fixtures/lists/tracker.json"));
    package.write(
        "src/main.rs",
        r#"
        #![deny(warnings)]
        pub trait Traced {
            const NAME: &'static str;
        }
        #[allow(non_snake_case)]
        mod strict {
            #![no_implicit_prelude]
            ::mcp_bindgen::mcp_tools!("tracker");
        }
        use strict::tracker::*;
        fn main() {
            println!("{}", TrackerCreateIssueParams::NAME);
            println!("{}", TrackerCreateIssueParamsType::NAME);
            println!("{}", TrackerSearchParamsWhere::NAME);
            let grams = |grams| TrackerMoveCardParamsWeight { grams };
            assert!(grams(1.0) < grams(2.0));
        }
        "#,
    );
    let run = package.run(&["run"]).succeeds();
    let names: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(names, ["TrackerCreateIssueParams", "TrackerCreateIssueParamsType", "TrackerSearchParamsWhere"]);
}

/// The packages that a build compiled, in order.
fn stale(run: &Run) -> Vec<String> {
    let messages = run.messages();
    assert!(!messages.is_empty(), "{run:?}");
    let compiled = messages.iter().filter(|message| {
        message.get("reason").is_some_and(|reason| reason == "compiler-artifact")
            && message.get("fresh").is_some_and(|fresh| fresh == false)
    });
    let name = |message: &serde_json::Value| {
        let name = message.pointer("/target/name").and_then(serde_json::Value::as_str);
        name.map(|name| name.replace('_', "-"))
    };
    let mut names: Vec<String> = compiled.filter_map(name).collect();
    names.dedup();
    names
}
