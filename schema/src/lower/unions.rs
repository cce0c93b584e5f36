//! Values of several kinds, or of one kind in several ways.

use std::collections::HashMap;

use super::Conjunction;
use super::alternatives::{Alternatives, Choice};
use super::arrays::{ArrayAlternative, Rest};
use super::numbers::Numbers;
use super::objects::ObjectAlternative;
use super::openness::{count, is_anything, open_kinds, takes_null};
use super::specificity::Specificity;
use super::tags::{Tag, share_names};
use super::{Job, LAYER, Lowering, StructMode, Work, enumeration};
use crate::normalize::{Kinds, SchemaId};
use crate::shape::{Branch, Shape, ShapeId, Shapes, UnionShape};
use crate::texts::text_or_json;

/// A branch that takes everything would take what others are for.
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
        let mut rest = if takes_null(&alternatives) { take_open_kinds(&mut alternatives) } else { None };
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

    /// The branches that are objects: nothing, one shape, or a union of their own.
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

    /// A definition's name, a title, or the properties that only this branch has.
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

    /// The name that the document itself gives to a schema.
    pub(super) fn given_name(&self, id: SchemaId) -> Option<String> {
        self.schemas.definition(id).or_else(|| {
            let title = self.schemas.source(id)?.get("title")?.as_str()?;
            (title.len() <= 40 && !title.trim().is_empty()).then(|| title.to_owned())
        })
    }

    fn name_of_array(&mut self, array: &ArrayAlternative) -> String {
        let item = match (&array.rest, array.prefix.as_slice()) {
            (Rest::Of(item), []) => self.expander.all(self.schemas, item, self.reporter),
            _ => return "Tuple".to_owned(),
        };
        if is_anything(&item) || count(&item) != 1 {
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
    let kinds = open_kinds(alternatives);
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
