//! Which property a name on the command line means.

use std::sync::atomic::Ordering;

use super::Flags;
use super::view::View;

/// A name is split at its dots this often at most: names with many dots could be split in very many ways.
const MOST_SPLITS: usize = 4_096;
/// In an object with more properties, a split counts as several.
const FEW_PROPERTIES: usize = 256;

/// A property, by the keys that lead to it.
#[derive(Debug)]
pub(super) struct Found<'s> {
    pub(super) path: Vec<String>,
    pub(super) view: View<'s>,
    /// `true` for `--no-NAME`.
    pub(super) is_negated: bool,
}

/// The meaning of a name.
#[derive(Debug)]
pub(super) enum Meaning<'s> {
    Property(Found<'s>),
    /// The names of the properties between which it does not choose.
    Ambiguous(Vec<String>),
    Unknown,
    /// Not all ways to split it could be tried.
    TooManyDots,
}

impl<'s> Meaning<'s> {
    fn of(found: Option<Vec<Found<'s>>>) -> Self {
        let Some(mut found) = found else { return Self::TooManyDots };
        match found.pop() {
            None => Self::Unknown,
            Some(only) if found.is_empty() => Self::Property(only),
            last => Self::Ambiguous(found.into_iter().chain(last).map(|found| found.path.join(".")).collect()),
        }
    }

    pub(super) fn property(self) -> Option<Found<'s>> {
        if let Self::Property(found) = self { Some(found) } else { None }
    }
}

impl Flags {
    /// Returns the meaning of `--NAME`. The exact name of a property comes before everything else.
    pub(super) fn meaning(&self, name: &str) -> Meaning<'_> {
        Meaning::of(self.find_with_negation(name))
    }

    fn find_with_negation(&self, name: &str) -> Option<Vec<Found<'_>>> {
        let mut found = self.find(name)?;
        // A negation cannot have the name of an own option.
        let positive = name.strip_prefix("no-").filter(|name| !self.is_own(name));
        if let Some(positive) = positive.filter(|_| !found.iter().any(|found| found.path == [name])) {
            let negated = Meaning::of(Some(self.find(positive)?)).property();
            if let Some(negated) = negated.filter(|found| found.view.is_switch()) {
                // It comes before what dots select.
                found.retain(|found| found.path.len() == 1);
                found.push(Found { is_negated: true, ..negated });
            }
        }
        Some(found)
    }

    /// Returns the meaning of `--arg NAME=VALUE`: every declared name, and undeclared names if the schema allows them.
    pub(super) fn argument(&self, name: &str, is_quoted: bool) -> Meaning<'_> {
        let root = self.root_view();
        let found = if is_quoted {
            Some(root.property(name).map(|view| Found::new(name, view)).into_iter().collect())
        } else {
            self.find(name)
        };
        match Meaning::of(found) {
            Meaning::Unknown => {
                root.undeclared().map_or(Meaning::Unknown, |view| Meaning::Property(Found::new(name, view)))
            }
            meaning => meaning,
        }
    }

    /// Returns the flag that sets a switch to `false`: `--no-NAME`.
    pub(super) fn negation(&self, path: &[String]) -> Option<String> {
        let name = format!("no-{}", path.join("."));
        let found = self.meaning(&name).property().filter(|_| !self.is_own(&name))?;
        (found.is_negated && found.path == path).then(|| format!("--{name}"))
    }

    /// Returns the properties that a name may mean, or `None` if there are too many ways to split it.
    fn find(&self, name: &str) -> Option<Vec<Found<'_>>> {
        let mut splits = MOST_SPLITS;
        let found = find(&self.root_view(), name, true, &mut splits);
        self.splits.fetch_add(MOST_SPLITS - splits, Ordering::Relaxed);
        found
    }
}

impl<'s> Found<'s> {
    fn new(name: &str, view: View<'s>) -> Self {
        Self { path: vec![name.to_owned()], view, is_negated: false }
    }
}

/// Returns the properties that a name may mean: by their exact name or kebab case, or else the one that dots select:
/// a property of an object, the longest names first, or a key of a map. Returns `None` if no splits are left.
fn find<'s>(view: &View<'s>, name: &str, is_root: bool, splits: &mut usize) -> Option<Vec<Found<'s>>> {
    let named = view.named(name).into_iter();
    let named: Vec<Found<'_>> = named.filter_map(|name| Some(Found::new(name, view.property(name)?))).collect();
    if !named.is_empty() {
        return Some(named);
    }
    let left = splits.checked_sub(name.matches('.').count() * (1 + view.declared().count() / FEW_PROPERTIES));
    *splits = left.unwrap_or_default();
    left?;
    let values = || view.map_values().filter(|_| !is_root && !name.is_empty());
    let in_objects = name.rmatch_indices('.').filter_map(|(dot, _)| {
        let named = view.named(name.get(..dot)?);
        let [only] = named.as_slice() else { return None };
        Some((*only, view.property(only)?, name.get(dot + 1..)?))
    });
    let in_map = || {
        let (key, inner) = name.split_once('.').filter(|(key, _)| !key.is_empty())?;
        // Keys of maps may contain dots, so a dot only selects a member if the value can have members.
        Some((key, values().filter(View::has_members)?, inner))
    };
    for (key, inside, inner) in in_objects.chain(in_map()) {
        let mut found = find(&inside, inner, false, splits)?;
        if !found.is_empty() {
            found.iter_mut().for_each(|found| found.path.insert(0, key.to_owned()));
            return Some(found);
        }
    }
    Some(values().map(|view| Found::new(name, view)).into_iter().collect())
}
