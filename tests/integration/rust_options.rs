//! Tests options for generated code: undeclared keys kept, additional derives, other names. The wire format never
//! changes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

use std::collections::{BTreeSet, HashSet};
use std::fmt::Debug;

use mcp_bindgen::__private::{Wire, from_value, to_value};
use mcp_bindgen::{CallError, Tool};
use serde_json::{Value, json};

mod keeping {
    #![deny(warnings, missing_docs)]
    mcp_bindgen::mcp_tools!("tracker", path = "fixtures/lists/tracker.json", unknown = "keep");
}
mod ignoring {
    mcp_bindgen::mcp_tools!("tracker", path = "fixtures/lists/tracker.json");
}
mod deriving {
    #![deny(warnings, missing_docs)]
    mcp_bindgen::mcp_tools!(
        "tracker",
        path = "fixtures/lists/tracker.json",
        exclude = ["search"],
        derive = ["Ord", "PartialOrd", "std::marker::Copy", "Default", "Eq"],
    );
}
mod renaming {
    #![deny(warnings, missing_docs)]
    mcp_bindgen::mcp_tools!(
        "tracker",
        path = "fixtures/lists/tracker.json",
        rename = {
            create_issue = "open_issue",
            "search" = "move",
            "create_issue/type" = "kind",
            "create_issue/labels" = "tags",
            "create_issue/watchers/*/login" = "account",
            "create_issue/$output/reviewer/login" = "reviewed_by",
            "list_events/$output/result" = "events",
            "list_events/$output/result/*/by" = "r#type",
            "search/where/text" = "words",
        },
    );
}

mod setting {
    #![deny(warnings, missing_docs, clippy::pedantic)]
    mcp_bindgen::mcp_tools!("booking", path = "fixtures/lists/booking.json", setters = true);
}

mod naming {
    #![deny(warnings, missing_docs, clippy::pedantic)]
    mcp_bindgen::mcp_tools!("booking", path = "fixtures/lists/booking.json", setters = true, named = true);
}

mod checking {
    #![deny(warnings, missing_docs, clippy::pedantic)]
    mcp_bindgen::mcp_tools!(
        "booking",
        path = "fixtures/lists/booking.json",
        setters = true,
        named = true,
        checked = true,
        derive = ["Ord", "Default", "Copy"],
        rename = { "book/room" = "chamber" },
    );
}

#[track_caller]
fn round_trips<T: Wire>(value: Value) -> T {
    let read: T = from_value(&value).unwrap();
    assert_eq!(to_value(&read).unwrap(), value);
    read
}

#[test]
fn undeclared_keys_of_parameters_are_preserved() {
    use keeping::tracker::{TrackerCreateIssueParams, TrackerMoveCardParams, TrackerSearchParams};

    let value = json!({
        "title": "t", "urgent": null, "assignee": {"login": "a", "id": 7}, "watchers": [{"login": "b", "x": {}}],
    });
    let params: TrackerCreateIssueParams = round_trips(value.clone());
    assert_eq!(params.extra["urgent"], Value::Null);
    assert_eq!(params.assignee.unwrap().extra["id"], 7);
    let call = keeping::tracker::TrackerCall::parse("create_issue", &value).unwrap();
    assert_eq!(call.arguments(), value);

    round_trips::<TrackerSearchParams>(json!({"where": {"label": "x", "deep": [1]}, "page": 2}));
    // The same values are refused as before.
    for value in
        [json!({"card": 1, "to": {"x": 1, "y": 2}, "z": 1}), json!({"card": 1, "to": {"x": 1, "y": 2, "z": 3}})]
    {
        assert!(from_value::<TrackerMoveCardParams>(&value).is_err(), "{value}");
    }
    let built = TrackerCreateIssueParams::new("t");
    assert_eq!(to_value(&built).unwrap(), json!({"title": "t"}));
}

#[test]
fn undeclared_keys_of_results_are_preserved() {
    use keeping::tracker::{TrackerCreateIssueOutput, TrackerListEventsOutput};

    // Servers say more than they declare, also where they declare that they say nothing more.
    let answer = json!({"number": 1, "url": "u", "reviewer": {"login": "a", "id": 7}});
    let output: TrackerCreateIssueOutput = round_trips(answer.clone());
    assert_eq!(output.reviewer.unwrap().extra["id"], 7);
    let ignored: ignoring::tracker::TrackerCreateIssueOutput = from_value(&answer).unwrap();
    assert_eq!(to_value(&ignored).unwrap(), json!({"number": 1, "reviewer": {"login": "a"}}));

    let events =
        json!({"result": [{"event": "moved", "steps": 1, "to": "x"}, {"event": "closed", "at": 0}], "next": "c"});
    assert_eq!(round_trips::<TrackerListEventsOutput>(events).result.len(), 2);
}

#[test]
fn wrapped_result_is_unwrapped_with_every_option() {
    fn items<T: Tool<Output = Vec<I>>, I>() {}
    items::<keeping::tracker::TrackerListEventsParams, keeping::tracker::TrackerListEventsOutputResultItem>();
    items::<renaming::tracker::TrackerListEventsParams, renaming::tracker::TrackerListEventsOutputResultItem>();
}

#[test]
fn derives_are_added_where_possible() {
    fn ordered<T: Ord + PartialOrd + Eq + std::hash::Hash>() {}
    fn partly_ordered<T: PartialOrd>() {}
    fn copied<T: Copy>() {}
    fn by_default<T: Default + Debug>() -> T {
        T::default()
    }
    use deriving::tracker;

    ordered::<tracker::TrackerCreateIssueParams>();
    ordered::<tracker::TrackerCreateIssueParamsType>();
    ordered::<tracker::TrackerCreateIssueOutputState>();
    partly_ordered::<tracker::TrackerMoveCardParamsWeight>();
    copied::<tracker::TrackerMoveCardParams>();
    copied::<tracker::TrackerMoveCardParamsTo>();
    let title = by_default::<tracker::TrackerCreateIssueParams>().title;
    assert_eq!(title, "");
    assert_eq!(by_default::<tracker::TrackerMoveCardParams>().to.x, 0);
    let sorted: BTreeSet<_> =
        [2, 1].map(|y| tracker::TrackerMoveCardParamsTo { y, ..Default::default() }).into_iter().collect();
    assert_eq!(sorted.first().map(|to| to.y), Some(1));
    assert_eq!(sorted.iter().collect::<HashSet<_>>().len(), 2);
}

#[test]
fn renamed_items_keep_their_wire_names() {
    use renaming::tracker::{
        self, TrackerCall, TrackerListEventsOutputResultItem as Event, TrackerOpenIssueOutput, TrackerOpenIssueParams,
    };

    assert_eq!(TrackerOpenIssueParams::NAME, "create_issue");
    let mut params = TrackerOpenIssueParams::new("t");
    params.tags = Some(vec!["bug".to_owned()]);
    params.kind = Some(tracker::TrackerOpenIssueParamsType::Wish);
    // One type in two places has one name for its field.
    params.assignee = Some(tracker::TrackerOpenIssueParamsPerson { account: "a".to_owned(), note: None });
    let value = json!({"title": "t", "type": "wish", "labels": ["bug"], "assignee": {"login": "a"}});
    assert_eq!(to_value(&params).unwrap(), value);

    let call = TrackerCall::parse("create_issue", &value).unwrap();
    assert_eq!(call, TrackerCall::OpenIssue(params));
    assert_eq!(call.name(), "create_issue");
    assert_eq!(TrackerCall::parse("tracker_open_issue", &value).unwrap(), call);
    assert!(matches!(TrackerCall::parse("open_issue", &value), Err(CallError::ToolNotFound { .. })));
    assert!(matches!(TrackerCall::parse("search", json!({"where": {"text": "x"}})), Ok(TrackerCall::Move(_))));

    let output: TrackerOpenIssueOutput = round_trips(json!({"number": 1, "reviewer": {"login": "b"}}));
    assert_eq!(output.reviewer.unwrap().reviewed_by, "b");
    let event: Event = round_trips(json!({"event": "opened", "by": "c"}));
    assert!(matches!(event, Event::Opened(opened) if opened.r#type == "c"));
    assert!(matches!(
        round_trips(json!({"where": {"text": "x"}})),
        tracker::TrackerMoveParams { r#where: tracker::TrackerMoveParamsWhere::WithText(found), .. } if found.words == "x"
    ));
}

#[test]
fn setters_chain_for_optional_properties() {
    use mcp_bindgen::Nullable;
    use setting::booking::{BookingBookParams, BookingBookParamsParty, BookingBookParamsType, BookingListParams};

    let party = BookingBookParamsParty::new("ada").size(3).with(BookingBookParamsParty::new("bob"));
    let params = BookingBookParams::new("A12", "ada", "2026-01-02")
        .nights(2)
        .note("late")
        .phone("123")
        .seats(Nullable::Null)
        .names(vec!["ada".to_owned()])
        .party(party)
        .r#type(BookingBookParamsType::Double)
        // The names of what every struct has are not hidden, and keywords are what they are elsewhere.
        .new_property(true)
        .clone_property("c")
        .default_property(1)
        .add(2)
        .is_quiet(true)
        .self_("s");
    let expected = json!({
        "room": "A12", "guest": "ada", "arrival": "2026-01-02", "nights": 2, "note": "late", "phone": "123",
        "seats": null, "names": ["ada"], "party": {"leader": "ada", "size": 3, "with": {"leader": "bob"}},
        "type": "double", "new": true, "clone": "c", "default": 1, "add": 2, "is_quiet": true, "self": "s",
    });
    assert_eq!(to_value(&params.clone()).unwrap(), expected);
    assert_eq!(to_value(&params.note(Nullable::Null).seats(4)).unwrap()["note"], Value::Null);
    assert_eq!(to_value(&BookingListParams::default().limit(5)).unwrap(), json!({"limit": 5}));
    assert_eq!(to_value(&BookingListParams::new()).unwrap(), json!({}));
}

#[test]
fn builders_accept_required_properties_in_any_order() {
    use naming::booking::{BookingBookOutput, BookingBookParams, BookingBookParamsParty, BookingListParams};

    let begun = BookingBookParams::builder().guest("ada");
    let params = begun.clone().arrival("2026-01-02").room("A12").build().nights(2);
    let other = begun.room("A12").arrival("2026-01-02").build().nights(2);
    assert_eq!(params, other);
    let expected = json!({"room": "A12", "guest": "ada", "arrival": "2026-01-02", "nights": 2});
    assert_eq!(to_value(&params).unwrap(), expected);
    assert_eq!(BookingBookParamsParty::builder().leader("ada").build().size, None);
    assert_eq!(BookingBookOutput::builder().nights(2).code("ABCDEF").build().code, "ABCDEF");
    // Structs that require nothing are made as before.
    assert_eq!(BookingListParams::new().limit(1), BookingListParams::default().limit(1));
}

#[test]
fn checked_newtype_accepts_only_valid_values() {
    use checking::booking::{
        BookingBookParamsDay, BookingBookParamsGuest, BookingBookParamsNames, BookingBookParamsNights,
        BookingBookParamsPrice, BookingBookParamsRoom,
    };

    let room: BookingBookParamsRoom = "A12".parse().unwrap();
    assert_eq!(
        (room.as_str(), room.to_string(), room.clone().into_inner()),
        ("A12", "A12".to_owned(), "A12".to_owned())
    );
    assert_eq!(BookingBookParamsRoom::try_from("A12".to_owned()).unwrap(), room);
    assert_eq!(
        BookingBookParamsRoom::try_from("12").unwrap_err().to_string(),
        r"expected a string that matches `^[A-Z]\\d{2,3}$`, found another of 2 characters"
    );
    assert_eq!("".parse::<BookingBookParamsGuest>().unwrap_err().to_string(), "expected at least 1 character, found 0");
    assert!("2026-1-2".parse::<BookingBookParamsDay>().is_err());
    assert_eq!(BookingBookParamsNights::try_from(30).unwrap().get(), 30);
    assert_eq!(BookingBookParamsNights::try_from(31).unwrap_err().to_string(), "expected at most 30, found 31");
    assert!("x".parse::<BookingBookParamsNights>().is_err());
    assert_eq!("7".parse::<BookingBookParamsNights>().unwrap().to_string(), "7");
    assert_eq!(BookingBookParamsPrice::try_from(2.5).unwrap().get().to_string(), "2.5");
    for price in [0.0, 0.3, f64::NAN, f64::INFINITY] {
        assert!(BookingBookParamsPrice::try_from(price).is_err(), "{price}");
    }
    let names = BookingBookParamsNames::try_from(vec!["ada".parse().unwrap()]).unwrap();
    assert_eq!(names.as_slice(), names.as_ref());
    assert_eq!(names.into_inner()[0].as_str(), "ada");
    let (none, five) = (vec![], vec!["ada".parse().unwrap(); 5]);
    for (names, said) in [(none, "expected at least 1 item, found 0"), (five, "expected at most 4 items, found 5")] {
        assert_eq!(BookingBookParamsNames::try_from(names).unwrap_err().to_string(), said);
    }
    let room: BookingBookParamsRoom = serde_json::from_str("\"B01\"").unwrap();
    assert_eq!(serde_json::to_string(&room).unwrap(), "\"B01\"");
    assert!(serde_json::from_str::<BookingBookParamsRoom>("\"b01\"").is_err());
}

#[test]
fn arguments_are_checked_but_results_are_not() {
    use checking::booking::{
        BookingBookOutput, BookingBookParams, BookingBookParamsParty, BookingCall, BookingListParams,
    };
    use mcp_bindgen::Nullable;

    let built = BookingBookParams::builder()
        .chamber("A12".parse().unwrap())
        .arrival("2026-01-02".parse().unwrap())
        .guest("ada".parse().unwrap())
        .build()
        .nights(2.try_into().unwrap())
        .note(Nullable::Null)
        .names(vec!["ada".parse().unwrap()].try_into().unwrap())
        .party(BookingBookParamsParty::builder().leader("ada").build().size(3.try_into().unwrap()))
        .price(2.5.try_into().unwrap());
    let value = json!({
        "room": "A12", "arrival": "2026-01-02", "guest": "ada", "nights": 2, "note": null, "names": ["ada"],
        "party": {"leader": "ada", "size": 3}, "price": 2.5,
    });
    assert_eq!(to_value(&built).unwrap(), value);
    assert_eq!(round_trips::<BookingBookParams>(value.clone()), built);
    for (key, wrong, pointer) in [
        ("room", json!("12"), "/room"),
        ("guest", json!("x".repeat(41)), "/guest"),
        ("nights", json!(0), "/nights"),
        ("note", json!("x".repeat(81)), "/note"),
        ("names", json!(["ab", "a"]), "/names/1"),
        ("names", json!([]), "/names"),
        ("names", json!(["ab", "cd", "ef", "gh", "ij"]), "/names"),
        ("party", json!({"leader": "ada", "size": 0}), "/party/size"),
        ("price", json!(0.25), "/price"),
    ] {
        let mut value = value.clone();
        value[key] = wrong;
        let error = BookingCall::parse("book", &value).unwrap_err();
        assert!(matches!(&error, CallError::InvalidArguments { pointer: found, .. } if found == pointer), "{error:?}");
    }
    // A requirement of one branch does not apply to every value.
    let rate = json!({"room": "A12", "arrival": "2026-01-02", "guest": "ada", "rate": "A"});
    round_trips::<BookingBookParams>(rate);
    let output: BookingBookOutput = round_trips(json!({"code": "x", "nights": 0}));
    assert_eq!((output.code.as_str(), output.nights), ("x", 0));
    assert_eq!(BookingListParams::default().limit, None);
}
