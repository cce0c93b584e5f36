//! Tests that no output shows a secret of a configuration, in any form and place. The tests plant secrets and search
//! warnings, errors, `Debug`, embedded JSON, generated code and output for cargo.

mod plant;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::process::Command;
use std::{env, fs};

use mcp_bindgen::{Client, Servers};
use mcp_bindgen_codegen::build_script::Builder;
use mcp_bindgen_codegen::project::{Project, expand_macro};
use mcp_bindgen_codegen::{Bindings, Options};
use mcp_bindgen_model::{Config, ServerConfig, Snapshot, Transport, write_if_changed};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{TestCaseError, TestRunner};
use quote::quote;
use serde_json::{Value, json};

use plant::{FORMS, Format, Plant, SPOTS, Spot, damage, damaged, parse, plant, servers, toml, written};

const CASES: u32 = 250;
/// How often each form and each place have to come up at least.
const EACH: usize = 3;
const LIST: &str = r#"{"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}"#;

/// A part of a secret that is in a text: six characters that come together nowhere else.
fn leak<'s>(secrets: &'s [String], text: &str) -> Option<&'s str> {
    const WINDOW: usize = 6;
    secrets.iter().find_map(|secret| {
        let windows = (0..=secret.len().checked_sub(WINDOW)?).filter_map(|at| secret.get(at..at + WINDOW));
        // Base64 of `user:` and the fillers of shapes are no secrets.
        let own = |window: &&str| {
            window.bytes().filter(u8::is_ascii_alphanumeric).count() >= 4 && !"dXNlcjo".contains(*window)
        };
        windows.filter(own).find(|window| text.contains(window))
    })
}

#[track_caller]
fn nothing_in(what: &str, text: &str, secrets: &[String]) -> Result<(), TestCaseError> {
    match leak(secrets, text) {
        Some(part) => Err(TestCaseError::fail(format!("{what} shows {part:?}: {text}"))),
        None => Ok(()),
    }
}

/// Looks at whatever can be shown of a configuration; gives how many servers bindings cannot connect to without more.
fn look_through(config: &Config, secrets: &[String]) -> Result<usize, TestCaseError> {
    let mut refused = 0;
    let snapshot = Snapshot::parse(LIST).unwrap();
    nothing_in("a warning", &config.warnings.iter().map(|said| said.to_string()).collect::<String>(), secrets)?;
    nothing_in("Debug of Config", &format!("{config:?}"), secrets)?;
    let mut clients = Servers::new();
    for server in config.servers.values() {
        let options = Options::for_server(server);
        let ready = server.expand(|_| Some("filler".to_owned())).unwrap();
        for server in [server, &ready] {
            nothing_in("Debug of ServerConfig", &format!("{server:?} {:?}", server.transport), secrets)?;
            nothing_in("to_json", &server.to_json().to_string(), secrets)?;
        }
        nothing_in("Debug of Options", &format!("{options:?}"), secrets)?;
        nothing_in("generated code", &Bindings::generate(&snapshot, &options).0.to_string(), secrets)?;
        nothing_in("Debug of Client", &format!("{:?}", Client::new(server.clone())), secrets)?;
        clients = clients.with(server.clone());
        // Embedded bindings look up each secret, and contain none of it.
        let carried = ServerConfig::from_json(&server.name, &server.to_json()).unwrap();
        if let Err(error) = carried.expand(|name| (!name.starts_with("MCP_SECRET_")).then(String::new)) {
            prop_assert!(error.to_string().contains("was a secret in plain text"), "{error}");
            nothing_in("an error of connecting", &format!("{error} {error:?}"), secrets)?;
            refused += 1;
        }
    }
    nothing_in("Debug of Servers", &format!("{clients:?}"), secrets)?;
    Ok(refused)
}

#[test]
fn literal_secrets_are_hidden_in_every_output() {
    let count: RefCell<BTreeMap<String, usize>> = RefCell::default();
    let seen = |what: String| *count.borrow_mut().entry(what).or_default() += 1;
    let cases = ProptestConfig::default().cases.max(CASES);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(cases));
    let strategy = (
        prop::collection::vec(plant(), 1..6),
        select(vec![Format::Toml, Format::McpJson, Format::Variable]),
        prop::collection::vec(damage(), 4),
    );
    let outcome = runner.run(&strategy, |(plants, format, damages)| {
        let (entries, secrets) = servers(&plants);
        let text = written(format, &entries);
        let config = parse(format, &text).map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?;
        let places = plants.iter().map(|plant| (plant.spot, plant.form)).collect::<std::collections::BTreeSet<_>>();
        prop_assert!(!config.warnings.is_empty(), "nothing is seen of {places:?} in {text}");
        if look_through(&config, &secrets)? > 0 {
            seen("refused".to_owned());
        }
        for damage in damages {
            // The damaged text may contain secrets that are no longer recognisable, so only the messages are checked.
            match parse(format, &damaged(&text, &damage)) {
                Ok(config) => nothing_in("a warning", &format!("{:?}", config.warnings), &secrets)?,
                Err(error) => {
                    seen("broken".to_owned());
                    nothing_in("an error", &format!("{error} {error:?}"), &secrets)?;
                }
            }
        }
        seen("case".to_owned());
        seen(format!("{format:?}"));
        for plant in &plants {
            seen(format!("{:?}", plant.spot));
            if matches!(plant.spot, Spot::Arguments | Spot::Env | Spot::Header) {
                seen(format!("{:?}", FORMS[plant.form]));
            }
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error:.4000}");
    }
    let count = count.into_inner();
    let floor = CASES as usize;
    assert!(count["case"] >= floor && count["broken"] >= floor && count["refused"] >= floor / 2, "{count:?}");
    let expected = SPOTS.iter().map(|spot| format!("{spot:?}")).chain(FORMS.iter().map(|form| format!("{form:?}")));
    for what in expected {
        assert!(count.get(&what).is_some_and(|count| *count >= EACH), "{what}: {count:?}");
    }
}

/// Pieces of which anything may be made.
fn anything() -> impl Strategy<Value = String> {
    const PIECES: [&str; 40] = [
        "token",
        "password",
        "API_KEY",
        "Authorization",
        "auth",
        "--",
        "-p",
        "-",
        "=",
        ":",
        " ",
        ";",
        "&",
        "?",
        "#",
        "/",
        "//",
        "@",
        "\"",
        "'",
        "\\",
        "{",
        "}",
        "[",
        "]",
        ",",
        "\n",
        "${",
        "${A}",
        "${B:-",
        "%",
        "é",
        "課\u{202e}",
        "Bearer ",
        "Basic ",
        "https://",
        "ghp_",
        "0123456789aZ",
        "-----BEGIN PRIVATE KEY-----",
        "eyJ",
    ];
    prop::collection::vec(prop_oneof![3 => select(&PIECES[..]).prop_map(str::to_owned), 1 => "\\PC{0,6}"], 0..12)
        .prop_map(|pieces| pieces.concat())
}

#[test]
fn only_text_with_secrets_is_changed() {
    let cases = ProptestConfig::default().cases.max(800);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(cases));
    let outcome =
        runner.run(&(prop::collection::vec(anything(), 0..4), anything(), anything()), |(args, value, url)| {
            let local = ServerConfig::stdio("local", value.clone()).args(args).cwd(url.clone()).env("X", value.clone());
            let remote = ServerConfig::http("remote", url).header("Authorization", value.clone()).description(value);
            for server in [local, remote] {
                let carried = server.to_json();
                let secrets = server.secrets();
                // A server without secrets is embedded unchanged.
                prop_assert_eq!(secrets.is_empty(), carried == exact(&server), "{:?}", secrets);
                let _ = (format!("{server:?}"), server.expand(|_| None).is_ok());
            }
            Ok(())
        });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// The JSON of a server with everything in it.
fn exact(server: &ServerConfig) -> Value {
    let mut json = match &server.transport {
        Transport::Stdio { command, args, cwd } => json!({ "command": command, "args": args, "cwd": cwd }),
        Transport::Http { url, headers } | Transport::Sse { url, headers } => json!({ "url": url, "headers": headers }),
    };
    json["env"] = json!(server.env);
    json["description"] = json!(server.description);
    let members = json.as_object_mut().unwrap();
    members.retain(|_, value| !matches!(value, Value::Null) && *value != json!([]) && *value != json!({}));
    json
}

#[test]
fn macro_and_build_script_show_no_secrets() {
    for (number, spot) in SPOTS.into_iter().cycle().take(FORMS.len() * 2).enumerate() {
        let plant = Plant { spot, form: number % FORMS.len(), secret: "qW3hunter2Zx9".to_owned(), name: "DB_PASSWORD" };
        let (entries, secrets) = servers(&[plant]);
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [("mcp.toml", toml(&entries).as_str()), ("mcp/local.json", LIST), ("mcp/remote.json", LIST)]
        {
            write_if_changed(&folder.path().join(file), text.as_bytes()).unwrap();
        }
        let project = Project::open(folder.path()).unwrap();
        let sources = ["local", "remote"].map(|server| project.read(server, None).unwrap());
        let tokens = expand_macro(quote!(), Some(folder.path().to_owned())).to_string();
        let (out, mut said) = (folder.path().join("out"), Vec::new());
        Builder::new().compile_in(folder.path(), &out, &mut said).unwrap();
        let built =
            ["local", "remote"].map(|name| fs::read_to_string(out.join(format!("mcp_bindgen/{name}.rs"))).unwrap());
        let shown = format!("{project:?} {sources:?} {tokens} {built:?} {}", String::from_utf8(said).unwrap());
        assert!(
            shown.contains("MCP_SECRET_")
                || matches!(spot, Spot::Description)
                || FORMS[number % FORMS.len()][0].contains(":-")
        );
        if let Err(error) = nothing_in("a door", &shown, &secrets) {
            panic!("{error}");
        }
    }
}

#[test]
fn library_metadata_contains_no_configuration_text() {
    let folder = tempfile::tempdir().unwrap();
    let config = "[servers.a]\ncommand = \"x\"\nenv = { TOKEN = \"qW3hunter2Zx9\" }\n";
    for (file, text) in [("mcp.toml", config), ("mcp/a.json", LIST)] {
        write_if_changed(&folder.path().join(file), text.as_bytes()).unwrap();
    }
    let tokens = expand_macro(quote!("a"), Some(folder.path().to_owned())).to_string();
    let file: syn::File = syn::parse_str(&tokens).unwrap();
    // The warning about the secret is a constant too.
    let is_tracked = |item: &&syn::Item| matches!(item, syn::Item::Const(item) if item.attrs.is_empty());
    let tracked: Vec<_> = file.items.iter().filter(is_tracked).collect();
    assert_eq!(tracked.len(), 2, "{tokens}");
    fs::write(folder.path().join("lib.rs"), quote!(#(#tracked)*).to_string()).unwrap();
    let built = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--crate-type", "lib", "--edition", "2024", "--emit", "link,metadata,dep-info", "lib.rs"])
        .current_dir(folder.path())
        .env("CARGO_MANIFEST_DIR", folder.path())
        .status()
        .unwrap();
    assert!(built.success());
    let read = |name: &str| String::from_utf8_lossy(&fs::read(folder.path().join(name)).unwrap()).into_owned();
    assert!(read("lib.d").contains("mcp.toml"), "the file is not tracked");
    for artefact in ["liblib.rlib", "liblib.rmeta"] {
        assert!(!read(artefact).contains("qW3hunter2Zx9"), "{artefact} holds the configuration");
    }
}
