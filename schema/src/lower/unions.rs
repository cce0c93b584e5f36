//! Values of several kinds, or of one kind in several ways.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::alternatives::Alternatives;
use super::arrays::ArrayAlternative;
use super::numbers::Numbers;
use super::objects::{Additional, ObjectAlternative, extend};
use super::{Conjunction, LAYER, Lowering, StructMode, Work};
use crate::normalize::{Kinds, SchemaId};
use crate::number::ByValue;
use crate::shape::{Branch, Shape, ShapeId, Shapes, TagKey, UnionShape};
use crate::texts::text_or_json;

/// The sort key that puts the most specific branch first. Branches that accept any value come last, or they would take
/// the values of others. Equal branches are sorted by their position in the document.
type Specificity = (bool, Reverse<usize>, Reverse<usize>, u8, Reverse<usize>, Reverse<usize>, String);

/// The property that distinguishes the branches of a union.
struct Tag {
    key: TagKey,
    /// The value of each branch, in their order.
    values: Vec<Value>,
}

/// Moves untyped branches to the end, or they would take the values of others.
pub(super) fn try_untyped_branches_last(shapes: &mut Shapes) {
    for id in shapes.ids() {
        let Shape::Union(union @ UnionShape { tag: None, .. }) = shapes.get(id) else { continue };
        let mut union = union.clone();
        union.branches.sort_by_key(|branch| matches!(shapes.get(branch.shape), Shape::Anything | Shape::AnyOf(_)));
        shapes.set(id, Shape::Union(union));
    }
}

impl Lowering<'_, '_> {
    pub(super) fn union_shape(&mut self, mut alternatives: Alternatives, place: &Conjunction, depth: usize) -> Shape {
        let mut rest = if alternatives.takes_null() { alternatives.take_open_kinds() } else { Kinds::NONE };
        let mut arrays = std::mem::take(&mut alternatives.arrays);
        arrays.sort_by_cached_key(|array| self.untyped_items(array));
        let mut others = Vec::new();
        for array in arrays {
            let name = self.name_of_array(&array);
            let shape = if self.has_place(place, 1) {
                self.later(Work::List(array), place.clone(), depth + LAYER)
            } else {
                self.shapes.add(Shape::Anything, place.clone())
            };
            others.push(branch(name, shape));
        }
        let objects = std::mem::take(&mut alternatives.objects);
        others.extend(self.scalars(alternatives, place, &mut rest));
        let mut branches = match objects.as_slice() {
            [] => Vec::new(),
            [only] => {
                let opaque = self.opaque_branch(only);
                let name = self.named_by_constants(&objects).pop().flatten().filter(|_| opaque.is_none());
                let shape = opaque.unwrap_or_else(|| {
                    let shape = self.object(only, &StructMode::Plain, depth);
                    self.shapes.add(shape, place.clone())
                });
                vec![branch(name.as_deref().unwrap_or("Object"), shape)]
            }
            _ => {
                let union = self.objects(objects, place, depth);
                if others.is_empty() && rest == Kinds::NONE {
                    return Shape::Union(union);
                }
                if union.tag.is_none() {
                    union.branches
                } else {
                    vec![branch("Object", self.shapes.add(Shape::Union(union), place.clone()))]
                }
            }
        };
        branches.extend(others);
        if rest != Kinds::NONE {
            branches.push(branch("Other", self.shapes.add(Shape::AnyOf(rest), Vec::new())));
        }
        Shape::Union(UnionShape { tag: None, branches })
    }

    /// Returns the branches of booleans, numbers, strings and listed values. A number without a type is added to `rest`.
    fn scalars(&mut self, mut alternatives: Alternatives, place: &Conjunction, rest: &mut Kinds) -> Vec<Branch> {
        alternatives.null = false;
        let mut shapes = Vec::new();
        if alternatives.booleans.len() == 2 {
            shapes.push(("Boolean", Shape::Boolean));
            alternatives.booleans.clear();
        }
        if !matches!(alternatives.numbers, Numbers::Only(_)) {
            match self.number(&alternatives.numbers, place) {
                Shape::Anything => *rest = *rest | Kinds::NUMBER,
                Shape::Number => shapes.push(("Number", Shape::Number)),
                shape => shapes.push(("Integer", shape)),
            }
            alternatives.numbers = Numbers::NONE;
        }
        if alternatives.strings.is_none() {
            shapes.push(("String", Shape::Text));
            alternatives.strings = Some(Vec::new());
        }
        if let Some(shape) = alternatives.enumeration() {
            shapes.insert(0, ("Keyword", shape));
        }
        shapes.into_iter().map(|(name, shape)| branch(name, self.shapes.add(shape, place.clone()))).collect()
    }

    /// Returns a union of objects.
    fn objects(&mut self, mut objects: Vec<ObjectAlternative>, place: &Conjunction, depth: usize) -> UnionShape {
        let has_opaque = objects.iter().any(|object| self.opaque_branch(object).is_some());
        // An opaque branch cannot be distinguished by a tag.
        let tag = if has_opaque { None } else { self.tag(&objects) };
        let Some(Tag { key, values }) = tag else {
            objects.sort_by_cached_key(|object| self.specificity(object));
            let names = self.named_by_constants(&objects);
            let branches = self.branches(objects, names, &StructMode::Untagged, place, depth);
            return UnionShape { tag: None, branches };
        };
        share_names(&mut objects);
        let tagged = objects.iter().zip(&values);
        let names = tagged.map(|(object, value)| self.name_by_constant(object, &key.name, value)).collect();
        let mode = StructMode::Tagged(key.name.clone());
        let mut branches = self.branches(objects, names, &mode, place, depth);
        for (branch, value) in branches.iter_mut().zip(&values) {
            branch.tag = Some(text_or_json(value));
        }
        UnionShape { tag: Some(key), branches }
    }

    /// Returns a branch for each object. An object without a name gets one from its schema or its keys.
    fn branches(
        &mut self,
        objects: Vec<ObjectAlternative>,
        names: Vec<Option<String>>,
        mode: &StructMode,
        place: &Conjunction,
        depth: usize,
    ) -> Vec<Branch> {
        let own = own_keys(&objects);
        let mut branches = Vec::new();
        for (object, name) in objects.into_iter().zip(names) {
            let name = name.unwrap_or_else(|| self.name_of_object(&object, &own));
            let origin = object.origin.map_or_else(|| place.clone(), |id| vec![id]);
            let shape = self.opaque_branch(&object);
            let shape = shape.unwrap_or_else(|| self.structure(object, mode.clone(), depth + LAYER, origin));
            branches.push(Branch { tag: None, name, shape });
        }
        branches
    }

    /// Returns the first property that every branch requires and gives a constant of its own.
    fn tag(&mut self, branches: &[ObjectAlternative]) -> Option<Tag> {
        let properties: Vec<_> = branches.iter().map(ObjectAlternative::index).collect();
        let required: Vec<HashSet<&String>> = branches.iter().map(|branch| branch.required.iter().collect()).collect();
        for key in &branches.first()?.required {
            if !self.affords(branches.len()) {
                return None;
            }
            let constants = properties.iter().zip(&required).map(|(properties, required)| {
                self.constant(properties.get(key.as_str()).filter(|_| required.contains(key))?)
            });
            let Some(constants) = constants.collect::<Option<Vec<Value>>>() else { continue };
            let is_text = constants.iter().all(Value::is_string);
            let are_alike = is_text || !constants.iter().any(Value::is_string);
            if are_alike && constants.iter().map(ByValue).collect::<HashSet<_>>().len() == constants.len() {
                return Some(Tag { key: TagKey { name: key.clone(), is_text }, values: constants });
            }
        }
        None
    }

    /// Returns the only value that schemas allow.
    fn constant(&mut self, schemas: &[SchemaId]) -> Option<Value> {
        let allowed = self.allowed(schemas);
        let mut listed = allowed.listed()?;
        let only = listed.next().filter(|only| !only.is_array() && !only.is_object() && !only.is_f64())?;
        listed.next().is_none().then_some(only)
    }

    /// Returns a definition's name, a title, or the properties that only this branch has.
    fn name_of_object(&self, object: &ObjectAlternative, own: &HashSet<String>) -> String {
        if let Some(name) = object.origin.and_then(|id| self.given_name(id)) {
            return name;
        }
        let is_own = |key: &&String| own.contains(*key);
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

    fn name_of_array(&mut self, array: &ArrayAlternative) -> &'static str {
        let item = match (&array.rest, array.prefix.as_slice()) {
            (Some(item), []) => self.allowed(item),
            _ => return "Tuple",
        };
        match item.count() {
            1 if item.has_strings() => "Strings",
            1 if !item.numbers.is_none() => "Numbers",
            1 if !item.objects.is_empty() => "Objects",
            _ => "Array",
        }
    }

    /// Names each branch after a constant that no other branch has. All branches use one property: the one that names
    /// most branches, then the first required one, then the smallest.
    fn named_by_constants(&self, branches: &[ObjectAlternative]) -> Vec<Option<String>> {
        let mut constants: HashMap<&str, Vec<(usize, &Value)>> = HashMap::new();
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
        for values in constants.values_mut() {
            let mut counts: HashMap<String, usize> = HashMap::new();
            values.iter().for_each(|(_, value)| *counts.entry(value.to_string()).or_default() += 1);
            values.retain(|(_, value)| counts.get(&value.to_string()) == Some(&1));
        }
        let place_in_required = |key: &str| {
            let places = branches.iter().filter_map(|branch| branch.required.iter().position(|name| name == key));
            places.min().unwrap_or(usize::MAX)
        };
        let best = constants.into_iter();
        let best = best.max_by_key(|(key, own)| (own.len(), Reverse(place_in_required(key)), Reverse(*key)));
        let mut names = vec![None; branches.len()];
        let (key, own) = best.unwrap_or_default();
        for (place, value) in own {
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
            let is_listed = allowed.strings.as_ref().is_some_and(|values| !values.is_empty())
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
        (
            typed == 0 && openness > 1,
            Reverse(object.required.len()),
            Reverse(listed),
            openness,
            Reverse(typed),
            Reverse(object.properties.len()),
            self.place(object.origin.as_slice()),
        )
    }

    /// Returns how many items, by how many schemas, are untyped: fewer are more specific.
    fn untyped_items(&mut self, array: &ArrayAlternative) -> (bool, usize) {
        let rest = array.rest.as_ref().is_some_and(|rest| self.is_untyped(rest));
        (rest, array.prefix.iter().filter(|item| self.is_untyped(item)).count())
    }

    fn is_untyped(&mut self, schemas: &[SchemaId]) -> bool {
        schemas.is_empty() || self.allowed(schemas).is_anything()
    }
}

fn branch(name: &str, shape: ShapeId) -> Branch {
    Branch { tag: None, name: name.to_owned(), shape }
}

/// Returns the keys that one branch alone requires or declares.
fn own_keys(objects: &[ObjectAlternative]) -> HashSet<String> {
    let mut counts: HashMap<(&str, bool), usize> = HashMap::new();
    for object in objects {
        object.required.iter().for_each(|key| *counts.entry((key, true)).or_default() += 1);
        object.properties.iter().for_each(|(key, _)| *counts.entry((key, false)).or_default() += 1);
    }
    counts.into_iter().filter(|(_, count)| *count == 1).map(|((key, _), _)| key.to_owned()).collect()
}

/// Keys that only some branch names are no property of another's; still they may be there.
fn share_names(branches: &mut [ObjectAlternative]) {
    let declared: HashSet<&str> =
        branches.iter().flat_map(|branch| &branch.properties).map(|(key, _)| key.as_str()).collect();
    let mut named = HashSet::new();
    let shared: Vec<String> = branches
        .iter()
        .flat_map(|branch| branch.required.iter().chain(&branch.named))
        .filter(|key| !declared.contains(key.as_str()) && named.insert(*key))
        .cloned()
        .collect();
    for branch in branches {
        extend(&mut branch.named, &shared);
    }
}
