//! Tests the limits of a run, and the limits of its error messages.

use super::*;

#[tokio::test]
async fn endless_loops_and_large_output_are_limited() {
    let begun = Instant::now();
    let endless = "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}[[@fs_list:x]]";
    let files = Files::default();
    let error = template(endless).run(&set(&files)).await.unwrap_err();
    assert!(matches!(error.problems()[0].kind, TemplateErrorKind::Limit), "{error}");
    println!("a loop without end: {error} ({:?})", begun.elapsed());
    assert_eq!(files.count(), 0);
    let calls = "{% for a in range(50) %}[[@fs_list:x]]{% endfor %}";
    let error = template(calls).run(&set(&files)).most_calls(49).await.unwrap_err();
    assert!(matches!(error.problems()[0].kind, TemplateErrorKind::Limit) && files.count() == 49, "{error}");
    let grows = "{% for a in range(9999) %}{{ big }}{% endfor %}";
    let error = template(grows).run(&set(&files)).with("big", "x".repeat(100_000)).await.unwrap_err();
    assert!(error.to_string().contains("exceeds its output limit"), "{error}");
    let hidden = "{% set all %}{% for a in range(9999) %}{{ big }}{% endfor %}{% endset %}";
    let error = template(hidden).run(&set(&files)).with("big", "x".repeat(100_000)).await.unwrap_err();
    assert!(error.to_string().contains("exceeds its output limit"), "{error}");
    let slow = Files { pause: Duration::from_secs(60), ..Files::default() };
    let error = template("[[@fs_list:x]]").run(&set(&slow)).timeout(Duration::from_millis(50)).await.unwrap_err();
    assert!(error.to_string().contains("within 50ms"), "{error}");
}

#[tokio::test]
async fn ten_megabytes_of_text_are_rendered() {
    let begun = Instant::now();
    let filler = "No slot [here], {nor} here: it is text. ".repeat(5 * 1024 * 1024 / 40);
    let source = format!("{filler}[[@fs_read:x|path=\"p\"]]{{{{ x }}}}{filler}[[end]]");
    let rendered = template(&source).run(&set(&Files::default())).completer(Asked::default()).await.unwrap();
    assert_eq!(rendered.text(), format!("{filler}<p>{filler}end#1"));
    println!("{} MB of text: {:?}", source.len() / 1_000_000, begun.elapsed());
}

#[tokio::test]
async fn policies_and_events_apply_to_actions() {
    let files = Files::default();
    let policy = Policy::new(|call| match (call.tool, call.arguments.contains_key("path")) {
        ("read", true) => Verdict::deny("not read"),
        _ => Verdict::Allow,
    });
    let stack = Stack::new(files.clone()).policy(policy);
    let mut events = stack.events();
    let set = Toolset::builder().server("fs", &tools(), stack).build().unwrap();
    let error = template("[[@fs_read:x|path=\"p\"]]").run(&set).await.unwrap_err();
    assert!(error.to_string().contains("denied"), "{error}");
    assert_eq!(files.count(), 0);
    template("[[@fs_list:x]]").run(&set).await.unwrap();
    let mut sources = Vec::new();
    while let Ok(Some(event)) = tokio::time::timeout(Duration::from_millis(200), events.next()).await {
        if let Event::ToolInvoked(invoked) = event {
            sources.push((invoked.tool.to_string(), invoked.source.clone()));
        }
    }
    assert!(
        sources.iter().any(|(tool, source)| tool == "list" && *source == CallSource::Named("template".into())),
        "{sources:?}"
    );
}

#[tokio::test]
async fn equal_runs_give_equal_results() {
    let source = "{% for p in range(30) %}[[@fs_read:x|path=\"{{p}}\"]]{{ x }}{% endfor %}[[@fs_stat:s]]{{ s }}";
    let first = run(source).await.unwrap();
    for _ in 0..5 {
        assert_eq!(run(source).await.unwrap(), first);
    }
}

#[tokio::test]
async fn values_are_hidden_in_errors_and_debug_output() {
    let secret = "s3cr3t-value";
    let toolset = set(&Files::default());
    let given = |source: &str| template(source).run(&toolset).with("key", secret).completer(Asked::default());
    let mut texts = vec![format!("{:?}", given("{{ key }}"))];
    for source in [
        "{{ key.x.y }}",
        "{{ key + 1 }}",
        "{% for x in key %}{{ x.y.z }}{% endfor %}",
        "[[@fs_take:x|n=key]]",
        "{{ key|int }}",
        "{{ key(1) }}",
        "{{ key.foo() }}",
        "[[fail:x|k=key]]",
    ] {
        let error = given(source).await.unwrap_err();
        texts.extend([error.to_string(), format!("{error:?}")]);
    }
    let rendered = given("{{ key }}[[@fs_take:x|any=key]][[y|k=key]]").await.unwrap();
    texts.push(format!("{rendered:?}"));
    let asked = Asked::default();
    given("{{ key }}[[y|k=key]]").completer(asked.clone()).await.unwrap();
    texts.push(format!("{:?}", asked.0.lock().unwrap()));
    for text in &texts {
        assert!(!text.contains(secret), "{text}");
    }
    println!("{} texts hold no value", texts.len());
}

#[tokio::test]
async fn dropped_run_is_cancelled() {
    let files = Files { pause: Duration::from_millis(300), ..Files::default() };
    let source = "[[@fs_list:a]][[@fs_take:b|any=a]]{{ b }}";
    let begins = async {
        while files.count() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        () = begins => {}
        _ = template(source).run(&set(&files)).into_future() => panic!("its first call has not ended"),
    }
    tokio::time::sleep(files.pause + Duration::from_millis(50)).await;
    assert_eq!((files.count(), files.under_way.load(Ordering::SeqCst)), (1, 1), "the call never came to its end");
}

#[tokio::test]
async fn small_templates_cannot_create_large_values() {
    let grows = format!(
        "{{% set a=\"x\"*99999999 %}}{{% set b={} %}}{{% set c={} %}}",
        ["a"; 10].join("~"),
        ["b"; 10].join("~")
    );
    let folded = format!("{{{{ {} }}}}", ["(\"x\"*99999999)"; 8].join("~"));
    let texts = format!("{{% for i in range(9) %}}[[@fs_take:x|any=\"{}\"]]{{% endfor %}}", "{{ big }}".repeat(9));
    // Each segment has no steps of its own, which one value could take.
    let segments = format!("{grows}{}", "<checkpoint>".repeat(1000));
    for source in [grows, segments, folded, texts] {
        let begun = Instant::now();
        let template = Template::remote("test.md", &source).unwrap();
        let read = begun.elapsed();
        let run = template.run(&Toolset::builder().server("fs", &tools(), Files::default()).build().unwrap());
        let error = match run.with("big", "x".repeat(1_000_000)).allow(["*"]).await {
            Ok(rendered) => panic!("{} bytes", rendered.text().len()),
            Err(error) => error,
        };
        assert!(matches!(error.problems()[0].kind, TemplateErrorKind::Limit), "{error}");
        println!("{} bytes are read in {read:?} and refused in {:?}", source.len(), begun.elapsed());
        assert!(read < Duration::from_secs(20), "{read:?}");
    }
    let segments = "{{ big }}<checkpoint>".repeat(70);
    let run = template(&segments).run(&set(&Files::default())).with("big", "x".repeat(1_000_000));
    assert!(run.await.unwrap_err().to_string().contains("exceeds its output limit"));
    for source in ["[[@fs_stat:x|path=big]]", "{% set hidden %}{{ big }}{% endset %}"] {
        let run = template(&[source; 2].join("<checkpoint>")).run(&set(&Files::default()));
        let rendered = run.with("big", "x".repeat(40 * 1024 * 1024)).await;
        assert_eq!(rendered.unwrap_or_else(|error| panic!("{error}")).text().len(), 0, "only text spans segments");
    }
}
