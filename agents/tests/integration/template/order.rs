//! Tests the order of calls.

use super::*;

#[tokio::test]
async fn loop_over_a_result_makes_calls() {
    let source = "[[@mcp:files|server=\"fs\", tool=\"list\"]]\n<checkpoint>\n{% for file in files %}\
        [[@mcp:content_{{loop.index}}|server=\"fs\", tool=\"read\", path=\"{{file}}\"]]{% endfor %}{{ content_2 }}\n<checkpoint>\n\
        {{ content_1 }}{{ content_3 }} Summarise all: [[summary]]";
    let files = Files { pause: Duration::from_millis(20), ..Files::default() };
    let asked = Asked::default();
    let rendered = template(source).run(&set(&files)).completer(asked.clone()).await.unwrap();
    assert_eq!(rendered.segments[1].text, "\n<b.md>\n");
    assert_eq!(rendered.segments[2].text, "\n<a.md><c.md> Summarise all: summary#1");
    assert_eq!(asked.prompts(), ["\n<a.md><c.md> Summarise all: "], "what is before a checkpoint is forgotten");
    assert_eq!(files.most_at_once.load(Ordering::SeqCst), 1);
    assert_eq!(files.count(), 4);
}

#[tokio::test]
async fn name_used_before_its_slot_is_an_error() {
    for source in [
        "\n{{ b }}[[@fs_read:b|path=\"1\"]]",
        "\n[[@fs_take:c|any=b]][[@fs_read:b|path=\"1\"]]",
        "\n{% if b is defined %}[[@fs_write:d|path=\"2\"]]{% endif %}<checkpoint>[[@fs_read:b|path=\"1\"]]",
        "\n{% if b is defined %}a{% else %}[[@fs_write:d|path=\"2\"]]{% endif %}[[@fs_read:b|path=\"1\"]]",
        "\n{{ b|default(1) }}[[b]]",
        "\n[[@fs_read:b|path=b]]",
        "\n[[@fs_list:a]]{% for p in a %}[[@fs_take:b|any=b|default(0)]]{% endfor %}",
        "\n{{ b }}{% for p in [1] %}[[b]]{% endfor %}",
    ] {
        let (calls, outcome) = called(source).await;
        let error = outcome.unwrap_err().to_string();
        assert!(error.starts_with("test.md:2:") && error.contains("`b` is used here, before the slot"), "{error}");
        assert!(calls.is_empty(), "{source}: {calls:?}");
    }
    let given = template("{{ b }}[[@fs_read:b|path=\"1\"]]{{ b }}").run(&set(&Files::default())).with("b", 0);
    assert_eq!(given.await.unwrap().text(), "0<1>");
}

#[tokio::test]
async fn calls_run_in_text_order() {
    let files = Files { pause: Duration::from_millis(20), ..Files::default() };
    let source = "[[@fs_write:a|path=\"1\"]][[@fs_read:b|path=\"2\"]][[@fs_write:c|path=b]]";
    template(source).run(&set(&files)).await.unwrap();
    assert_eq!(files.most_at_once.load(Ordering::SeqCst), 1);
    let paths: Vec<_> = files.called().iter().map(|(_, arguments)| arguments["path"].clone()).collect();
    assert_eq!(paths, ["1", "2", "<2>"]);
}

#[tokio::test]
async fn every_loop_iteration_has_its_own_result() {
    let files = Files::default();
    let source = "{% for p in [\"a\", \"b\", \"a\", \"c\"] %}[[@fs_read:x|path=p]][[@fs_take:y|any=x]]{{ x }}{{ y }};{% endfor %}{{ x }}";
    let rendered = template(source).run(&set(&files)).await.unwrap();
    assert_eq!(
        rendered.text(),
        "<a>{\"any\":\"<a>\"};<b>{\"any\":\"<b>\"};<a>{\"any\":\"<a>\"};<c>{\"any\":\"<c>\"};<c>"
    );
    assert_eq!(files.count(), 8, "the same arguments in another turn are another call");
}

#[tokio::test]
async fn completions_work_in_loops_and_conditions() {
    let asked = Asked::default();
    let source = "{% for p in [1, 2] %}{{ p }}: [[word]] then [[@fs_take:echo|any=word]]{{ echo }}; {% endfor %}\
        [[bool:more]]{% if more %} [[@fs_read:x|path=\"late\"]]{{ x }} [[last]]{% else %}never [[other]]{% endif %}";
    let rendered = template(source).run(&set(&Files::default())).completer(asked.clone()).await.unwrap();
    assert_eq!(
        rendered.text(),
        "1: word#1 then {\"any\":\"word#1\"}; 2: word#2 then {\"any\":\"word#2\"}; true <late> last#4"
    );
    assert_eq!(asked.prompts()[1], "1: word#1 then {\"any\":\"word#1\"}; 2: ");
    assert_eq!(asked.prompts().len(), 4, "each slot is filled once: {:?}", asked.prompts());
}

/// Returns the calls of a run, and its outcome.
async fn called(source: &str) -> (Vec<String>, Result<RenderedTemplate, TemplateError>) {
    let files = Files::default();
    let outcome = template(source).run(&set(&files)).completer(Asked::default()).await;
    (files.called().iter().map(|(tool, arguments)| format!("{tool} {arguments}")).collect(), outcome)
}

#[tokio::test]
async fn control_flow_reads_results() {
    for (source, text) in [
        ("[[@fs_read:x|path=\"1\"]]{% if x is defined %}yes{% else %}[[@fs_write:d|path=\"2\"]]{% endif %}", "yes"),
        ("[[@fs_wrapped:x]]{% if x[2] is ne 3 %}[[@fs_write:d|path=\"2\"]]{% endif %}", ""),
        (
            "[[@fs_read:x|path=\"1\"]]{% if x is not none and x|default(false) %}yes{% else %}[[@fs_write:d|path=\"2\"]]{% endif %}",
            "yes",
        ),
        ("[[ok]]{% if ok is ne \"ok#1\" %}[[@fs_write:d|path=\"2\"]]{% endif %}", "ok#1"),
        ("[[@fs_read:x|path=\"1\"]]{% if false %}{% elif x is undefined %}[[@fs_write:d|path=\"2\"]]{% endif %}", ""),
        (
            "[[@fs_read:x|path=\"1\"]]{% for c in x|default(\"ab\")|batch(9) %}{% else %}[[@fs_write:d|path=\"2\"]]{% endfor %}",
            "",
        ),
        (
            "[[@fs_read:x|path=\"1\"]]{% with y = x|default(0) %}{% if y == 0 %}[[@fs_write:d|path=\"2\"]]{% endif %}{% endwith %}",
            "",
        ),
        (
            "{% set k = \"a\" %}[[@fs_read:v_{{k}}|path=\"1\"]]{% if v_a is undefined %}[[@fs_write:d|path=\"2\"]]{% endif %}",
            "",
        ),
    ] {
        let (calls, outcome) = called(source).await;
        assert_eq!(outcome.unwrap_or_else(|error| panic!("{source}: {error}")).text(), text, "{source}");
        assert!(calls.iter().all(|call| !call.starts_with("write")), "{source}: {calls:?}");
    }
    for source in [
        "[[@fs_read:x|path=\"1\"]]{% set y = x|default(\"0\") %}[[@fs_write:z|path=y]]",
        "[[@fs_read:x|path=\"1\"]]{% set y %}{{ x|default(\"0\") }}{% endset %}[[@fs_write:z|path=y]]",
    ] {
        let (calls, outcome) = called(source).await;
        assert!(outcome.is_ok(), "{source}: {outcome:?}");
        assert_eq!(calls, ["read {\"path\":\"1\"}", "write {\"path\":\"<1>\"}"], "{source}");
    }
}

#[tokio::test]
async fn computed_names_must_be_valid_and_unused() {
    for (source, count) in [
        ("{% set k=\"a\" %}[[@fs_read:v_{{k}}|path=\"1\"]][[@fs_read:y|path=v_a]][[@fs_read:v_{{k}}|path=y]]", 3),
        ("{% for k in [1, 2] %}[[@fs_read:v_{{k}}|path=\"{{k}}\"]]{% endfor %}<checkpoint>{{ v_1 }}{{ v_2 }}", 2),
    ] {
        let (calls, outcome) = called(source).await;
        assert!(outcome.is_ok() && calls.len() == count, "{source}: {calls:?} {outcome:?}");
    }
    for (begins, ends, why) in [
        ("y", "0", "already used"),
        ("ra", "nge", "already used"),
        ("gi", "ven", "already used"),
        ("a", ".b", "is invalid"),
        ("_", "_mcp_count", "is invalid"),
        ("fo", "r", "is invalid"),
    ] {
        let source =
            format!("{{% set k = \"{ends}\" %}}\n[[@fs_list:y0]][[@fs_read:{begins}{{{{k}}}}|path=\"1\"]]{{{{ y0 }}}}");
        let run = template(&source).run(&set(&Files::default())).with("given", 1);
        let error = run.await.unwrap_err().to_string();
        assert!(error.starts_with("test.md:2:16:") && error.contains(why), "{begins}{ends}: {error}");
    }
    let slot = "{% for k in [1] %}[[@fs_read:v_{{k}}|path=\"1\"]]{% endfor %}";
    let set_after = format!("{}{{% set v_1 = 0 %}}", slot.replace("\"1\"", "\"0\""));
    for before in ["{% set v_1 = 0 %}", "{% set v_1 = 0 %}<checkpoint>", &format!("{slot}<checkpoint>"), &set_after] {
        let error = run(&format!("{before}{slot}")).await.unwrap_err().to_string();
        assert!(error.contains("already used"), "{before}: {error}");
    }
}

#[tokio::test]
async fn name_after_a_loop_has_its_last_value() {
    for (source, text) in [
        (
            "{% for p in [\"1\", \"2\"] %}[[@fs_read:x|path=p]]{% if x %}{% endif %}{% endfor %}{{ x }}[[@fs_read:z|path=x]]{{ z }}",
            "<2><<2>>",
        ),
        (
            "{% for p in [\"1\", \"2\"] %}[[@fs_read:x|path=p]]{% endfor %}{{ x }}<checkpoint>{% for p in [\"3\", \"4\"] %}[[@fs_read:x|path=p]]{% endfor %}{{ x }}",
            "<2><4>",
        ),
        ("{% for p in [1, 2] %}[[word]]{% endfor %}={{ word }}", "word#1word#2=word#2"),
        ("[[@fs_read:x|path=\"0\"]]{% for p in [] %}[[@fs_read:x|path=p]]{% endfor %}{{ x }}", "<0>"),
        ("{% with %}[[@fs_read:x|path=\"0\"]]{% endwith %}{{ x }}", "<0>"),
        ("[[@fs_read:x|path=\"0\"]]{% set x = 99 %}{{ x }}<checkpoint>{{ x }}", "9999"),
        ("[[@fs_read:x|path=\"0\"]]{% set x = 9 %}{% for p in [] %}[[@fs_read:x|path=p]]{% endfor %}{{ x }}", "9"),
        (
            "{% set x = 9 %}{% with %}{% for p in [\"1\"] %}[[@fs_read:x|path=p]]{% endfor %}{{ x }}{% endwith %}{{ x }}",
            "<1><1>",
        ),
        ("{% for p in [\"1\"] %}{% if true %}[[@fs_read:x|path=p]]{% endif %}{% endfor %}{{ x }}", "<1>"),
    ] {
        let (_, outcome) = called(source).await;
        assert_eq!(outcome.unwrap_or_else(|error| panic!("{source}: {error}")).text(), text, "{source}");
    }
}

#[tokio::test]
async fn error_lists_the_calls_made() {
    let told = |error: &TemplateError| -> Vec<(String, bool)> {
        error.calls().iter().map(|call| (call.tool.clone(), call.failure.is_none())).collect()
    };
    let (_, outcome) = called("[[@fs_write:a|path=\"1\"]]<checkpoint>[[@fs_list:l]][[@fs_fails:b]]").await;
    let expected = [("write", true), ("list", true), ("fails", false)].map(|(tool, ok)| (tool.to_owned(), ok));
    assert_eq!(told(&outcome.unwrap_err()), expected);
    let (_, outcome) = called("[[@fs_write:a|path=\"1\"]]{{ a.nope.nope }}").await;
    assert_eq!(told(&outcome.unwrap_err()), [("write".to_owned(), true)]);
    let slow = Files { pause: Duration::from_secs(60), ..Files::default() };
    let run = template("[[@fs_write:a|path=\"1\"]]").run(&set(&slow)).timeout(Duration::from_millis(50));
    let error = run.await.unwrap_err();
    assert!(error.calls()[0].failure.as_ref().unwrap().contains("interrupted"), "{error:?}");
}

#[tokio::test]
async fn completion_that_is_not_json_is_an_error() {
    let run = template("a\n[[json:x]]").run(&set(&Files::default()));
    let error = run.completer(async |_: CompletionRequest| Ok(Value::from("not json"))).await.unwrap_err();
    assert!(error.to_string().starts_with("test.md:2:1: the answer to `x` is not JSON"), "{error}");
}
