//! The state machine of a request, and what comes in.

use rmcp::model::{CallToolRequest, CallToolRequestParams};
use serde_json::json;

use super::*;

const NO_LIMITS: Limits = Limits { requests: usize::MAX, bytes: usize::MAX };

fn ledger() -> Arc<Ledger> {
    Ledger::new(NO_LIMITS, Duration::from_secs(30), Redactor::default())
}

fn message(ticket: Option<&Ticket>, id: i64) -> ClientJsonRpcMessage {
    let mut request = ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new("t")));
    if let Some(ticket) = ticket {
        request.extensions_mut().insert(ticket.clone());
    }
    ClientJsonRpcMessage::request(request, RequestId::Number(id))
}

fn notification() -> ClientJsonRpcMessage {
    serde_json::from_value(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).expect("a notification")
}

/// A request of which nothing has left.
fn queued(ledger: &Arc<Ledger>, id: i64) -> (Ticket, Outgoing) {
    let ticket = ledger.admit(100, Deadline::NEVER, None).expect("there is room");
    let outgoing = ledger.queued(&message(Some(&ticket), id));
    (ticket, outgoing)
}

/// A request that has left; it ends at `id * 100` in the stream.
fn written(ledger: &Arc<Ledger>, id: i64) -> Ticket {
    let (ticket, outgoing) = queued(ledger, id);
    assert!(outgoing.begin_write(Some(id.unsigned_abs() * 100)));
    outgoing.written();
    ticket
}

fn awaiting(id: i64) -> Arc<Ledger> {
    let ledger = ledger();
    written(&ledger, id);
    ledger
}

fn message_of(incoming: Option<Incoming>) -> ServerJsonRpcMessage {
    match incoming {
        Some(Incoming::Message(message)) => message,
        Some(Incoming::Question(_)) | None => panic!("a message is expected"),
    }
}

fn result_of(incoming: Option<Incoming>) -> Value {
    let (result, _) = message_of(incoming).into_response().expect("a response");
    raw::unwrap(result).expect("it is wrapped")
}

fn answer(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}})
}

fn failure_of(ticket: &Ticket) -> Failure {
    match ticket.state() {
        State::Failed(failure) => failure,
        other => panic!("it has not failed: {other:?}"),
    }
}

fn is_empty(ledger: &Ledger) -> bool {
    let book = ledger.book();
    book.queued.is_empty() && book.queued_bytes == 0 && book.under_way.is_empty() && book.by_progress_token.is_empty()
}

#[test]
fn what_was_given_up_before_its_first_byte_is_not_written() {
    let ledger = ledger();
    let (ticket, outgoing) = queued(&ledger, 1);
    assert_eq!(ledger.give_up(&ticket), Dispatched::No);
    assert!(!outgoing.begin_write(None));
    // Also where it is given up before the transport has it.
    let ticket = ledger.admit(100, Deadline::NEVER, None).expect("there is room");
    assert_eq!(ledger.give_up(&ticket), Dispatched::No);
    let outgoing = ledger.queued(&message(Some(&ticket), 2));
    assert!(!outgoing.begin_write(None));
    assert!(is_empty(&ledger));
}

#[test]
fn what_is_late_is_not_written() {
    let ledger = ledger();
    let ticket = ledger.admit(100, Deadline::after(Duration::ZERO), None).expect("there is room");
    let outgoing = ledger.queued(&message(Some(&ticket), 1));
    assert!(!outgoing.begin_write(None));
    drop(outgoing);
    assert_eq!(ledger.give_up(&ticket), Dispatched::No);
    assert!(is_empty(&ledger));
}

#[test]
fn what_was_given_up_after_its_first_byte_is_unknown() {
    let ledger = ledger();
    let (ticket, outgoing) = queued(&ledger, 1);
    assert!(outgoing.begin_write(None));
    assert_eq!(ledger.give_up(&ticket), Dispatched::Unknown);
    let ticket = written(&ledger, 2);
    assert_eq!(ledger.give_up(&ticket), Dispatched::Unknown);
    assert_eq!(ledger.give_up(&ticket), Dispatched::Unknown, "it stays what it was");
    assert!(is_empty(&ledger));
}

#[test]
fn an_answer_settles_a_request_once() {
    let ledger = ledger();
    let ticket = written(&ledger, 1);
    assert!(ledger.received(answer(1), None).is_some());
    assert!(matches!(ticket.state(), State::Answered));
    assert!(is_empty(&ledger));
    assert!(ledger.received(answer(1), None).is_none(), "a second answer to it");
    ledger.close(&Failure::lost("gone"), None);
    assert!(matches!(ticket.state(), State::Answered), "an answer stays");
    assert_eq!(ledger.give_up(&ticket), Dispatched::Yes);
}

#[test]
fn a_late_answer_never_answers_another_request() {
    let ledger = ledger();
    let late = written(&ledger, 1);
    ledger.give_up(&late);
    let waiting = written(&ledger, 2);
    let here = RequestId::Number(2);
    assert!(ledger.received(answer(1), None).is_none());
    assert!(ledger.received(answer(1), Some(&here)).is_none(), "in the answer to another");
    let nameless = json!({"id": null, "error": {"code": -32603, "message": "whose?"}});
    assert!(ledger.received(nameless, None).is_none(), "it may belong to what was given up");
    assert!(matches!(waiting.state(), State::Written { .. }));
    assert!(ledger.received(answer(2), None).is_some());
}

#[test]
fn nothing_answers_what_has_not_left() {
    let ledger = ledger();
    let (ticket, _outgoing) = queued(&ledger, 1);
    assert!(ledger.received(answer(1), None).is_none());
    assert!(ledger.received(json!({"id": null, "error": {}}), None).is_none());
    assert!(matches!(ticket.state(), State::Queued));
}

#[test]
fn a_stop_fails_what_has_not_left_and_leaves_the_rest_its_chance() {
    let ledger = ledger();
    let sent = written(&ledger, 1);
    let (waiting, outgoing) = queued(&ledger, 2);
    let unnamed = ledger.admit(100, Deadline::NEVER, None).expect("there is room");
    ledger.stop(&Failure::not_sent("no more"));
    assert!(!ledger.is_open());
    for ticket in [&waiting, &unnamed] {
        assert_eq!(failure_of(ticket).dispatched, Dispatched::No);
    }
    assert!(!outgoing.begin_write(None));
    let refused = ledger.admit(100, Deadline::NEVER, None).map(drop).expect_err("it is closed");
    assert_eq!((refused.dispatched, refused.message.as_str()), (Dispatched::No, "no more"));
    assert!(ledger.received(answer(1), None).is_some());
    assert!(matches!(sent.state(), State::Answered));
    assert!(is_empty(&ledger));
}

#[test]
fn an_end_tells_what_was_read_from_what_was_not() {
    let ledger = ledger();
    let tickets = [1, 2, 3].map(|id| written(&ledger, id));
    // The second lacks its last byte, which may be a mere line's end; the third lacks more.
    ledger.close(&Failure::lost("gone"), Some(199));
    let dispatched = tickets.map(|ticket| failure_of(&ticket).dispatched);
    assert_eq!(dispatched, [Dispatched::Unknown, Dispatched::Unknown, Dispatched::No]);
    assert!(is_empty(&ledger));

    let ledger = awaiting(1);
    ledger.close(&Failure::lost("gone"), None);
    assert_eq!(ledger.last_failure().map(|failure| failure.dispatched), Some(Dispatched::Unknown));
}

#[test]
fn the_backlog_is_bounded() {
    let ledger = Ledger::new(Limits { requests: 2, bytes: 1000 }, Duration::from_secs(30), Redactor::default());
    let large = ledger.admit(5000, Deadline::NEVER, None).expect("nothing else waits");
    let refused = ledger.admit(1, Deadline::NEVER, None).map(drop).expect_err("too many bytes");
    assert_eq!(refused.dispatched, Dispatched::No);
    ledger.give_up(&large);
    let first = written(&ledger, 1);
    let (_second, _a) = queued(&ledger, 2);
    let (_third, _b) = queued(&ledger, 3);
    let refused = ledger.admit(1, Deadline::NEVER, None).map(drop).expect_err("too many requests");
    assert!(refused.message.contains("2 requests wait already"), "{}", refused.message);
    assert!(matches!(first.state(), State::Written { .. }));
}

#[test]
fn what_a_transport_drops_has_failed() {
    let ledger = ledger();
    let (ticket, outgoing) = queued(&ledger, 1);
    drop(outgoing);
    assert_eq!(failure_of(&ticket).dispatched, Dispatched::No);
    let (ticket, outgoing) = queued(&ledger, 2);
    outgoing.begin_write(None);
    drop(outgoing);
    assert_eq!(failure_of(&ticket).dispatched, Dispatched::Unknown);
    assert!(is_empty(&ledger));
}

#[cfg(feature = "http")]
#[test]
fn what_a_server_refused_unseen_can_be_handed_over_again() {
    let ledger = ledger();
    let (ticket, outgoing) = queued(&ledger, 1);
    assert!(outgoing.begin_write(None));
    outgoing.returned();
    assert!(matches!(ticket.state(), State::Queued));
    let outgoing = ledger.queued(&message(Some(&ticket), 1));
    assert!(outgoing.begin_write(None));
    outgoing.written();
    assert!(ledger.received(answer(1), None).is_some());
    assert!(is_empty(&ledger));
}

#[test]
fn a_server_without_a_sign_for_several_timeouts_is_given_up() {
    let timeout = Duration::from_millis(3);
    let ledger = Ledger::new(NO_LIMITS, timeout, Redactor::default());
    for round in 1..=TIMEOUTS_WITHOUT_A_SIGN {
        assert!(ledger.is_open(), "round {round}");
        // What runs side by side counts once.
        let tickets: Vec<Ticket> = (0..9).map(|id| written(&ledger, i64::from(round) * 10 + id)).collect();
        std::thread::sleep(timeout);
        for ticket in &tickets {
            ledger.time_out(ticket);
        }
    }
    assert!(!ledger.is_open());
    assert!(ledger.admit(1, Deadline::NEVER, None).is_err());
}

#[test]
fn a_server_that_says_anything_is_kept() {
    let ledger = Ledger::new(NO_LIMITS, Duration::from_millis(1), Redactor::default());
    for round in 1..9 {
        let ticket = written(&ledger, round);
        std::thread::sleep(Duration::from_millis(2));
        ledger.time_out(&ticket);
        ledger.received(json!({"method": "notifications/message", "params": {"level": "info", "data": 1}}), None);
    }
    assert!(ledger.is_open());
    // Short timeouts say little.
    let ledger = self::ledger();
    for round in 20..60 {
        let ticket = written(&ledger, round);
        ledger.time_out(&ticket);
    }
    assert!(ledger.is_open());
}

#[test]
fn progress_is_that_of_its_request() {
    let ledger = ledger();
    let tickets = [1, 2].map(|id| {
        let ticket = ledger.admit(100, Deadline::NEVER, None).expect("there is room");
        let mut request = ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new("t")));
        request.extensions_mut().insert(ticket.clone());
        use rmcp::model::NumberOrString;
        request.get_meta_mut().set_progress_token(ProgressToken(NumberOrString::Number(id * 7)));
        let outgoing = ledger.queued(&ClientJsonRpcMessage::request(request, RequestId::Number(id)));
        outgoing.begin_write(None);
        outgoing.written();
        ticket
    });
    let progress =
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 14, "progress": 1}});
    assert!(ledger.received(progress, None).is_some());
    assert_eq!(tickets.map(|ticket| ticket.last_progress().is_some()), [false, true]);
}

#[test]
fn a_result_passes_through_untouched() {
    let sent = json!({"content": [], "tools": 5, "b": 1, "a": null});
    let message = awaiting(7).received(json!({"jsonrpc": "2.0", "id": 7, "result": sent}), None);
    assert_eq!(result_of(message), sent);
}

#[test]
fn what_cannot_be_read_costs_its_place_in_a_list_and_the_whole_of_a_result() {
    let list = br#"{"id": 7, "result": {"tools": [{"name": "a", "maximum": 1e400}, {"name": "\ud800"}]}}"#;
    let message = awaiting(7).received(raw::parse(list).expect("it is mended"), None);
    assert_eq!(result_of(message)["tools"][1]["name"], "\u{fffd}");
    for result in [r#"{"content": [], "structuredContent": {"n": 1e400}}"#, r#"{"content": [], "tools": [1e400]}"#] {
        let message = raw::parse(format!(r#"{{"id": 7, "result": {result}}}"#).as_bytes()).expect("it is mended");
        assert!(message.get("result").is_none(), "{message}");
        let ledger = self::ledger();
        let ticket = written(&ledger, 7);
        assert!(ledger.received(message, None).is_some(), "rmcp has to be told");
        let failure = failure_of(&ticket);
        assert_eq!(failure.dispatched, Dispatched::Yes);
        assert!(failure.message.contains("cannot be read"), "{failure:?}");
    }
    assert_eq!(raw::parse(b"Listening on 1e400"), None);
}

#[test]
fn texts_that_are_no_unicode_cost_no_result() {
    for text in [
        &br#"{"id": 7, "result": {"content": ["a\udfffb"]}}"#[..],
        b"{\"id\": 7, \"result\": {\"content\": [\"a\xffb\"]}}",
    ] {
        let message = awaiting(7).received(raw::parse(text).expect("it is mended"), None);
        assert_eq!(result_of(message), json!({"content": ["a\u{fffd}b"]}));
    }
}

#[test]
fn a_wrapped_result_survives_being_printed_and_parsed() {
    let sent = json!({"content": [], "structuredContent": {"n": 1}});
    let message = awaiting(7).received(json!({"id": "7", "result": sent}), None);
    let text = serde_json::to_string(&message_of(message)).expect("prints");
    let again: ServerJsonRpcMessage = serde_json::from_str(&text).expect("parses");
    assert_eq!(result_of(Some(Incoming::Message(again))), sent);
}

#[test]
fn a_result_that_the_ledger_has_not_seen_is_none() {
    let elsewhere = json!({"content": [], "structuredContent": {"n": 1}});
    for result in [ServerResult::empty(()), serde_json::from_value(elsewhere).expect("a result")] {
        assert_eq!(raw::unwrap(result), None, "it is no empty success");
    }
}

#[test]
fn an_error_without_an_id_belongs_to_the_only_request() {
    let error = json!({"id": null, "error": {"code": -32700, "message": "parse"}});
    let ledger = awaiting(3);
    let ServerJsonRpcMessage::Error(found) = message_of(ledger.received(error.clone(), None)) else {
        panic!("an error is expected");
    };
    assert_eq!(found.id, Some(RequestId::Number(3)));
    assert!(ledger.received(error.clone(), None).is_none());
    let ledger = awaiting(1);
    written(&ledger, 2);
    assert!(ledger.received(error, None).is_none(), "it may belong to either");
}

#[test]
fn an_error_without_an_id_that_may_answer_a_notification_ends_no_request() {
    let nameless = |code: i64| json!({"id": null, "error": {"code": code, "message": "whose?"}});
    for code in [-32601, -32603, -32000, 1] {
        let ledger = awaiting(1);
        assert!(ledger.received(answer(1), None).is_some());
        written(&ledger, 2);
        assert!(ledger.received(nameless(code), None).is_none(), "{code} is about a message that was read");
        assert!(awaiting(1).received(nameless(code), None).is_some(), "nothing else was sent");
    }
    let ledger = awaiting(1);
    ledger.queued(&notification());
    let ticket = written(&ledger, 2);
    assert!(ledger.received(answer(1), None).is_some());
    assert!(ledger.received(nameless(-32600), None).is_none(), "the notification may be meant");
    assert!(matches!(ticket.state(), State::Written { .. }));
    // Whoever has answered this has read the notification.
    assert!(ledger.received(answer(2), None).is_some());
    written(&ledger, 3);
    assert!(ledger.received(nameless(-32600), None).is_some());
    let ledger = awaiting(1);
    ledger.queued(&notification());
    assert!(ledger.received(nameless(-32601), Some(&RequestId::Number(1))).is_some(), "it comes with the answer");
}

#[test]
fn a_response_to_nothing_is_ignored() {
    assert!(awaiting(1).received(json!({"id": 2, "result": {}}), None).is_none());
    assert!(awaiting(1).received(json!([1]), None).is_none());
    assert!(awaiting(1).received(json!({"id": 2}), None).is_none());
}

#[test]
fn an_answer_with_neither_result_nor_error_ends_its_request() {
    let ServerJsonRpcMessage::Error(found) = message_of(awaiting(1).received(json!({"id": 1}), None)) else {
        panic!("an error is expected");
    };
    assert!(found.error.message.contains("neither"), "{found:?}");
}

#[test]
fn an_id_that_the_server_made_up_is_that_of_the_exchange() {
    let message = json!({"id": "server-error", "error": {"code": -32600, "message": "no"}});
    assert!(awaiting(1).received(message.clone(), Some(&RequestId::Number(1))).is_some());
    assert!(awaiting(1).received(message, None).is_none());
}
