//! The shapes of a place, with unions split into their branches.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::normalize::Kinds;
use crate::number::same;
use crate::shape::{Shape, ShapeId, Shapes, Slot, StructShape, Unknown};

/// A way to be an object with declared properties.
#[derive(Debug)]
pub(super) struct Object<'s> {
    pub(super) shape: ShapeId,
    pub(super) declared: &'s StructShape,
    /// The tag property of the surrounding union, with its value here.
    tag: Option<(&'s str, Value)>,
}

impl<'s> Object<'s> {
    /// Returns the required properties, in the order of the schema.
    fn required(&self) -> impl Iterator<Item = &'s str> {
        let tag = self.tag.as_ref().map(|(name, _)| *name);
        tag.into_iter().chain(self.declared.required.iter().map(String::as_str))
    }
}

/// All possible values of a place in a tool's arguments, by kind.
#[derive(Debug)]
pub(super) struct View<'s> {
    shapes: &'s Shapes,
    /// The kinds of which every value is allowed, as far as types show.
    open: Kinds,
    /// Single values, strings among them.
    pub(super) literals: Vec<Value>,
    lists: Vec<&'s Shape>,
    pub(super) maps: Vec<Slot>,
    pub(super) objects: Vec<Object<'s>>,
}

impl<'s> View<'s> {
    /// Returns the values of these slots.
    pub(super) fn of(shapes: &'s Shapes, slots: impl IntoIterator<Item = Slot>) -> Self {
        let (literals, lists, maps, objects) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut view = Self { shapes, open: Kinds::NONE, literals, lists, maps, objects };
        let mut seen = HashSet::new();
        slots.into_iter().for_each(|slot| view.add(slot, None, &mut seen));
        view
    }

    fn add(&mut self, slot: Slot, tag: Option<(&'s str, Value)>, seen: &mut HashSet<ShapeId>) {
        if slot.nullable {
            self.open = self.open | Kinds::NULL;
        }
        match self.shapes.get(slot.shape) {
            Shape::TextEnum(texts) => self.literals.extend(texts.iter().map(|text| text.clone().into())),
            Shape::LiteralEnum(values) => self.literals.extend(values.iter().cloned()),
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
            shape => self.open = self.open | shape.kinds(),
        }
    }

    /// Returns the kinds of values that types allow, without those of the literals.
    pub(super) fn kinds(&self) -> Kinds {
        let array = if self.lists.is_empty() { Kinds::NONE } else { Kinds::ARRAY };
        let object = if self.has_members() { Kinds::OBJECT } else { Kinds::NONE };
        self.open | array | object
    }

    /// Returns `true` if types show members of an object.
    pub(super) fn has_members(&self) -> bool {
        !self.maps.is_empty() || !self.objects.is_empty()
    }

    /// Returns `true` if every kind of value is allowed, as without a schema.
    pub(super) fn is_anything(&self) -> bool {
        self.kinds().has(Kinds::BOOLEAN | Kinds::NUMBER | Kinds::STRING | Kinds::ARRAY | Kinds::OBJECT)
    }

    /// Returns `true` if only arrays are allowed, apart from `null`. Then each word is one element, or a single word is
    /// the whole array.
    pub(super) fn repeats(&self) -> bool {
        (self.kinds() | Kinds::NULL) == (Kinds::ARRAY | Kinds::NULL) && self.literals.is_empty()
    }

    /// Returns `true` if only `true` and `false` are allowed, apart from `null`. Then the flag takes no value.
    pub(super) fn is_switch(&self) -> bool {
        let has_others = self.kinds().intersects(Kinds::NUMBER | Kinds::STRING | Kinds::ARRAY | Kinds::OBJECT);
        let has_some = self.kinds().has(Kinds::BOOLEAN) || !self.literals.is_empty();
        has_some && !has_others && self.literals.iter().all(Value::is_boolean)
    }

    /// Returns `true` if a value is allowed by its kind, or because it is listed. A number is an integer if it is
    /// spelled as one.
    pub(super) fn takes(&self, value: &Value) -> bool {
        let kind = match value {
            Value::Number(number) if number.to_string().contains(['.', 'e', 'E']) => Kinds::NUMBER,
            value => Kinds::of(value),
        };
        self.kinds().has(kind) || self.literals.iter().any(|listed| same(listed, value))
    }

    /// Returns the values of an element of an array.
    pub(super) fn item(&self, index: usize) -> Self {
        let slots: Vec<Slot> = self.lists.iter().filter_map(|list| list.item(index)).collect();
        let anything = self.open.has(Kinds::ARRAY) || slots.is_empty();
        Self::of(self.shapes, slots.into_iter().chain(anything.then_some(Slot::ANYTHING)))
    }

    pub(super) fn declared(&self) -> impl Iterator<Item = &'s str> {
        self.objects.iter().flat_map(|object| {
            let tag = object.tag.as_ref().map(|(name, _)| *name);
            tag.into_iter().chain(object.declared.fields.iter().map(|field| field.wire.as_str()))
        })
    }

    /// Returns the declared properties, each once, in the order of their declaration.
    pub(super) fn properties(&self) -> Vec<&'s str> {
        distinct(self.declared())
    }

    /// Returns the values of a declared property.
    pub(super) fn property(&self, name: &str) -> Option<Self> {
        let (mut slots, mut tags) = (Vec::new(), Vec::new());
        for Object { declared, tag, .. } in &self.objects {
            match (declared.field(name), tag) {
                (Some(field), _) => slots.push(field.slot),
                // The value of a tag, which no slot has.
                (None, Some((tag, value))) if *tag == name => tags.push(value.clone()),
                _ => {}
            }
        }
        let is_declared = !slots.is_empty() || !tags.is_empty();
        let mut view = Self::of(self.shapes, slots);
        view.literals.splice(0..0, tags);
        is_declared.then_some(view)
    }

    /// Returns the property of this name, or those whose kebab form it is.
    pub(super) fn named(&self, name: &str) -> Vec<&'s str> {
        if let Some(exact) = self.declared().find(|property| *property == name) {
            return vec![exact];
        }
        if !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
            return Vec::new();
        }
        // Few of many properties have the letters of the name.
        fn letters(text: &str) -> impl Iterator<Item = u8> {
            text.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase())
        }
        let may_have = |property: &&str| letters(property).eq(letters(name));
        distinct(self.declared().filter(may_have).filter(|property| kebab(property).as_deref() == Some(name)))
    }

    /// Returns the values of undeclared keys, or `None` if they are forbidden.
    pub(super) fn undeclared(&self) -> Option<Self> {
        let unknown = || self.objects.iter().map(|object| object.declared.unknown);
        let anything = self.open.has(Kinds::OBJECT) || unknown().any(|unknown| unknown == Unknown::Ignore);
        let slots = self.maps.iter().copied().chain(unknown().filter_map(Unknown::kept));
        let slots: Vec<Slot> = slots.chain(anything.then_some(Slot::ANYTHING)).collect();
        (!slots.is_empty()).then(|| Self::of(self.shapes, slots))
    }

    /// Returns the values of a map, if this can be one. An object without properties is a map, too.
    pub(super) fn map_values(&self) -> Option<Self> {
        match self.maps.first() {
            Some(slot) => Some(Self::of(self.shapes, [*slot])),
            None if self.open.has(Kinds::OBJECT) => Some(Self::of(self.shapes, [Slot::ANYTHING])),
            None if self.declared().next().is_none() => self.undeclared(),
            None => None,
        }
    }

    /// Returns the properties that an object with these members must have, as far as all ways to be this one agree.
    pub(super) fn required(&self, members: &Map<String, Value>) -> Vec<&'s str> {
        if self.open.has(Kinds::OBJECT) || !self.maps.is_empty() {
            return Vec::new();
        }
        let is_possible = |object: &&Object<'s>| match &object.tag {
            Some((name, value)) => members.get(*name).is_none_or(|given| given == value),
            None => true,
        };
        let mut ways = self.objects.iter().filter(is_possible);
        let mut required = ways.next().map(|first| distinct(first.required())).unwrap_or_default();
        for other in ways {
            let needed: HashSet<&str> = other.required().collect();
            required.retain(|name| needed.contains(name));
        }
        required
    }
}

/// Returns each name once.
fn distinct<'s>(names: impl Iterator<Item = &'s str>) -> Vec<&'s str> {
    let mut seen = HashSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

/// Returns the kebab case of a name: lower case, words joined by `-`. Returns `None` if the name equals it, or has no
/// such form.
pub(super) fn kebab(name: &str) -> Option<String> {
    if !name.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '-')) {
        return None;
    }
    let characters: Vec<char> = name.chars().collect();
    let at = |index: usize| characters.get(index).copied().unwrap_or('-');
    let mut kebab = String::with_capacity(name.len() + 4);
    for (index, character) in characters.iter().enumerate() {
        let after_small = index > 0 && (at(index - 1).is_ascii_lowercase() || at(index - 1).is_ascii_digit());
        let begins_word = index > 0 && at(index - 1).is_ascii_uppercase() && at(index + 1).is_ascii_lowercase();
        if character.is_ascii_uppercase() && (after_small || begins_word) {
            kebab.push('-');
        }
        kebab.push(if *character == '_' { '-' } else { character.to_ascii_lowercase() });
    }
    (kebab != name && !kebab.is_empty()).then_some(kebab)
}

#[cfg(test)]
mod tests {
    use super::kebab;

    #[test]
    fn kebab_case_is_derived_from_property_names() {
        for (name, form) in [
            ("fillOpacity", Some("fill-opacity")),
            ("per_page", Some("per-page")),
            ("If-Match", Some("if-match")),
            ("HTMLBody", Some("html-body")),
            ("userID", Some("user-id")),
            ("x2Value", Some("x2-value")),
            ("owner", None),
            ("$filter", None),
            ("DateCreated<", None),
            ("", None),
        ] {
            assert_eq!(kebab(name).as_deref(), form, "{name}");
        }
    }
}
