//! Which tools a provider may call, and which of them only after an approval.

use std::collections::BTreeSet;

use mcp_bindgen_model::ServerConfig;

use super::declarations::{NotHosted, NotHostedReason};

/// The demands of the configuration, in names in the place of globs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// The tools that may be called; `None` for all that the server has, now and later.
    pub(super) allowed: Option<BTreeSet<String>>,
    /// The tools that may be called only after an approval; `None` for all. If their names are unknown, these may include
    /// tools that do not require one.
    pub(super) approved: Option<BTreeSet<String>>,
}

impl Plan {
    /// Plans the tools that the provider may call. Providers only know names: a glob can be translated only for listed
    /// tools, and tools that the server adds later are not allowed.
    ///
    /// A tool with a view or a policy is excluded, because the provider would call the server's original tool with any
    /// arguments.
    ///
    /// `only` limits the names, regardless of the configuration: those of bindings, or those of a set.
    pub(super) fn of(
        config: &ServerConfig,
        listed: Option<&[String]>,
        only: Option<&BTreeSet<String>>,
    ) -> Result<Self, NotHosted> {
        let is_restricted = config.tools.is_some()
            || !config.exclude.is_empty()
            || !config.views.is_empty()
            || !config.policies.is_empty();
        let names: Option<Vec<&String>> = match (only, listed, &config.tools) {
            (Some(only), ..) => Some(only.iter().collect()),
            _ if !is_restricted && config.approve.is_empty() => None,
            (None, Some(listed), _) => Some(listed.iter().collect()),
            (None, None, Some(tools)) if tools.iter().all(|tool| !tool.contains(['*', '?', '!'])) => {
                Some(tools.iter().collect())
            }
            _ if is_restricted => {
                return Err(NotHostedReason::Tools.because(
                    "`tools`, `exclude`, `view` and `policy` leave out tools, a provider requires names, and its tools are unknown; \
                     run `mcp-bindgen sync`, or list them with `HostedServers::with_tools`",
                ));
            }
            _ => None,
        };
        let Some(names) = names else {
            return Ok(Self { allowed: None, approved: config.approve.is_empty().then(BTreeSet::new) });
        };
        let is_handed =
            |name: &&String| config.selects(name) && config.views.get(name).is_none() && !config.has_policy(name);
        let allowed: BTreeSet<String> = names.into_iter().filter(is_handed).cloned().collect();
        if allowed.is_empty() {
            return Err(NotHostedReason::Tools.because(match only {
                Some(_) => "none of its tools is bound, selected, and without a view and a policy",
                None => "`tools`, `exclude`, `view` and `policy` of its configuration leave none of its tools",
            }));
        }
        let approved: BTreeSet<String> = allowed.iter().filter(|name| config.needs_approval(name)).cloned().collect();
        let approved = Some(approved).filter(|approved| approved.len() < allowed.len());
        Ok(Self { allowed: Some(allowed), approved })
    }
}

#[cfg(test)]
mod tests {
    use mcp_bindgen_model::View;

    use super::*;

    fn remote() -> ServerConfig {
        ServerConfig::http("a", "https://a.example.com")
    }

    fn plan(config: &ServerConfig, listed: Option<&[&str]>) -> Result<Plan, NotHosted> {
        let listed = listed.map(|listed| listed.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        Plan::of(config, listed.as_deref(), None)
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn ungoverned_server_is_handed_over_completely() {
        let whole = Plan { allowed: None, approved: Some(set(&[])) };
        assert_eq!(plan(&remote(), None).unwrap(), whole);
        assert_eq!(plan(&remote(), Some(&["x"])).unwrap(), whole);
    }

    #[test]
    fn globs_expand_to_the_names_of_listed_tools() {
        let config = remote().tools(["list_*", "merge"]).exclude(["*_secrets"]).approve(["merge"]);
        let listed = ["merge", "list_b", "list_a", "list_secrets", "drop"];
        let Plan { allowed, approved } = plan(&config, Some(&listed)).unwrap();
        assert_eq!(allowed, Some(set(&["list_a", "list_b", "merge"])));
        assert_eq!(approved, Some(set(&["merge"])));
        assert_eq!(plan(&config, Some(&["merge"])).unwrap().approved, None);
        assert_eq!(plan(&config, Some(&["list_a"])).unwrap().approved, Some(set(&[])));
    }

    #[test]
    fn globs_require_a_tool_list_but_names_do_not() {
        let named = remote().tools(["a", "b"]).exclude(["b*"]);
        assert_eq!(plan(&named, None).unwrap().allowed, Some(set(&["a"])));
        for globs in [remote().tools(["a*"]), remote().exclude(["b"]), remote().tools(["a?"]).approve(["a"])] {
            assert_eq!(plan(&globs, None).unwrap_err().reason, NotHostedReason::Tools);
        }
        let approved = plan(&remote().approve(["merge"]), None).unwrap();
        assert_eq!(approved, Plan { allowed: None, approved: None });
    }

    #[test]
    fn tool_with_a_view_is_not_handed_over() {
        let viewed = || remote().view("b", View::new());
        assert_eq!(plan(&viewed(), Some(&["a", "b"])).unwrap().allowed, Some(set(&["a"])));
        assert_eq!(plan(&viewed(), None).unwrap_err().reason, NotHostedReason::Tools);
        assert_eq!(plan(&viewed().tools(["b"]), None).unwrap_err().reason, NotHostedReason::Tools);
        let bound = Plan::of(&viewed(), None, Some(&set(&["a", "b"]))).unwrap();
        assert_eq!(bound.allowed, Some(set(&["a"])));
    }

    #[test]
    fn bound_names_limit_every_configuration() {
        let only = |config: &ServerConfig, names: &[&str]| Plan::of(config, None, Some(&set(names)));
        let plain = only(&remote(), &["a", "b"]).unwrap();
        assert_eq!(plain, Plan { allowed: Some(set(&["a", "b"])), approved: Some(set(&[])) });
        let governed =
            only(&remote().tools(["a*", "c"]).exclude(["ab"]).approve(["a"]), &["a", "ab", "ac", "b"]).unwrap();
        assert_eq!(governed, Plan { allowed: Some(set(&["a", "ac"])), approved: Some(set(&["a"])) });
        for (config, names) in [(remote(), &[] as &[&str]), (remote().exclude(["a"]), &["a"])] {
            assert_eq!(only(&config, names).unwrap_err().reason, NotHostedReason::Tools);
        }
    }

    #[test]
    fn empty_selection_is_refused() {
        let nothing = remote().tools(Vec::<String>::new());
        for listed in [None, Some(["a"].as_slice()), Some(&[])] {
            assert_eq!(plan(&nothing, listed).unwrap_err().reason, NotHostedReason::Tools);
        }
        assert_eq!(plan(&remote().exclude(["*"]), Some(&["a"])).unwrap_err().reason, NotHostedReason::Tools);
    }
}
