//! Values of several kinds, or of one kind in several ways.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use serde_json::Value;

use super::alternatives::Alternatives;
use super::arrays::ArrayAlternative;
use super::objects::{Additional, ObjectAlternative};
use super::{Conjunction, LAYER, Lowering, StructMode, Work};
use crate::keys::{counts, extend, set, sorted};
use crate::normalize::{Kinds, SchemaId};
use crate::number::{ByValue, distinct};
use crate::shape::{Branch, Shape, ShapeId, Shapes, TagKey, UnionShape};
use crate::texts::text_or_json;

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
        let (mut branches, mut untyped) = (Vec::new(), Vec::new());
        for branch in &union.branches {
            let is_untyped = matches!(shapes.get(branch.shape), Shape::Anything | Shape::AnyOf(_));
            let list = if is_untyped { &mut untyped } else { &mut branches };
            list.push(branch.clone());
        }
        branches.append(&mut untyped);
        shapes.set(id, Shape::Union(UnionShape { tag: None, branches }));
    }
}

impl Lowering<'_, '_> {
    pub(super) fn union_shape(&mut self, mut alternatives: Alternatives, place: &Conjunction, depth: usize) -> Shape {
        let mut rest = if alternatives.takes_null() { alternatives.take_open_kinds() } else { Kinds::NONE };
        let arrays = std::mem::take(&mut alternatives.arrays);
        let mut others = Vec::new();
        for array in self.ranked(arrays, Self::untyped_items) {
            let name = self.name_of_array(&array);
            let shape = if self.has_place(place, 1) {
                let only = Alternatives { arrays: vec![array], ..Alternatives::nothing() };
                self.later(Work::Place(Rc::new(only), false), place.clone(), depth + LAYER)
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
        let mut shapes = Vec::new();
        if alternatives.open.has(Kinds::BOOLEAN) {
            shapes.push(("Boolean", Shape::Boolean));
        }
        if let Some(numbers) = alternatives.numbers.take() {
            match self.number(Some(numbers), place) {
                Shape::Anything => *rest = *rest | Kinds::NUMBER,
                Shape::Number => shapes.push(("Number", Shape::Number)),
                shape => shapes.push(("Integer", shape)),
            }
        }
        if alternatives.open.has(Kinds::STRING) {
            shapes.push(("String", Shape::Text));
        }
        alternatives.open = Kinds::NONE;
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
            objects = self.ranked(objects, Self::specificity);
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
        // The keys that one branch alone requires, or declares.
        let (mut required, mut declared) = (HashMap::new(), HashMap::new());
        for object in &objects {
            object.required.iter().for_each(|key| *required.entry(key.as_str()).or_default() += 1);
            object.properties.iter().for_each(|(key, _)| *declared.entry(key.as_str()).or_default() += 1);
        }
        let is_own = |key: &str| required.get(key) == Some(&1_usize) || declared.get(key) == Some(&1_usize);
        let mut branches = Vec::new();
        for (object, name) in objects.iter().zip(names) {
            let name = name.unwrap_or_else(|| self.name_of_object(object, &is_own));
            let origin = object.origin.map_or_else(|| place.clone(), |id| vec![id]);
            let shape = self.opaque_branch(object);
            let shape = shape.unwrap_or_else(|| self.structure(object.clone(), mode.clone(), depth + LAYER, origin));
            branches.push(Branch { tag: None, name, shape });
        }
        branches
    }

    /// Returns the first property that every branch requires and gives a constant of its own.
    fn tag(&mut self, branches: &[ObjectAlternative]) -> Option<Tag> {
        let mut indexes = Vec::new();
        for branch in branches {
            indexes.push((branch, branch.index(), set(&branch.required)));
        }
        for key in &branches.first()?.required {
            if !self.affords(branches.len()) {
                return None;
            }
            let mut values = Vec::new();
            for (branch, index, required) in &indexes {
                let schemas = branch.property(index, key).filter(|_| required.contains(key.as_str()));
                let Some(only) = schemas.and_then(|schemas| self.constant(schemas)) else { break };
                values.push(only);
            }
            let is_text = values.iter().all(Value::is_string);
            let are_alike = is_text || !values.iter().any(Value::is_string);
            if are_alike && distinct(&values, ByValue).len() == branches.len() {
                return Some(Tag { key: TagKey { name: key.clone(), is_text }, values });
            }
        }
        None
    }

    /// Returns the only value that schemas allow.
    fn constant(&mut self, schemas: &[SchemaId]) -> Option<Value> {
        self.allowed(schemas).only().filter(|only| !only.is_array() && !only.is_object() && !only.is_f64())
    }

    /// Returns a definition's name, a title, or the properties that only this branch has.
    fn name_of_object(&self, object: &ObjectAlternative, is_own: &dyn Fn(&str) -> bool) -> String {
        if let Some(name) = object.origin.and_then(|id| self.given_name(id)) {
            return name;
        }
        // The order of `required` says something, that of properties does not.
        if let Some(name) = object.required.iter().find(|key| is_own(key)) {
            return format!("with {name}");
        }
        let declared = object.properties.iter().filter(|(key, _)| is_own(key)).min();
        declared.map_or_else(|| "Object".to_owned(), |(name, _)| format!("with {name}"))
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
            1 if item.has_numbers() => "Numbers",
            1 if !item.objects.is_empty() => "Objects",
            _ => "Array",
        }
    }

    /// Names each branch after a constant that no other branch has. All branches use one property: the one that names
    /// most branches, then the first required one, then the smallest.
    fn named_by_constants(&self, branches: &[ObjectAlternative]) -> Vec<Option<String>> {
        let mut places: HashMap<&str, usize> = HashMap::new();
        // The constants of each key, and its first place among required ones.
        let (mut constants, mut required) = (Vec::new(), HashMap::new());
        for (branch_place, branch) in branches.iter().enumerate() {
            for (key, schemas) in &branch.properties {
                let mut listed = schemas.iter().filter_map(|id| self.schemas.get(*id).allowed.as_deref());
                let only = listed.find_map(|values| match values {
                    [only @ (Value::String(_) | Value::Number(_) | Value::Bool(_))] => Some(only),
                    _ => None,
                });
                let Some(only) = only else { continue };
                let place = *places.entry(key).or_insert(constants.len());
                if place == constants.len() {
                    constants.push((key.as_str(), Vec::new(), Vec::new()));
                }
                if let Some((_, holders, texts)) = constants.get_mut(place) {
                    holders.push((branch_place, only));
                    texts.push(only.to_string());
                }
            }
            for (place, key) in branch.required.iter().enumerate() {
                required.entry(key.as_str()).and_modify(|known| *known = place.min(*known)).or_insert(place);
            }
        }
        let (mut best, mut names) = (None, vec![None; branches.len()]);
        for (key, holders, texts) in &constants {
            let counts = counts(texts);
            let own = holders.iter().zip(texts).filter(|(_, text)| counts.get(text.as_str()) == Some(&1));
            let own: Vec<(usize, &Value)> = own.map(|(holder, _)| *holder).collect();
            let rank = (own.len(), Reverse(required.get(key).copied().unwrap_or(usize::MAX)), Reverse(*key));
            if best.as_ref().is_none_or(|(known, _)| rank > *known) {
                best = Some((rank, own));
            }
        }
        let Some(((.., Reverse(key)), own)) = best else { return names };
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

    /// Sorts alternatives by a rank, whose texts are compared.
    fn ranked<T: Clone>(&mut self, items: Vec<T>, rank: fn(&mut Self, &T) -> String) -> Vec<T> {
        if items.len() < 2 {
            return items;
        }
        let ranks: Vec<(String, T)> = items.into_iter().map(|item| (rank(self, &item), item)).collect();
        sorted(&ranks, |(rank, _)| rank).into_iter().map(|(_, item)| item.clone()).collect()
    }

    /// Returns the rank that puts the most specific branch first. Branches that accept any value come last, or they
    /// would take the values of others. Equal branches are sorted by their position in the document.
    fn specificity(&mut self, object: &ObjectAlternative) -> String {
        let (mut listed, mut typed) = (0, 0);
        for (_, schemas) in &object.properties {
            let allowed = self.allowed(schemas);
            listed += usize::from(allowed.listed_kinds.intersects(Kinds::STRING | Kinds::NUMBER));
            typed += usize::from(!allowed.is_anything());
        }
        let openness = match &object.additional {
            Additional::Denied => 0,
            Additional::Of(schemas) if !self.is_untyped(schemas) => 1,
            Additional::Unsaid => 2,
            Additional::Of(_) => 3,
        };
        let accepts_any = u8::from(typed == 0 && openness > 1);
        // More is before less.
        let (required, declared) = (usize::MAX - object.required.len(), usize::MAX - object.properties.len());
        let (listed, typed) = (usize::MAX - listed, usize::MAX - typed);
        let place = self.place(object.origin.as_slice());
        format!("{accepts_any}{required:020}{listed:020}{openness}{typed:020}{declared:020}{place}")
    }

    /// Returns how many items, by how many schemas, are untyped, as a rank: fewer are more specific.
    fn untyped_items(&mut self, array: &ArrayAlternative) -> String {
        let rest = array.rest.as_ref().is_some_and(|rest| self.is_untyped(rest));
        let untyped = array.prefix.iter().filter(|item| self.is_untyped(item)).count();
        format!("{}{untyped:020}", u8::from(rest))
    }

    fn is_untyped(&mut self, schemas: &[SchemaId]) -> bool {
        schemas.is_empty() || self.allowed(schemas).is_anything()
    }
}

fn branch(name: &str, shape: ShapeId) -> Branch {
    Branch { tag: None, name: name.to_owned(), shape }
}

/// Keys that only some branch names are no property of another's; still they may be there.
fn share_names(branches: &mut [ObjectAlternative]) {
    let (mut known, mut shared): (HashSet<&str>, _) = (HashSet::new(), Vec::new());
    for branch in &*branches {
        known.extend(branch.properties.iter().map(|(key, _)| key.as_str()));
    }
    for branch in &*branches {
        for key in branch.required.iter().chain(&branch.named) {
            if known.insert(key) {
                shared.push(key.clone());
            }
        }
    }
    for branch in branches {
        extend(&mut branch.named, &shared);
    }
}
