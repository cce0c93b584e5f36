//! No two files use each other, directly or through others. A module may use its parent.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use quote::ToTokens;
use syn::{Item, Visibility};

use super::floors::{is_for_tests, module_of, paths_in, paths_of};
use super::{Fallible, PACKAGES, collect_sources, root};

const ARROWS_AT_LEAST: usize = 2_000;

#[test]
fn files_have_no_circular_dependencies() -> Fallible<()> {
    let (mut arrows, mut files, mut circles) = (0, 0, Vec::new());
    for (package, folder, _) in PACKAGES {
        let source = root().join(folder);
        let mut texts = Vec::new();
        let mut paths = Vec::new();
        collect_sources(&source, &mut paths)?;
        for path in paths {
            let path_below = path.strip_prefix(&source)?;
            texts.push((module_of(path_below), path_below.display().to_string(), fs::read_to_string(&path)?));
        }
        let uses = Crate::read(&texts)?.uses();
        files += texts.len();
        arrows += uses.values().map(BTreeSet::len).sum::<usize>();
        circles.extend(circles_in(&uses).into_iter().map(|files| format!("{package}: {}", told(&files, &uses))));
    }
    println!("{files} files, {arrows} arrows between them, {} circles", circles.len());
    assert!(arrows >= ARROWS_AT_LEAST, "only {arrows} arrows were read");
    assert!(circles.is_empty(), "files that use each other:\n{}", circles.join("\n"));
    Ok(())
}

#[test]
fn names_are_resolved_to_their_definitions() -> Fallible<()> {
    let file = |module: &str, text: &str| {
        let module: Vec<String> = module.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        (module, format!("{module}.rs", module = text.len()), text.to_owned())
    };
    let arrows = |texts: &[(&str, &str)]| -> Fallible<usize> {
        let texts: Vec<_> = texts.iter().map(|(module, text)| file(module, text)).collect();
        Ok(Crate::read(&texts)?.uses().values().map(BTreeSet::len).sum())
    };
    let a = ("a", "pub struct A; pub fn f() {}");
    for (text, expected) in [
        ("use crate::a::A;", 1),
        ("use super::a; fn g() { a::f() }", 1),
        ("use super::a;", 0),
        ("fn g() { super::a::f() }", 1),
        ("pub use crate::a::A;", 0),
        ("pub use crate::a::A; fn g(_: A) {}", 1),
        ("use crate::Shown;", 1),
        ("use crate::*; fn g(_: Shown) {}", 1),
        ("use std::fmt; fn g(_: fmt::Result) {}", 0),
        ("#[cfg(test)] mod tests { use crate::a::A; }", 0),
        ("mod inner { use super::super::a::A; }", 1),
    ] {
        let root = ("", "mod a; mod user; pub use a::A as Shown;");
        assert_eq!(arrows(&[root, a, ("user", text)])?, expected, "{text}");
    }
    let both =
        [("", "mod a; mod b;"), ("a", "use super::b::B; pub struct A;"), ("b", "use super::a::A;  pub struct B;")];
    let texts: Vec<_> = both.iter().map(|(module, text)| file(module, text)).collect();
    assert_eq!(circles_in(&Crate::read(&texts)?.uses()).len(), 1);
    Ok(())
}

type Path = Vec<String>;
type Uses = BTreeMap<String, BTreeSet<String>>;

/// A module: of a file, or inside one.
#[derive(Default)]
struct Module {
    file: String,
    defined: BTreeSet<String>,
    /// The imported names, with their paths.
    brought: BTreeMap<String, Path>,
    globs: Vec<Path>,
    /// The paths in its code, including private imports.
    mentioned: BTreeSet<Path>,
}

struct Crate {
    modules: BTreeMap<Path, Module>,
}

impl Crate {
    fn read(texts: &[(Path, String, String)]) -> Fallible<Self> {
        let mut all = Self { modules: BTreeMap::new() };
        let mut for_tests = Vec::new();
        for (module, file, text) in texts {
            all.add(module, file, &syn::parse_file(text)?.items, &mut for_tests);
        }
        all.modules.retain(|module, _| !for_tests.iter().any(|tests: &Path| module.starts_with(tests)));
        Ok(all)
    }

    fn add(&mut self, path: &Path, file: &str, items: &[Item], for_tests: &mut Vec<Path>) {
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        let mut shown = Vec::new();
        let mut words = BTreeSet::new();
        for item in items {
            if let Item::Mod(item) = item {
                let below = [path.as_slice(), &[item.ident.to_string()]].concat();
                match &item.content {
                    _ if item.attrs.iter().any(is_for_tests) => for_tests.push(below),
                    Some((_, items)) => self.add(&below, file, items, for_tests),
                    None => {}
                }
                continue;
            }
            if let Item::Use(item) = item {
                for (path, name) in paths_of(&item.tree) {
                    if name.is_empty() {
                        module.globs.push(path);
                    } else {
                        let is_shown = !matches!(item.vis, Visibility::Inherited);
                        if is_shown {
                            shown.push((name.clone(), path.clone()));
                        } else {
                            module.mentioned.insert(path.clone());
                        }
                        module.brought.insert(name, path);
                    }
                }
                continue;
            }
            module.defined.extend(name_of(item));
            paths_in(item.to_token_stream(), &mut |path| {
                words.extend(path.first().cloned());
                module.mentioned.insert(path);
            });
        }
        module.mentioned.extend(shown.into_iter().filter(|(name, _)| words.contains(name)).map(|(_, path)| path));
        self.modules.insert(path.clone(), module);
    }

    /// Returns the files that each file uses.
    fn uses(&self) -> Uses {
        let mut uses = Uses::new();
        for (path, module) in &self.modules {
            let targets = module.mentioned.iter().filter_map(|mentioned| self.file_of(path, mentioned, 0));
            let is_arrow = |target: &String| *target != module.file && !is_around(target, &module.file);
            uses.entry(module.file.clone()).or_default().extend(targets.filter(is_arrow));
        }
        uses
    }

    /// The file that defines what a path names, in a module. None for a module, and for what is of another crate.
    fn file_of(&self, module: &[String], path: &[String], depth: usize) -> Option<String> {
        let (first, rest) = path.split_first()?;
        if depth > 20 {
            return None;
        }
        match first.as_str() {
            "crate" => self.below(&[], rest, depth),
            "self" => self.below(module, rest, depth),
            "super" => {
                let (_, parent) = module.split_last()?;
                if rest.first().is_some_and(|next| next == "super") {
                    self.file_of(parent, rest, depth + 1)
                } else {
                    self.below(parent, rest, depth)
                }
            }
            _ => self.below(module, path, depth),
        }
    }

    fn below(&self, path: &[String], rest: &[String], depth: usize) -> Option<String> {
        let (name, further) = rest.split_first()?;
        let child = [path, std::slice::from_ref(name)].concat();
        if self.modules.contains_key(&child) {
            return self.below(&child, further, depth);
        }
        let module = self.modules.get(path)?;
        if module.defined.contains(name) {
            return Some(module.file.clone());
        }
        if let Some(brought) = module.brought.get(name) {
            let onward = [brought.as_slice(), further].concat();
            return if onward == rest { None } else { self.file_of(path, &onward, depth + 1) };
        }
        let mut globs = module.globs.iter();
        globs.find_map(|glob| self.file_of(path, &[glob.as_slice(), rest].concat(), depth + 1))
    }
}

/// Returns `true` if the outer file is a parent module of the inner one.
fn is_around(outer: &str, inner: &str) -> bool {
    let folder =
        outer.strip_suffix("mod.rs").or_else(|| outer.strip_suffix("lib.rs")).or_else(|| outer.strip_suffix("main.rs"));
    match folder {
        Some(folder) => inner.starts_with(folder),
        None => outer.strip_suffix(".rs").is_some_and(|folder| inner.starts_with(&format!("{folder}/"))),
    }
}

fn name_of(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Macro(item) => item.ident.as_ref()?.to_string(),
        Item::Static(item) => item.ident.to_string(),
        Item::Struct(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        _ => return None,
    })
}

/// The sets of files that reach each other.
fn circles_in(uses: &Uses) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        uses.keys().map(|file| (file, reached_from(file, uses))).collect();
    let mut circles = Vec::new();
    let mut done = BTreeSet::new();
    for (file, targets) in &reached {
        if targets.contains(file) && !done.contains(file) {
            let is_in_it = |other: &&&String| reached.get(**other).is_some_and(|back| back.contains(file));
            let circle: BTreeSet<String> = targets.iter().filter(is_in_it).map(|file| (*file).clone()).collect();
            done.extend(targets.iter().filter(is_in_it).copied());
            circles.push(circle);
        }
    }
    circles
}

fn reached_from<'u>(file: &String, uses: &'u Uses) -> BTreeSet<&'u String> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&String> = uses.get(file).into_iter().flatten().collect();
    while let Some(file) = next.pop() {
        if reached.insert(file) {
            next.extend(uses.get(file).into_iter().flatten());
        }
    }
    reached
}

fn told(circle: &BTreeSet<String>, uses: &Uses) -> String {
    let mut told = format!("{} files", circle.len());
    for file in circle {
        let targets = uses.get(file).into_iter().flatten().filter(|target| circle.contains(*target));
        told += &format!("\n    {file} -> {}", targets.cloned().collect::<Vec<_>>().join(", "));
    }
    told
}
