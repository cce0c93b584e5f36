use std::collections::BTreeSet;

use mcp_bindgen_model::Prefix;

use super::prefixed::{Given, PrefixedNames, is_accepted, told_apart};

type List<'l> = (&'l str, &'l [&'l str]);

fn prefix(server: &str) -> Prefix {
    if server.starts_with("bare") { Prefix::None } else { Prefix::ServerName }
}

/// Returns the names of these servers; `is_known` selects the lists that are snapshots.
fn names(servers: &[List<'_>], is_known: impl Fn(&str) -> bool) -> Vec<Vec<String>> {
    let mut names = PrefixedNames::default();
    for (server, tools) in servers {
        names.add(server, &prefix(server), []);
        if is_known(server) {
            names.add_snapshot(server, tools.iter().copied());
        }
    }
    servers.iter().map(|(server, tools)| names.tools(server, tools)).collect()
}

/// Returns the name that a server would forge, had another this tool.
fn forged(server: &str, rest: &str) -> String {
    format!("{rest}_{}", super::fingerprint(server))
}

#[test]
fn prefixed_names_are_identifiers() {
    let all = names(&[("my-server", &["get-sum", "getIt", "a.b", "connect", "2fa"])], |_| true);
    assert_eq!(
        all[0],
        ["my_server_get_sum", "my_server_get_it", "my_server_a_b", "my_server_connect_tool", "my_server_n2fa"]
    );
    assert_eq!(all, names(&[("my-server", &["get-sum", "getIt", "a.b", "connect", "2fa"])], |_| false));
    assert_eq!(names(&[("bare", &["get-sum", "x"])], |_| true), [["get_sum", "x"]]);
}

#[test]
fn only_ambiguous_names_have_a_suffix() {
    let servers: [List<'_>; 3] = [("a", &["b_c", "b_d"]), ("a_b", &["c", "e"]), ("z", &["c"])];
    let known = names(&servers, |_| true);
    assert_eq!(known[0], [forged("a", "a_b_c"), "a_b_d".to_owned()]);
    assert_eq!(known[1], [forged("a_b", "a_b_c"), "a_b_e".to_owned()]);
    // The tools of `a_b` are unknown, so tools without a snapshot get the suffix.
    let unknown = names(&servers, |_| false);
    assert_eq!(unknown[0], [forged("a", "a_b_c"), forged("a", "a_b_d")]);
    assert_eq!([&unknown[1], &unknown[2]], [&["a_b_c", "a_b_e"].map(str::to_owned).to_vec(), &vec!["z_c".to_owned()]]);
    // It makes way for a snapshot, too.
    let mixed = names(&servers, |server| server == "a");
    assert_eq!((mixed[0][0].as_str(), &mixed[1][0]), ("a_b_c", &forged("a_b", "a_b_c")));
}

#[test]
fn unknown_tool_does_not_rename_tools_of_the_snapshot() {
    let mut names = PrefixedNames::default();
    names.add_snapshot("s", ["get-sum"]);
    assert_eq!(names.tools("s", &["get-sum", "get_sum"]), ["s_get_sum", "s_get_sum_tool"]);
    let given = Given::from([("getSum".to_owned(), "s_get_sum_camel".to_owned())]);
    let beside = names.tools_beside("s", &["get_sum", "getSum", "get_sum_camel"], &given);
    assert_eq!(beside[1], "s_get_sum_camel");
    assert_eq!(beside.iter().collect::<BTreeSet<_>>().len(), 3, "{beside:?}");
}

#[test]
fn live_tool_does_not_rename_tools_of_the_snapshot() {
    let mut names = PrefixedNames::default();
    names.add_snapshot("s", ["get"]);
    assert_eq!(names.tools("s", &["get", "s_get", "Get-Sum"]), ["s_get", "s_s_get", "s_get_sum"]);
}

#[test]
fn bound_name_is_not_used_for_another_tool() {
    let mut names = PrefixedNames::default();
    names.add_bound("s", [("get-sum", "s_sum")]);
    let named = names.tools("s", &["sum", "get-sum"]);
    assert_eq!(named[1], "s_sum");
    assert_ne!(named[0], "s_sum");
}

#[test]
fn prefixed_names_are_unique_across_servers() {
    let (of_a, of_bare) = (forged("a", "c"), forged("bare", "a_b_c"));
    let (of_a, of_bare) = (of_a.as_str(), of_bare.as_str());
    let long = "b_".repeat(60);
    let lists: [&[&str]; 6] = [
        &["b_c", "c", "b.c", "bC", "call_tool"],
        &["c", of_a, "C", "c.", "b_c"],
        &["a_b_c", of_bare, "a_b", "c", "find_tools"],
        &["b_c_d", &long, "c_d"],
        &["c_d", "d", of_a, of_bare],
        &["課題", "", "a_b_c_d", &long],
    ];
    let servers = ["a", "a_b", "bare", "a_b_c", "bare_2", "x"];
    // Every server is known or not, and each lists any of these.
    for known in 0..1_u32 << servers.len() {
        for shift in 0..lists.len() {
            let all: Vec<List<'_>> = servers
                .iter()
                .enumerate()
                .map(|(place, server)| (*server, lists[(place + shift) % lists.len()]))
                .collect();
            let is_known = |server: &str| {
                let place = servers.iter().position(|other| *other == server).unwrap_or_default();
                known & (1 << place) != 0
            };
            let names = names(&all, is_known);
            let every: Vec<&String> = names.iter().flatten().collect();
            let different: BTreeSet<&String> = every.iter().copied().collect();
            assert_eq!(different.len(), every.len(), "{known:b} {shift}: {every:?}");
            assert!(every.iter().all(|name| is_accepted(name)), "{every:?}");
        }
    }
}

#[test]
fn names_are_independent_of_order() {
    let tools = ["b_c", "b.c", "bC", "B-C", "call_tool", "c"];
    let reversed: Vec<&str> = tools.iter().rev().copied().collect();
    let forward = names(&[("a", &tools), ("a_b", &["c"]), ("bare", &["a_b_c"])], |_| true);
    let backward = names(&[("bare", &["a_b_c"]), ("a_b", &["c"]), ("a", &reversed)], |_| true);
    assert_eq!(forward[0].iter().rev().collect::<Vec<_>>(), backward[2].iter().collect::<Vec<_>>());
    assert_eq!([&forward[1], &forward[2]], [&backward[1], &backward[0]]);
}

#[test]
fn long_names_are_truncated_and_stay_unique() {
    let long = format!("{}_end", "x".repeat(60));
    let all = names(&[("server", &[&long, "x"]), (&"y".repeat(64), &["a", "b"])], |_| true);
    assert!(all[0][0].starts_with("server_xxx") && all[0][0].len() == 64, "{all:?}");
    assert!(all[1][0] != all[1][1] && all[1].iter().all(|name| name.starts_with("yyyy") && is_accepted(name)));
}

#[test]
fn equal_names_in_one_set_are_made_distinct() {
    let wanted = [("a", "x", "same".to_owned()), ("b", "y", "same".to_owned()), ("c", "z", "other".to_owned())];
    let apart = told_apart(&wanted, |name| name == "other");
    assert_eq!(apart, [forged("a", "same"), forged("b", "same"), forged("c", "other")]);
    assert_eq!(told_apart(&wanted[..1], |_| false), ["same"]);
}
