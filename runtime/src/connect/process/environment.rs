//! The environment variables that a child process inherits.
//!
//! A server inherits a short list, plus the variables that its configuration names. Variables of proxies and package
//! indexes may hold passwords: they reach the download step, but not the server.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;

use mcp_bindgen_model::{ServerConfig, Transport};

use super::{Program, is_same};

/// The variables that every server inherits: none that may hold a secret.
const INHERITED: &str = if cfg!(windows) {
    "\
    APPDATA,COMMONPROGRAMFILES,COMSPEC,HOMEDRIVE,HOMEPATH,LOCALAPPDATA,NUMBER_OF_PROCESSORS,OS,PATH,PATHEXT,\
    PROCESSOR_ARCHITECTURE,PROGRAMDATA,PROGRAMFILES,PROGRAMFILES(X86),PROGRAMW6432,SYSTEMDRIVE,SYSTEMROOT,TEMP,\
    TMP,USERNAME,USERPROFILE,WINDIR"
} else {
    "HOME,LANG,LC_ALL,LC_CTYPE,LOGNAME,PATH,SHELL,TERM,TMPDIR,TZ,USER"
};
/// The folders of the user, which an isolated server does not get: they may lie outside of the home that it does not
/// see.
const FOLDERS: &str = if cfg!(windows) { "" } else { "XDG_CACHE_HOME,XDG_CONFIG_HOME,XDG_DATA_HOME,XDG_STATE_HOME" };
/// The certificates that programs trust besides those of the system. Every server inherits these, too.
pub(super) const CERTIFICATES: &str = "NODE_EXTRA_CA_CERTS,REQUESTS_CA_BUNDLE,SSL_CERT_DIR,SSL_CERT_FILE";

/// The variables that both `npm` and `uv` read to reach a proxy, in lower case.
const PROXIES: &str = "all_proxy,http_proxy,https_proxy,no_proxy";
/// The variables that `npm` reads to reach a registry, in lower case; `*` stands for any end. The last two are those of
/// one registry (`npm_config_//host/:_authToken`) and of one scope (`npm_config_@scope:registry`).
const OF_NPM: &str = "\
    node_auth_token,npm_config_cafile,npm_config_https_proxy,npm_config_noproxy,npm_config_proxy,\
    npm_config_registry,npm_config_userconfig,npm_token,npm_config_//*,npm_config_@*";
/// The variables that `uv` reads to reach an index, as above. The last one is for `UV_INDEX`, `UV_INDEX_URL`, and the
/// credentials of one index (`UV_INDEX_NAME_PASSWORD`).
const OF_UV: &str = "\
    uv_config_file,uv_default_index,uv_extra_index_url,uv_find_links,uv_insecure_host,uv_keyring_provider,\
    uv_native_tls,uv_python_install_mirror,uv_system_certs,uv_index*";
/// These variables alone do not require a separate step: they revoke others, or `npm run` always sets them.
const NO_REASON: [&str; 4] = ["no_proxy", "npm_config_noproxy", "npm_config_userconfig", "uv_index_strategy"];

/// The maximum number of variables that an error names.
const MOST_NAMED: usize = 4;
/// Parts of names of variables that a server may have needed, and the words on stderr that suggest it.
const NEEDED: [(&str, &str); 3] = [
    ("TOKEN,KEY,SECRET,PASSWORD,CREDENTIAL", "token,key,secret,password,credential,auth"),
    ("PROXY", "proxy,connect,network,resolve,getaddrinfo,unreachable,timed out,timeout,fetch"),
    (CERT, "cert,tls,ssl,issuer"),
];
const CERT: &str = "CERT,CA_BUNDLE,CAINFO";

/// A program that downloads the package of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manager {
    Npm,
    Uv,
}

impl Manager {
    /// Returns the one that starts this server, with the package and the server's arguments. `npm = ".."` is `npx -y ..`.
    pub(crate) fn of(config: &ServerConfig) -> Option<(Self, &str, &[String])> {
        let Transport::Stdio { command, args, .. } = &config.transport else { return None };
        let (manager, package, args) = match (command.as_str(), args.as_slice()) {
            ("npx", [yes, package, args @ ..]) if yes == "-y" => (Self::Npm, package, args),
            ("uvx", [package, args @ ..]) => (Self::Uv, package, args),
            _ => return None,
        };
        (!package.starts_with('-')).then_some((manager, package, args))
    }

    fn reads(self, name: &str) -> bool {
        let names = if self == Self::Npm { OF_NPM } else { OF_UV };
        let name = name.to_ascii_lowercase();
        let is_it = |known: &str| known.strip_suffix('*').map_or(known == name, |start| name.starts_with(start));
        PROXIES.split(',').any(is_it) || names.split(',').any(is_it)
    }

    /// Returns the variables that a download reads and the server must not receive. It is empty if no variable needs to
    /// be withheld, so that the server can start at once.
    pub(super) fn withheld(self, config: &ServerConfig) -> Vec<(String, String)> {
        let is_withheld = |(name, _): &(String, String)| self.reads(name) && !is_passed(config, name);
        let withheld: Vec<_> = variables().into_iter().filter(is_withheld).collect();
        let is_needed = withheld.iter().any(|(name, _)| !NO_REASON.contains(&name.to_ascii_lowercase().as_str()));
        if is_needed { withheld } else { Vec::new() }
    }
}

/// Returns `true` for a variable of this process that a child inherits, or for one that its configuration adds.
fn is_inherited(name: &str, configured: &[String], is_isolated: bool) -> bool {
    let is_in = |names: &str| names.split(',').any(|known| is_same(known, name));
    let is_of_user = !is_isolated && is_in(FOLDERS);
    is_of_user || is_in(INHERITED) || is_in(CERTIFICATES) || configured.iter().any(|known| is_same(known, name))
}

/// Returns the variables of this process with UTF-8 names. If a name occurs twice, both entries have the first value,
/// which the redactor knows.
fn own() -> impl Iterator<Item = (String, OsString)> {
    env::vars_os().filter_map(|(name, _)| {
        let value = env::var_os(&name)?;
        Some((name.into_string().ok()?, value))
    })
}

/// Returns the variables of a child: those of this process that it inherits, then those of its configuration.
pub(super) fn of(program: &Program<'_>) -> Vec<(String, OsString)> {
    let is_isolated = program.isolation.is_some();
    let inherited = own().filter(|(name, _)| is_inherited(name, program.inherit_env, is_isolated));
    let mut variables: Vec<_> = inherited.collect();
    variables.extend(program.env.iter().map(|(name, value)| (name.clone(), value.into())));
    variables
}

/// Names set variables that a failed server did not receive, but may need. These are variables that its output
/// mentions, variables with its name as a prefix, and those of a kind that its stderr suggests.
pub(crate) fn missed(config: &ServerConfig, stderr: &str) -> Option<String> {
    let prefix = format!("{}_", config.name.to_ascii_uppercase().replace('-', "_"));
    let words = stderr.to_ascii_lowercase();
    let is_silent = words.trim().is_empty();
    let suggests = |name: &str| {
        NEEDED.iter().any(|(parts, hints)| {
            // Certificates are passed on; a silent server failed for another reason.
            let is_hinted = (is_silent && *parts != CERT) || hints.split(',').any(|hint| words.contains(hint));
            is_hinted && parts.split(',').any(|part| name.contains(part))
        })
    };
    let rank = |name: &str, value: &str| {
        let upper = name.to_ascii_uppercase();
        match () {
            () if is_passed(config, name) || is_given_otherwise(config, value) => None,
            () if mentions(stderr, name) => Some(0),
            () if upper.starts_with(&prefix) => Some(1),
            () if suggests(&upper) => Some(2),
            () => None,
        }
    };
    let mut found: [Vec<String>; 3] = Default::default();
    for (name, value) in variables() {
        if let Some(names) = rank(&name, &value).and_then(|rank| found.get_mut(rank)) {
            names.push(name);
        }
    }
    let found = found.concat();
    let first = found.first()?;
    let named = found.get(..MOST_NAMED).unwrap_or(&found);
    let more = found.len() - named.len();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(format!(
        "set here and not passed to the server: `{}`{more}\n    to pass one, write `inherit_env = [\"{first}\"]` or `env = \
         {{ NAME = \"${{{first}}}\" }}` in its configuration",
        named.join("`, `")
    ))
}

/// Returns the variables of this process that are not empty and have an ordinary name.
fn variables() -> BTreeMap<String, String> {
    let is_ordinary = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "_/:@.-".contains(c));
    let mut variables = BTreeMap::new();
    for (name, value) in own() {
        if is_ordinary(&name) && !value.is_empty() {
            variables.insert(name, value.to_string_lossy().into_owned());
        }
    }
    variables
}

/// Returns `true` if the server is given a variable of this name.
fn is_passed(config: &ServerConfig, name: &str) -> bool {
    is_inherited(name, &config.inherit_env, false) || config.env.keys().any(|known| is_same(known, name))
}

/// Returns `true` if the server has this value under another name, or among its arguments.
fn is_given_otherwise(config: &ServerConfig, value: &str) -> bool {
    let args = Program::of(config).map_or(&[][..], |program| program.args);
    args.iter().any(|given| given.contains(value)) || config.env.values().any(|given| given.contains(value))
}

/// Returns `true` if a text has this name in it as a word.
fn mentions(text: &str, name: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    name.len() > 4 && words.any(|word| word == name)
}

/// Returns the variables of a download that may hold a secret. The login of a registry, which is in base64, is given as
/// in an `Authorization` header.
pub(crate) fn secrets_of_download(config: &ServerConfig) -> Vec<(String, String)> {
    let Some((manager, ..)) = Manager::of(config) else { return Vec::new() };
    let mut found = manager.withheld(config);
    found.retain_mut(|(name, value)| {
        let is_of_registry = name.to_ascii_lowercase().starts_with("npm_config_//");
        let is_secret = value.contains(['@', '/']) || is_of_registry || mcp_bindgen_model::is_secret_key(name);
        if name.ends_with(":_auth") {
            value.insert_str(0, "Basic ");
        }
        is_secret
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_managers_are_known_by_their_command_and_a_package() {
        let of = |command: &str, args: &[&str]| {
            let config = ServerConfig::stdio("s", command).args(args.iter().copied());
            Manager::of(&config).map(|(manager, package, args)| (manager, package.to_owned(), args.to_vec()))
        };
        let (package, flag) = ("pkg".to_owned(), vec!["--flag".to_owned()]);
        assert_eq!(of("npx", &["-y", "pkg", "--flag"]), Some((Manager::Npm, package.clone(), flag.clone())));
        assert_eq!(of("uvx", &["pkg", "--flag"]), Some((Manager::Uv, package, flag)));
        for (command, args) in [
            ("npx", &["pkg", "other"][..]),
            ("npx", &["-y"]),
            ("npx", &["-y", "--package", "pkg"]),
            ("uvx", &[]),
            ("uvx", &["--from", "pkg", "program"]),
            ("node", &["-y", "pkg"]),
        ] {
            assert_eq!(of(command, args), None, "{command} {args:?}");
        }
    }

    #[test]
    fn package_managers_read_their_own_variables_in_either_case() {
        for (name, npm, uv) in [
            ("HTTPS_PROXY", true, true),
            ("no_proxy", true, true),
            ("NPM_CONFIG_REGISTRY", true, false),
            ("npm_config_//registry.test/:_authToken", true, false),
            ("npm_config_@scope:registry", true, false),
            ("npm_config_registry_of_others", false, false),
            ("UV_DEFAULT_INDEX", false, true),
            ("UV_INDEX_INTERNAL_PASSWORD", false, true),
            ("UV_PYTHON", false, false),
            ("GITHUB_TOKEN", false, false),
        ] {
            assert_eq!((Manager::Npm.reads(name), Manager::Uv.reads(name)), (npm, uv), "{name}");
        }
    }

    #[test]
    fn configured_variables_and_values_are_known_to_be_passed() {
        let config = ServerConfig::stdio("s", "x").args(["--token=hunter22"]).env("KEY", "a-secret").inherit_env(["B"]);
        for name in ["PATH", "SSL_CERT_FILE", "KEY", "B"].into_iter().chain(FOLDERS.split(',')) {
            assert!(is_passed(&config, name), "{name}");
        }
        assert!(!is_passed(&config, "C") && !is_passed(&ServerConfig::stdio("s", "x"), "B"));
        assert!(is_given_otherwise(&config, "hunter22") && is_given_otherwise(&config, "a-secret"));
        assert!(!is_given_otherwise(&config, "hunter23"));
    }

    #[test]
    fn long_variable_names_are_matched_as_whole_words() {
        assert!(mentions("TOKEN is not set", "TOKEN") && mentions("(TOKEN)", "TOKEN"));
        assert!(!mentions("MY_TOKEN is not set", "TOKEN") && !mentions("TOKENS", "TOKEN"));
        assert!(!mentions("HOME is not set", "HOME"), "too short to mean the variable");
    }
}
