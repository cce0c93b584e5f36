use std::collections::BTreeMap;
use std::fs::{OpenOptions, create_dir_all};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, symlink};

use tempfile::TempDir;

use super::*;

/// Returns a temporary folder, and its path without links.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}

/// Writes an executable file, and the folders above it. It is never run.
fn file(path: PathBuf, text: impl AsRef<[u8]>) -> PathBuf {
    create_dir_all(path.parent().unwrap()).unwrap();
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o755).open(&path).unwrap();
    file.write_all(text.as_ref()).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns a plan that shows nothing, for a user with these homes.
fn empty(homes: &[&Path]) -> Plan {
    let homes = homes.iter().map(|home| (home.to_path_buf(), follow(home).unwrap())).collect();
    Plan { view: View::default(), env: Vec::new(), writable: Vec::new(), homes, temp_home: None }
}

/// Returns a program with these variables of its configuration.
fn program(env: &BTreeMap<String, String>) -> Program<'_> {
    Program { command: "/bin/sh", args: &[], cwd: None, env, inherit_env: &[], isolation: None }
}

#[test]
fn configured_folder_for_temporary_files_is_kept() {
    let variables = |env: &BTreeMap<String, String>| plan(&Isolation::new(), &program(env)).map(|plan| plan.env);
    assert_eq!(variables(&BTreeMap::new()), Ok(vec![("TMPDIR", "/tmp".into())]));
    assert_eq!(variables(&BTreeMap::from([("TMPDIR".into(), "/x".into())])), Ok(Vec::new()));
}

#[test]
fn home_of_the_process_that_contains_the_system_cannot_be_hidden() {
    let own = std::env::home_dir().unwrap();
    let env = BTreeMap::new();
    let hidden = |home: &Path, is_restricted| {
        let mut plan = empty(&[]);
        plan.homes.push((home.to_owned(), follow("/".as_ref()).unwrap()));
        plan.hide_homes(&program(&env), is_restricted).map(|()| plan.env)
    };
    let (kind, message) = hidden(&own, false).unwrap_err();
    assert_eq!(kind, Kind::Config);
    assert!(message.contains("which contains the system"), "{message}");
    // The view shows it in part at most, or it is the home of another program.
    let replaced = Ok(vec![("HOME", HOME_WITHOUT_ONE.into())]);
    assert_eq!(hidden(&own, true), replaced);
    assert_eq!(hidden("/other".as_ref(), false), replaced);
}

#[test]
fn server_may_write_only_to_write_folders() {
    let (_folder, root) = folder();
    let (read, write) = (root.join("read"), root.join("write"));
    create_dir_all(&read).unwrap();
    create_dir_all(&write).unwrap();
    let mut plan = empty(&[]);
    plan.show_folders(&Isolation::new().read([text(&read)]).write([text(&write)])).unwrap();
    assert_eq!(plan.writable, [write]);
}

#[test]
fn only_a_hidden_home_is_refused_as_a_folder() {
    let (_folder, root) = folder();
    let home = root.join("home");
    create_dir_all(home.join("inside")).unwrap();
    for (is_hidden, folder, is_refused) in
        [(true, home.clone(), true), (false, home.clone(), false), (true, home.join("inside"), false)]
    {
        let temp_home = is_hidden.then(|| home.clone());
        let way = Plan { temp_home, ..empty(&[&home]) }.way_of("read", text(&folder));
        assert_eq!(way.is_err_and(|(_, message)| message.contains("the home that")), is_refused, "{folder:?}");
    }
}

#[test]
fn certificates_are_shown_but_no_homes_devices_or_writable_files() {
    let (_folder, root) = folder();
    let [ca, odd, one, two, home, written] =
        ["ca", "a:b", "one/ca", "two/ca", "homes/user/ca", "written/ca"].map(|name| file(root.join(name), ""));
    let variable = |name: &str, value: &str, env: &[&str]| {
        let env: BTreeMap<_, _> = env.iter().map(|name| ((*name).to_owned(), String::new())).collect();
        let mut plan = empty(&[home.parent().unwrap()]);
        plan.writable.push(root.join("written"));
        plan.show_certificates(&program(&env), |asked| (asked == name).then(|| value.into()));
        plan.view.options()
    };
    let both = format!("{}:{}", one.display(), two.display());
    let homes = text(home.ancestors().nth(2).unwrap());
    for (name, value, shown) in [
        ("SSL_CERT_FILE", text(&ca), vec![&ca]),
        ("SSL_CERT_FILE", text(&odd), vec![&odd]),
        ("SSL_CERT_DIR", both.as_str(), vec![&one, &two]),
        ("NODE_EXTRA_CA_CERTS", both.as_str(), vec![]),
        ("SSL_CERT_FILE", "ca", vec![]),
        ("SSL_CERT_FILE", "/dev/null", vec![]),
        ("SSL_CERT_FILE", text(&written), vec![]),
        ("SSL_CERT_DIR", homes, vec![]),
        ("OTHER", text(&ca), vec![]),
    ] {
        let mut view = View::default();
        for path in shown {
            view.put(path, Place::Read);
        }
        assert_eq!(variable(name, value, &[]), view.options(), "{name}={value}");
    }
    let none = View::default().options();
    assert_eq!(variable("SSL_CERT_FILE", text(&ca), &["SSL_CERT_FILE"]), none, "the configuration sets another");
}

#[test]
fn program_is_shown_with_its_folders_unless_they_contain_a_home() {
    let (_folder, root) = folder();
    let tool = file(root.join("bin/tool"), "");
    let user = root.join("lib/user");
    create_dir_all(&user).unwrap();
    for homes in [vec![], vec![user.as_path()]] {
        let mut plan = empty(&homes);
        plan.show_program(&tool, None).unwrap();
        let shown = ["bin", "lib", ""].map(|name| plan.view.shows(&root.join(name)));
        assert_eq!(shown, [true, homes.is_empty(), false]);
    }
}

#[test]
fn interpreters_of_interpreters_are_shown_up_to_a_bound() {
    let (_folder, root) = folder();
    let script = |number: usize| root.join(format!("script-{number}"));
    for number in 0..=MOST_PROGRAMS {
        file(script(number), format!("#!{}\n", text(&script(number + 1))));
    }
    file(script(MOST_PROGRAMS + 1), "");
    let itself = MOST_PROGRAMS + 2;
    file(script(itself), format!("#!{}\n", text(&script(itself))));
    let shown = |first: usize| {
        let mut plan = empty(&[]);
        plan.show_program(&script(first), None).unwrap();
        (0..=itself).filter(|number| plan.view.shows(&script(*number))).collect::<Vec<_>>()
    };
    assert_eq!(shown(0), Vec::from_iter(0..MOST_PROGRAMS));
    assert_eq!(shown(MOST_PROGRAMS), [MOST_PROGRAMS, MOST_PROGRAMS + 1]);
    assert_eq!(shown(itself), [itself]);
}

#[test]
fn server_starts_in_a_visible_folder() {
    let (_folder, root) = folder();
    let mut plan = empty(&[]);
    assert_eq!(plan.folder_to_start_in(None), Ok("/".into()));
    plan.temp_home = Some("/home/user".into());
    assert_eq!(plan.folder_to_start_in(None), Ok("/home/user".into()));
    let (kind, message) = plan.folder_to_start_in(Some(text(&root))).unwrap_err();
    assert_eq!(kind, Kind::Config);
    assert!(message.contains("(cwd); add it to `read` or `write`"), "{message}");
    plan.view.put(&root, Place::Read);
    symlink(&root, root.join("link")).unwrap();
    assert_eq!(plan.folder_to_start_in(Some(text(&root.join("link")))), Ok(root.clone()));
    let gone = root.join("gone");
    let expected = (Kind::Spawn, format!("the folder `{}` (cwd) does not exist", text(&gone)));
    assert_eq!(plan.folder_to_start_in(Some(text(&gone))), Err(expected));
    plan.view.put("/", Place::Write);
    assert_eq!(plan.folder_to_start_in(None), Ok(std::env::current_dir().unwrap()));
}

#[test]
fn homes_are_those_of_the_process_and_of_its_user() {
    let (_folder, root) = folder();
    let [own, other, stranger] = ["own", "other", "stranger"].map(|name| root.join(name));
    for home in [&own, &other, &stranger] {
        create_dir_all(home).unwrap();
    }
    let (link, no_folder) = (root.join("link"), file(root.join("file"), ""));
    symlink(&own, &link).unwrap();
    let found = |home: Option<&Path>, of_user: &Path| {
        let users = format!("# users\nx:x:6:6::{}:/bin/sh\nme:x:7:7::{}:/bin/sh\n", text(&stranger), text(of_user));
        let homes = homes(home.map(Path::to_owned), 7, &users);
        homes.into_iter().map(|(given, way)| (given, way.real)).collect::<Vec<_>>()
    };
    let [own, other] = [own, other].map(|home| (home.clone(), home));
    assert_eq!(found(Some(&own.0), &other.0), [own.clone(), other.clone()]);
    assert_eq!(found(Some(&own.0), &link), std::slice::from_ref(&own));
    assert_eq!(found(None, &link), [(link.clone(), own.0)]);
    assert!(found(Some(".".as_ref()), &no_folder).is_empty());
    assert_eq!(found(Some(&root.join("gone")), &other.0), [other]);
}

#[test]
fn folders_of_a_program_are_those_of_its_installation() {
    let (_folder, root) = folder();
    for path in ["modules/node_modules/a/node_modules/b/cli.js", "venv/pyvenv.cfg", "local/bin/tool"] {
        file(root.join(path), "");
    }
    for path in ["venv/bin", "local/lib", "local/share"] {
        create_dir_all(root.join(path)).unwrap();
    }
    for (program, folders) in [
        ("modules/node_modules/a/node_modules/b/cli.js", &["modules/node_modules"][..]),
        ("venv/bin/tool", &["venv"]),
        ("local/bin/tool", &["local/bin", "local/lib"]),
        ("local/share/tool", &[]),
        ("local/tool", &[]),
    ] {
        let folders: Vec<_> = folders.iter().map(|folder| root.join(folder)).collect();
        assert_eq!(around(&root.join(program)), folders, "{program}");
    }
    assert_eq!(around("/".as_ref()), Vec::<PathBuf>::new());
}

#[test]
fn first_line_of_a_script_names_its_interpreters() {
    let (_folder, root) = folder();
    let [env, tool, other] = ["env", "tool", "other"].map(|name| file(root.join(name), ""));
    for (number, (line, expected)) in [
        (format!("#!{}\n", text(&tool)), vec![&tool]),
        (format!("#! {} other\n", text(&tool)), vec![&tool]),
        (format!("#!{} other", text(&env)), vec![&env, &other]),
        (format!("#!{}\nother", text(&env)), vec![&env]),
        (format!("#!{}  -S A=1 -x other tool\n", text(&env)), vec![&env, &other]),
        (format!("#!{} missing\n", text(&env)), vec![&env]),
        (text(&tool).to_owned(), vec![]),
        ("#!\n".to_owned(), vec![]),
        (String::new(), vec![]),
    ]
    .into_iter()
    .enumerate()
    {
        let script = file(root.join(format!("script-{number}")), &line);
        let found = interpreters(&script, Some(root.as_os_str()));
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{line}");
    }
    assert_eq!(interpreters(&root.join("gone"), None), Vec::<PathBuf>::new());
    // Paths need not be UTF-8.
    let tool = file(root.join(OsStr::from_bytes(b"caf\xe9")), "");
    let script = file(root.join("script"), [&b"#!"[..], tool.as_os_str().as_bytes(), b"\n"].concat());
    assert_eq!(interpreters(&script, None), [tool]);
}
