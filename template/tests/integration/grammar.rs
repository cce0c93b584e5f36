//! Tests how each form of the language is parsed.

use mcp_bindgen_template::{
    Action, Argument, Completion, OnError, Part, PieceKind, Program, SlotKind, Target, Template, Term, Text,
};
use proptest::prelude::*;

use super::harness;

fn parsed(text: &str) -> Template {
    Template::parse(text).unwrap_or_else(|faults| panic!("{text}: {faults:?}"))
}

/// The pieces of a template in short.
fn pieces(text: &str) -> Vec<String> {
    let mut said = Vec::new();
    for segment in parsed(text).segments {
        for piece in &segment.pieces {
            said.push(match &piece.kind {
                PieceKind::Text(text) => format!("text {text}"),
                PieceKind::Expression(code) | PieceKind::Statement(code) => code.clone(),
                PieceKind::Action(action) => of_action(action),
                PieceKind::Completion(completion) => of_completion(completion),
                _ => panic!("another piece"),
            });
        }
        said.push(format!("end {}", segment.name.unwrap_or_default()));
    }
    assert_eq!(said.pop().as_deref(), Some("end "));
    said
}

fn of_action(action: &Action) -> String {
    let target = match &action.target {
        Target::Tool { server, tool } => format!("{server}/{tool}"),
        Target::Prefixed(name) => name.clone(),
        _ => panic!("another target"),
    };
    let variable = action.variable.as_ref().map(|text| format!(" as {}", of_text(text))).unwrap_or_default();
    let on_error = match &action.on_error {
        OnError::Propagate => String::new(),
        OnError::Empty => " else empty".to_owned(),
        OnError::Default(value) => format!(" else {}", of_term(value)),
        _ => panic!("another way"),
    };
    format!("call {target}{variable}{}{on_error}", of_arguments(&action.arguments))
}

fn of_completion(completion: &Completion) -> String {
    let kind = completion.kind.as_ref().map(|kind| format!(" {kind}")).unwrap_or_default();
    format!("fill{kind} {}{}", of_text(&completion.variable), of_arguments(&completion.options))
}

fn of_arguments(arguments: &[Argument]) -> String {
    arguments.iter().map(|argument| format!(" {}={}", argument.name, of_term(&argument.value))).collect()
}

fn of_text(text: &Text) -> String {
    let part = |part: &Part| match part {
        Part::Literal(literal) => literal.clone(),
        Part::Expression(code) => format!("<{code}>"),
        _ => panic!("another part"),
    };
    text.parts.iter().map(part).collect()
}

fn of_term(term: &Term) -> String {
    match term {
        Term::Literal(value) => value.to_string(),
        Term::Text(text) => format!("'{}'", of_text(text)),
        Term::Variable(code) => format!("({code})"),
        Term::List(items) => format!("[{}]", items.iter().map(of_term).collect::<Vec<_>>().join(" ")),
        Term::Object(fields) => {
            let fields: Vec<String> = fields.iter().map(|(key, value)| format!("{key}:{}", of_term(value))).collect();
            format!("{{{}}}", fields.join(" "))
        }
        _ => panic!("another term"),
    }
}

const FORMS: &[(&str, &[&str])] = &[
    ("", &[]),
    ("a [b] ] ]] { } }} %} <b> <checkpoints> </p>", &["text a [b] ] ]] { } }} %} <b> <checkpoints> </p>"]),
    ("\u{feff}a\r\nb\r\n", &["text a\r\nb\r\n"]),
    ("a [[[[b]] [[[[[[[[", &["text a [[b]] [[[["]),
    ("[[[[[[x]]", &["text [[", "fill x"]),
    ("{{ a }}{{- b|upper -}}{{+ c +}}", &["{{ a }}", "{{- b|upper -}}", "{{+ c +}}"]),
    ("{{ '}}' ~ \"%}\\\"}}\" }}", &["{{ '}}' ~ \"%}\\\"}}\" }}"]),
    ("{{ {'a': {'b': [1, [2]]}} }}", &["{{ {'a': {'b': [1, [2]]}} }}"]),
    ("{{ [[1, 2], [3]] }}", &["{{ [[1, 2], [3]] }}"]),
    (
        "{% if a == '%}' %}b{%- else -%}c{% endif %}",
        &["{% if a == '%}' %}", "text b", "{%- else -%}", "text c", "{% endif %}"],
    ),
    ("{% set a = 1 %}{% set b %}c{% endset %}", &["{% set a = 1 %}", "{% set b %}", "text c", "{% endset %}"]),
    ("{% set a | replace(b=1) %}{% endset %}", &["{% set a | replace(b=1) %}", "{% endset %}"]),
    (
        "{% for a in b if a != 'x' %}{% if a %}{% elif c %}{% endif %}{% else %}{% endfor %}",
        &["{% for a in b if a != 'x' %}", "{% if a %}", "{% elif c %}", "{% endif %}", "{% else %}", "{% endfor %}"],
    ),
    ("a{# [[[[b]] #}c", &["text a", "text c"]),
    ("a {#- b -#} c", &["text a", "text c"]),
    ("{{ a -}}{# b #} c", &["{{ a -}}", "text  c"]),
    ("a {# b #}{{- c }}", &["text a ", "{{- c }}"]),
    ("{# [[1]] {{ {% #}b", &["text b"]),
    ("{{ a }}{# b #}", &["{{ a }}"]),
    ("a {{- b -}} c", &["text a", "{{- b -}}", "text c"]),
    ("{% raw %}[[x]] {{ y }} {% z %}{% endraw %}", &["text [[x]] {{ y }} {% z %}"]),
    ("a {%- raw -%} b {%- endraw -%} c", &["text a", "text b", "text c"]),
    ("{{ a -}}{% raw %}{% endraw %} b", &["{{ a -}}", "text  b"]),
    ("a {% raw %} {%- endraw %}{{- b }}", &["text a ", "{{- b }}"]),
    ("{{ a -}}{% raw %} b {% endraw %}{{- c }}", &["{{ a -}}", "text  b ", "{{- c }}"]),
    (
        "a <checkpoint> b <checkpoint>Name here</checkpoint>c",
        &["text a ", "end ", "text  b ", "end Name here", "text c"],
    ),
    ("<checkpoint></checkpoint>", &["end "]),
    ("{% raw %}<user>{% endraw %} <users>", &["text <user>", "text  <users>"]),
    ("[[summary]]", &["fill summary"]),
    ("[[ json : facts | max = 3 , \"on_error\" = \"x\" ]]", &["fill json facts max=3 on_error='x'"]),
    ("[[part_{{ loop.index }}_{{i}}x]]", &["fill part_<loop.index>_<i>x"]),
    ("[[@time_now]]", &["call time_now"]),
    ("[[@time-now|]]", &["call time-now"]),
    ("[[@a_b:c|d=\"e\", f=1]]", &["call a_b as c d='e' f=1"]),
    ("[[@a_b:c\n  | d = \"e\"\n  , f = 1,\n]]", &["call a_b as c d='e' f=1"]),
    (
        "[[@mcp:c_{{loop.index}}|server=\"fs\", tool=\"read/it\", path=\"{{f}}\"]]",
        &["call fs/read/it as c_<loop.index> path='<f>'"],
    ),
    ("[[@mcp:c|tool=\"t\", \"tool\"=1, server=\"s\", \"server\"=2]]", &["call s/t as c tool=1 server=2"]),
    ("[[@a|server=1, tool=2]]", &["call a server=1 tool=2"]),
    ("[[@a|\"on_error\"=1, on_error=empty]]", &["call a on_error=1 else empty"]),
    ("[[@a|on_error=propagate]][[@a|on_error = default ( [] )]]", &["call a", "call a else []"]),
    ("[[@a|on_error=default(x.y)]]", &["call a else (x.y)"]),
    (
        "[[@a|b=-1, c=1.5e3, d=-0, e=18446744073709551615, f=0.0]]",
        &["call a b=-1 c=1500.0 d=0 e=18446744073709551615 f=0.0"],
    ),
    ("[[@a|b=true, c=false, d=null, e=True, f=None]]", &["call a b=true c=false d=null e=true f=null"]),
    ("[[@a|b=truex, c=nullable]]", &["call a b=(truex) c=(nullable)"]),
    ("[[@a|b=[], c=[1,[2,[3]]], d={\"e\":{\"f\":[null]}}]]", &["call a b=[] c=[1 [2 [3]]] d={e:{f:[null]}}"]),
    ("[[@a|b=[x, y.z[0], \"{{v}}\"], c={\"d\": w|first}]]", &["call a b=[(x) (y.z[0]) '<v>'] c={d:(w|first)}"]),
    ("[[@a|b=x[y[0]]]]", &["call a b=(x[y[0]])"]),
    ("[[@a|b=x['a]]'], c=f(1, ',') + 2]]", &["call a b=(x['a]]']) c=(f(1, ',') + 2)"]),
    ("[[@a|b=x == 1, c=x if y <= 2 else z, d=(1 + 2)]]", &["call a b=(x == 1) c=(x if y <= 2 else z) d=((1 + 2))"]),
    ("[[@a|b=x|default(1)|int, c=not x]]", &["call a b=(x|default(1)|int) c=(not x)"]),
    ("[[@a|b=\"\"]]", &["call a b=''"]),
    (r#"[[@a|b="\"\\\/\b\f\n\r\tA\ud83d\ude00"]]"#, &["call a b='\"\\/\u{8}\u{c}\n\r\tA😀'"]),
    (r#"[[@a|b="x {{ y["z"] ~ "}}" }} [[q]] ]] {#", c=1]]"#, &["call a b='x <y[\"z\"] ~ \"}}\"> [[q]] ]] {#' c=1"]),
    (r#"[[@a|b="\u007b{ x }}"]]"#, &["call a b='{{ x }}'"]),
    ("[[@a|\"b c\"=1, d-e.f=2, $g=3, é=4]]", &["call a b c=1 d-e.f=2 $g=3 é=4"]),
    ("é [[a]]\n課課 [[b]]", &["text é ", "fill a", "text \n課課 ", "fill b"]),
];

#[test]
fn every_syntax_form_is_parsed() {
    for (text, expected) in FORMS {
        assert_eq!(pieces(text), *expected, "{text}");
        assert!(harness::check(text), "{text}");
    }
    println!("{} forms of the language read", FORMS.len());
}

#[test]
fn positions_count_lines_and_characters() {
    let template = parsed("\u{feff}é [[a]]\r\n課課 [[@b|c=1,\n  d=2]]<checkpoint>\n{{ e }}");
    let of_piece = |segment: usize, piece: usize| template.segments[segment].pieces[piece].place.to_string();
    assert_eq!([of_piece(0, 0), of_piece(0, 1), of_piece(0, 2), of_piece(0, 3)], ["1:1", "1:3", "1:8", "2:4"]);
    assert_eq!([of_piece(1, 0), of_piece(1, 1)], ["3:20", "4:1"]);
    assert_eq!(template.segments[1].place.to_string(), "3:20");
    let PieceKind::Action(action) = &template.segments[0].pieces[3].kind else { panic!("an action") };
    let places: Vec<String> = action.arguments.iter().map(|argument| argument.place.to_string()).collect();
    assert_eq!(places, ["2:9", "3:3"]);
}

#[test]
fn all_faults_are_reported_together() {
    let faults = Template::parse("[[@x|1]]\n[[ok]]\n[[@y|a=]] {% endif %}\n{{ b ; c }}").unwrap_err();
    let places: Vec<String> = faults.iter().map(|fault| fault.place.to_string()).collect();
    assert_eq!(places, ["1:6", "3:8", "3:11", "4:6"]);
    assert_eq!(Template::parse(&"[[@x|1]]\n".repeat(100)).unwrap_err().len(), 20);
}

#[test]
fn errors_of_minijinja_have_positions() {
    for (text, places) in [
        ("{{ a b }}\n<checkpoint>{{ a\n b }} [[@x|c=d e]]", &["1:1", "3:1", "3:12"][..]),
        ("a {% if a b %}{{ c }}{% endif %}", &["1:3"]),
        ("{{ a }}{% set x = 1 %}[[@y:z|b=\"{{ x }}\"]]{% for i in z %}{{ i }}{% endfor %}", &[]),
    ] {
        let (template, environment) = (parsed(text), minijinja::Environment::new());
        let program = Program::new(&template);
        let checked = template.undeclared(&program, &environment, environment.template_from_str(&program.code));
        let faults = checked.err().unwrap_or_default();
        let found: Vec<String> = faults.iter().map(|fault| fault.place.to_string()).collect();
        assert_eq!(found, places, "{text}: {faults:?}");
    }
}

#[test]
fn slots_are_in_text_order() {
    let text = "[[a]]{% if x %}[[b]]{% for y in z %}{%- if w -%}[[@c|d=1]]{% endif %}{% else %}{% endfor %}\
                {% set v = 1 %}{% endif %}<checkpoint>{% with q = 1 %}[[e]]{% endwith %}";
    let template = parsed(text);
    let slots: Vec<_> = template.slots().map(|slot| slot.kind.name().unwrap()).collect();
    assert_eq!(slots, ["a", "b", "c", "e"]);
    assert!(matches!(template.slots().nth(2).unwrap().kind, SlotKind::Action(_)));
}

#[test]
fn names_used_before_their_slots_are_detected() {
    let undeclared = ["x", "y"].map(str::to_owned).into();
    for (text, late) in [
        ("{{ x }}[[@a:x]]", &[("x", 1)][..]),
        ("[[@a:x]]{{ x }}", &[]),
        ("[[@a:y|b=x]]\n[[x]]", &[("x", 1)]),
        ("[[@a:x|b=x]]", &[("x", 1)]),
        ("\n{% if x is defined %}{% endif %}[[x]]", &[("x", 2)]),
        ("{{ f(x=1) }}[[x]]", &[]),
        ("{{ x }}", &[]),
        ("{{ x }}[[@a:x]]<checkpoint>{{ y }}\n<checkpoint>[[y]]", &[("x", 1), ("y", 1)]),
        ("[[@a:v_{{k}}]]{{ x }}", &[]),
        ("[[@a:x{{k}}]]{{ x }}[[x]]", &[]),
    ] {
        let found = parsed(text).late(&undeclared);
        let found: Vec<_> = found.iter().map(|(name, fault)| (name.as_str(), fault.place.line)).collect();
        assert_eq!(found, late, "{text}");
    }
}

#[test]
fn names_with_expressions_match_as_patterns() {
    let text = |text: &str| match &parsed(&format!("[[@a|b=\"{text}\"]]")).segments[0].pieces[0].kind {
        PieceKind::Action(Action { arguments, .. }) => match &arguments[0].value {
            Term::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    for (pattern, fine, other) in [
        ("", "", "a"),
        ("a", "a", "ab"),
        ("a{{x}}", "a", "ba"),
        ("{{x}}a", "ba", "ab"),
        ("a{{x}}b{{y}}c", "abbc", "acb"),
        ("a{{x}}a", "aa", "a"),
        ("{{x}}ab{{y}}", "zabab", "ba"),
    ] {
        assert!(text(pattern).may_be(fine), "{pattern}: {fine}");
        assert!(!text(pattern).may_be(other), "{pattern}: {other}");
    }
}

/// Generates fragments of text, so that many texts are templates, or nearly so.
fn fragment() -> impl Strategy<Value = String> {
    let words: Vec<&str> = "[[ ]] [[[[ @ : | = , \" ' { } {{ }} {% %} {# #} - ( ) [ ] . a b x1 1 -2 0.5 true null é \n \r\n \\ \\n \\u0041 \
        if for endif endfor set endset raw endraw macro endmacro else in <checkpoint> </checkpoint> <user> < > \
        on_error=empty default(1) server=\"s\", tool=\"t\", @mcp:v [[@a:b|c=1]] [[json:f]] {{ x }} {% endif %}"
        .split(' ')
        .chain([" ", "  ", "\t", "{% if a %}", "{% endif %}", "{% raw %}", "{% endraw %}", "{#- c -#}", "[[@a|b=", "{{- y -}}"])
        .collect();
    prop::collection::vec(prop::sample::select(words), 0..24).prop_map(|words| words.concat())
}

fn value(depth: u32) -> impl Strategy<Value = Term> {
    let leaf = prop_oneof![
        "[a-z]{1,4}".prop_map(|name| name),
        "-?[1-9][0-9]{0,8}",
        "[0-9]\\.[0-9]e[0-9]",
        Just("true".to_owned())
    ];
    let text = prop::collection::vec(
        prop_oneof![
            "\\PC{0,6}".prop_map(|s| serde_json::to_string(&s).unwrap()[1..]
                .strip_suffix('"')
                .unwrap()
                .replace('{', "\\u007b")),
            Just("{{ a.b[0] }}".to_owned())
        ],
        0..3,
    );
    let leaf = prop_oneof![leaf, text.prop_map(|parts| format!("\"{}\"", parts.concat()))];
    leaf.prop_recursive(depth, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::btree_map("[a-z]{1,3}", inner, 0..4).prop_map(|fields| {
                let fields: Vec<String> = fields.iter().map(|(key, value)| format!("\"{key}\" : {value}")).collect();
                format!("{{{}}}", fields.join(", "))
            }),
        ]
    })
    .prop_map(|text| {
        let template = parsed(&format!("[[@a|b={text}]]"));
        let PieceKind::Action(action) = &template.segments[0].pieces[0].kind else { panic!("{text}") };
        action.arguments[0].value.clone()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn parser_never_panics(text in "\\PC{0,60}") {
        harness::check(&text);
    }

    #[test]
    fn printed_template_parses_to_the_same_template(text in fragment()) {
        harness::check(&text);
    }

    #[test]
    fn text_without_delimiters_is_unchanged(text in "[^\\[{<]{0,80}") {
        let whole = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let expected: Vec<String> = if whole.is_empty() { Vec::new() } else { vec![format!("text {whole}")] };
        prop_assert_eq!(pieces(&text), expected);
    }

    #[test]
    fn values_are_parsed(_value in value(4)) {}

    #[test]
    fn json_arguments_round_trip(number in any::<i64>(), fraction in -1e300..1e300_f64, text in "\\PC{0,20}") {
        let text = text.replace('{', "(");
        let json = serde_json::json!({"n": number, "f": fraction, "t": text, "l": [number, text]});
        let template = parsed(&format!("[[@a|b={json}]]"));
        let PieceKind::Action(action) = &template.segments[0].pieces[0].kind else { panic!("{json}") };
        prop_assert_eq!(json_of(&action.arguments[0].value), json);
    }
}

fn json_of(term: &Term) -> serde_json::Value {
    match term {
        Term::Literal(value) => value.clone(),
        Term::Text(text) => text.plain().unwrap().into(),
        Term::List(items) => items.iter().map(json_of).collect(),
        Term::Object(fields) => {
            serde_json::Value::Object(fields.iter().map(|(key, value)| (key.clone(), json_of(value))).collect())
        }
        other => panic!("{other:?}"),
    }
}
