//! Which property a name on the command line means.

use super::Flags;
use super::view::View;

/// A name is looked up in this many objects at most: names with dots could be split in very many ways.
const MOST_LOOKUPS: usize = 256;

/// A property, by the keys that lead to it.
#[derive(Debug)]
pub(super) struct Found<'s> {
    pub(super) path: Vec<String>,
    pub(super) view: View<'s>,
    /// `true` for `--no-NAME`.
    pub(super) is_negated: bool,
}

/// The property that a name means, or the names of several between which it does not choose; of none if it is unknown.
pub(super) type Meaning<'s> = Result<Found<'s>, Vec<String>>;

impl Flags {
    /// Returns the meaning of `--NAME`. The exact name of a property comes before everything else.
    pub(super) fn meaning(&self, name: &str) -> Meaning<'_> {
        let mut found = self.find(name);
        if !found.iter().any(|found| found.path == [name]) {
            // A negation cannot have the name of an own option.
            let positive = name.strip_prefix("no-").filter(|name| !self.is_own(name));
            let negated = positive.and_then(|name| only(self.find(name)).ok()).filter(|found| found.view.is_switch());
            found.extend(negated.map(|found| Found { is_negated: true, ..found }));
        }
        only(found)
    }

    /// Returns the meaning of `--arg NAME=VALUE`: every declared name, and undeclared names if the schema allows them.
    pub(super) fn argument(&self, name: &str, is_quoted: bool) -> Meaning<'_> {
        let root = self.root_view();
        let found = if is_quoted {
            root.property(name).map(|view| Found::new(name, view)).into_iter().collect()
        } else {
            self.find(name)
        };
        match only(found) {
            Err(names) if names.is_empty() => root.undeclared().map(|view| Found::new(name, view)).ok_or(names),
            meaning => meaning,
        }
    }

    /// Returns the flag that sets a switch to `false`: `--no-NAME`.
    pub(super) fn negation(&self, path: &[String]) -> Option<String> {
        let name = format!("no-{}", path.join("."));
        let found = self.meaning(&name).ok().filter(|_| !self.is_own(&name))?;
        (found.is_negated && found.path == path).then(|| format!("--{name}"))
    }

    fn find(&self, name: &str) -> Vec<Found<'_>> {
        let mut lookups = MOST_LOOKUPS;
        find(&self.root_view(), name, true, &mut lookups)
    }
}

impl<'s> Found<'s> {
    fn new(name: &str, view: View<'s>) -> Self {
        Self { path: vec![name.to_owned()], view, is_negated: false }
    }
}

fn only(mut found: Vec<Found<'_>>) -> Meaning<'_> {
    match found.pop() {
        Some(only) if found.is_empty() => Ok(only),
        last => Err(found.into_iter().chain(last).map(|found| found.path.join(".")).collect()),
    }
}

/// Returns the properties that a name may mean: by their exact name or kebab case, or else the one that dots select:
/// a property of an object, the longest names first, or a key of a map.
fn find<'s>(view: &View<'s>, name: &str, is_root: bool, lookups: &mut usize) -> Vec<Found<'s>> {
    let named = view.named(name).into_iter();
    let named: Vec<Found<'_>> = named.filter_map(|name| Some(Found::new(name, view.property(name)?))).collect();
    if !named.is_empty() || *lookups == 0 {
        return named;
    }
    *lookups -= 1;
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
        let mut found = find(&inside, inner, false, lookups);
        if !found.is_empty() {
            found.iter_mut().for_each(|found| found.path.insert(0, key.to_owned()));
            return found;
        }
    }
    values().map(|view| Found::new(name, view)).into_iter().collect()
}
