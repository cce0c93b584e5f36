use std::time::{Duration, Instant};

use mcp_bindgen_model::ServerConfig;
use serde_json::json;

use super::*;

fn knowing(secrets: &[&str]) -> Redactor {
    let mut values = PrivateValues::default();
    secrets.iter().for_each(|secret| values.secret(secret));
    Redactor::new(&values)
}

fn of(config: &ServerConfig) -> Redactor {
    Redactor::new(&PrivateValues::of(config))
}

#[test]
fn overlapping_secrets_are_redacted_as_one() {
    let redactor = knowing(&["abcdef", "abcdefgh", "fghijk", "ijkxyz-ijkxyz"]);
    for (text, shown) in [
        ("a abcdef b", "a [redacted] b"),
        ("abcdefgh", "[redacted]"),
        ("<abcdefghijkxyz-ijkxyz>", "<[redacted]>"),
        ("abcdefabcdef", "[redacted]"),
        ("abcdef abcdef", "[redacted] [redacted]"),
        ("abcde fghij", "abcde fghij"),
        ("éabcdefé", "é[redacted]é"),
        ("", ""),
    ] {
        assert_eq!(redactor.text(text), shown, "{text}");
    }
    assert!(matches!(redactor.text("nothing here"), Cow::Borrowed(_)));
    assert_eq!(Redactor::default().text("abcdef"), "abcdef");
}

#[test]
fn text_is_redacted_before_it_is_truncated() {
    let secret = "correct-horse-battery";
    let redactor = knowing(&[secret]);
    for before in 0..30 {
        let text = format!("{}{secret}{secret} and {secret} after", "x".repeat(before));
        for longest in 0..80 {
            let shown = redactor.shown(&text, longest);
            assert!(!shown.contains("corr") && !shown.contains("tery"), "{before} {longest}: {shown}");
            assert!(shown.chars().count() <= longest + 1, "{before} {longest}: {shown}");
            assert!(redactor.text(&text).starts_with(shown.trim_end_matches('…')), "{before} {longest}: {shown}");
        }
    }
    assert_eq!(redactor.shown("a\u{1b}[31m\u{202e}b\n\tc", 100), "a\\u{1b}[31m\\u{202e}b\n\tc");
    assert_eq!(redactor.shown_line("a\nb\tc\u{7}", 100), "a b c\\u{7}");
}

#[test]
fn ordinary_words_are_not_redacted() {
    let config = ServerConfig::stdio("s", "python3")
        .args(["--mode", "production", "@scope/server-everything@1.2.3", "gpt-4o-mini", "/home/me/project"])
        .env("NODE_ENV", "production")
        .env("LOG_LEVEL", "debug")
        .env("HOST", "localhost")
        .env("BASE", "https://api.example.com/v1")
        .env("API", "api.example.com:8443")
        .env("SINCE", "2026-07-28")
        .env("PASSWORD", "true")
        .env("PIN_TOKEN", "4711");
    let text = "true: in production, debug of localhost at https://api.example.com/v1 (api.example.com:8443) since \
                2026-07-28: @scope/server-everything@1.2.3 asks gpt-4o-mini about /home/me/project in 147112 ms";
    assert_eq!(of(&config).text(text), text);
    assert_eq!(of(&config).text("the pin 4711, \\n4711"), "the pin [redacted], \\n[redacted]");
    let mut values = PrivateValues::of(&config);
    for (name, value) in [
        ("HOME", "/home/me-a1b2c3"),
        ("STAGE", "staging"),
        ("PORT", "8080"),
        ("DIR", "/srv/data"),
        ("PROGRAM", "python3"),
    ] {
        values.handed(name, value);
    }
    let text = "/home/me-a1b2c3 staging 8080 /srv/data python3";
    assert_eq!(Redactor::new(&values).text(text), text);
}

#[test]
fn secrets_in_every_field_of_a_configuration_are_redacted() {
    let basic = "bWU6c3dvcmRmaXNo"; // me:swordfish
    let local = ServerConfig::stdio("s", "server")
        .args(["--token", "arg-token-1", "--x=q7w8e9r0t1", "postgres://u:pg-pass-1@h/db"])
        .env("NOTES", "first line of it\nsecond line of it")
        .env("AUTH_HEADER", "Basic bWU6c3dvcmRmaXNo")
        .env("OTHER", "written-out-value");
    let remote = ServerConfig::http("s", "https://login-1:pass%20word@h/mcp/Zx81Zx82Zx83/?q=asked-for-1#frag-ment-1")
        .header("Authorization", "Bearer bearer-token-1")
        .header("X-Team", "written-out-value")
        .header("Proxy-Authorization", format!("Basic {basic}"));
    for (config, secrets) in [
        (
            &local,
            &[
                "arg-token-1",
                "q7w8e9r0t1",
                "pg-pass-1",
                "first line of it",
                "second line of it",
                basic,
                "me:swordfish",
                "swordfish",
                "written-out-value",
            ][..],
        ),
        (
            &remote,
            &[
                "pass%20word",
                "pass word",
                "login-1:pass word",
                "Zx81Zx82Zx83",
                "asked-for-1",
                "frag-ment-1",
                "bearer-token-1",
                "written-out-value",
                basic,
                "swordfish",
            ],
        ),
    ] {
        let redactor = of(config);
        for secret in secrets {
            let text = format!("<{secret}>");
            assert_eq!(redactor.text(&text), "<[redacted]>", "{config:?}");
        }
        assert_eq!(redactor.text("Bearer nothing"), "Bearer nothing");
    }
}

#[test]
fn descriptions_lose_only_certain_secrets() {
    let config = ServerConfig::stdio("s", "server")
        .env("API_KEY", "unique-api-key")
        .env("MODEL", "claude-sonnet-4-5")
        .env("UNIQUE", "q7w8e9r0t1y2");
    let mut values = PrivateValues::of(&config);
    values.handed("GIVEN", "given-from-outside");
    values.handed("WORD", "kubernetes");
    let redactor = Redactor::new(&values);
    let value = json!({
        "unique-api-key": ["unique-api-key", 1], "model": "claude-sonnet-4-5", "given-from-outside": "kubernetes",
        "nested": {"a": "b q7w8e9r0t1y2", "n": null}
    });
    let mut described = value.clone();
    redactor.description(&mut described);
    assert_eq!(
        described.to_string(),
        r#"{"[redacted]":"kubernetes","model":"claude-sonnet-4-5","nested":{"a":"b [redacted]","n":null}}"#
    );
    let mut told = json!({"model": "claude-sonnet-4-5 kubernetes", "pin": 123_456_789, "n": 1});
    values.secret("123456789");
    Redactor::new(&values).value(&mut told);
    assert_eq!(told, json!({"model": "[redacted] [redacted]", "pin": "[redacted]", "n": 1}));
}

#[test]
fn sure_secrets_are_found_among_equal_and_longer_unsure_ones() {
    let sure = |patterns: &[(&str, bool)], text: &str| {
        let patterns = patterns.iter().map(|(text, is_sure)| ((*text).to_owned(), *is_sure));
        without(text, &Matcher::new(patterns.collect()), true, usize::MAX).into_owned()
    };
    assert_eq!(sure(&[("abcdefgh", true), ("abcdefgh", false)], "abcdefgh"), "[redacted]");
    assert_eq!(sure(&[("abcdefgh", true), ("abcdefghij", false)], "abcdefghij"), "[redacted]ij");
    assert_eq!(sure(&[("abcdefgh", false), ("abcdefghij", true)], "abcdefgh abcdefghij"), "abcdefgh [redacted]");
    assert_eq!(sure(&[("abcdefgh", false)], "abcdefgh"), "abcdefgh");
}

/// A thousand secrets in a mebibyte, also if they share a prefix that fills the text.
#[test]
fn redaction_time_is_linear_in_the_text_length() {
    let secrets: Vec<String> = (0..1000).map(|n| format!("sk-proj-/{:032x}", n * 7919)).collect();
    let redactor = knowing(&secrets.iter().map(String::as_str).collect::<Vec<_>>());
    let ordinary = "the quick brown fox jumps over sk-proj and the lazy dog; ".repeat(18_400);
    let hostile = "sk-proj-/0000000000000000000000000000".repeat(28_400);
    for text in [ordinary, hostile] {
        let text = format!("{text}{}", secrets[500]);
        let start = Instant::now();
        let shown = redactor.text(&text);
        let took = start.elapsed();
        println!("1,000 secrets in {} bytes: {took:?}", text.len());
        assert!(shown.ends_with("[redacted]") && text.len() > 1 << 20);
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}

/// The fast search finds the same secrets as a search at every position.
#[test]
fn fast_search_finds_the_same_secrets_as_exhaustive_search() {
    let mut state = 7u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap_or_default() % below
    };
    let letters = ['a', 'b', 'é', '\\'];
    let mut hits = 0;
    for _ in 0..3000 {
        let mut word = |from: usize, more: usize| -> String {
            let length = from + random(more);
            (0..length).map(|_| letters[random(letters.len())]).collect()
        };
        let secrets: Vec<String> =
            (0..4).map(|_| word(6, 4)).filter(|text| text.replace('\\', "").len() >= 6).collect();
        let text = word(0, 80);
        let matcher = Matcher::new(secrets.iter().map(|secret| (secret.clone(), false)).collect());
        let shown = without(&text, &matcher, false, usize::MAX);

        let chars: Vec<(usize, char)> = text.char_indices().filter(|(_, c)| *c != '\\').collect();
        let bare: Vec<char> = chars.iter().map(|(_, c)| *c).collect();
        let mut hidden = vec![false; text.len()];
        for secret in &secrets {
            let secret: Vec<char> = secret.chars().filter(|c| *c != '\\').collect();
            for at in 0..bare.len().saturating_sub(secret.len() - 1) {
                if bare[at..at + secret.len()] == secret {
                    let (last, character) = chars[at + secret.len() - 1];
                    hidden[chars[at].0..last + character.len_utf8()].fill(true);
                }
            }
        }
        let mut expected = String::new();
        for (at, character) in text.char_indices() {
            match (hidden[at], at > 0 && hidden[at - 1]) {
                (true, false) => expected.push_str(REDACTED),
                (true, true) => {}
                (false, _) => expected.push(character),
            }
        }
        hits += expected.matches(REDACTED).count();
        assert_eq!(shown, expected, "{text:?} without {secrets:?}");
    }
    assert!(hits > 500, "{hits}");
}

#[cfg(feature = "http")]
#[test]
fn learned_secrets_are_shared_by_clones_of_the_redactor() {
    let redactor = Redactor::default();
    let shared = redactor.clone();
    (0..=MOST_LEARNED).for_each(|number| redactor.learn(&format!("granted-token-{number}")));
    assert_eq!(shared.text("bad token granted-token-16, not granted-token-1"), "bad token [redacted], not [redacted]");
    assert_eq!(shared.text("granted-token-0"), "granted-token-0", "the oldest is let go");
}

#[cfg(feature = "http")]
#[test]
fn secrets_learned_from_another_redactor_replace_its_older_ones() {
    let (redactor, other) = (knowing(&["configured-1"]), knowing(&["configured-2"]));
    redactor.learn("granted-token-1");
    for secret in (0..=MOST_LEARNED).map(|number| format!("other-token-{number}")) {
        other.learn(&secret);
        redactor.learn_from(&other);
    }
    let text = "configured-1 configured-2 granted-token-1 other-token-16";
    assert_eq!(redactor.text(text), "[redacted] [redacted] [redacted] [redacted]");
    assert_eq!(redactor.text("other-token-0"), "other-token-0");
}
