//! Values of several kinds, or of one kind in several ways.

use super::alternatives::{Alternatives, Choice, Conjunction, Numbers};
use super::arrays::{ArrayAlternative, Rest};
use super::objects::ObjectAlternative;
use super::specificity::Specificity;
use super::tags::Tag;
use super::{Job, LAYER, Lowering, StructMode, Work, enumeration};
use crate::normalize::{Kinds, SchemaId};
use crate::shape::{Branch, Shape, ShapeId, UnionShape};

/// From this many kinds on, those that allow everything are one branch.
const MANY_KINDS: usize = 4;

/// The kinds of which every value is allowed, leaving out `null`.
fn open_kinds(alternatives: &Alternatives) -> Vec<Kinds> {
    [
        (Kinds::BOOLEAN, alternatives.booleans == Choice::Any),
        (Kinds::NUMBER, alternatives.numbers == Numbers::Any),
        (Kinds::STRING, alternatives.strings == Choice::Any),
        (Kinds::ARRAY, alternatives.arrays.iter().any(ArrayAlternative::is_open)),
        (Kinds::OBJECT, alternatives.objects.iter().any(ObjectAlternative::is_open)),
    ]
    .into_iter()
    .filter_map(|(kind, open)| open.then_some(kind))
    .collect()
}

pub(super) fn is_anything(alternatives: &Alternatives) -> bool {
    alternatives.null && open_kinds(alternatives).len() == 5
}

/// Whether the type takes `null` by itself, in a branch for everything that is not told apart.
pub(super) fn takes_null(alternatives: &Alternatives) -> bool {
    alternatives.null && open_kinds(alternatives).len() >= MANY_KINDS
}

/// How many ways there are, leaving out `null` and literals.
pub(super) fn count(alternatives: &Alternatives) -> usize {
    usize::from(!alternatives.booleans.is_none())
        + usize::from(!alternatives.numbers.is_none())
        + usize::from(!alternatives.strings.is_none())
        + alternatives.arrays.len()
        + alternatives.objects.len()
}

impl Lowering<'_, '_> {
    pub(super) fn union_shape(&mut self, mut alternatives: Alternatives, place: &Conjunction, depth: usize) -> Shape {
        let mut branches = Vec::new();
        let rest = if takes_null(&alternatives) { take_open_kinds(&mut alternatives) } else { None };
        for array in std::mem::take(&mut alternatives.arrays) {
            let name = self.name_of_array(&array);
            let shape = self.later(Work::List(array), place.clone(), depth);
            branches.push(Branch { tag: None, name, shape });
        }
        let objects = std::mem::take(&mut alternatives.objects);
        let scalars = self.scalars(&mut alternatives, place);
        match self.objects(objects, place, depth) {
            Shape::Union(union) if branches.is_empty() && scalars.is_empty() && rest.is_none() => {
                return Shape::Union(union);
            }
            Shape::Union(union) if union.tag.is_none() => branches.splice(0..0, union.branches).for_each(drop),
            Shape::Anything => {}
            shape => {
                let shape = self.shapes.add(shape, place.clone());
                branches.insert(0, Branch { tag: None, name: "Object".to_owned(), shape });
            }
        }
        branches.extend(scalars);
        if let Some(kinds) = rest {
            let shape = self.shapes.add(Shape::AnyOf(kinds), Vec::new());
            branches.push(Branch { tag: None, name: "Other".to_owned(), shape });
        }
        Shape::Union(UnionShape { tag: None, branches })
    }

    fn scalars(&mut self, alternatives: &mut Alternatives, place: &Conjunction) -> Vec<Branch> {
        let mut listed = alternatives.clone();
        listed.null = false;
        let mut shapes = Vec::new();
        if alternatives.booleans == Choice::Any {
            shapes.push(("Boolean", Shape::Boolean));
            listed.booleans = Choice::Only(Vec::new());
        }
        if !matches!(alternatives.numbers, Numbers::Only(_)) {
            let shape = self.number(&alternatives.numbers, place);
            shapes.push((if matches!(shape, Shape::Number) { "Number" } else { "Integer" }, shape));
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
        if let Some(Tag { key, values }) = self.tag(&objects) {
            let siblings = objects.clone();
            let branches = objects
                .into_iter()
                .zip(values)
                .map(|(object, value)| {
                    let name = if key.is_text { value.clone() } else { self.name_of_object(&object, &siblings) };
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
        let siblings: Vec<ObjectAlternative> = ranked.iter().map(|(_, object)| object.clone()).collect();
        let branches = ranked
            .into_iter()
            .map(|(_, object)| {
                let name = self.name_of_object(&object, &siblings);
                let origin = origin_of(&object, place);
                let shape = self.structure(object, StructMode::Untagged, depth + LAYER, origin);
                Branch { tag: None, name, shape }
            })
            .collect();
        Shape::Union(UnionShape { tag: None, branches })
    }

    fn later(&mut self, work: Work, origin: Conjunction, depth: usize) -> ShapeId {
        let id = self.shapes.add(Shape::Anything, origin);
        self.pending.push_back(Job { id, depth: depth + LAYER, work });
        id
    }

    /// A definition's name, a title, or the properties that only this branch has.
    fn name_of_object(&self, object: &ObjectAlternative, siblings: &[ObjectAlternative]) -> String {
        if let Some(name) = object.origin.and_then(|id| self.given_name(id)) {
            return name;
        }
        let is_own = |key: &&String| {
            siblings.iter().filter(|sibling| sibling.required.contains(key)).count() == 1
                || siblings.iter().filter(|sibling| sibling.property(key).is_some()).count() == 1
        };
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
