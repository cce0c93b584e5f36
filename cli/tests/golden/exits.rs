//! Each exit code where it can happen, as text and as JSON, which says it on stdout whatever it is.

use crate::session::{DESK_AND_GONE, Session};

const TABLE: [(&str, i32); 38] = [
    ("sync desk", 0),
    ("sync gone", 5),
    ("sync none", 1),
    ("check desk", 0),
    ("check gone", 5),
    ("check --offline", 4),
    ("check --offlin", 2),
    ("diff desk live:desk", 0),
    ("diff desk other.json", 4),
    ("diff desk live:gone", 5),
    ("diff desk none", 1),
    ("list desk", 0),
    ("list gone", 1),
    ("expand desk", 0),
    ("expand desk -o desk.rs --check", 4),
    ("expand gone", 1),
    ("expand", 2),
    ("call desk add --a 1 --b 2", 0),
    ("call desk none", 1),
    ("call desk add", 2),
    ("call desk always_fails --reason x", 3),
    ("call gone add", 5),
    ("resource list gone", 5),
    ("prompt list gone", 5),
    ("learn desk always_fails --args '{\"reason\": \"x\"}' --yes --replace", 3),
    ("learn gone add --args {} --yes", 1),
    ("run sum.md", 0),
    ("run fails.md", 3),
    ("run gone.md --check", 5),
    ("serve --http 0 none", 1),
    ("doctor none", 1),
    ("doctor --connect desk", 0),
    ("doctor --connect gone", 1),
    ("import none --from other.json", 1),
    ("remove desk", 2),
    ("rename none some", 1),
    ("set desk timeout=60", 1),
    ("add more --command ./no-such-program", 5),
];

#[test]
fn exit_codes_are_equal_in_text_and_json() {
    let session = Session::new(DESK_AND_GONE);
    session.project.write("other.json", r#"{"tools": []}"#);
    session.project.write("sum.md", "[[@desk_add:s|a=1, b=2]]\n");
    session.project.write("fails.md", "[[@desk_always_fails:s|reason=\"x\"]]\n");
    session.project.write("gone.md", "[[@gone_x:s]]\n");
    session.ended("sync desk").exits_with(0);
    let mut wrong = Vec::new();
    for (line, code) in TABLE {
        let text = session.ended(line);
        let json = session.ended(&format!("{line} --format json"));
        for (format, run) in [("text", &text), ("json", &json)] {
            if run.code != Some(code) {
                wrong.push(format!("{line} as {format}: {:?}, not {code}\n{}", run.code, run.stderr));
            }
        }
        if code != 0 && !text.stderr.contains("error") && code != 4 && code != 3 {
            wrong.push(format!("{line}: no error is said\n{}", text.stderr));
        }
        let said = json.json();
        if said.get("errors").is_some() && said["exit"] != code {
            wrong.push(format!("{line}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{} command lines, as text and as JSON", TABLE.len());
}
