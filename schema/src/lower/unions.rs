//! Values of several kinds, or of one kind in several ways.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde_json::Value;

use super::Conjunction;
use super::alternatives::{Alternatives, Choice};
use super::arrays::{ArrayAlternative, Rest};
use super::numbers::Numbers;
use super::objects::{Additional, ObjectAlternative};
use super::tags::{Tag, share_names};
use super::{Job, LAYER, Lowering, StructMode, Work, enumeration};
use crate::normalize::{Kinds, SchemaId};
use crate::shape::{Branch, Shape, ShapeId, Shapes, UnionShape};
use crate::texts::text_or_json;

/// A branch, and the value of a property that has only one there.
type Constant<'c> = (usize, &'c Value);

/// The sort key that puts the most specific branch first. Branches that accept any value come last, or they would take
/// the values of others. Equal branches are sorted by their position in the document.
type Specificity = (bool, Reverse<usize>, Reverse<usize>, u8, Reverse<usize>, Reverse<usize>, String);

/// Moves untyped branches to the end, or they would take the values of others.
pub(super) fn try_untyped_branches_last(shapes: &mut Shapes) {
    for id in shapes.ids() {
        let Shape::Union(union @ UnionShape { tag: None, .. }) = shapes.get(id) else { continue };
        let is_untyped = |branch: &Branch| matches!(shapes.get(branch.shape), Shape::Anything | Shape::AnyOf(_));
        if union.branches.iter().any(is_untyped) {
            let mut sorted = union.clone();
            let (untyped, mut typed): (Vec<_>, Vec<_>) = sorted.branches.into_iter().partition(is_untyped);
            typed.extend(untyped);
            sorted.branches = typed;
            shapes.set(id, Shape::Union(sorted));
        }
    }
}

impl Lowering<'_, '_> {
    pub(super) fn union_shape(&mut self, mut alternatives: Alternatives, place: &Conjunction, depth: usize) -> Shape {
        let mut branches = Vec::new();
        let mut rest = if alternatives.takes_null() { take_open_kinds(&mut alternatives) } else { None };
        let mut arrays = std::mem::take(&mut alternatives.arrays);
        arrays.sort_by_cached_key(|array| self.untyped_items(array));
        for array in arrays {
            let name = self.name_of_array(&array);
            let shape = self.later(Work::List(array), place.clone(), depth);
            branches.push(Branch { tag: None, name, shape });
        }
        let mut objects = std::mem::take(&mut alternatives.objects);
        let name_of_object = match objects.as_slice() {
            [only] => self.named_by_constants(&[only]).pop().flatten(),
            _ => None,
        };
        let scalars = self.scalars(&alternatives, place, &mut rest);
        if let [only] = objects.as_slice()
            && let Some(shape) = self.opaque_branch(only)
        {
            branches.insert(0, Branch { tag: None, name: "Object".to_owned(), shape });
            objects.clear();
        }
        match self.objects(objects, place, depth) {
            Shape::Union(union) if branches.is_empty() && scalars.is_empty() && rest.is_none() => {
                return Shape::Union(union);
            }
            Shape::Union(union) if union.tag.is_none() => branches.splice(0..0, union.branches).for_each(drop),
            Shape::Anything => {}
            shape => {
                let shape = self.shapes.add(shape, place.clone());
                let name = name_of_object.unwrap_or_else(|| "Object".to_owned());
                branches.insert(0, Branch { tag: None, name, shape });
            }
        }
        branches.extend(scalars);
        if let Some(kinds) = rest {
            let shape = self.shapes.add(Shape::AnyOf(kinds), Vec::new());
            branches.push(Branch { tag: None, name: "Other".to_owned(), shape });
        }
        Shape::Union(UnionShape { tag: None, branches })
    }

    fn scalars(&mut self, alternatives: &Alternatives, place: &Conjunction, rest: &mut Option<Kinds>) -> Vec<Branch> {
        let mut listed = alternatives.clone();
        listed.null = false;
        let mut shapes = Vec::new();
        if alternatives.booleans == Choice::Any {
            shapes.push(("Boolean", Shape::Boolean));
            listed.booleans = Choice::Only(Vec::new());
        }
        if !matches!(alternatives.numbers, Numbers::Only(_)) {
            match self.number(&alternatives.numbers, place) {
                Shape::Anything => *rest = Some(rest.map_or(Kinds::NUMBER, |rest| rest | Kinds::NUMBER)),
                Shape::Number => shapes.push(("Number", Shape::Number)),
                shape => shapes.push(("Integer", shape)),
            }
            listed.numbers = Numbers::Only(Vec::new());
        }
        if alternatives.strings == Choice::Any {
            shapes.push(("String", Shape::Text));
            listed.strings = Choice::Only(Vec::new());
        }
        if let Some(shape) = enumeration(&listed) {
            shapes.insert(0, ("Keyword", shape));
        }
        shapes
            .into_iter()
            .map(|(name, shape)| {
                let shape = self.shapes.add(shape, place.clone());
                Branch { tag: None, name: name.to_owned(), shape }
            })
            .collect()
    }

    /// Returns the branches that are objects: nothing, one shape, or a union of their own.
    fn objects(&mut self, mut objects: Vec<ObjectAlternative>, place: &Conjunction, depth: usize) -> Shape {
        if objects.len() < 2 {
            return match objects.pop() {
                Some(object) => self.object(&object, &StructMode::Plain, depth),
                None => Shape::Anything,
            };
        }
        let has_opaque = objects.iter().any(|object| self.opaque_branch(object).is_some());
        // An opaque branch cannot be distinguished by a tag.
        let tag = if has_opaque { None } else { self.tag(&objects) };
        if let Some(Tag { key, values }) = tag {
            share_names(&mut objects);
            let siblings = Siblings::of(&objects);
            let branches = objects
                .into_iter()
                .zip(values)
                .map(|(object, value)| {
                    let name = self.name_by_constant(&object, &key.name, &value);
                    let name = name.unwrap_or_else(|| self.name_of_object(&object, &siblings));
                    let value = text_or_json(&value);
                    let origin = origin_of(&object, place);
                    let shape = self.structure(object, StructMode::Tagged(key.name.clone()), depth + LAYER, origin);
                    Branch { name, tag: Some(value), shape }
                })
                .collect();
            return Shape::Union(UnionShape { tag: Some(key), branches });
        }
        let mut ranked: Vec<(Specificity, ObjectAlternative)> =
            objects.into_iter().map(|object| (self.specificity(&object), object)).collect();
        ranked.sort_by(|(left, _), (right, _)| left.cmp(right));
        let siblings = Siblings::of(ranked.iter().map(|(_, object)| object));
        let names = self.named_by_constants(&ranked.iter().map(|(_, object)| object).collect::<Vec<_>>());
        let branches = ranked
            .into_iter()
            .zip(names)
            .map(|((_, object), name)| {
                let name = name.unwrap_or_else(|| self.name_of_object(&object, &siblings));
                let origin = origin_of(&object, place);
                let shape = self.opaque_branch(&object);
                let shape =
                    shape.unwrap_or_else(|| self.structure(object, StructMode::Untagged, depth + LAYER, origin));
                Branch { tag: None, name, shape }
            })
            .collect();
        Shape::Union(UnionShape { tag: None, branches })
    }

    fn later(&mut self, work: Work, origin: Conjunction, depth: usize) -> ShapeId {
        let has_place = self.has_place(&origin, 1);
        let id = self.shapes.add(Shape::Anything, origin);
        if has_place {
            self.pending.push_back(Job { id, depth: depth + LAYER, work });
        }
        id
    }

    /// Returns a definition's name, a title, or the properties that only this branch has.
    fn name_of_object(&self, object: &ObjectAlternative, siblings: &Siblings) -> String {
        if let Some(name) = object.origin.and_then(|id| self.given_name(id)) {
            return name;
        }
        let is_own = |key: &&String| siblings.one_has(key);
        // The order of `required` says something, that of properties does not.
        let required = object.required.iter().find(is_own);
        match required.or_else(|| object.properties.iter().map(|(key, _)| key).filter(is_own).min()) {
            Some(name) => format!("with {name}"),
            None => "Object".to_owned(),
        }
    }

    /// Returns the name that the document itself gives to a schema.
    fn given_name(&self, id: SchemaId) -> Option<String> {
        self.schemas.definition(id).or_else(|| {
            let title = self.schemas.source(id)?.get("title")?.as_str()?;
            (title.len() <= 40 && !title.trim().is_empty()).then(|| title.to_owned())
        })
    }

    fn name_of_array(&mut self, array: &ArrayAlternative) -> String {
        let item = match (&array.rest, array.prefix.as_slice()) {
            (Rest::Of(item), []) => self.allowed(item),
            _ => return "Tuple".to_owned(),
        };
        if item.is_anything() || item.count() != 1 {
            "Array"
        } else if !item.strings.is_none() {
            "Strings"
        } else if !item.numbers.is_none() {
            "Numbers"
        } else if !item.objects.is_empty() {
            "Objects"
        } else {
            "Array"
        }
        .to_owned()
    }

    /// Names each branch after a constant that no other branch has. All branches use one property: the one that names
    /// most branches, then the first required one, then the smallest.
    fn named_by_constants(&self, branches: &[&ObjectAlternative]) -> Vec<Option<String>> {
        let mut constants: HashMap<&str, Vec<Constant<'_>>> = HashMap::new();
        for (place, branch) in branches.iter().enumerate() {
            for (key, schemas) in &branch.properties {
                let mut listed = schemas.iter().filter_map(|id| self.schemas.get(*id).allowed.as_deref());
                let only = listed.find_map(|values| match values {
                    [only @ (Value::String(_) | Value::Number(_) | Value::Bool(_))] => Some(only),
                    _ => None,
                });
                if let Some(only) = only {
                    constants.entry(key).or_default().push((place, only));
                }
            }
        }
        let place_in_required = |key: &str| {
            let places =
                branches.iter().filter_map(|branch| branch.required.iter().position(|required| required == key));
            places.min().unwrap_or(usize::MAX)
        };
        let own = constants.into_iter().map(|(key, constants)| (key, without_twins(constants)));
        let best = own.max_by_key(|(key, own)| (own.len(), Reverse(place_in_required(key)), Reverse(*key)));
        let mut names = vec![None; branches.len()];
        for (key, place, value) in
            best.into_iter().flat_map(|(key, own)| own.into_iter().map(move |(p, v)| (key, p, v)))
        {
            if let (Some(name), Some(branch)) = (names.get_mut(place), branches.get(place)) {
                *name = self.name_by_constant(branch, key, value);
            }
        }
        names
    }

    /// Names a branch by a constant. A string names it well; for `true` or `1` a name of the branch is better.
    fn name_by_constant(&self, branch: &ObjectAlternative, key: &str, value: &Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text.clone()),
            other if branch.origin.is_none_or(|id| self.given_name(id).is_none()) => Some(format!("{key} {other}")),
            _ => None,
        }
    }

    fn specificity(&mut self, object: &ObjectAlternative) -> Specificity {
        let (mut listed, mut typed) = (0, 0);
        for (_, schemas) in &object.properties {
            let allowed = self.allowed(schemas);
            let is_listed = matches!(&allowed.strings, Choice::Only(values) if !values.is_empty())
                || matches!(&allowed.numbers, Numbers::Only(values) if !values.is_empty());
            listed += usize::from(is_listed);
            typed += usize::from(!allowed.is_anything());
        }
        let openness = match &object.additional {
            Additional::Denied => 0,
            Additional::Of(schemas) if !self.is_untyped(schemas) => 1,
            Additional::Unsaid => 2,
            Additional::Of(_) => 3,
        };
        let place = object.origin.map(|id| self.schemas.get(id).pointer.clone()).unwrap_or_default();
        (
            typed == 0 && openness > 1,
            Reverse(object.required.len()),
            Reverse(listed),
            openness,
            Reverse(typed),
            Reverse(object.properties.len()),
            place,
        )
    }

    /// Returns how many items, by how many schemas, are untyped: fewer are more specific.
    fn untyped_items(&mut self, array: &ArrayAlternative) -> (bool, usize) {
        let rest = match &array.rest {
            Rest::Of(rest) => self.is_untyped(rest),
            Rest::Closed => false,
        };
        (rest, array.prefix.iter().filter(|item| self.is_untyped(item)).count())
    }

    fn is_untyped(&mut self, schemas: &[SchemaId]) -> bool {
        schemas.is_empty() || self.allowed(schemas).is_anything()
    }
}

/// Returns the constants that one branch alone has.
fn without_twins(constants: Vec<Constant<'_>>) -> Vec<Constant<'_>> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (_, value) in &constants {
        *counts.entry(value.to_string()).or_default() += 1;
    }
    constants.into_iter().filter(|(_, value)| counts.get(&value.to_string()) == Some(&1)).collect()
}

/// How many branches require a key, and how many declare it.
struct Siblings(HashMap<String, (usize, usize)>);

impl Siblings {
    fn of<'o>(objects: impl IntoIterator<Item = &'o ObjectAlternative>) -> Self {
        let mut counts: HashMap<String, (usize, usize)> = HashMap::new();
        for object in objects {
            for key in &object.required {
                counts.entry(key.clone()).or_default().0 += 1;
            }
            for (key, _) in &object.properties {
                counts.entry(key.clone()).or_default().1 += 1;
            }
        }
        Self(counts)
    }

    /// Returns `true` if the key belongs to one branch alone.
    fn one_has(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|(required, declared)| *required == 1 || *declared == 1)
    }
}

fn origin_of(object: &ObjectAlternative, place: &Conjunction) -> Conjunction {
    object.origin.map_or_else(|| place.clone(), |id| vec![id])
}

/// Takes the kinds out of which everything is allowed, and `null`.
fn take_open_kinds(alternatives: &mut Alternatives) -> Option<Kinds> {
    let kinds = alternatives.open_kinds();
    for kind in &kinds {
        let nothing = Alternatives::nothing();
        match *kind {
            Kinds::BOOLEAN => alternatives.booleans = nothing.booleans,
            Kinds::NUMBER => alternatives.numbers = nothing.numbers,
            Kinds::STRING => alternatives.strings = nothing.strings,
            Kinds::ARRAY => alternatives.arrays = nothing.arrays,
            _ => alternatives.objects = nothing.objects,
        }
    }
    kinds.into_iter().reduce(|all, kind| all | kind).map(|kinds| kinds | Kinds::NULL)
}
