//! The shapes of a place, with unions split into their branches.

use std::collections::HashSet;

use serde_json::Value;

use super::kebab::kebab;
use crate::normalize::Kinds;
use crate::shape::{Shape, ShapeId, Shapes, Slot, StructShape, Unknown};

/// A way to be an object with declared properties.
#[derive(Clone, Debug)]
pub(super) struct Object<'s> {
    pub(super) shape: ShapeId,
    pub(super) declared: &'s StructShape,
    /// The tag property of the surrounding union, with its value here.
    pub(super) tag: Option<(&'s str, Value)>,
}

/// All possible values of a place in a tool's arguments, by kind.
#[derive(Clone, Debug)]
pub(super) struct View<'s> {
    shapes: &'s Shapes,
    /// The kinds of which every value is allowed, as far as types show.
    kinds: Kinds,
    /// Single values, strings among them.
    pub(super) literals: Vec<Value>,
    pub(super) lists: Vec<&'s Shape>,
    pub(super) maps: Vec<Slot>,
    pub(super) objects: Vec<Object<'s>>,
}

impl<'s> View<'s> {
    /// Returns the values of these slots.
    pub(super) fn of(shapes: &'s Shapes, slots: impl IntoIterator<Item = Slot>) -> Self {
        let (kinds, literals) = (Kinds::NONE, Vec::new());
        let mut view = Self { shapes, kinds, literals, lists: Vec::new(), maps: Vec::new(), objects: Vec::new() };
        let mut seen = HashSet::new();
        slots.into_iter().for_each(|slot| view.add(slot, None, &mut seen));
        view
    }

    /// Adds every value, if `anything` is set.
    fn or_anything(mut self, anything: bool) -> Self {
        if anything {
            self.kinds = Kinds::ALL;
        }
        self
    }

    /// Returns every value.
    pub(super) fn anything(&self) -> Self {
        Self::of(self.shapes, []).or_anything(true)
    }

    /// Returns the values of a map, if this can be one.
    pub(super) fn map_values(&self) -> Option<Self> {
        let map = self.maps.first().map(|slot| Self::of(self.shapes, [*slot]));
        map.or_else(|| self.has(Kinds::OBJECT).then(|| self.anything()))
    }

    /// Returns `true` if any value of these kinds is allowed, as far as types show.
    pub(super) fn has(&self, kinds: Kinds) -> bool {
        self.kinds.has(kinds)
    }

    fn add(&mut self, slot: Slot, tag: Option<(&'s str, Value)>, seen: &mut HashSet<ShapeId>) {
        if slot.nullable {
            self.kinds = self.kinds | Kinds::NULL;
        }
        match self.shapes.get(slot.shape) {
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
                        self.add(Slot { shape: branch.shape, nullable: false }, tag, seen);
                    }
                }
            }
            Shape::Named(inner) => {
                if seen.insert(slot.shape) {
                    self.add(*inner, tag, seen);
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

    /// Returns the values of an element of an array.
    pub(super) fn item(&self, index: usize) -> Self {
        let slots: Vec<Slot> = self.lists.iter().filter_map(|list| list.item(index)).collect();
        let anything = self.has(Kinds::ARRAY) || slots.is_empty();
        Self::of(self.shapes, slots).or_anything(anything)
    }

    /// Returns the declared properties, each once, in the order of their declaration.
    pub(super) fn properties(&self) -> Vec<&'s str> {
        let mut seen = HashSet::new();
        self.declared().filter(|name| seen.insert(*name)).collect()
    }

    /// Returns the values of a declared property.
    pub(super) fn property(&self, name: &str) -> Option<Self> {
        let (mut slots, mut tags) = (Vec::new(), Vec::new());
        for object in &self.objects {
            let field = object.declared.field(name).map(|field| field.slot);
            // The value of a tag, which no slot has.
            let tag =
                object.tag.iter().filter(|(tag, _)| *tag == name && field.is_none()).map(|(_, value)| value.clone());
            tags.extend(tag);
            slots.extend(field);
        }
        let is_declared = !slots.is_empty() || !tags.is_empty();
        let mut view = Self::of(self.shapes, slots);
        view.literals.splice(0..0, tags);
        is_declared.then_some(view)
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

    /// Returns the values of undeclared keys, or `None` if they are forbidden.
    pub(super) fn undeclared(&self) -> Option<Self> {
        let (mut slots, mut anything) = (self.maps.clone(), self.has(Kinds::OBJECT));
        for object in &self.objects {
            slots.extend(object.declared.unknown.kept());
            anything |= object.declared.unknown == Unknown::Ignore;
        }
        (anything || !slots.is_empty()).then(|| Self::of(self.shapes, slots).or_anything(anything))
    }

    /// Returns the values of an object's key, declared or not.
    pub(super) fn member(&self, name: &str) -> Self {
        self.property(name).or_else(|| self.undeclared()).unwrap_or_else(|| self.anything())
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
