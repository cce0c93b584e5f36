//! `-o`: what is no text goes to files, and an answer that was had is never lost to one that cannot be written.

use crate::common;

use std::fs;

use common::{Project, fixture_server};

fn project() -> Project {
    let project = Project::new("[servers.fx]\ncommand = \"SERVER\"\n");
    project.run(&["sync", "fx"]).exits_with(0);
    project
}

#[test]
fn unwritable_output_folder_is_found_before_any_call() {
    let project = project();
    project.run(&["call", "fx", "add", "--a", "1", "--b", "2", "-o", "deep/out"]).exits_with(0);
    assert!(!project.path("deep/out").exists(), "nothing came into it");
    project.run(&["call", "fx", "make_report", "-o", "out"]).exits_with(0).says("Wrote out/make_report-1.png");

    project.write("mcp.toml", "[servers.fx]\ncommand = \"./is-not-started\"\n");
    project.write("file", "");
    for (folder, said) in
        [("file", "expected a directory, found a file"), ("file/below", "failed to create the folder")]
    {
        for command in [&["call", "fx", "make_report"][..], &["resource", "read", "fx", "file:///x"]] {
            let run = project.run(&[command, &["-o", folder]].concat()).exits_with(1);
            run.says(said);
        }
    }
}

#[cfg(unix)]
#[test]
fn result_is_printed_even_if_its_files_cannot_be_written() {
    let project = project();
    let (server, out) = (fixture_server().display(), project.path("out"));
    let out = out.to_str().unwrap();
    // The folder was there when the tool was called.
    project.write("blocks.sh", &format!("rm -r {out}\ntouch {out}\nexec {server}\n"));
    project.write("mcp.toml", "[servers.fx]\ncommand = \"sh\"\nargs = [\"./blocks.sh\"]\ncwd = \".\"\n");
    for format in ["text", "json"] {
        let _ = fs::remove_file(out);
        let run = project.run(&["call", "fx", "make_report", "-o", "out", "--format", format]).exits_with(1);
        assert!(run.stdout.contains("All is well."), "{}", run.stdout);
        run.says("error: failed to write the file");
    }
}
