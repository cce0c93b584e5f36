//! No schema of a stranger takes long to read, or much memory: each of these once did, or was meant to.
//!
//! `cargo test -p mcp-bindgen-schema --release --test integration limits:: -- --nocapture` prints what each takes.

use std::fmt::Write;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use mcp_bindgen_schema::diagnostics::Reporter;
use mcp_bindgen_schema::provider::{Dialect, loose, strict};
use mcp_bindgen_schema::{Document, Role, Shape};
use serde_json::Value;

/// Far more than any takes, also where nothing is optimized and the machine is busy.
const LONGEST: Duration = Duration::from_secs(60);

/// Joins what `part` writes for each number below `count`.
fn each(count: usize, part: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for index in 0..count {
        let comma = if index == 0 { "" } else { "," };
        write!(text, "{comma}{}", part(index)).unwrap();
    }
    text
}

fn with_definitions(members: &str, definitions: &str) -> String {
    format!(r##"{{"type":"object",{members},"$defs":{{{definitions}}}}}"##)
}

/// A definition that is refered to.
fn to(name: impl std::fmt::Display) -> String {
    format!(r##"{{"$ref":"#/$defs/{name}"}}"##)
}

/// Reads a schema; says how many shapes there are, how many fields, and whether a limit was met.
fn read(name: &'static str, text: &str) -> (usize, usize, bool) {
    let schema: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (sender, receiver) = mpsc::channel();
    let kilobytes = text.len() / 1024;
    thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(move || {
            let started = Instant::now();
            let mut reporter = Reporter::new("t", 0, "/inputSchema");
            let document = Document::read(&schema, Role::Input, &mut reporter);
            let took = started.elapsed();
            let fields = document.shapes.ids().map(|id| match document.shapes.get(id) {
                Shape::Struct(object) => object.fields.len(),
                _ => 0,
            });
            let figures = (document.shapes.ids().count(), fields.sum::<usize>());
            let limited = reporter.finish().iter().any(|diagnostic| diagnostic.code.id == "MCP0010");
            let _ = sender.send((took, figures, limited));
        })
        .unwrap();
    let (took, (shapes, fields), limited) =
        receiver.recv_timeout(LONGEST).unwrap_or_else(|_| panic!("{name}, of {kilobytes} KB, does not end"));
    println!(
        "{name:<44} {kilobytes:>5} KB {took:>9.1?} {shapes:>7} shapes {fields:>7} fields{}",
        if limited { ", limited" } else { "" }
    );
    (shapes, fields, limited)
}

/// Reads a schema that is meant to hit a limit.
fn is_limited(name: &'static str, text: &str) {
    let (shapes, fields, limited) = read(name, text);
    assert!(limited, "{name} is typed whole, as {shapes} shapes");
    assert!(shapes + fields < 20_000 + text.len() / 4, "{name}: {shapes} shapes, {fields} fields");
}

#[test]
fn paired_definitions_are_limited() {
    let level = |index: usize| {
        let pair = |left: usize, right: usize| {
            format!(r#"{{"allOf":[{},{}]}}"#, to(format!("d{left}")), to(format!("d{right}")))
        };
        let (left, right) = (pair(index + 1, index + 2), pair(index + 2, index + 3));
        format!(r#""d{index}":{{"properties":{{"a":{left},"b":{right}}}}}"#)
    };
    let levels = each(21, level) + r#","d21":{},"d22":{},"d23":{}"#;
    is_limited(
        "21 definitions of pairs below properties",
        &with_definitions(&format!(r#""properties":{{"x":{}}}"#, to("d0")), &levels),
    );
    let level = |index: usize| {
        let parts = each(3, |part| to(format!("d{}", (index * 7 + part * 11 + 1) % 300)));
        format!(r#""d{index}":{{"properties":{{"a":{{"allOf":[{parts}]}},"b":{{"items":{{"allOf":[{parts}]}}}}}}}}"#)
    };
    is_limited(
        "300 definitions of triples",
        &with_definitions(r##""properties":{"x":{"$ref":"#/$defs/d0"}}"##, &each(300, level)),
    );
}

#[test]
fn recursive_conditions_are_read_in_bounded_time() {
    let branches = each(1000, |_| to("A"));
    read(
        "if a thousandfold circle",
        &with_definitions(&format!(r#""if":{}"#, to("A")), &format!(r#""A":{{"anyOf":[{branches}]}}"#)),
    );
    let circle = each(300, |index| {
        let others = each(60, |other| to(format!("c{}", (index * 31 + other * 17) % 300)));
        format!(r#""c{index}":{{"if":{{"anyOf":[{others}]}},"then":{{"required":["k{index}"]}},"allOf":[{others}]}}"#)
    });
    read("conditions in circles", &with_definitions(&format!(r#""if":{}"#, to("c0")), &circle));
    let conditions = each(2000, |_| format!(r#"{{"if":{}}}"#, to("A")));
    let names = each(20_000, |index| format!(r#""k{index}":{{}}"#));
    read(
        "many conditions that name much",
        &with_definitions(
            &format!(r#""properties":{{"p":{{"prefixItems":[{conditions}]}}}}"#),
            &format!(r#""A":{{"properties":{{{names}}}}}"#),
        ),
    );
    let chain = each(20_000, |index| format!(r#""k{index}":["k{}"]"#, index + 1));
    read("a chain of dependencies", &format!(r#"{{"type":"object","dependencies":{{{chain}}}}}"#));
    let chain =
        each(3000, |index| format!(r#""k{index}":{{"dependencies":{{"j{index}":{{"required":["l{index}"]}}}}}}"#));
    read(
        "dependencies in dependencies",
        &format!(r#"{{"type":"object","properties":{{}},"dependencies":{{{chain}}}}}"#),
    );
}

#[test]
fn intersected_unions_are_limited() {
    let objects = |key: &str, count| {
        each(count, |index| {
            format!(r#"{{"properties":{{"{key}{index}":{{"type":"string"}}}},"required":["{key}{index}"]}}"#)
        })
    };
    let (left, right) = (objects("a", 290), objects("b", 290));
    is_limited(
        "290 objects and 290 objects",
        &format!(
            r#"{{"type":"object","properties":{{"x":{{"allOf":[{{"anyOf":[{left}]}},{{"anyOf":[{right}]}}]}}}}}}"#
        ),
    );
    let closed = |key: &str| {
        each(290, |index| {
            format!(
                r#"{{"type":"object","properties":{{"{key}{index}":{{}},"z":{{}}}},"required":["{key}{index}"],"additionalProperties":false}}"#
            )
        })
    };
    let unions = each(20, |_| format!(r#"{{"anyOf":[{}]}}"#, closed("a")))
        + ","
        + &each(20, |_| format!(r#"{{"anyOf":[{}]}}"#, closed("b")));
    read(
        "forty unions that exclude each other",
        &format!(r#"{{"type":"object","properties":{{"x":{{"allOf":[{unions}]}}}}}}"#),
    );
    let shared = each(1000, |index| format!(r#""p{index}":{{"type":"string"}}"#));
    let branches = each(290, |index| format!(r#"{{"allOf":[{},{{"properties":{{"q{index}":{{}}}}}}]}}"#, to("S")));
    is_limited(
        "290 branches that share much",
        &with_definitions(
            &format!(r#""properties":{{"x":{{"anyOf":[{branches}]}}}}"#),
            &format!(r#""S":{{"properties":{{{shared}}}}}"#),
        ),
    );
    let constants = each(2000, |index| format!(r#""p{index}":{{"const":"c"}}"#));
    let required = each(2000, |index| format!(r#""p{index}""#));
    let branches = each(200, |index| {
        format!(r#"{{"allOf":[{},{{"properties":{{"q{index}":{{}}}},"required":["q{index}"]}}]}}"#, to("S"))
    });
    read(
        "tags that tell nothing apart",
        &with_definitions(
            &format!(r#""properties":{{"x":{{"anyOf":[{branches}]}}}}"#),
            &format!(r#""S":{{"properties":{{{constants}}},"required":[{required}]}}"#),
        ),
    );
    let demands = each(60, |index| {
        format!(r#"{{"anyOf":[{}]}}"#, each(250, |set| format!(r#"{{"required":["r{index}_{set}"]}}"#)))
    });
    let places =
        each(300, |index| format!(r#""u{index}":{{"allOf":[{},{{"properties":{{"q{index}":{{}}}}}}]}}"#, to("D")));
    read(
        "demands that multiply",
        &with_definitions(&format!(r#""properties":{{{places}}}"#), &format!(r#""D":{{"allOf":[{demands}]}}"#)),
    );
    let levels = each(60, |index| {
        format!(
            r#""n{index}":{{"allOf":[{},{{"anyOf":[{{"properties":{{"l{index}":{{"const":1}}}}}},{{"properties":{{"r{index}":{{}}}}}}]}}]}}"#,
            to(format!("n{}", index + 1))
        )
    });
    is_limited(
        "choices in choices",
        &with_definitions(&format!(r#""properties":{{"x":{}}}"#, to("n0")), &format!(r#"{levels},"n60":{{}}"#)),
    );
}

#[test]
fn large_numbers_of_references_are_limited() {
    let names = each(2000, |index| format!(r#""k{index}":{{"type":"string"}}"#));
    let places = each(10_000, |index| format!(r#""u{index}":{}"#, to("B")));
    read(
        "ten thousand references to one",
        &with_definitions(&format!(r#""properties":{{{places}}}"#), &format!(r#""B":{{"properties":{{{names}}}}}"#)),
    );
    let places = each(8000, |index| format!(r##""u{index}":{{"$ref":"#/$defs/B","required":["x{index}"]}}"##));
    is_limited(
        "each of them with something of its own",
        &with_definitions(&format!(r#""properties":{{{places}}}"#), &format!(r#""B":{{"properties":{{{names}}}}}"#)),
    );
    let circle = each(300, |index| {
        let others = each(60, |other| to(format!("c{}", (index * 31 + other * 17) % 300)));
        format!(
            r#""c{index}":{{"anyOf":[{{"properties":{{"p{index}":{}}}}},{others}]}}"#,
            to(format!("c{}", (index + 1) % 300))
        )
    });
    read("circles of choices", &with_definitions(&format!(r#""properties":{{"x":{}}}"#, to("c0")), &circle));
    let circle = each(17, |index| format!(r#""c{index}":{{"allOf":[{}]}}"#, each(17, |other| to(format!("c{other}")))));
    read(
        "seventeen that are all of each other",
        &with_definitions(&format!(r#""properties":{{"x":{}}}"#, to("c0")), &circle),
    );
    let chain = each(10_000, |index| format!(r#""c{index}":{}"#, to(format!("c{}", index + 1))));
    read("a chain of references", &with_definitions(&format!(r#""properties":{{"x":{}}}"#, to("c0")), &chain));
    let parts = each(15_000, |index| format!(r#"{{"properties":{{"a":{{"maxLength":{index}}}}}}}"#));
    is_limited("allOf of fifteen thousand", &format!(r#"{{"type":"object","allOf":[{parts}]}}"#));
    let tuples = each(3000, |index| {
        let items = each(8, |item| to(format!("t{}", (index * 37 + item * 101 + 1) % 3000)));
        format!(r#""t{index}":{{"type":"array","prefixItems":[{items}],"minItems":8,"maxItems":8}}"#)
    });
    read("tuples of tuples", &with_definitions(&format!(r#""properties":{{"x":{}}}"#, to("t0")), &tuples));
}

/// Each definition is referred to twice, and so printed as one.
fn strict_schema_of_a_chain(beside: &str, dialect: Dialect) {
    const COUNT: usize = 1_500;
    let next = |index: usize| format!(r##"{{"$ref":"#/$defs/d{}"{beside}}}"##, index + 1);
    let chain = each(COUNT, |index| {
        format!(r#""d{index}":{{"type":"object","properties":{{"a":{}}},"required":["a"]}}"#, next(index))
    });
    let places = each(COUNT, |index| format!(r#""p{index}":{}"#, to(format!("d{index}"))));
    let last = format!(r#""d{COUNT}":{{"type":"string"}}"#);
    let text = with_definitions(&format!(r#""properties":{{{places}}}"#), &format!("{chain},{last}"));
    let schema: Value = serde_json::from_str(&text).unwrap();
    let started = Instant::now();
    let is_strict = strict(&schema, dialect).is_ok();
    println!("{COUNT} definitions for {dialect:?} {:>9.1?}", started.elapsed());
    assert_eq!(is_strict, dialect != Dialect::OpenAi);
    assert!(started.elapsed() < LONGEST, "{dialect:?}: {:?}", started.elapsed());
}

#[test]
fn provider_schemas_of_a_chain_of_definitions_are_printed() {
    strict_schema_of_a_chain("", Dialect::OpenAi);
}

#[test]
fn provider_schemas_of_a_chain_with_descriptions_are_printed() {
    strict_schema_of_a_chain(r#","description":"x""#, Dialect::Anthropic);
}

#[test]
fn exclusive_choices_are_compared_in_bounded_time() {
    let choice = r#"{"oneOf":[{"type":"string"},{"not":{"type":"string"}}]}"#;
    let places = each(1_000, |index| format!(r#""p{index}":{choice}"#));
    let schema: Value = serde_json::from_str(&format!(r#"{{"type":"object","properties":{{{places}}}}}"#)).unwrap();
    let started = Instant::now();
    let _ = loose(&schema, Dialect::OpenAi);
    println!("1000 exclusive choices {:>9.1?}", started.elapsed());
    assert!(started.elapsed() < LONGEST / 4, "{:?}", started.elapsed());
}

#[test]
fn long_lists_are_read_in_bounded_time() {
    let values = |start: usize| each(40_000, |index| format!(r#""v{}""#, start + index));
    read(
        "two long enums",
        &format!(
            r#"{{"type":"object","properties":{{"x":{{"allOf":[{{"enum":[{}]}},{{"enum":[{}]}}]}}}}}}"#,
            values(0),
            values(20_000)
        ),
    );
    let numbers = |start: usize| each(60_000, |index| format!("{}.5", start + index));
    read(
        "two long enums of numbers",
        &format!(
            r#"{{"type":"object","properties":{{"x":{{"allOf":[{{"enum":[{}]}},{{"enum":[{}]}}]}}}}}}"#,
            numbers(0),
            numbers(9)
        ),
    );
    let literals = |start: usize| each(25_000, |index| format!(r#"{{"a":[{}]}}"#, start + index));
    read(
        "two long enums of objects",
        &format!(
            r#"{{"type":"object","properties":{{"x":{{"allOf":[{{"enum":[{}]}},{{"enum":[{}]}}]}}}}}}"#,
            literals(0),
            literals(9)
        ),
    );
    let constants = each(40_000, |index| format!(r#"{{"const":"v{index}"}}"#));
    read("a choice of constants", &format!(r#"{{"type":"object","properties":{{"x":{{"anyOf":[{constants}]}}}}}}"#));
    let names = each(40_000, |index| format!(r#""k{index}""#));
    let properties = each(20_000, |index| format!(r#""k{index}":{{}}"#));
    read("much is required", &format!(r#"{{"type":"object","properties":{{{properties}}},"required":[{names}]}}"#));
    read(
        "much is required twice",
        &format!(
            r#"{{"type":"object","allOf":[{{"required":[{names}]}},{{"required":[{names}],"anyOf":[{{"required":[{names}]}},{{}}]}}]}}"#
        ),
    );
}

#[test]
fn null_and_no_value_are_known_beyond_the_limit_of_alternatives() {
    let object =
        |index: usize| format!(r#"{{"type":"object","properties":{{"a{index}":{{}}}},"required":["a{index}"]}}"#);
    let many = format!(r#""many":{{"anyOf":[{},{{"type":"null"}}]}}"#, each(301, object));
    let narrowed = |kind: &str| format!(r#"{{"allOf":[{},{{"type":"{kind}"}}]}}"#, to("many"));
    let properties = format!(r#""properties":{{"null":{},"never":{}}}"#, narrowed("null"), narrowed("string"));
    let schema: Value = serde_json::from_str(&with_definitions(&properties, &many)).unwrap();
    let mut reporter = Reporter::new("t", 0, "/inputSchema");
    let document = Document::read(&schema, Role::Input, &mut reporter);
    let diagnostics = reporter.finish();
    assert!(diagnostics.iter().any(|said| said.message == "too many alternatives to tell apart"), "{diagnostics:?}");
    let never: Vec<_> = diagnostics.iter().filter(|said| said.code.id == "MCP0011").map(|said| &said.pointer).collect();
    assert_eq!(never, ["/inputSchema/properties/never"]);
    let Shape::Struct(object) = document.shapes.get(document.root) else { panic!("arguments are an object") };
    let shapes: Vec<_> =
        object.fields.iter().map(|field| (field.wire.as_str(), document.shapes.get(field.slot.shape))).collect();
    assert_eq!(shapes, [("null", &Shape::Null)]);
}

#[test]
fn numbers_beyond_doubles_are_reported_in_lists_too() {
    let text = r#"{"type":"object","properties":{
        "a":{"const":[1e400]},"b":{"default":[1e400]},"c":{"enum":[1,1e400]},"d":{"maximum":1e400}
    }}"#;
    let schema = mcp_bindgen_model::parse_leniently(text).unwrap().value;
    let mut reporter = Reporter::new("t", 0, "/inputSchema");
    let _ = Document::read(&schema, Role::Input, &mut reporter);
    let said: Vec<_> = reporter.finish().into_iter().map(|said| (said.code.id, said.pointer, said.message)).collect();
    let expected = ["a/const", "b/default", "c/enum", "d/maximum"].map(|place| {
        let message = "a number is beyond the range of doubles".to_owned();
        ("MCP0010", format!("/inputSchema/properties/{place}"), message)
    });
    assert_eq!(said, expected);
}

#[test]
fn long_names_are_limited() {
    let key = "k".repeat(4000);
    let fan = each(20_000, |index| format!(r#""p{index}":{{}}"#));
    let deep = (0..45)
        .fold(format!(r#"{{"properties":{{{fan}}}}}"#), |inner, _| format!(r#"{{"properties":{{"{key}":{inner}}}}}"#));
    is_limited(
        "much below long keys",
        &format!(r##"{{"type":"object","properties":{{"a":{deep},"b":{{"$ref":"#/properties/a"}}}}}}"##),
    );
    let fan = each(10_000, |index| format!(r#""p{index}":{{"$anchor":"a{index}"}}"#));
    let deep = (0..40).fold(format!(r#"{{"properties":{{{fan}}}}}"#), |inner, _| {
        format!(r#"{{"properties":{{"{}":{inner}}}}}"#, "k".repeat(90))
    });
    is_limited(
        "anchors below long keys",
        &format!(r##"{{"type":"object","properties":{{"a":{deep},"b":{{"$ref":"#a1"}}}}}}"##),
    );
    let segment = "s".repeat(4000);
    let fan = each(15_000, |index| format!(r##""p{index}":{{"$id":"i{index}","$ref":"#"}}"##));
    let deep = (0..45).fold(format!(r#"{{"properties":{{{fan}}}}}"#), |inner, _| {
        format!(r#"{{"$id":"{segment}/","properties":{{"n":{inner}}}}}"#)
    });
    read("long identifiers", &format!(r#"{{"type":"object","properties":{{"a":{deep}}}}}"#));
    let fan = each(12_000, |index| format!(r##""p{index}":{{"$id":"i{index}","items":{{"$ref":"#"}}}}"##));
    read("many identifiers", &format!(r#"{{"type":"object","properties":{{{fan}}}}}"#));
}
