//! Rules that hold for every text that is read as a configuration.

use std::path::Path;

use mcp_bindgen_model::{Config, FileError};

use super::watchdog;

/// Every way in which a configuration is read.
pub(super) fn readings(text: &str) -> [Result<Config, FileError>; 3] {
    [
        Config::parse_toml(text, Path::new("mcp.toml")),
        Config::parse_mcp_json(text, Path::new(".mcp.json")),
        Config::from_env_json(text),
    ]
}

/// Reads a text as `mcp.toml`, as `.mcp.json` and as `MCP_SERVERS`: nothing panics or hangs, twice gives the same, what
/// is said is fit for a terminal, and each server is found by its name. Gives whether any reading took it.
pub(crate) fn check(text: &str) -> bool {
    watchdog::in_time(text, || {
        let readings = readings(text);
        assert_eq!(readings, self::readings(text));
        for reading in &readings {
            match reading {
                Ok(config) => well_formed(config),
                Err(error) => printable(error),
            }
        }
        readings.iter().any(Result::is_ok)
    })
}

fn well_formed(config: &Config) {
    config.warnings.iter().map(|warning| &warning.error).for_each(printable);
    for (name, server) in &config.servers {
        assert_eq!(&server.name, name);
        assert_eq!(config.server(name).expect("a server has its name"), server);
        assert!(config.snapshot_path(name).ends_with(format!("{name}.json")));
        let _ = server.selects("any_tool");
        if let Err(error) = server.expand(|_| None) {
            printable(&error);
        }
    }
    if let Err(error) = config.server("no such server") {
        printable(&error);
    }
}

fn printable(error: &FileError) {
    let text = error.to_string();
    let is_unfit = |char: char| (char.is_control() && char != '\n') || ('\u{202a}'..='\u{202e}').contains(&char);
    assert!(!text.contains(is_unfit), "{text:?}");
}
