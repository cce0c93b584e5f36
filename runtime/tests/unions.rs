//! The pick among the branches of a union, whatever their order, and what the worst values cost.

#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used)]

#[path = "../../mcp-codegen/tests/harness/watchdog.rs"]
mod watchdog;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mcp_bindgen_runtime::__private::{Wire, from_value, to_value};
use serde_json::{Map, Value, json};

const DEADLINE: Duration = Duration::from_secs(30);
/// Far above what a case takes without optimisation on a busy machine.
const AT_MOST: Duration = Duration::from_secs(3);

macro_rules! union {
    ($name:ident { $($variant:ident($type:ty)),* $(,)? } $($rest:tt)*) => {
        #[derive(Clone, Debug, PartialEq)]
        enum $name { $($variant($type)),* }
        mcp_bindgen_runtime::__private::__untagged_union!($name { $($variant,)* } $($rest)*);
    };
}

#[derive(Clone, Debug, PartialEq)]
struct Point {
    x: i64,
    y: Option<i64>,
}
mcp_bindgen_runtime::__private::__object!(Point { x: required "x", y: optional "y", });

#[derive(Clone, Debug, PartialEq)]
struct Loose {
    x: Value,
    y: Option<Value>,
}
mcp_bindgen_runtime::__private::__object!(Loose { x: required "x", y: optional "y", });

#[derive(Clone, Debug, PartialEq)]
struct Open {
    extra: BTreeMap<String, Value>,
}
mcp_bindgen_runtime::__private::__object!(Open {} extra extra);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Grows {
    Known,
    Other(String),
}
mcp_bindgen_runtime::__private::__string_enum!(Grows { Known = "known", } open Other);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closed {
    Late,
}
mcp_bindgen_runtime::__private::__string_enum!(Closed { Late = "late", });

union!(ValueFirst { Anything(Value), Point(Point), Text(String), Flag(bool), List(Vec<i64>), Nothing(()) });
union!(ValueLast { Nothing(()), List(Vec<i64>), Flag(bool), Text(String), Point(Point), Anything(Value) });
union!(LooseFirst { Map(Map<String, Value>), Open(Open), Loose(Loose), Point(Point) });
union!(NestedFirst { Values(Vec<Value>), Maybe(Option<Box<LooseFirst>>), Points(Vec<Point>), Pair((Value, i64)), Two((i64, i64)) });
union!(GrowsFirst { Grows(Grows), Closed(Closed) });
union!(Numbers { Float(f64), Signed(i64), Unsigned(u64) });
union!(Integers { Signed(i64), Unsigned(u64), Float(f64) });

#[track_caller]
fn read<T: Wire>(value: &Value) -> T {
    let read: T = from_value(value).unwrap();
    assert_eq!(to_value(&read).unwrap(), *value);
    read
}

#[test]
fn untyped_branch_never_shadows_a_typed_one() {
    for value in [json!({"x": 1}), json!("a"), json!(true), json!([1, 2]), json!([]), json!(null)] {
        assert!(!matches!(read(&value), ValueFirst::Anything(_)), "{value}");
        assert!(!matches!(read(&value), ValueLast::Anything(_)), "{value}");
    }
    for value in [json!({"x": "a"}), json!({"x": 1, "z": 1}), json!(5), json!([1, "a"]), json!({})] {
        assert!(matches!(read(&value), ValueFirst::Anything(_)), "{value}");
        assert!(matches!(read(&value), ValueLast::Anything(_)), "{value}");
    }
}

#[test]
fn branch_with_fewer_untyped_parts_wins() {
    assert!(matches!(read(&json!({"x": 1})), LooseFirst::Point(_)));
    assert!(matches!(read(&json!({"x": "a", "y": 2})), LooseFirst::Loose(_)));
    assert!(matches!(read(&json!({"z": 1})), LooseFirst::Map(_)));
    assert!(matches!(read(&json!([{"x": 1}])), NestedFirst::Points(_)));
    assert!(matches!(read(&json!([1, 2])), NestedFirst::Two(_)));
    assert!(matches!(read(&json!(["a", 2])), NestedFirst::Pair(_)));
    assert!(matches!(read(&json!([1, 2, 3])), NestedFirst::Values(_)));
    let NestedFirst::Maybe(Some(inner)) = read(&json!({"x": 1})) else { panic!("an object is an object") };
    assert!(matches!(*inner, LooseFirst::Point(_)));
    assert_eq!(read::<GrowsFirst>(&json!("late")), GrowsFirst::Closed(Closed::Late));
    assert_eq!(read::<GrowsFirst>(&json!("known")), GrowsFirst::Grows(Grows::Known));
    assert_eq!(read::<GrowsFirst>(&json!("new")), GrowsFirst::Grows(Grows::Other("new".to_owned())));
}

#[test]
fn branch_that_preserves_more_of_the_value_wins() {
    // Nothing keeps both: `null` for an optional property reads as absent.
    let value = json!({"x": 1, "y": null, "z": [1, 2, 3]});
    union!(Lossy { Point(Point), Kept(Kept) });
    #[derive(Clone, Debug, PartialEq)]
    struct Kept {
        y: Option<i64>,
        extra: BTreeMap<String, Value>,
    }
    mcp_bindgen_runtime::__private::__object!(Kept { y: optional "y", } extra extra);
    assert!(matches!(from_value(&value).unwrap(), Lossy::Kept(_)));
}

#[test]
fn number_is_decoded_by_the_branch_that_can_hold_it() {
    for value in
        [json!(5), json!(9_007_199_254_740_993_i64), json!(i64::MIN), json!(i64::MAX), json!(u64::MAX), json!(0.5)]
    {
        read::<Numbers>(&value);
        read::<Integers>(&value);
    }
    assert_eq!(read::<Numbers>(&json!(9_007_199_254_740_993_i64)), Numbers::Signed(9_007_199_254_740_993));
    assert_eq!(read::<Numbers>(&json!(u64::MAX)), Numbers::Unsigned(u64::MAX));
    assert_eq!(read::<Integers>(&json!(u64::MAX)), Integers::Unsigned(u64::MAX));
    assert_eq!(read::<Integers>(&json!(-5)), Integers::Signed(-5));
    assert_eq!(read::<Integers>(&json!(0.5)), Integers::Float(0.5));
    assert_eq!(from_value::<Integers>(&json!(5.0)).unwrap(), Integers::Signed(5));
    assert_eq!(from_value::<Integers>(&json!(1e19)).unwrap(), Integers::Unsigned(10_000_000_000_000_000_000));
}

union!(Deep { A(Box<A>), B(Box<B>), C(Box<C>), List(Vec<Deep>), One((Box<Deep>,)), Map(BTreeMap<String, Deep>), Leaf(i64) });

macro_rules! links {
    ($($name:ident)*) => {$(
        #[derive(Clone, Debug, PartialEq)]
        struct $name {
            next: Deep,
            other: Option<Deep>,
        }
        mcp_bindgen_runtime::__private::__object!($name { next: required "next", other: optional "other", });
    )*};
}
links!(A B C);

/// A value around another one.
type Wrap = fn(Value) -> Value;

fn nested(depth: usize, leaf: &Value, wrap: Wrap) -> Value {
    (0..depth).fold(leaf.clone(), |inner, _| wrap(inner))
}

#[test]
fn deeply_nested_unions_are_decoded_in_bounded_time() {
    let wraps: [(&str, Wrap); 4] = [
        ("objects", |inner| json!({ "next": inner })),
        ("arrays", |inner| json!([inner])),
        ("objects with a key that most branches lose", |inner| json!({"next": inner, "lost": 1})),
        ("objects with null", |inner| json!({"next": inner, "other": null})),
    ];
    for (kind, wrap) in wraps {
        for leaf in [json!(1), json!("no branch takes it")] {
            let case = format!("{kind} around {leaf}");
            watchdog::within(DEADLINE, &case, || {
                let value = nested(120, &leaf, wrap);
                let started = Instant::now();
                let read = from_value::<Deep>(&value);
                assert!(started.elapsed() < AT_MOST, "{case}: {:?}", started.elapsed());
                if leaf.is_number() && kind != "objects with null" {
                    assert_eq!(to_value(&read.expect(&case)).unwrap(), value);
                } else {
                    assert_eq!(read.is_ok(), leaf.is_number(), "{case}");
                }
            });
        }
    }
    let wide = Value::Array((0..3_000).map(|index| nested(3, &json!(index), |inner| json!([inner, inner]))).collect());
    watchdog::within(DEADLINE, "a wide array", || {
        let started = Instant::now();
        read::<Deep>(&wide);
        assert!(started.elapsed() < 5 * AT_MOST, "{:?}", started.elapsed());
    });
}

#[test]
fn equally_lossy_branches_are_decoded_in_bounded_time() {
    // Every branch has the key, and none has the other: nothing tells them apart at any level.
    let wide = |inner: Value| json!({"next": [inner.clone(), inner], "lost": 1});
    let value = nested(13, &json!(1), wide);
    assert!(value.to_string().len() > 50_000);
    watchdog::within(DEADLINE, "a large value of alike branches", || {
        let started = Instant::now();
        from_value::<Deep>(&value).unwrap();
        assert!(started.elapsed() < AT_MOST, "{:?}", started.elapsed());
    });
}

#[test]
fn values_nested_deeper_than_the_limit_are_refused() {
    let text = nested(127, &json!(1), |inner| json!([inner])).to_string();
    assert!(from_value::<Deep>(&serde_json::from_str(&text).unwrap()).is_ok());
    let deep = nested(5_000, &json!(1), |inner| Value::Array(vec![inner]));
    let error = from_value::<Deep>(&deep).unwrap_err();
    assert!(error.pointer().matches('/').count() < 200, "{error}");
    // Its own drop would overflow the stack.
    std::mem::forget(deep);
}
