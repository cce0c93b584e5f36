//! `shared`: one type for all places of a server with the shape of a given one, and for its content. Equal types of a
//! server, and their places.

use mcp_bindgen_model::printable;
use mcp_bindgen_schema::{Alike, Class, Role, Shape, ShapeId, Unknown};

use super::idents::{OwnNames, reserved};
use super::place::{Nowhere, locate};
use super::schema_plan::{NamedType, Uses, named_below, wire_path};
use super::{SchemaPlan, ToolPlan};
use crate::names::{Identity, Style};
use crate::rules::{Rule, RuleFault};
use crate::table::Table;

/// The types that replace several types of a plan.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    groups: Vec<Group>,
}

/// Types that become one.
#[derive(Debug)]
struct Group {
    /// The one that is generated.
    kept: TypeAt,
    /// Every one of them.
    members: Vec<TypeAt>,
    /// The user has named it.
    is_named: bool,
}

/// Returns the ways that the values of these types go.
fn uses_of(tools: &[ToolPlan<'_>], members: &[TypeAt]) -> Uses {
    let has = |role| members.iter().any(|member| member.role == role);
    let refuses = |member: &TypeAt| {
        let shape = member.schema(tools).map(|schema| schema.document.shapes.get(member.shape));
        matches!(shape, Some(Shape::Struct(object)) if object.unknown == Unknown::Deny)
    };
    let answered = has(Role::Output);
    let lenient = answered || !members.iter().all(refuses);
    Uses { sent: has(Role::Input), answered, lenient, elsewhere: false }
}

/// A rule that holds.
struct Named<'w> {
    rule: &'w Rule,
    /// The name with its prefix.
    name: String,
    at: TypeAt,
    class: Class,
}

impl Sharing {
    /// Names the shared types, and leaves only one of each to generate. Invalid rules are reported. `every` lists the tools
    /// of the snapshot, bound or not.
    pub(super) fn new(
        tools: &mut [ToolPlan<'_>],
        rules: Vec<&Rule>,
        every: &[&str],
        own: &OwnNames,
        faults: &mut Vec<RuleFault>,
    ) -> Self {
        if rules.is_empty() {
            return Self::default();
        }
        let alike = AlikeTypes::new(tools);
        let mut named: Vec<Named<'_>> = Vec::new();
        for rule in rules {
            match named_by(rule, tools, &alike, every, own, &named) {
                Ok(found) => named.push(found),
                Err(fault) => faults.push(*fault),
            }
        }
        for member in named.iter().flat_map(|named| alike.members(named.class)) {
            member.schema_mut(tools).into_iter().for_each(|schema| schema.uncheck_below(member.shape));
        }
        let named = with_free_names(named, tools, &alike, faults);
        let nested = nested_types(tools, &alike, &named);
        let mut groups = Vec::new();
        for named in &named {
            if let Some(found) = named.at.schema_mut(tools).and_then(|schema| schema.types.get_mut(named.at.shape)) {
                found.name.clone_from(&named.name);
                found.share_as(&named.name, "");
            }
            groups.push(Group { kept: named.at, members: alike.members(named.class).to_vec(), is_named: true });
        }
        for Nested { at, class, named, .. } in nested {
            if let Some(schema) = at.schema_mut(tools) {
                schema.types.insert(at.shape, named);
            }
            groups.push(Group { kept: at, members: alike.members(class).to_vec(), is_named: false });
        }
        let sharing = Self { groups };
        sharing.keep_one_of_each(tools, &alike);
        sharing
    }

    /// Returns the types whose names are the user's.
    pub(super) fn named(&self) -> Vec<TypeAt> {
        self.groups.iter().filter(|group| group.is_named).map(|group| group.kept).collect()
    }

    /// Calls every type of a group as the one that is generated is called.
    pub(super) fn spread_names(&self, tools: &mut [ToolPlan<'_>]) {
        for group in &self.groups {
            let name = group.kept.name(tools).to_owned();
            group.members.iter().for_each(|member| member.rename(tools, &name));
        }
    }

    /// Returns the types that are one with this one, itself among them.
    pub(super) fn likes(&self, at: TypeAt) -> Vec<TypeAt> {
        let group = self.groups.iter().find(|group| group.members.contains(&at));
        group.map_or_else(|| vec![at], |group| group.members.clone())
    }

    fn keep_one_of_each(&self, tools: &mut [ToolPlan<'_>], alike: &AlikeTypes) {
        for group in &self.groups {
            let roots = group.members.iter().filter(|member| member.is_root(tools));
            // The schema of a type that several tools answer is that of one of them, whatever their order.
            let wire = |member: &TypeAt| tools.get(member.tool).map(|tool| tool.wire);
            let with_schema = roots.min_by_key(|member| (**member != group.kept, wire(member))).copied();
            let uses = uses_of(tools, &group.members);
            for member in &group.members {
                let boxed = member.schema(tools).map(|schema| boxed(schema, alike, *member)).unwrap_or_default();
                let Some(schema) = member.schema_mut(tools) else { continue };
                schema.uses.insert(member.shape, Uses { elsewhere: *member != group.kept, ..uses });
                schema.boxed.extend(boxed.into_iter().map(|held| (member.shape, held)));
                schema.is_described &= member.shape != schema.document.root || Some(*member) == with_schema;
            }
        }
        for plan in tools {
            for SchemaPlan { order, uses, .. } in plan.schemas_mut() {
                order.retain(|shape| !uses.get(*shape).is_some_and(|uses| uses.elsewhere));
            }
        }
    }
}

/// Returns a rule that holds, as far as one sees without the names of later ones.
fn named_by<'w>(
    rule: &'w Rule,
    tools: &[ToolPlan<'_>],
    alike: &AlikeTypes,
    every: &[&str],
    own: &OwnNames,
    earlier: &[Named<'_>],
) -> Result<Named<'w>, Box<RuleFault>> {
    let fault = |message: String, help: &str| Err(Box::new(rule.fault_of_key(message, help)));
    let (key, place) = (printable(&rule.key), printable(&rule.value));
    if !is_type_name(&rule.key) {
        let proper = Style::Pascal.apply(&rule.key);
        let help = if is_type_name(&proper) && !rule.key.is_empty() {
            format!("did you mean `{proper}`?")
        } else {
            "use letters and digits, beginning with a capital: `Entity`".to_owned()
        };
        return fault(format!("invalid type name `{key}`"), &help);
    }
    let name = format!("{}{}", own.type_lead, rule.key);
    if reserved().contains(&name.as_str()) || own.types().contains(&name.as_str()) {
        return fault(format!("the bindings already have a `{name}`"), "choose another name");
    }
    let (at, class) = type_at(tools, alike, every, rule)?;
    if let Some(other) = earlier.iter().find(|other| other.class == class) {
        let other = printable(&other.rule.key);
        let message = format!("`{place}` is already shared as `{other}`, and cannot be `{key}` too");
        return fault(message, "one shape has one name: remove one of them");
    }
    Ok(Named { rule, name, at, class })
}

/// Returns the type at a rule's place.
fn type_at(
    tools: &[ToolPlan<'_>],
    alike: &AlikeTypes,
    every: &[&str],
    rule: &Rule,
) -> Result<(TypeAt, Class), Box<RuleFault>> {
    let fault = |message: String, help: &str| Box::new(rule.fault_of_value(message, help));
    let shown = printable(&rule.value);
    let located = locate(tools, every, &rule.value).map_err(|Nowhere { message, help }| fault(message, &help))?;
    let role = located.place.role;
    let mut classes = Vec::new();
    for found in &located.found {
        let at = TypeAt { tool: located.tool, role, shape: found.slot.shape };
        let shape = at.schema(tools).map_or(&Shape::Anything, |schema| schema.document.shapes.get(at.shape));
        if role == Role::Input && at.is_root(tools) {
            let message = format!("`{shown}` are the arguments of a tool, which have their own type");
            return Err(fault(message, "share parts of them, or of results"));
        }
        if matches!(shape, Shape::Opaque) {
            let message = format!("`{shown}` is a type of yours, by `extern`");
            return Err(fault(message, "it already replaces every use of the definition"));
        }
        if !shape.is_named() {
            let help = match shape {
                Shape::List(_) | Shape::Map(_) | Shape::Tuple(_) | Shape::Prefixed(..) => {
                    format!("share what is in it: `{shown}/*`")
                }
                _ => "only objects with properties, lists of values and unions have one".to_owned(),
            };
            return Err(fault(format!("`{shown}` is {}, which has no type of its own", what(shape)), &help));
        }
        classes.extend(alike.class(at).map(|class| (at, class)));
    }
    match classes.as_slice() {
        [first, rest @ ..] if rest.iter().all(|(_, class)| *class == first.1) => Ok(*first),
        _ => {
            let help = "`mcp-bindgen list --shapes` shows places of one type";
            Err(fault(format!("`{shown}` has types of several shapes"), help))
        }
    }
}

fn what(shape: &Shape) -> &'static str {
    match shape {
        Shape::Null => "`null`",
        Shape::Boolean => "a boolean",
        Shape::I64 | Shape::U64 => "an integer",
        Shape::Number => "a number",
        Shape::Text => "a string",
        shape if shape.is_array() => "an array",
        Shape::Map(_) | Shape::FreeMap => "an object with any keys",
        _ => "any value",
    }
}

/// Returns `true` for a type name that causes no lint of rustc.
pub(super) fn is_type_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|char| char.is_ascii_alphanumeric())
        && (name.len() == 1 || name.contains(|char: char| !char.is_ascii_uppercase()))
}

/// Returns the rules, sorted by their names, without those whose name a type has that is not shared.
fn with_free_names<'w>(
    named: Vec<Named<'w>>,
    tools: &[ToolPlan<'_>],
    alike: &AlikeTypes,
    faults: &mut Vec<RuleFault>,
) -> Vec<Named<'w>> {
    let mut held = Table::default();
    for Named { at, .. } in &named {
        let shapes = at.schema(tools).into_iter().flat_map(|schema| schema.reached(at.shape, Shape::children));
        let classes = shapes.filter_map(|shape| alike.class(TypeAt { shape, ..*at }));
        classes.for_each(|class| held.insert(class, ()));
    }
    let types = TypeAt::all(tools);
    let mut free: Vec<Named<'w>> = Vec::new();
    for candidate in named {
        let has_name = |at: &&TypeAt| {
            at.name(tools) == candidate.name
                && !at.is_checked(tools)
                && alike.class(**at).is_some_and(|class| held.get(class).is_none())
        };
        let wires = types.iter().filter(has_name).filter_map(|at| tools.get(at.tool)).map(|tool| tool.wire);
        if let Some(wire) = wires.min() {
            let message = format!("tool `{}` already has a type `{}`", printable(wire), candidate.name);
            faults.push(candidate.rule.fault_of_key(message, "choose another name"));
            continue;
        }
        let place = free.partition_point(|known| known.name < candidate.name);
        free.insert(place, candidate);
    }
    free
}

/// A type that a shared one holds.
struct Nested {
    depth: usize,
    at: TypeAt,
    class: Class,
    named: NamedType,
}

/// Returns the types that shared ones hold, named after them; of several names for one type the least deep counts, then
/// the least.
fn nested_types(tools: &[ToolPlan<'_>], alike: &AlikeTypes, named: &[Named<'_>]) -> Vec<Nested> {
    let mut best: Table<Nested> = Table::default();
    for outer in named {
        let Some(schema) = outer.at.schema(tools) else { continue };
        let at = |shape| TypeAt { shape, ..outer.at };
        let mut types = Table::default();
        if outer.at.role == Role::Input {
            types.insert(schema.document.root, NamedType::of_name(String::new()));
        }
        for shape in &schema.order {
            if let Some(known) = named.iter().find(|known| Some(known.class) == alike.class(at(*shape))) {
                types.insert(*shape, NamedType::of_name(known.name.clone()));
            }
        }
        let (mut types, order) = named_below(&schema.document, &schema.checks, types, outer.at.shape, &outer.name);
        let paths: Vec<_> = order.into_iter().skip(1).map(|shape| (shape, wire_path(&types, shape))).collect();
        for (shape, (depth, path)) in paths {
            let at = at(shape);
            let Some((class, mut named)) = alike.class(at).zip(types.remove(shape)) else { continue };
            named.share_as(&outer.name, &path);
            if best.get(class).is_none_or(|known| (depth, &named.name) < (known.depth, &known.named.name)) {
                best.insert(class, Nested { depth, at, class, named });
            }
        }
    }
    best.values()
}

/// Returns the shapes that a shared type must box: those that contain an equal type.
fn boxed(schema: &SchemaPlan<'_>, alike: &AlikeTypes, holder: TypeAt) -> Vec<ShapeId> {
    let shapes = &schema.document.shapes;
    let class = |shape: ShapeId| alike.class(TypeAt { shape, ..holder });
    let leads_back =
        |held: &ShapeId| schema.reached(*held, Shape::inline).any(|shape| class(shape) == class(holder.shape));
    let is_union = matches!(shapes.get(holder.shape), Shape::Union(_));
    let is_branch = |held: &ShapeId| is_union && matches!(shapes.get(*held), Shape::Struct(_));
    let mut boxed = shapes.get(holder.shape).inline();
    boxed.retain(|held| !is_branch(held) && leads_back(held));
    boxed
}

/// A type of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TypeAt {
    /// The place of its tool in the plan.
    pub(super) tool: usize,
    pub(super) role: Role,
    pub(super) shape: ShapeId,
}

impl TypeAt {
    /// Returns every named type of a plan, in its order.
    pub(super) fn all(tools: &[ToolPlan<'_>]) -> Vec<Self> {
        let schemas =
            tools.iter().enumerate().flat_map(|(tool, plan)| plan.schemas().map(move |schema| (tool, schema)));
        let types = schemas.flat_map(|(tool, schema)| {
            schema.order.iter().map(move |shape| Self { tool, role: schema.document.role, shape: *shape })
        });
        types.collect()
    }

    pub(super) fn schema<'p, 's>(&self, tools: &'p [ToolPlan<'s>]) -> Option<&'p SchemaPlan<'s>> {
        tools.get(self.tool)?.schema(self.role)
    }

    pub(super) fn schema_mut<'p, 's>(&self, tools: &'p mut [ToolPlan<'s>]) -> Option<&'p mut SchemaPlan<'s>> {
        let tool = tools.get_mut(self.tool)?;
        match self.role {
            Role::Input => Some(&mut tool.input),
            Role::Output => tool.output.as_mut(),
        }
    }

    pub(super) fn name<'p>(&self, tools: &'p [ToolPlan<'_>]) -> &'p str {
        self.schema(tools).and_then(|schema| schema.name(self.shape)).unwrap_or_default()
    }

    pub(super) fn rename(&self, tools: &mut [ToolPlan<'_>], name: &str) {
        if let Some(found) = self.schema_mut(tools).and_then(|schema| schema.types.get_mut(self.shape)) {
            name.clone_into(&mut found.name);
        }
    }

    /// Returns what tells the type from others of its name, whatever the order of the tools.
    pub(super) fn identity(&self, tools: &[ToolPlan<'_>]) -> Identity {
        let (Some(tool), Some(schema)) = (tools.get(self.tool), self.schema(tools)) else { return Identity::default() };
        let (depth, path) = wire_path(&schema.types, self.shape);
        let role = if self.role == Role::Input { "input" } else { "output" };
        (depth, format!("{} {role} {path}", tool.key))
    }

    /// Returns the properties of a struct, in the order of its fields.
    pub(super) fn properties<'p>(&self, tools: &'p [ToolPlan<'_>]) -> Vec<&'p str> {
        match self.schema(tools).map(|schema| schema.document.shapes.get(self.shape)) {
            Some(Shape::Struct(object)) => object.fields.iter().map(|field| field.wire.as_str()).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns `true` for a newtype of checked values.
    pub(super) fn is_checked(&self, tools: &[ToolPlan<'_>]) -> bool {
        self.schema(tools).is_some_and(|schema| schema.checks.get(self.shape).is_some())
    }

    /// Returns `true` if it is the type of a whole value.
    pub(super) fn is_root(&self, tools: &[ToolPlan<'_>]) -> bool {
        self.schema(tools).is_some_and(|schema| schema.document.root == self.shape)
    }
}

/// The types of a plan, grouped by structure.
#[derive(Debug)]
pub(super) struct AlikeTypes {
    alike: Alike,
    /// The place of each tool's first document in the comparison; that of its result follows. The last is their number.
    documents: Vec<usize>,
    members: Table<Vec<TypeAt>>,
}

impl AlikeTypes {
    pub(super) fn new(tools: &[ToolPlan<'_>]) -> Self {
        let (mut places, mut documents) = (Vec::new(), Vec::new());
        for tool in tools {
            places.push(documents.len());
            for schema in tool.schemas() {
                documents.push(&schema.document);
            }
        }
        places.push(documents.len());
        let alike = Alike::new(&documents);
        let mut types = Self { alike, documents: places, members: Table::default() };
        for at in TypeAt::all(tools) {
            if let Some(class) = types.class(at).filter(|_| !at.is_checked(tools)) {
                types.members.push(class, at);
            }
        }
        types
    }

    /// Returns the class of a shape; `None` if its tool has no schema of this role.
    pub(super) fn class(&self, at: TypeAt) -> Option<Class> {
        let place = *self.documents.get(at.tool)? + usize::from(at.role == Role::Output);
        if place < *self.documents.get(at.tool + 1)? { self.alike.class(place, at.shape) } else { None }
    }

    /// Returns the types of one class, in the order of the plan.
    pub(super) fn members(&self, class: Class) -> &[TypeAt] {
        self.members.get(class).map_or(&[], Vec::as_slice)
    }
}
