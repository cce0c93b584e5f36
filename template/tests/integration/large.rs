//! Texts of megabytes: none takes long, and none costs the stack.

use std::fmt::Write;
use std::time::{Duration, Instant};

use mcp_bindgen_template::Template;

/// The repeated part and the end of each text, and `true` if the text is a template.
const TEXTS: [(&str, &str, &str, bool); 22] = [
    ("text", "The quick brown fox.\n", "", true),
    ("long line", "x", "", true),
    ("wide characters", "課", "", true),
    ("brackets", "[[", "", true),
    ("open slots", "[[ ", "", false),
    ("open actions", "[[@x|a=", "", false),
    ("open names", "[[a:b_{{", "", false),
    ("braces", "{{", "", false),
    ("statements", "{% ", "", false),
    ("comments", "{#", "", false),
    ("empty comments", "{##}", "", false),
    ("blocks", "{% if a %}", "", false),
    ("closing blocks", "{% endif %}", "", false),
    ("raw blocks", "{% raw %}", "", false),
    ("expressions", "{{a}}", "", false),
    ("slots", "[[a]]", "", false),
    ("tags", "<checkpoint", ">", true),
    ("angles", "<", "", true),
    ("lists", "[", "", true),
    ("values", "[[@x|a=1]]", "", false),
    ("ends", "]]", "", true),
    ("line ends", "\r\n", "", true),
];

/// Fine as long as there are not too many.
const COUNTED: [&str; 4] = ["empty comments", "expressions", "slots", "values"];
const MOST_PIECES: usize = 100_000;

fn read(size: usize, longest: Duration) {
    for (name, part, end, is_template) in TEXTS {
        let is_template = is_template || (COUNTED.contains(&name) && size / part.len() <= MOST_PIECES);
        let mut text = part.repeat(size / part.len());
        text.push_str(end);
        measured(name, &text, is_template, longest);
    }
    let mut list = "[[@x|a=".to_owned();
    (0..size / 2).for_each(|_| list.push_str("[ "));
    measured("nested lists", &list, false, longest);
    let items = "1, ".repeat(size / 3);
    measured("a list", &format!("[[@x|a=[{items}]]]"), true, longest);
    measured("a long text", &format!("[[@x|a=\"{}\"]]", "y".repeat(size)), true, longest);
    measured("a long expression", &format!("{{{{ {} }}}}", "(".repeat(size)), false, longest);
    let mut names = String::new();
    (0..size / 40).for_each(|number| write!(names, "{{{{ a{number} }}}}[[@b{number}:c{number}]]").unwrap());
    measured("names", &names, size / 20 <= MOST_PIECES, longest);
    if let Ok(template) = Template::parse(&names) {
        let started = Instant::now();
        let wanted = template.wanted((0..size / 40).map(|number| format!("a{number}")));
        assert_eq!(wanted.len(), size / 40);
        assert!(started.elapsed() < longest, "{size} bytes of names: {:?}", started.elapsed());
    }
    let open = "[[@x:a{{ b }}]]".repeat(1_001);
    measured("open names of results", &open, false, longest);
    let mut arguments = "[[@x|".to_owned();
    (0..size / 40).for_each(|number| write!(arguments, "a{number}=1, ").unwrap());
    measured("arguments", &format!("{arguments}]]"), true, longest);
}

fn measured(name: &str, text: &str, is_template: bool, longest: Duration) {
    let started = Instant::now();
    let result = Template::parse(text);
    let took = started.elapsed();
    println!("{name}: {} KB in {took:.1?}", text.len() / 1024);
    assert_eq!(result.is_ok(), is_template, "{name}: {:?}", result.err());
    assert!(took < longest, "{name} takes {took:?}");
}

#[test]
fn large_templates_are_parsed_in_bounded_time() {
    read(256 << 10, Duration::from_secs(20));
}

#[test]
#[ignore = "takes long where nothing is optimized"]
fn ten_megabytes_are_parsed_in_a_second() {
    read(10 << 20, if cfg!(debug_assertions) { Duration::from_secs(60) } else { Duration::from_secs(1) });
}
