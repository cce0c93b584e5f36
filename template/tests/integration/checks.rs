//! Tests the faults of actions that do not fit the tools.

use mcp_bindgen_template::{Action, Fault, Slot, SlotKind, Takes, Template, Tools};
use serde_json::{Value, json};

fn tools() -> Tools {
    let schema = json!({
        "type": "object",
        "required": ["owner", "repo"],
        "properties": {
            "owner": {"type": "string"},
            "repo": {"type": "string"},
            "limit": {"type": "integer"},
            "page": {"type": "integer", "minimum": 0},
            "ratio": {"type": "number"},
            "draft": {"type": "boolean"},
            "state": {"enum": ["open", "closed", "all"]},
            "level": {"enum": [1, 2, "max"]},
            "labels": {"type": "array", "items": {"type": "string"}},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false, "minItems": 2},
            "since": {"type": ["string", "null"]},
            "nothing": {"type": "null"},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "many": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
            "env": {"type": "object", "additionalProperties": {"type": "integer"}},
            "any": {},
            "author": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
                "additionalProperties": false
            },
            "open": {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": true},
            "shape": {"oneOf": [
                {"type": "object", "required": ["kind", "side"], "properties": {"kind": {"const": "square"}, "side": {"type": "number"}}},
                {"type": "object", "required": ["kind", "radius"], "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}}
            ]},
            "tree": {"$ref": "#/$defs/tree"},
            "two words": {"type": "string"}
        },
        "$defs": {"tree": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/tree"}}]}}
    });
    let mut tools = Tools::new();
    tools.add("github", "list_issues", "github_list_issues", &schema);
    tools.add("github", "list_commits", "github_list_commits", &json!({"type": "object", "properties": {}}));
    let open =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}});
    tools.add("fs", "read.file", "fs_read_file", &open);
    tools.add("fs", "choose", "fs_choose", &json!({"type": "object", "oneOf": [
        {"properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": false},
        {"properties": {"url": {"type": "string"}, "depth": {"type": "integer"}}, "required": ["url"], "additionalProperties": false}
    ]}));
    tools.add("one", "same", "same", &json!({"type": "object"}));
    tools.add("two", "same", "same", &json!({"type": "object"}));
    tools.add("one", "broken", "one_broken", &json!(true));
    tools.add_server("empty");
    tools
}

/// Returns the faults of `[[@github_list_issues|owner="o", repo="r", ARGUMENTS]]`, without their positions.
fn said(arguments: &str) -> Vec<String> {
    of(&format!("[[@github_list_issues|owner=\"o\", repo=\"r\", {arguments}]]"))
}

fn of(text: &str) -> Vec<String> {
    let template = Template::parse(text).unwrap_or_else(|faults| panic!("{text}: {faults:?}"));
    checked(&tools(), &template).into_iter().map(|fault| fault.message).collect()
}

/// The faults of all actions.
fn checked(tools: &Tools, template: &Template) -> Vec<Fault> {
    let of_slot = |slot: Slot<'_>| match slot.kind {
        SlotKind::Action(action) => match tools.find(action) {
            Ok(tool) => tool.check(action, slot.place),
            Err(message) => vec![Fault::new(slot.place, message)],
        },
        _ => Vec::new(),
    };
    template.slots().flat_map(of_slot).collect()
}

#[test]
fn matching_arguments_are_accepted() {
    let fine = [
        "limit=1",
        "limit=-1",
        "limit=5.0",
        "limit=1e3",
        "limit=n",
        "limit=\"{{ n }}\"",
        "limit=\"1{{ n }}\"",
        "limit=\"-{{ n }}.5e+3\"",
        "page=0",
        "page=18446744073709551615",
        "ratio=1",
        "ratio=-0.5",
        "draft=true",
        "draft=x",
        "draft=\"{{ x }}\"",
        "draft=\"t{{ x }}\"",
        "state=\"open\"",
        "state=\"{{ s }}\"",
        "state=\"clo{{ s }}\"",
        "state=s|lower",
        "level=1",
        "level=2.0",
        "level=\"max\"",
        "level=\"{{ n }}\"",
        "labels=[]",
        "labels=[\"a\", b, \"{{ c }}\"]",
        "labels=l",
        "pair=[\"a\", 1]",
        "pair=[x, y]",
        "since=null",
        "since=\"x\"",
        "nothing=null",
        "either=1",
        "either=\"x\"",
        "either=\"{{ x }}\"",
        "many=1",
        "many=[1, \"{{ x }}\"]",
        "env={}",
        "env={\"a\": 1}",
        "any=null",
        "any=[{\"a\": [1]}]",
        "author={\"name\": \"n\"}",
        "author={\"name\": n, \"age\": 3, \"tags\": []}",
        "open={\"a\": 1, \"b\": \"c\"}",
        "shape={\"kind\": \"square\", \"side\": 1}",
        "shape={\"kind\": k, \"radius\": 1}",
        "tree=[1, [2, [[3, [], 4]]]]",
        "\"two words\"=\"x\"",
    ];
    for arguments in fine {
        assert_eq!(said(arguments), [""; 0], "{arguments}");
    }
    for text in [
        "[[@mcp:a|server=\"fs\", tool=\"read.file\", b=1, a=\"x\"]]",
        "[[@fs_choose|path=\"x\"]]",
        "[[@fs_choose|url=u, depth=2]]",
        "[[@github_list_commits]]",
        "[[json:x|whatever=1]]",
        "[[@mcp:a|server=\"one\", tool=\"same\"]]",
    ] {
        assert_eq!(of(text), [""; 0], "{text}");
    }
    // A tool without an object schema takes any arguments, and so does an open object schema.
    for schema in [json!(true), json!("x"), json!(null), json!({"type": "object", "additionalProperties": true})] {
        let mut tools = Tools::new();
        tools.add("s", "t", "s_t", &schema);
        assert_eq!(checked(&tools, &Template::parse("[[@s_t|a=1]]").unwrap()), [], "{schema}");
    }
    println!("{} arguments that fit", fine.len() + 6);
}

#[test]
fn mismatched_arguments_are_errors() {
    let faults = [
        ("limit=\"10\"", "`limit` of `github_list_issues` is an integer, not the text \"10\""),
        ("limit=1.5", "`limit` of `github_list_issues` is an integer, not 1.5"),
        ("limit=9223372036854775808", "`limit` of `github_list_issues` is an integer, not 9223372036854775808"),
        ("limit=true", "`limit` of `github_list_issues` is an integer, not true"),
        ("limit=null", "`limit` of `github_list_issues` is an integer, not null; leave it out"),
        ("limit=[1]", "`limit` of `github_list_issues` is an integer, not a list of 1"),
        ("limit=\"n{{ x }}\"", "`limit` of `github_list_issues` is an integer, not the text \"n{{ x }}\""),
        ("page=-1", "`page` of `github_list_issues` is a non-negative integer, not -1"),
        ("ratio=\"x\"", "`ratio` of `github_list_issues` is a number, not the text \"x\""),
        ("draft=1", "`draft` of `github_list_issues` is true or false, not 1"),
        ("draft=\"true\"", "`draft` of `github_list_issues` is true or false, not the text \"true\""),
        (
            "state=\"opne\"",
            "`state` of `github_list_issues` is one of \"open\", \"closed\", \"all\", not the text \"opne\"; did you mean `open`?",
        ),
        (
            "state=\"x{{ s }}\"",
            "`state` of `github_list_issues` is one of \"open\", \"closed\", \"all\", not the text \"x{{ s }}\"",
        ),
        ("level=3", "`level` of `github_list_issues` is one of \"max\", 1, 2, not 3"),
        ("labels=\"a\"", "`labels` of `github_list_issues` is a list, not the text \"a\""),
        ("labels=[\"a\", 1]", "`labels[1]` of `github_list_issues` is a text, not 1"),
        ("pair=[\"a\"]", "`pair` of `github_list_issues` is a list of 2, not a list of 1"),
        ("pair=[\"a\", \"b\"]", "`pair[1]` of `github_list_issues` is an integer, not the text \"b\""),
        ("since=1", "`since` of `github_list_issues` is a text or null, not 1"),
        ("nothing=1", "`nothing` of `github_list_issues` is null, not 1"),
        ("either=true", "`either` of `github_list_issues` is an integer or a text, not true"),
        ("many=[1, \"x\"]", "`many[1]` of `github_list_issues` is an integer, not the text \"x\""),
        ("env={\"a\": \"b\"}", "`env.a` of `github_list_issues` is an integer, not the text \"b\""),
        ("author={}", "`author` needs `name`: a text"),
        ("author={\"name\": \"n\", \"agee\": 1}", "`author` takes no `agee`; did you mean `age`?"),
        ("author={\"name\": 1}", "`author.name` of `github_list_issues` is a text, not 1"),
        (
            "author={\"name\": \"n\", \"tags\": [null]}",
            "`author.tags[0]` of `github_list_issues` is a text, not null; leave it out",
        ),
        ("author=\"n\"", "`author` of `github_list_issues` is an object, not the text \"n\""),
        ("open={\"a\": \"b\"}", "`open.a` of `github_list_issues` is an integer, not the text \"b\""),
        ("shape={\"kind\": \"square\", \"radius\": 1}", "`shape` takes no `radius`"),
        (
            "shape={\"kind\": \"square\", \"side\": \"x\"}",
            "`shape.side` of `github_list_issues` is a number, not the text \"x\"",
        ),
        ("shape={\"kind\": \"line\"}", "`shape` of `github_list_issues` is an object, not such an object"),
        ("tree=[1, [\"x\"]]", "`tree[1][0]` of `github_list_issues` is a list or an integer, not the text \"x\""),
        ("onwer=\"x\"", "`github_list_issues` takes no `onwer`; did you mean `owner`?"),
        ("zebra=1", "`github_list_issues` takes no `zebra`"),
    ];
    for (arguments, expected) in faults {
        assert_eq!(said(arguments), [expected], "{arguments}");
    }
    let others = [
        ("[[@github_list_issue|owner=\"o\"]]", "unknown tool `github_list_issue`; did you mean `github_list_issues`?"),
        ("[[@mcp:a|server=\"githb\", tool=\"x\"]]", "unknown server `githb`; did you mean `github`?"),
        (
            "[[@mcp:a|server=\"github\", tool=\"list_isues\"]]",
            "server `github` has no tool `list_isues`; did you mean `list_issues`?",
        ),
        ("[[@mcp:a|server=\"empty\", tool=\"x\"]]", "server `empty` has no tool `x`"),
        ("[[@github_list_issues|owner=\"o\"]]", "`github_list_issues` needs `repo`: a text"),
        ("[[@github_list_issues]]", "`github_list_issues` needs `owner`: a text, and `repo`: a text"),
        ("[[@github_list_commits|sha=\"x\"]]", "`github_list_commits` takes no `sha`: it has no arguments"),
        ("[[@fs_read_file|b=\"x\"]]", "`b` of `fs_read_file` is an integer, not the text \"x\""),
        ("[[@fs_choose|pth=\"x\"]]", "`fs_choose` takes no `pth`; did you mean `path` or `depth`?"),
        ("[[@fs_choose|depth=1]]", "`fs_choose` takes one of several sets of arguments, and these match none of them"),
    ];
    for (text, expected) in others {
        assert_eq!(of(text), [expected], "{text}");
    }
    assert!(of("[[@same]]")[0].contains("server=\"one\", tool=\"same\" or server=\"two\", tool=\"same\""));
    println!("{} arguments and tools that do not fit", faults.len() + others.len() + 1);
}

#[test]
fn faults_point_at_the_argument() {
    let text = "Hello\n\n[[@github_list_issues:x|\n  owner=1,\n  repo=\"r\", lmit=2\n]] [[@nope]]";
    let faults = checked(&tools(), &Template::parse(text).unwrap());
    let places: Vec<String> = faults.iter().map(|fault| fault.place.to_string()).collect();
    assert_eq!(places, ["4:3", "5:13", "6:4"]);
}

fn action(template: &Template) -> &Action {
    match template.slots().next().unwrap().kind {
        SlotKind::Action(action) => action,
        other => panic!("{other:?}"),
    }
}

#[test]
fn variables_have_the_type_that_their_argument_expects() {
    let tools = tools();
    let template = Template::parse(
        "[[@github_list_issues|owner=a, limit=b, page=c, ratio=d, draft=e, state=f, labels=g, either=h, \
         since=i, level=j, pair=[k, l], env={\"x\": m}, author={\"age\": n, \"x\": o}, many=[p], tree=q, any=r, labels2=s, nothing=\"{{t}}\"]]",
    )
    .unwrap();
    let passed = tools.find(action(&template)).unwrap().passed(action(&template));
    use Takes::{Bool, F64, I64, Json, Text, U64};
    let expected = [
        ("a", Text),
        ("b", I64),
        ("c", U64),
        ("d", F64),
        ("e", Bool),
        ("f", Text),
        ("g", Json),
        ("h", Json),
        ("i", Text),
        ("j", Json),
        ("k", Text),
        ("l", I64),
        ("m", I64),
        ("n", I64),
        ("o", Json),
        ("p", I64),
        ("q", Json),
        ("r", Json),
        ("s", Json),
    ];
    assert_eq!(passed, expected);
}

#[test]
fn interpolated_text_is_converted_to_the_type_in_the_schema() {
    let tools = tools();
    let cases = [
        ("limit=\"{{x}}\"", json!("10"), json!(10)),
        ("limit=\"{{x}}\"", json!("-3"), json!(-3)),
        ("limit=\"{{x}}\"", json!("010"), json!("010")),
        ("limit=\"{{x}}\"", json!(" 10"), json!(" 10")),
        ("limit=\"{{x}}\"", json!("1.5"), json!("1.5")),
        ("limit=\"{{x}}\"", json!("true"), json!("true")),
        ("limit=\"{{x}}\"", json!(""), json!("")),
        ("limit=x", json!("10"), json!("10")),
        ("page=\"{{x}}\"", json!("-1"), json!("-1")),
        ("ratio=\"{{x}}\"", json!("1.5"), json!(1.5)),
        ("draft=\"{{x}}\"", json!("true"), json!(true)),
        ("draft=\"{{x}}\"", json!("True"), json!("True")),
        ("owner=\"{{x}}\"", json!("10"), json!("10")),
        ("either=\"{{x}}\"", json!("10"), json!("10")),
        ("level=\"{{x}}\"", json!("1"), json!("1")),
        ("many=[\"{{x}}\", y]", json!(["1", "2"]), json!([1, "2"])),
        ("env={\"a\": \"{{x}}\", \"b\": y}", json!({"a": "1", "b": "2"}), json!({"a": 1, "b": "2"})),
        ("pair=[\"{{x}}\", \"{{y}}\"]", json!(["1", "2"]), json!(["1", 2])),
        ("any=\"{{x}}\"", json!("1"), json!("1")),
        ("labels=\"{{x}}\"", json!("[]"), json!("[]")),
        ("nope=\"{{x}}\"", json!("1"), json!("1")),
    ];
    for (argument, given, expected) in &cases {
        let template = Template::parse(&format!("[[@github_list_issues|{argument}]]")).unwrap();
        let tool = tools.find(action(&template)).unwrap();
        let fitted = tool.fitted(&action(&template).arguments[0], given.clone());
        assert_eq!(fitted, *expected, "{argument} {given}");
    }
    println!("{} values fitted", cases.len());
}

/// Choices within choices, each open: the question is put once for each part, not once for each way to it.
#[test]
fn hostile_schemas_are_checked_in_bounded_time() {
    let branches: Vec<Value> = (0..40)
        .map(|number| {
            json!({"type": "object", "required": [format!("r{number}")], "properties": {
            "next": {"$ref": "#/$defs/node"}, format!("r{number}"): {"type": "integer"}}})
        })
        .collect();
    let schema = json!({"type": "object", "properties": {"node": {"$ref": "#/$defs/node"}}, "$defs": {"node": {"anyOf": branches}}});
    let mut tools = Tools::new();
    tools.add("s", "t", "s_t", &schema);
    let node = format!("{}1{}", "{\"next\": ".repeat(60), "}".repeat(60));
    let template = Template::parse(&format!("[[@s_t|node={node}]]")).unwrap();
    assert_eq!(checked(&tools, &template).len(), 1);
}
