//! Which property a name on the command line means.

use super::Flags;
use super::view::{Place, View};
use crate::normalize::Kinds;

/// A property, by the keys that lead to it.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) path: Vec<String>,
    pub(super) place: Place,
}

/// The meaning of a flag's name.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    Property(Found),
    /// `--no-NAME`.
    Negated(Found),
    /// The names of the properties between which it does not choose.
    Ambiguous(Vec<String>),
    Unknown,
}

impl Flags {
    /// Returns the meaning of `--NAME`. The exact name of a property comes before everything else.
    pub(super) fn meaning(&self, name: &str) -> Meaning {
        let root = self.root_view();
        let named = root.named(name);
        if let [exact] = named.as_slice()
            && *exact == name
        {
            return self.property_of(&root, exact).map_or(Meaning::Unknown, Meaning::Property);
        }
        let negated = self.negated(&root, name);
        let mut meant: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        meant.extend(negated.iter().map(|found| found.path.join(".")));
        match (meant.len(), negated) {
            (0, _) => self.below(&root, name, Vec::new()).map_or(Meaning::Unknown, Meaning::Property),
            (1, Some(found)) => Meaning::Negated(found),
            (1, None) => {
                named.first().and_then(|name| self.property_of(&root, name)).map_or(Meaning::Unknown, Meaning::Property)
            }
            _ => Meaning::Ambiguous(meant),
        }
    }

    /// Returns the meaning of `--arg NAME=VALUE`: every declared name, and undeclared names if the schema allows them.
    pub(super) fn argument(&self, name: &str, is_quoted: bool) -> Meaning {
        let root = self.root_view();
        if let Some(found) = self.property_of(&root, name) {
            return Meaning::Property(found);
        }
        if !is_quoted {
            match root.named(name).as_slice() {
                [] => {}
                [only] => return self.property_of(&root, only).map_or(Meaning::Unknown, Meaning::Property),
                several => return Meaning::Ambiguous(several.iter().map(|name| (*name).to_owned()).collect()),
            }
            if let Some(found) = self.below(&root, name, Vec::new()) {
                return Meaning::Property(found);
            }
        }
        match root.undeclared() {
            Some(place) => Meaning::Property(Found { path: vec![name.to_owned()], place }),
            None => Meaning::Unknown,
        }
    }

    fn property_of(&self, view: &View<'_>, name: &str) -> Option<Found> {
        Some(Found { path: vec![name.to_owned()], place: view.property(name)? })
    }

    fn negated(&self, root: &View<'_>, name: &str) -> Option<Found> {
        let name = name.strip_prefix("no-")?;
        // A negation cannot have the name of an own option.
        if self.is_own(name) {
            return None;
        }
        let found = match root.named(name).as_slice() {
            [] => self.below(root, name, Vec::new())?,
            [only] => self.property_of(root, only)?,
            _ => return None,
        };
        found.place.view(&self.shapes).is_switch().then_some(found)
    }

    /// Follows dots into objects, the longest names first, and into maps.
    fn below(&self, view: &View<'_>, rest: &str, path: Vec<String>) -> Option<Found> {
        let step = |name: &str| {
            let mut path = path.clone();
            path.push(name.to_owned());
            path
        };
        if !path.is_empty()
            && let [only] = view.named(rest).as_slice()
            && let Some(place) = view.property(only)
        {
            return Some(Found { path: step(only), place });
        }
        for (dot, _) in rest.rmatch_indices('.') {
            let (name, below) = (rest.get(..dot)?, rest.get(dot + 1..)?);
            if let [only] = view.named(name).as_slice()
                && let Some(place) = view.property(only)
                && let Some(found) = self.below(&place.view(&self.shapes), below, step(only))
            {
                return Some(found);
            }
        }
        if path.is_empty() || rest.is_empty() {
            return None;
        }
        // Keys of maps may contain dots, so a dot only selects a member if the value can have members.
        let place = if view.maps.is_empty() && !view.has(Kinds::OBJECT) && view.properties().is_empty() {
            view.undeclared()?
        } else {
            let map = view.maps.first().map(|slot| Place::of(*slot));
            map.or_else(|| view.has(Kinds::OBJECT).then(Place::anything))?
        };
        let inner = place.view(&self.shapes);
        if let Some((key, below)) = rest.split_once('.')
            && !key.is_empty()
            && (!inner.objects.is_empty() || !inner.maps.is_empty())
            && let Some(found) = self.below(&inner, below, step(key))
        {
            return Some(found);
        }
        Some(Found { path: step(rest), place })
    }
}
