//! The fixtures are what their README says.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use mcp_bindgen_model::{Config, Snapshot};

type Fallible<T> = Result<T, Box<dyn Error>>;

#[test]
fn every_configured_server_has_a_canonical_snapshot() -> Fallible<()> {
    let config = Config::load(Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp.toml"))?;
    assert_eq!(config.warnings.len(), 0, "{:?}", config.warnings);
    assert!(config.servers.contains_key("github"));
    for name in config.servers.keys() {
        let path = config.snapshot_path(name);
        let snapshot = Snapshot::load(&path)?;
        assert_eq!(snapshot.server.as_ref(), Some(name));
        assert_canonical(&snapshot, &path)?;
    }
    Ok(())
}

#[test]
fn lists_are_canonical_snapshots_or_another_accepted_form() -> Fallible<()> {
    for path in files("lists")? {
        let text = fs::read_to_string(&path)?;
        let snapshot = Snapshot::load(&path)?;
        if text.contains("\"format\"") {
            assert_canonical(&snapshot, &path)?;
        } else {
            assert_eq!(snapshot.tools.len(), 1, "{}", path.display());
        }
    }
    Ok(())
}

#[test]
fn feature_and_hostile_lists_are_parsed() -> Fallible<()> {
    for path in [files("features")?, files("hostile")?].concat() {
        let snapshot = Snapshot::load(&path)?;
        let is_empty = path.ends_with("hostile/empty.json");
        assert_eq!(snapshot.tools.is_empty(), is_empty, "{}", path.display());
        assert_eq!(Snapshot::parse(&snapshot.to_text())?.tools.len(), snapshot.tools.len(), "{}", path.display());
    }
    Ok(())
}

#[test]
fn malformed_snapshots_are_errors_naming_the_file() -> Fallible<()> {
    for path in files("broken")? {
        let Err(error) = Snapshot::load(&path) else {
            return Err(format!("{} was read", path.display()).into());
        };
        let message = error.to_string();
        println!("{message}\n");
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        assert!(message.contains(&*name), "{name}: {message}");
        let is_printable = |c: char| c == '\n' || !c.is_control();
        assert!(message.chars().all(is_printable), "{name}: {message:?}");
    }
    Ok(())
}

fn assert_canonical(snapshot: &Snapshot, path: &Path) -> Fallible<()> {
    let (text, canonical) = (fs::read_to_string(path)?, snapshot.to_text());
    let difference = text.lines().zip(canonical.lines()).position(|(is, ought)| is != ought);
    assert!(
        text == canonical,
        "{} is not canonical, from line {:?}",
        path.display(),
        difference.map(|index| index + 1)
    );
    Ok(())
}

fn files(folder: &str) -> Fallible<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(folder);
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(format!("no files in {}", folder.display()).into());
    }
    files.sort();
    Ok(files)
}
