//! Secrets that nobody else has, and what looks for them in all that is said.

pub(crate) mod http;

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};

use crate::recorder::Recorder;

/// The variables in the environment of the process.
pub(crate) const HANDED: [(&str, &str); 3] = [
    ("GIVEN_BY_PLACEHOLDER", "given \"in\" 5a7c9e1b3d5f7091 /é&<'\\>"),
    ("LEAK_INHERITED", "inherited+6b8d0f2a4c6e8013=\"é\"/%"),
    ("GIVEN_BY_PLACEHOLDER_2", "given.7c9e1b3d5f709142/+~=\"x\""),
];

/// The secrets in plain text in the configuration of a child process.
pub(crate) struct Stdio {
    pub(crate) argument: &'static str,
    pub(crate) env: &'static str,
    pub(crate) api_key: &'static str,
    pub(crate) lines: &'static str,
    login: &'static str,
}

pub(crate) const STDIO: Stdio = Stdio {
    argument: "argument 8d0f2a4c6e801357 \"q\" \\ é",
    env: "written out 9e1b3d5f70914268 <&>/\u{7}",
    api_key: "key-a0c2e4f6b8d01357:é'\"",
    lines: "-----BEGIN KEY-----\nfirst/b1d3f5a7c9e02468+\"\nsecond/c2e4f6a8b0d13579=\n-----END KEY-----\n",
    login: "user:d3f5a7b9c1e02468/\"",
};

impl Stdio {
    pub(crate) fn basic(&self) -> String {
        BASE64_STANDARD.encode(self.login)
    }
}

/// All secrets, whoever has them.
pub(crate) fn secrets() -> Vec<&'static str> {
    let Stdio { argument, env, api_key, lines, login } = STDIO;
    let handed = HANDED.map(|(_, value)| value);
    [handed.as_slice(), &[argument, env, api_key, lines, login], &http::SECRETS, &[http::SESSION]].concat()
}

/// Looks at texts, and remembers which of them showed something.
#[derive(Clone)]
pub(crate) struct Watch {
    /// Keeps all that is logged, by every crate at every level.
    recorder: Arc<Recorder>,
    looked: Arc<Looked>,
    /// Parts of secrets that are in no other text.
    parts: Arc<AhoCorasick>,
}

#[derive(Default)]
struct Looked {
    texts: AtomicUsize,
    redactions: AtomicUsize,
    leaks: Mutex<Vec<String>>,
}

impl Watch {
    /// Watches this process, once.
    pub(crate) fn new() -> Self {
        const PART: usize = 8;
        const PART_IN_BASE64: usize = 14;
        let mut parts = Vec::new();
        let mut windows = |text: &str, length: usize| {
            let chars: Vec<char> = text.chars().collect();
            parts.extend(chars.windows(length).map(|window| window.iter().collect::<String>()));
        };
        for secret in secrets() {
            for core in secret.split(|c: char| !c.is_ascii_alphanumeric()).filter(|core| core.len() >= 16) {
                windows(core, PART);
                for before in ["", "x", "xy"] {
                    let encoded = BASE64_STANDARD_NO_PAD.encode(format!("{before}{core}"));
                    windows(&encoded[4..encoded.len() - 2], PART_IN_BASE64);
                }
            }
        }
        assert!(parts.len() > 150, "{parts:?}");
        let parts = AhoCorasick::new(parts).expect("parts");
        Self { recorder: Recorder::global(|_| true), looked: Arc::default(), parts: Arc::new(parts) }
    }

    pub(crate) fn text(&self, what: &str, text: &str) {
        self.looked.texts.fetch_add(1, Ordering::Relaxed);
        self.looked.redactions.fetch_add(text.matches("[redacted]").count(), Ordering::Relaxed);
        if let Some(part) = self.parts.find(text) {
            let before = text[..part.start()].chars().count();
            let around: String = text.chars().skip(before.saturating_sub(60)).take(140).collect();
            self.looked.leaks.lock().expect("no panic").push(format!("{what}: {around:?}"));
        }
    }

    pub(crate) fn debug(&self, what: &str, value: &impl fmt::Debug) {
        self.text(&format!("{what}, debug"), &format!("{value:?}"));
        self.text(&format!("{what}, debug"), &format!("{value:#?}"));
    }

    pub(crate) fn error(&self, what: &str, error: &(dyn Error + 'static)) {
        let mut next = Some(error);
        while let Some(error) = next {
            self.text(&format!("{what}, error"), &error.to_string());
            self.debug(&format!("{what}, error"), &error);
            next = error.source();
        }
    }

    /// Looks at the log, and prints how many texts there were.
    pub(crate) fn finish(self) {
        let log = self.recorder.lines();
        assert!(log.len() > 100, "{} records", log.len());
        assert!(log.iter().any(|record| record.contains("server_stderr") && record.contains("leaky")), "no stderr");
        let results = log.iter().filter(|record| record.contains("gen_ai.tool.call.result"));
        assert!(results.count() > 5, "no results in spans");
        log.iter().for_each(|record| self.text("log", record));
        let leaks = self.looked.leaks.lock().expect("no panic");
        let shown: Vec<&String> = leaks.iter().take(12).collect();
        assert!(leaks.is_empty(), "{} texts hold a secret: {shown:#?}", leaks.len());
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        let (texts, redactions) = (count(&self.looked.texts), count(&self.looked.redactions));
        println!("{texts} texts hold no secret, with {redactions} redactions and {} records of the log", log.len());
    }
}
