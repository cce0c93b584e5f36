//! Rules for dependencies between packages and files, the size of the macro and of files, and the list of messages.

mod circles;
mod floors;
mod messages;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use serde_json::Value;

type Fallible<T> = Result<T, Box<dyn Error>>;

const MACRO_CRATES_AT_MOST: usize = 22;
const FILE_LINES_AT_MOST: usize = 500;
const TRAPS_AT_LEAST: usize = 82;
const TOO_HEAVY_FOR_A_MACRO: [&str; 8] =
    ["tokio", "rmcp", "reqwest", "hyper", "typify", "schemars", "regex-automata", "regex-syntax"];
const TLS: [&str; 6] = ["rustls", "native-tls", "openssl", "ring", "aws-lc-rs", "aws-lc-sys"];

/// The published packages, their source folders, and the arrows between them. An arrow may be followed further:
/// who depends on codegen may name the model too.
const PACKAGES: [(&str, &str, &[&str]); 10] = [
    ("mcp-bindgen-model", "model/src", &[]),
    ("mcp-bindgen-schema", "schema/src", &["mcp-bindgen-model"]),
    ("mcp-bindgen-template", "template/src", &["mcp-bindgen-schema"]),
    ("mcp-bindgen-runtime", "runtime/src", &["mcp-bindgen-schema"]),
    ("mcp-bindgen-codegen", "mcp-codegen/src", &["mcp-bindgen-template"]),
    ("mcp-bindgen-macros", "mcp-macros/src", &["mcp-bindgen-codegen"]),
    ("mcp-bindgen-agents", "agents/src", &["mcp-bindgen-template", "mcp-bindgen-runtime"]),
    ("mcp-bindgen-proxy", "proxy/src", &["mcp-bindgen-agents"]),
    ("mcp-bindgen", "src", &["mcp-bindgen-proxy", "mcp-bindgen-macros"]),
    ("mcp-bindgen-cli", "cli/src", &["mcp-bindgen-proxy", "mcp-bindgen-codegen"]),
];

/// The arrow that only the feature `live` draws.
const BEHIND_A_FEATURE: (&str, &str) = ("mcp-bindgen-codegen", "mcp-bindgen-runtime");

#[test]
fn packages_depend_only_on_permitted_packages() -> Fallible<()> {
    let mut edges = 0;
    let mut forbidden = Vec::new();
    for package in workspace_packages()? {
        let name = text(&package, "name");
        for dependency in entries(&package, "dependencies") {
            let target = text(dependency, "name");
            let for_tests_only = text(dependency, "kind") == "dev";
            if for_tests_only || !is_local(dependency) || !is_published(&name) {
                continue;
            }
            edges += 1;
            let optional = dependency.get("optional") == Some(&Value::Bool(true));
            let allowed = reachable(&name).contains(target.as_str())
                || (optional && BEHIND_A_FEATURE == (name.as_str(), target.as_str()));
            if !allowed {
                forbidden.push(format!("{name} -> {target}"));
            }
        }
    }
    println!("{edges} dependencies between {} packages", PACKAGES.len());
    assert!(edges > 0, "no dependency was read");
    assert!(forbidden.is_empty(), "dependencies against the arrows: {forbidden:?}");
    Ok(())
}

#[test]
fn resolved_trees_contain_only_permitted_packages() -> Fallible<()> {
    for (package, _, _) in PACKAGES {
        let tree = tree_of(package)?;
        let allowed = reachable(package);
        let forbidden: Vec<_> =
            tree.local.iter().filter(|name| *name != package && !allowed.contains(name.as_str())).collect();
        println!("{package}: {} third-party crates", tree.third_party.len());
        assert!(tree.local.contains(package), "cargo tree did not print {package}");
        assert!(forbidden.is_empty(), "{package} pulls in {forbidden:?}");
    }
    Ok(())
}

#[test]
fn macro_has_few_dependencies() -> Fallible<()> {
    let crates = tree_of("mcp-bindgen-macros")?.third_party;
    println!("mcp-bindgen-macros: {} third-party crates, at most {MACRO_CRATES_AT_MOST}", crates.len());
    assert!(crates.contains("syn"), "cargo tree printed no syn: {crates:?}");
    assert!(crates.len() <= MACRO_CRATES_AT_MOST, "{} crates: {crates:?}", crates.len());
    let heavy = found(&crates, &TOO_HEAVY_FOR_A_MACRO);
    assert!(heavy.is_empty(), "too heavy for a macro: {heavy:?}");
    let with_templates = tree_with("mcp-bindgen-macros", "templates")?.third_party;
    println!("mcp-bindgen-macros with templates: {} third-party crates", with_templates.len());
    let more: Vec<&String> = with_templates.difference(&crates).collect();
    assert_eq!(more, ["minijinja"], "what templates cost");
    assert!(with_templates.len() <= MACRO_CRATES_AT_MOST, "{} crates: {with_templates:?}", with_templates.len());
    Ok(())
}

#[test]
fn agents_feature_enables_templates_in_the_macro() -> Fallible<()> {
    assert!(!tree_of("mcp-bindgen")?.third_party.contains("minijinja"), "the defaults read templates");
    let reads = |features: &[&str]| -> Fallible<bool> {
        let arguments = ["tree", "--offline", "--edges", "normal", "-p", "mcp-bindgen", "--invert", "minijinja"];
        Ok(cargo(&[&arguments[..], features].concat())?.contains("mcp-bindgen-codegen"))
    };
    assert!(reads(&["--features", "agents"])?, "agents and macros, and no templates");
    assert!(!reads(&["--no-default-features", "--features", "agents"])?, "templates without the macros");
    Ok(())
}

#[test]
#[ignore = "reads crates that `cargo test` does not download: .ci/run dependencies"]
fn only_the_live_feature_includes_the_runtime() -> Fallible<()> {
    for package in ["mcp-bindgen-macros", "mcp-bindgen-codegen"] {
        let described = workspace_packages()?.into_iter().find(|found| text(found, "name") == package);
        let features = described.and_then(|found| found.get("features").and_then(Value::as_object).cloned());
        let features: Vec<String> = features.into_iter().flatten().map(|(name, _)| name).collect();
        assert!(features.iter().any(|feature| feature == "live"), "{package} has no feature live: {features:?}");
        for feature in features {
            let tree = tree_with(package, &feature)?;
            let heavy = found(&tree.third_party, &["tokio", "rmcp", "reqwest", "hyper"]);
            let connects = tree.local.contains("mcp-bindgen-runtime");
            println!("{package} with feature {feature}: {} third-party crates", tree.third_party.len());
            assert_eq!(connects, feature == "live", "{package}, feature {feature}: mcp-bindgen-runtime");
            assert_eq!(heavy.is_empty(), feature != "live", "{package}, feature {feature}: {heavy:?}");
        }
    }
    Ok(())
}

#[test]
#[ignore = "reads crates that `cargo test` does not download: .ci/run dependencies"]
fn keyring_is_included_only_with_its_feature() -> Fallible<()> {
    for package in ["mcp-bindgen-macros", "mcp-bindgen-codegen"] {
        for (features, reads) in [("live", false), ("live,keyring", true)] {
            let crates = tree_with(package, features)?.third_party;
            assert_eq!(crates.contains("keyring-core"), reads, "{package} with {features}: {crates:?}");
        }
    }
    Ok(())
}

#[test]
fn schema_and_template_crates_do_not_depend_on_syn() -> Fallible<()> {
    for package in ["mcp-bindgen-schema", "mcp-bindgen-template"] {
        let crates = tree_of(package)?.third_party;
        assert!(crates.contains("serde_json"), "cargo tree printed no serde_json: {crates:?}");
        let tokens = found(&crates, &["syn", "quote", "proc-macro2", "prettyplease"]);
        let heavy = found(&crates, &TOO_HEAVY_FOR_A_MACRO);
        assert!(tokens.is_empty() && heavy.is_empty(), "{package} pulls in {tokens:?} {heavy:?}");
    }
    Ok(())
}

#[test]
fn default_features_include_no_tls() -> Fallible<()> {
    let crates = tree_of("mcp-bindgen")?.third_party;
    println!("mcp-bindgen with default features: {} third-party crates", crates.len());
    assert!(crates.contains("rmcp"), "cargo tree printed no rmcp: {crates:?}");
    let tls = found(&crates, &TLS);
    assert!(tls.is_empty(), "TLS without being asked for: {tls:?}");
    Ok(())
}

/// Cargo compiles a crate once for the macro and the program where its features are the same.
#[test]
fn macro_and_program_dependencies_have_equal_features() -> Fallible<()> {
    let arguments = ["tree", "--offline", "--edges", "normal,build", "--prefix", "none", "--format", "{p} [{f}]"];
    let tree = cargo(&[&arguments[..], &["-p", "mcp-bindgen"]].concat())?;
    for name in [
        "indexmap",
        "mcp-bindgen-model",
        "mcp-bindgen-schema",
        "memchr",
        "regex-lite",
        "serde_core",
        "serde_json",
        "toml",
    ] {
        let lines = tree.lines().map(|line| line.trim_end_matches(" (*)"));
        let kinds: BTreeSet<&str> = lines.filter(|line| line.split(' ').next() == Some(name)).collect();
        assert_eq!(kinds.len(), 1, "{name} is compiled for each of {kinds:?}");
    }
    Ok(())
}

#[test]
fn source_files_are_short() -> Fallible<()> {
    let mut files = Vec::new();
    for (_, folder, _) in PACKAGES {
        collect_sources(&root().join(folder), &mut files)?;
    }
    let mut long = Vec::new();
    for file in &files {
        let lines = lines_before_tests(&fs::read_to_string(file)?);
        if lines > FILE_LINES_AT_MOST {
            long.push(format!("{}: {lines}", file.strip_prefix(root())?.display()));
        }
    }
    println!("{} source files, at most {FILE_LINES_AT_MOST} lines each", files.len());
    assert!(!files.is_empty(), "no source file was read");
    assert!(long.is_empty(), "too long: {long:?}");
    Ok(())
}

/// Returns `true` if the file that a row of the traps names, next to the other tests of the command line or from the root, has
/// a test of that name.
fn is_test(named: &str) -> Fallible<bool> {
    let (file, test) = named.split_once("::").ok_or_else(|| format!("`{named}` is no FILE::NAME"))?;
    let path = if file.contains('/') { root().join(file) } else { root().join("cli/tests/integration").join(file) };
    let source = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut is_marked = false;
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_marked = true;
        } else if line.contains("fn ") {
            if is_marked && line.contains(&format!("fn {test}(")) {
                return Ok(true);
            }
            is_marked = false;
        }
    }
    Ok(false)
}

#[test]
fn architecture_document_names_existing_files() -> Fallible<()> {
    let document = fs::read_to_string(root().join("ARCHITECTURE.md"))?;
    let lines = document.lines().count();
    assert!(lines <= 300, "{lines} lines: details go to docs/contributing");
    let named = document.split('`').skip(1).step_by(2).filter(|code| code.ends_with(".rs") && code.contains('/'));
    let named: Vec<&str> = named.collect();
    let missing: Vec<&&str> = named.iter().filter(|path| !root().join(path).is_file()).collect();
    println!("{} files named in {lines} lines", named.len());
    assert!(missing.is_empty() && named.len() >= 30, "{missing:?} of {} files", named.len());
    Ok(())
}

#[test]
fn every_command_line_trap_has_a_test_or_a_reason() -> Fallible<()> {
    let chapter = fs::read_to_string(root().join("docs/contributing/command-line.md"))?;
    let (mut rows, mut tests) = (0, 0);
    let mut missing = Vec::new();
    for row in chapter.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [_, _, shown] = cells[..] else { return Err(format!("not three cells: {row}").into()) };
        let named: Vec<&str> = shown.split('`').skip(1).step_by(2).filter(|code| code.contains(".rs::")).collect();
        if named.is_empty() && shown.len() < 40 {
            missing.push(format!("neither a test nor a reason: {row}"));
        }
        for test in &named {
            if !is_test(test)? {
                missing.push(format!("no such test: {test}"));
            }
        }
        rows += 1;
        tests += named.len();
    }
    println!("{rows} traps, {tests} tests named");
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(rows >= TRAPS_AT_LEAST && tests >= rows, "{rows} traps, {tests} tests");
    Ok(())
}

struct Tree {
    local: BTreeSet<String>,
    third_party: BTreeSet<String>,
}

/// Returns the dependency tree of `package` with its default features.
fn tree_of(package: &str) -> Fallible<Tree> {
    tree(package, &[])
}

/// The same with one of its features beside them.
fn tree_with(package: &str, feature: &str) -> Fallible<Tree> {
    tree(package, &["--features", feature])
}

/// A crate in two versions counts twice, by its version.
fn tree(package: &str, features: &[&str]) -> Fallible<Tree> {
    let arguments =
        ["tree", "--offline", "--edges", "normal,build", "--prefix", "none", "--format", "{p}", "-p", package];
    let arguments = [arguments.as_slice(), features].concat();
    let mut seen = BTreeMap::new();
    for line in cargo(&arguments)?.lines() {
        let mut words = line.split(' ');
        if let (Some(name), Some(version)) = (words.next(), words.next()) {
            let is_local = line.contains(" (/") || line.contains(":\\");
            seen.insert((name.to_owned(), version.to_owned()), is_local);
        }
    }
    let names = |wanted: bool| {
        let mut names = BTreeSet::new();
        for ((name, version), _) in seen.iter().filter(|(_, is_local)| **is_local == wanted) {
            if !names.insert(name.clone()) {
                names.insert(format!("{name} {version}"));
            }
        }
        names
    };
    Ok(Tree { local: names(true), third_party: names(false) })
}

/// The crates of `tree` that are one of `names` or belong to its family, as tokio-macros does to tokio.
fn found(tree: &BTreeSet<String>, names: &[&str]) -> Vec<String> {
    let belongs = |krate: &str, name: &str| krate == name || krate.starts_with(&format!("{name}-"));
    tree.iter().filter(|krate| names.iter().any(|name| belongs(krate, name))).cloned().collect()
}

fn workspace_packages() -> Fallible<Vec<Value>> {
    let metadata = cargo(&["metadata", "--offline", "--no-deps", "--format-version", "1"])?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    Ok(entries(&metadata, "packages").cloned().collect())
}

fn reachable(package: &str) -> BTreeSet<&'static str> {
    let mut reached = BTreeSet::new();
    for (_, _, targets) in PACKAGES.iter().filter(|(name, _, _)| *name == package) {
        for target in *targets {
            reached.insert(*target);
            reached.extend(reachable(target));
        }
    }
    reached
}

fn is_published(name: &str) -> bool {
    PACKAGES.iter().any(|(package, _, _)| *package == name)
}

fn is_local(dependency: &Value) -> bool {
    dependency.get("path").is_some_and(Value::is_string)
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn entries<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn cargo(arguments: &[&str]) -> Fallible<String> {
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output()?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo {} failed: {message}", arguments.join(" ")).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn collect_sources(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
        if path.is_dir() && !is_test {
            collect_sources(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test {
            files.push(path);
        }
    }
    Ok(())
}

fn lines_before_tests(source: &str) -> usize {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or(source);
    code.lines().count()
}
