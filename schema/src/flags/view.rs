//! The shapes of a place, with unions split into their branches.

use std::collections::HashSet;

use serde_json::Value;

use super::kebab::kebab;
use crate::normalize::Kinds;
use crate::shape::{Shape, ShapeId, Shapes, Slot, StructShape, Unknown};

/// A place in a tool's arguments, with the shapes of its possible values.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub(super) slots: Vec<Slot>,
    /// The values of a tag, which no slot has.
    tags: Vec<Value>,
    anything: bool,
}

impl Place {
    pub(super) fn of(slot: Slot) -> Self {
        Self { slots: vec![slot], ..Self::default() }
    }

    pub(super) fn anything() -> Self {
        Self { anything: true, ..Self::default() }
    }

    pub(super) fn view<'s>(&self, shapes: &'s Shapes) -> View<'s> {
        let mut view = View { literals: self.tags.clone(), ..View::default() };
        if self.anything {
            view.kinds = Kinds::ALL;
        }
        let mut seen = HashSet::new();
        for slot in &self.slots {
            view.add(shapes, *slot, None, &mut seen);
        }
        view
    }

    fn is_nothing(&self) -> bool {
        self.slots.is_empty() && self.tags.is_empty() && !self.anything
    }
}

/// A way to be an object with declared properties.
#[derive(Clone, Debug)]
pub(super) struct Object<'s> {
    pub(super) shape: ShapeId,
    pub(super) declared: &'s StructShape,
    /// The tag property of the surrounding union, with its value here.
    pub(super) tag: Option<(&'s str, Value)>,
}

/// All possible values of a place, by kind.
#[derive(Clone, Debug, Default)]
pub(super) struct View<'s> {
    /// The kinds of which every value is allowed, as far as types show.
    kinds: Kinds,
    /// Single values, strings among them.
    pub(super) literals: Vec<Value>,
    pub(super) lists: Vec<&'s Shape>,
    pub(super) maps: Vec<Slot>,
    pub(super) objects: Vec<Object<'s>>,
}

impl<'s> View<'s> {
    /// Returns `true` if any value of these kinds is allowed, as far as types show.
    pub(super) fn has(&self, kinds: Kinds) -> bool {
        self.kinds.has(kinds)
    }

    fn add(&mut self, shapes: &'s Shapes, slot: Slot, tag: Option<(&'s str, Value)>, seen: &mut HashSet<ShapeId>) {
        if slot.nullable {
            self.kinds = self.kinds | Kinds::NULL;
        }
        match shapes.get(slot.shape) {
            Shape::TextEnum(texts) => self.literals.extend(texts.iter().map(|text| text.clone().into())),
            Shape::LiteralEnum(values) => {
                if values.contains(&Value::Null) {
                    self.kinds = self.kinds | Kinds::NULL;
                }
                self.literals.extend(values.iter().filter(|value| !value.is_null()).cloned());
            }
            list @ (Shape::List(_) | Shape::Tuple(_) | Shape::Prefixed(..)) => self.lists.push(list),
            Shape::Map(value) => self.maps.push(*value),
            Shape::Struct(declared) => self.objects.push(Object { shape: slot.shape, declared, tag }),
            Shape::Union(union) => {
                if seen.insert(slot.shape) {
                    for branch in &union.branches {
                        let tag = union.tag.as_ref().zip(branch.tag.as_ref());
                        let tag = tag.map(|(key, value)| (key.name.as_str(), key.value(value)));
                        self.add(shapes, Slot { shape: branch.shape, nullable: false }, tag, seen);
                    }
                }
            }
            Shape::Named(inner) => {
                if seen.insert(slot.shape) {
                    self.add(shapes, *inner, tag, seen);
                }
            }
            shape => self.kinds = self.kinds | shape.kinds(),
        }
    }

    pub(super) fn is_array(&self) -> bool {
        self.has(Kinds::ARRAY) || !self.lists.is_empty()
    }

    pub(super) fn is_object(&self) -> bool {
        self.has(Kinds::OBJECT) || !self.maps.is_empty() || !self.objects.is_empty()
    }

    fn is_scalar(&self) -> bool {
        self.kinds.intersects(Kinds::BOOLEAN | Kinds::NUMBER | Kinds::STRING) || !self.literals.is_empty()
    }

    /// Returns `true` if every kind of value is allowed, as without a schema.
    pub(super) fn is_anything(&self) -> bool {
        self.has(Kinds::BOOLEAN | Kinds::NUMBER | Kinds::STRING) && self.is_array() && self.is_object()
    }

    /// Returns `true` if only arrays are allowed, apart from `null`. Then each word is one element, or a single word is
    /// the whole array.
    pub(super) fn repeats(&self) -> bool {
        self.is_array() && !self.is_object() && !self.is_scalar()
    }

    /// Returns `true` if only `true` and `false` are allowed, apart from `null`. Then the flag takes no value.
    pub(super) fn is_switch(&self) -> bool {
        let others = self.kinds.intersects(Kinds::NUMBER | Kinds::STRING) || self.is_array() || self.is_object();
        !others
            && (self.has(Kinds::BOOLEAN) || !self.literals.is_empty())
            && self.literals.iter().all(Value::is_boolean)
    }

    /// Returns `true` if this string is allowed.
    pub(super) fn takes_text(&self, text: &str) -> bool {
        self.has(Kinds::STRING) || self.literals.iter().any(|literal| literal.as_str() == Some(text))
    }

    /// Returns the place of an element of an array.
    pub(super) fn item(&self, index: usize) -> Place {
        let slots = self.lists.iter().filter_map(|list| list.item(index));
        let mut place = Place { slots: slots.collect(), ..Place::default() };
        place.anything = self.has(Kinds::ARRAY) || place.slots.is_empty();
        place
    }

    /// Returns the declared properties, each once, in the order of their declaration.
    pub(super) fn properties(&self) -> Vec<&'s str> {
        let mut seen = HashSet::new();
        self.declared().filter(|name| seen.insert(*name)).collect()
    }

    /// Returns a declared property.
    pub(super) fn property(&self, name: &str) -> Option<Place> {
        let mut place = Place::default();
        for object in &self.objects {
            let fields = object.declared.fields.iter().filter(|field| field.wire == name);
            let before = place.slots.len();
            place.slots.extend(fields.map(|field| field.slot));
            if let Some((tag, value)) = &object.tag
                && *tag == name
                && place.slots.len() == before
            {
                place.tags.push(value.clone());
            }
        }
        (!place.is_nothing()).then_some(place)
    }

    fn declared(&self) -> impl Iterator<Item = &'s str> {
        self.objects.iter().flat_map(|object| {
            let tag = object.tag.as_ref().map(|(name, _)| *name);
            tag.into_iter().chain(object.declared.fields.iter().map(|field| field.wire.as_str()))
        })
    }

    /// Returns the property of this name, or those whose kebab form it is.
    pub(super) fn named(&self, name: &str) -> Vec<&'s str> {
        if let Some(exact) = self.declared().find(|property| *property == name) {
            return vec![exact];
        }
        // Few of many properties can have this name.
        let begins =
            |text: &str| text.bytes().next().map(|first| if first == b'_' { b'-' } else { first.to_ascii_lowercase() });
        let may_have = |property: &&str| property.len() <= name.len() && begins(property) == begins(name);
        let mut named: Vec<&str> = Vec::new();
        for property in self.declared().filter(may_have) {
            if kebab(property).as_deref() == Some(name) && !named.contains(&property) {
                named.push(property);
            }
        }
        named
    }

    /// Returns the place of undeclared keys, or `None` if they are forbidden.
    pub(super) fn undeclared(&self) -> Option<Place> {
        let mut place = Place { slots: self.maps.clone(), anything: self.has(Kinds::OBJECT), ..Place::default() };
        for object in &self.objects {
            match object.declared.unknown {
                Unknown::Keep(slot) => place.slots.push(slot),
                Unknown::Ignore => place.anything = true,
                Unknown::Deny => {}
            }
        }
        (!place.is_nothing()).then_some(place)
    }

    /// Returns the place of an object's key, declared or not.
    pub(super) fn member(&self, name: &str) -> Place {
        self.property(name).or_else(|| self.undeclared()).unwrap_or_else(Place::anything)
    }

    /// Returns the properties that an object has to have, as far as all ways to be this one agree.
    pub(super) fn required(&self, tags: impl Fn(&str) -> Option<Value>) -> Vec<&'s str> {
        if self.has(Kinds::OBJECT) || !self.maps.is_empty() {
            return Vec::new();
        }
        let fits = |object: &&Object<'s>| {
            object.tag.as_ref().is_none_or(|(name, value)| tags(name).is_none_or(|said| said == *value))
        };
        let mut ways = self.objects.iter().filter(fits);
        let Some(first) = ways.next() else { return Vec::new() };
        let tag = first.tag.as_ref().map(|(name, _)| *name);
        let names = tag.into_iter().chain(first.declared.required.iter().map(String::as_str));
        let mut required: Vec<&str> = Vec::new();
        for name in names {
            if !required.contains(&name) {
                required.push(name);
            }
        }
        for other in ways {
            let is_tag = |name: &str| other.tag.as_ref().is_some_and(|(tag, _)| *tag == name);
            required.retain(|name| is_tag(name) || other.declared.required.iter().any(|known| known == name));
        }
        required
    }
}
