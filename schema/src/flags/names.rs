//! Which property a name on the command line means.

use super::Flags;
use super::view::View;
use crate::normalize::Kinds;

/// A property, by the keys that lead to it.
#[derive(Clone, Debug)]
pub(super) struct Found<'s> {
    pub(super) path: Vec<String>,
    pub(super) view: View<'s>,
}

/// The meaning of a flag's name.
#[derive(Clone, Debug)]
pub(super) enum Meaning<'s> {
    Property(Found<'s>),
    /// `--no-NAME`.
    Negated(Found<'s>),
    /// The names of the properties between which it does not choose.
    Ambiguous(Vec<String>),
    Unknown,
}

impl Flags {
    /// Returns the meaning of `--NAME`. The exact name of a property comes before everything else.
    pub(super) fn meaning(&self, name: &str) -> Meaning<'_> {
        let root = self.root_view();
        let named = root.named(name);
        if let [exact] = named.as_slice()
            && *exact == name
        {
            return property_of(&root, exact).map_or(Meaning::Unknown, Meaning::Property);
        }
        let negated = self.negated(&root, name);
        let mut meant: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        meant.extend(negated.iter().map(|found| found.path.join(".")));
        match (meant.len(), negated) {
            (0, _) => below(&root, name, Vec::new()).map_or(Meaning::Unknown, Meaning::Property),
            (1, Some(found)) => Meaning::Negated(found),
            (1, None) => {
                named.first().and_then(|name| property_of(&root, name)).map_or(Meaning::Unknown, Meaning::Property)
            }
            _ => Meaning::Ambiguous(meant),
        }
    }

    /// Returns the meaning of `--arg NAME=VALUE`: every declared name, and undeclared names if the schema allows them.
    pub(super) fn argument(&self, name: &str, is_quoted: bool) -> Meaning<'_> {
        let root = self.root_view();
        if let Some(found) = property_of(&root, name) {
            return Meaning::Property(found);
        }
        if !is_quoted {
            match root.named(name).as_slice() {
                [] => {}
                [only] => return property_of(&root, only).map_or(Meaning::Unknown, Meaning::Property),
                several => return Meaning::Ambiguous(several.iter().map(|name| (*name).to_owned()).collect()),
            }
            if let Some(found) = below(&root, name, Vec::new()) {
                return Meaning::Property(found);
            }
        }
        match root.undeclared() {
            Some(view) => Meaning::Property(Found { path: vec![name.to_owned()], view }),
            None => Meaning::Unknown,
        }
    }

    fn negated<'s>(&self, root: &View<'s>, name: &str) -> Option<Found<'s>> {
        let name = name.strip_prefix("no-")?;
        // A negation cannot have the name of an own option.
        if self.is_own(name) {
            return None;
        }
        let found = match root.named(name).as_slice() {
            [] => below(root, name, Vec::new())?,
            [only] => property_of(root, only)?,
            _ => return None,
        };
        found.view.is_switch().then_some(found)
    }
}

fn property_of<'s>(view: &View<'s>, name: &str) -> Option<Found<'s>> {
    Some(Found { path: vec![name.to_owned()], view: view.property(name)? })
}

/// Follows dots into objects, the longest names first, and into maps.
fn below<'s>(view: &View<'s>, rest: &str, path: Vec<String>) -> Option<Found<'s>> {
    let step = |name: &str| {
        let mut path = path.clone();
        path.push(name.to_owned());
        path
    };
    if !path.is_empty()
        && let [only] = view.named(rest).as_slice()
        && let Some(view) = view.property(only)
    {
        return Some(Found { path: step(only), view });
    }
    for (dot, _) in rest.rmatch_indices('.') {
        let (name, inner) = (rest.get(..dot)?, rest.get(dot + 1..)?);
        if let [only] = view.named(name).as_slice()
            && let Some(view) = view.property(only)
            && let Some(found) = below(&view, inner, step(only))
        {
            return Some(found);
        }
    }
    if path.is_empty() || rest.is_empty() {
        return None;
    }
    // Keys of maps may contain dots, so a dot only selects a member if the value can have members.
    let values = if view.maps.is_empty() && !view.has(Kinds::OBJECT) && view.properties().is_empty() {
        view.undeclared()?
    } else {
        view.map_values()?
    };
    if let Some((key, inner)) = rest.split_once('.')
        && !key.is_empty()
        && (!values.objects.is_empty() || !values.maps.is_empty())
        && let Some(found) = below(&values, inner, step(key))
    {
        return Some(found);
    }
    Some(Found { path: step(rest), view: values })
}
