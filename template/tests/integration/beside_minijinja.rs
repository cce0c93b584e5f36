//! The language beside minijinja's own reading of it: same extent of every statement, same text around it.

use mcp_bindgen_template::{PieceKind, Template};
use minijinja::Environment;
use proptest::prelude::*;

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    let mut syntax = minijinja::syntax::SyntaxConfig::builder();
    syntax.keep_trailing_newline(true);
    environment.set_syntax(syntax.build().unwrap());
    environment.add_global("a", "A");
    environment.add_global("b", minijinja::Value::from(vec![1, 2]));
    environment
}

/// Returns a template without slots, joined from its pieces, whose texts are expressions.
fn from_pieces(template: &Template) -> String {
    let mut source = String::new();
    for piece in template.segments.iter().flat_map(|segment| &segment.pieces) {
        match &piece.kind {
            PieceKind::Text(text) => {
                let literal = serde_json::to_string(text).unwrap();
                source.push_str(&format!("{{{{ {literal} }}}}"));
            }
            // Their signs have nothing more to take.
            PieceKind::Expression(code) | PieceKind::Statement(code) => source.push_str(code),
            other => panic!("{other:?}"),
        }
    }
    source
}

fn compare(text: &str) -> bool {
    let environment = environment();
    let theirs = environment.template_from_str(text);
    match (Template::parse(text), theirs) {
        (Ok(template), Ok(compiled)) => {
            let source = from_pieces(&template);
            let ours = environment.render_str(&source, ()).map_err(|error| error.kind());
            let theirs = compiled.render(()).map_err(|error| error.kind());
            assert_eq!(ours, theirs, "{text:?} as {source:?}");
            true
        }
        (Err(faults), Ok(_)) => panic!("minijinja takes {text:?}: {faults:?}"),
        // Only minijinja checks the inside of an expression.
        (_, Err(_)) => false,
    }
}

fn fragments() -> impl Strategy<Value = String> {
    let words: Vec<&str> = vec![
        " ",
        "  ",
        "\n",
        "\r\n",
        "\t",
        "x",
        "é",
        "y }} z",
        "%}",
        "#}",
        "{",
        "}",
        "[ ",
        "-",
        "{{ a }}",
        "{{- a }}",
        "{{ a -}}",
        "{{-a-}}",
        "{{+ a +}}",
        "{{ a|upper }}",
        "{{ '}}' }}",
        "{{ \"%}\\\"\" }}",
        "{{ {'k': {'l': b}}.k.l[0] }}",
        "{{ [b, [b]] }}",
        "{{ -1 }}",
        "{% if a %}",
        "{%- if b -%}",
        "{% else %}",
        "{%- else -%}",
        "{% endif %}",
        "{%- endif -%}",
        "{%+ endif +%}",
        "{% for i in b %}",
        "{%- for i in b -%}",
        "{% endfor %}",
        "{%- endfor -%}",
        "{% set c = '%}' %}",
        "{% set c %}",
        "{% set c | upper %}",
        "{% endset %}",
        "{% with d = 1 %}",
        "{% endwith %}",
        "{% filter upper %}",
        "{% endfilter %}",
        "{# c #}",
        "{#- c -#}",
        "{#c-#}",
        "{##}",
        "{#-#}",
        "{#--#}",
        "{#+ c +#}",
        "{% raw %}",
        "{%- raw -%}",
        "{% endraw %}",
        "{%- endraw -%}",
        "{%+endraw+%}",
        "{%endraw%}",
        "{{",
        "{%",
        "{#",
        "}}",
    ];
    prop::collection::vec(prop::sample::select(words), 0..14).prop_map(|words| words.concat())
}

/// Templates that random ones found.
#[test]
fn found_regressions_render_as_in_minijinja() {
    for text in [
        "{#--#}\t\n{# c #} {% raw %}\t{%- endraw -%}{{- a }}y }} z#}",
        " {% raw %}{% endraw %}{{- a }}",
        "{{ a -}}{% raw %}{% endraw %} x",
        "{% if a -%}{%- raw -%} {%- endraw -%} x {%- raw %}{% endraw %} {%- endif %}",
    ] {
        assert!(compare(text), "{text:?}");
    }
}

#[test]
fn random_templates_render_as_in_minijinja() {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(4000));
    let compared = std::cell::Cell::new(0);
    runner
        .run(&fragments(), |text| {
            compared.set(compared.get() + usize::from(compare(&text)));
            Ok(())
        })
        .unwrap();
    println!("{} templates say the same as in minijinja", compared.get());
    assert!(compared.get() > 200, "{}", compared.get());
}
