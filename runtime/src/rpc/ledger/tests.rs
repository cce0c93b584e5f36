//! Tests of the state machine, and of incoming messages.

use serde_json::json;

use super::*;
use crate::ground::deadline::Patience;
use crate::ground::sync::lock;
use crate::rpc::sent::MethodCall;

/// Returns a ledger whose next request is 1.
fn ledger() -> Arc<Ledger> {
    let ledger = Ledger::new(Duration::from_secs(30), Redactor::default());
    ledger.next_id();
    ledger
}

impl Ledger {
    /// Returns how many requests have no end yet.
    pub(in crate::rpc) fn open_requests(&self) -> usize {
        let book = lock(&self.book);
        assert!(book.queued > 0 || book.queued_bytes == 0, "bytes of no request wait");
        book.requests.len()
    }
}

fn admit(ledger: &Arc<Ledger>, size: usize, terms: Terms) -> Result<(Arc<Ticket>, Outgoing), Failure> {
    let id = ledger.next_id();
    let params = Map::from_iter([("name".to_owned(), json!("t"))]);
    let message = Message::Request { id: RequestId::Number(id), call: MethodCall::new("tools/call", params) };
    ledger.admit((id, &message), size, terms)
}

fn notification() -> Message {
    Message::Notification(MethodCall::new("notifications/initialized", Map::new()))
}

/// Returns the next request, of which nothing has left.
fn queued(ledger: &Arc<Ledger>) -> (Arc<Ticket>, Outgoing) {
    admit(ledger, 100, Terms::default()).expect("there is room")
}

/// Returns the next request, which has left; it ends at a hundred times its id in the stream.
fn written(ledger: &Arc<Ledger>) -> Arc<Ticket> {
    let (ticket, outgoing) = queued(ledger);
    assert!(outgoing.begin_write(Some(ticket.serial.unsigned_abs() * 100)));
    outgoing.written();
    ticket
}

/// Returns a ledger whose request 1 has left.
fn awaiting() -> (Arc<Ledger>, Arc<Ticket>) {
    let ledger = ledger();
    let ticket = written(&ledger);
    (ledger, ticket)
}

/// Returns `true` if a message answers a request that is under way.
fn takes(ledger: &Ledger, message: Value, answers: Option<&RequestId>) -> bool {
    let before = lock(&ledger.book).requests.len();
    assert!(ledger.received(message, answers).is_none());
    lock(&ledger.book).requests.len() < before
}

/// Returns the answer that a message gives to request 1.
fn outcome_of(message: Value) -> Option<Result<Value, rmcp::model::ErrorData>> {
    let (ledger, ticket) = awaiting();
    assert!(ledger.received(message, None).is_none());
    ticket.take_answer()
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

#[test]
fn request_abandoned_before_its_first_byte_is_not_written() {
    let ledger = ledger();
    let (ticket, outgoing) = queued(&ledger);
    assert_eq!(ledger.give_up(&ticket), Dispatched::No);
    assert!(!outgoing.begin_write(None));
    assert_eq!(ledger.open_requests(), 0);
}

#[test]
fn request_past_its_deadline_is_not_written() {
    let ledger = ledger();
    let terms = Terms::from(Patience::strictly(Duration::ZERO));
    let (ticket, outgoing) = admit(&ledger, 100, terms).expect("there is room");
    assert!(!outgoing.begin_write(None));
    drop(outgoing);
    assert_eq!(ledger.give_up(&ticket), Dispatched::No);
    assert_eq!(ledger.open_requests(), 0);
}

#[test]
fn request_abandoned_after_its_first_byte_has_an_unknown_outcome() {
    let ledger = ledger();
    let (ticket, outgoing) = queued(&ledger);
    assert!(outgoing.begin_write(None));
    assert_eq!(ledger.give_up(&ticket), Dispatched::Unknown);
    let ticket = written(&ledger);
    assert_eq!(ledger.give_up(&ticket), Dispatched::Unknown);
    assert_eq!(ledger.give_up(&ticket), Dispatched::Unknown, "it stays what it was");
    assert_eq!(ledger.open_requests(), 0);
}

#[test]
fn response_completes_a_request_once() {
    let ledger = ledger();
    let ticket = written(&ledger);
    assert!(takes(&ledger, answer(1), None));
    assert!(matches!(ticket.state(), State::Answered(_)));
    assert_eq!(ledger.open_requests(), 0);
    assert!(!takes(&ledger, answer(1), None), "a second answer to it");
    ledger.close(&Failure::lost("gone"), None);
    assert!(matches!(ticket.state(), State::Answered(_)), "an answer stays");
    assert_eq!(ledger.give_up(&ticket), Dispatched::Yes);
}

#[test]
fn late_response_never_completes_another_request() {
    let ledger = ledger();
    let late = written(&ledger);
    ledger.give_up(&late);
    let waiting = written(&ledger);
    let here = RequestId::Number(2);
    assert!(!takes(&ledger, answer(1), None));
    assert!(!takes(&ledger, answer(1), Some(&here)), "in the answer to another");
    let nameless = json!({"id": null, "error": {"code": -32603, "message": "whose?"}});
    assert!(!takes(&ledger, nameless, None), "it may belong to what was given up");
    assert!(matches!(waiting.state(), State::Written { .. }));
    assert!(takes(&ledger, answer(2), None));
}

#[test]
fn response_before_the_request_is_sent_is_ignored() {
    let ledger = ledger();
    let (ticket, _outgoing) = queued(&ledger);
    assert!(!takes(&ledger, answer(1), None));
    assert!(!takes(&ledger, json!({"id": null, "error": {}}), None));
    assert!(matches!(ticket.state(), State::Queued));
}

#[test]
fn id_written_as_a_float_is_the_integer() {
    let ledger = ledger();
    let [first, second] = [(); 2].map(|()| written(&ledger));
    assert!(takes(&ledger, json!({"id": 1.0, "result": {}}), Some(&second.id())), "in the answer to another");
    assert!(matches!((first.state(), second.state()), (State::Answered(_), State::Written { .. })));
    let asked = ledger.received(json!({"id": 1.0, "method": "ping"}), None);
    assert!(matches!(asked, Some(Incoming::Question(Question { id: RequestId::Number(1), .. }))), "{asked:?}");
}

#[test]
fn stop_fails_unsent_requests_and_leaves_sent_ones_pending() {
    let ledger = ledger();
    let sent = written(&ledger);
    let (waiting, outgoing) = queued(&ledger);
    ledger.stop(&Failure::not_sent("no more"));
    assert!(!ledger.is_open());
    assert_eq!(failure_of(&waiting).dispatched, Dispatched::No);
    assert!(!outgoing.begin_write(None));
    let refused = admit(&ledger, 100, Terms::default()).map(drop).expect_err("it is closed");
    assert_eq!((refused.dispatched, refused.message.as_str()), (Dispatched::No, "no more"));
    assert!(takes(&ledger, answer(1), None));
    assert!(matches!(sent.state(), State::Answered(_)));
    assert_eq!(ledger.open_requests(), 0);
}

#[test]
fn bytes_read_by_the_server_decide_the_outcome_on_close() {
    let ledger = ledger();
    let tickets = [(); 3].map(|()| written(&ledger));
    // The second lacks its last byte, which may be a mere line's end; the third lacks more.
    ledger.close(&Failure::lost("gone"), Some(199));
    let dispatched = tickets.map(|ticket| failure_of(&ticket).dispatched);
    assert_eq!(dispatched, [Dispatched::Unknown, Dispatched::Unknown, Dispatched::No]);
    assert_eq!(ledger.open_requests(), 0);

    let (ledger, ticket) = awaiting();
    ledger.close(&Failure::lost("gone"), None);
    assert_eq!(failure_of(&ticket).dispatched, Dispatched::Unknown);
}

#[test]
fn pending_requests_are_bounded() {
    let ledger = ledger();
    let (large, _outgoing) = admit(&ledger, 5 * MOST_QUEUED_BYTES, Terms::default()).expect("nothing else waits");
    let refused = admit(&ledger, 1, Terms::default()).map(drop).expect_err("too many bytes");
    assert_eq!(refused.dispatched, Dispatched::No);
    ledger.give_up(&large);
    let half = || admit(&ledger, MOST_QUEUED_BYTES / 2, Terms::default()).expect("both fit exactly");
    for (ticket, _outgoing) in [half(), half()] {
        ledger.give_up(&ticket);
    }
    let first = written(&ledger);
    let _queued: Vec<_> = (0..MOST_QUEUED).map(|_| queued(&ledger)).collect();
    let refused = admit(&ledger, 1, Terms::default()).map(drop).expect_err("too many requests");
    assert!(refused.message.contains("16384 requests are already waiting"), "{}", refused.message);
    assert!(matches!(first.state(), State::Written { .. }));
}

#[test]
fn message_dropped_by_the_transport_fails_its_request() {
    let ledger = ledger();
    let (ticket, outgoing) = queued(&ledger);
    drop(outgoing);
    assert_eq!(failure_of(&ticket).dispatched, Dispatched::No);
    let (ticket, outgoing) = queued(&ledger);
    outgoing.begin_write(None);
    drop(outgoing);
    assert_eq!(failure_of(&ticket).dispatched, Dispatched::Unknown);
    assert_eq!(ledger.open_requests(), 0);
}

#[test]
fn transport_is_told_whether_a_message_is_still_to_be_sent_and_answered() {
    let ledger = ledger();
    let state = |outgoing: &Outgoing| (outgoing.may_leave(), outgoing.is_unwanted(), outgoing.is_settled());
    let (ticket, outgoing) = queued(&ledger);
    assert_eq!(state(&outgoing), (true, false, false));
    ledger.give_up(&ticket);
    assert_eq!(state(&outgoing), (false, true, true));
    let late = Terms::from(Patience::strictly(Duration::ZERO));
    let (_, outgoing) = admit(&ledger, 100, late).expect("there is room");
    assert_eq!(state(&outgoing), (false, true, false));
    ledger.list_changes.mark_changed();
    for (list, expected) in [(0, (false, true, true)), (1, (true, false, false))] {
        let terms = Terms { list: Some(list), ..Terms::default() };
        let (_, outgoing) = admit(&ledger, 100, terms).expect("there is room");
        assert_eq!(state(&outgoing), expected, "allowed for list {list}");
    }
    assert_eq!(state(&ledger.queued(&notification())), (true, false, false));
}

#[test]
fn witness_sees_messages_of_both_sides() {
    #[derive(Default)]
    struct Seen(Mutex<Vec<Value>>);
    impl Witness for Seen {
        fn sent(&self, message: &Message) {
            lock(&self.0).push(json!({ "sent": message }));
        }
        fn answered(&self, id: &RequestId, answer: &Result<Value, ErrorData>) {
            lock(&self.0).push(json!({ "answered": id, "is_ok": answer.is_ok() }));
        }
        fn called(&self, fields: &Map<String, Value>) {
            lock(&self.0).push(json!({ "called": fields }));
        }
    }
    let (ledger, seen) = (ledger(), Arc::new(Seen::default()));
    assert!(ledger.witness.set(seen.clone()).is_ok());
    ledger.queued(&notification());
    written(&ledger);
    for message in [answer(1), json!({ "method": "m" })] {
        ledger.received(message, None);
    }
    let expected = [
        json!({ "sent": { "jsonrpc": "2.0", "method": "notifications/initialized" } }),
        json!({ "sent": { "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "t" } } }),
        json!({ "answered": 1, "is_ok": true }),
        json!({ "called": { "method": "m" } }),
    ];
    assert_eq!(*lock(&seen.0), expected);
}

#[cfg(feature = "http")]
#[test]
fn refused_message_can_be_queued_again() {
    let ledger = ledger();
    let (ticket, outgoing) = queued(&ledger);
    assert!(outgoing.begin_write(None));
    outgoing.returned();
    assert!(matches!(ticket.state(), State::Queued));
    assert!(outgoing.begin_write(None));
    outgoing.written();
    assert!(takes(&ledger, answer(1), None));
    assert_eq!(ledger.open_requests(), 0);
}

#[test]
fn ledger_closes_after_several_timeouts_without_any_message() {
    let timeout = Duration::from_millis(3);
    let ledger = Ledger::new(timeout, Redactor::default());
    for round in 1..=TIMEOUTS_WITHOUT_A_SIGN {
        assert!(ledger.is_open(), "round {round}");
        // Concurrent requests count once.
        let tickets: Vec<Arc<Ticket>> = (0..9).map(|_| written(&ledger)).collect();
        std::thread::sleep(timeout);
        for ticket in &tickets {
            ledger.time_out(ticket);
        }
    }
    assert!(!ledger.is_open());
    assert!(admit(&ledger, 1, Terms::default()).is_err());
}

#[test]
fn any_message_resets_the_count_of_timeouts() {
    let ledger = Ledger::new(Duration::from_millis(1), Redactor::default());
    for _ in 1..9 {
        let ticket = written(&ledger);
        std::thread::sleep(Duration::from_millis(2));
        ledger.time_out(&ticket);
        ledger.received(json!({"method": "notifications/message", "params": {"level": "info", "data": 1}}), None);
    }
    assert!(ledger.is_open());
    // Short timeouts are weak evidence.
    let ledger = self::ledger();
    for _ in 20..60 {
        let ticket = written(&ledger);
        ledger.time_out(&ticket);
    }
    assert!(ledger.is_open());
}

#[test]
fn progress_belongs_to_its_request() {
    let ledger = ledger();
    let tickets = [(); 2].map(|()| written(&ledger));
    let progress =
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 2, "progress": 1}});
    assert!(!takes(&ledger, progress, None));
    assert_eq!(tickets.map(|ticket| lock(&ticket.progress).is_some()), [false, true]);
}

#[test]
fn acknowledged_subscription_receives_notifications_until_cancelled() {
    let ledger = ledger();
    let open = || {
        let terms = Terms { is_subscription: true, ..Terms::default() };
        let (ticket, outgoing) = admit(&ledger, 100, terms).expect("there is room");
        assert!(outgoing.begin_write(None));
        outgoing.written();
        (ticket, outgoing)
    };
    let [(first, outgoing), (second, _)] = [open(), open()];
    let acknowledged = json!({
        "method": "notifications/subscriptions/acknowledged",
        "params": {
            "notifications": {"toolsListChanged": true},
            "_meta": {"io.modelcontextprotocol/subscriptionId": 1},
        },
    });
    assert!(!takes(&ledger, acknowledged, None));
    assert!(matches!(first.state(), State::Acknowledged));
    assert_eq!(lock(&first.covered).take(), Some(json!({"toolsListChanged": true})));
    assert!(lock(&second.covered).is_none(), "it has another id");
    outgoing.returned();
    assert!(matches!(first.state(), State::Queued), "it is sent again");
    assert!(outgoing.begin_write(None));
    let nameless = json!({"id": null, "error": {"code": -32700, "message": "parse"}});
    assert!(!takes(&ledger, nameless, None), "it answers no subscription");
    let cancelled = |id| json!({"method": "notifications/cancelled", "params": {"requestId": id}});
    assert!(matches!(ledger.received(cancelled(1), None), Some(Incoming::Cancelled(RequestId::Number(1)))));
    assert!(matches!(first.state(), State::Failed(_)));
    assert!(matches!(second.state(), State::Written { .. }));
    assert!(takes(&ledger, answer(2), None));
}

#[test]
fn servers_cancel_subscriptions_but_not_calls() {
    let (ledger, ticket) = awaiting();
    ledger.received(json!({"method": "notifications/cancelled", "params": {"requestId": 1}}), None);
    assert!(matches!(ticket.state(), State::Written { .. }));
}

#[test]
fn result_passes_through_unchanged() {
    let sent = json!({"content": [], "tools": 5, "b": 1, "a": null});
    for id in [json!(1), json!("1")] {
        assert_eq!(outcome_of(json!({"jsonrpc": "2.0", "id": id, "result": sent})), Some(Ok(sent.clone())));
    }
}

#[test]
fn unreadable_value_drops_a_list_item_or_a_whole_result() {
    let list = br#"{"id": 1, "result": {"tools": [{"name": "a", "maximum": 1e400}, {"name": "\ud800"}]}}"#;
    let list = outcome_of(messages::parse(list).expect("it is mended")).expect("it is answered").expect("a result");
    assert_eq!(list["tools"][1]["name"], "\u{fffd}");
    for result in [
        r#"{"content": [], "structuredContent": {"n": 1e400}}"#,
        r#"{"content": [], "tools": [1e400]}"#,
        r#"{"n": 1e400}, "error": null"#,
    ] {
        let message = messages::parse(format!(r#"{{"id": 1, "result": {result}}}"#).as_bytes()).expect("it is mended");
        assert!(message.get("result").is_none(), "{message}");
        let (ledger, ticket) = awaiting();
        assert!(takes(&ledger, message, None));
        let failure = failure_of(&ticket);
        assert_eq!(failure.dispatched, Dispatched::Yes);
        assert!(failure.message.contains("cannot be read"), "{failure:?}");
    }
    assert_eq!(messages::parse(b"Listening on 1e400"), None);
}

#[test]
fn invalid_unicode_is_replaced_in_results() {
    for text in [
        &br#"{"id": 1, "result": {"content": ["a\udfffb"]}}"#[..],
        b"{\"id\": 1, \"result\": {\"content\": [\"a\xffb\"]}}",
    ] {
        let result = outcome_of(messages::parse(text).expect("it is mended"));
        assert_eq!(result, Some(Ok(json!({"content": ["a\u{fffd}b"]}))));
    }
}

#[test]
fn error_without_an_id_fails_the_only_pending_request() {
    let error = json!({"id": null, "error": {"code": -32700, "message": "parse"}});
    let (ledger, ticket) = awaiting();
    assert!(takes(&ledger, error.clone(), None));
    assert!(ticket.take_answer().is_some_and(|answer| answer.is_err()));
    assert!(!takes(&ledger, error.clone(), None));
    let (ledger, _) = awaiting();
    written(&ledger);
    assert!(!takes(&ledger, error, None), "it may belong to either");
}

#[test]
fn error_without_an_id_is_ignored_if_a_notification_may_be_meant() {
    let nameless = |code: i64| json!({"id": null, "error": {"code": code, "message": "whose?"}});
    for code in [-32601, -32603, -32000, 1] {
        let (ledger, _) = awaiting();
        assert!(takes(&ledger, answer(1), None));
        written(&ledger);
        assert!(!takes(&ledger, nameless(code), None), "{code} is about a message that was read");
        let mut both = nameless(code);
        both["result"] = Value::Null;
        assert!(!takes(&ledger, both, None), "{code} beside a result is about it as well");
        assert!(outcome_of(nameless(code)).is_some(), "nothing else was sent");
    }
    let ledger = self::ledger();
    ledger.queued(&notification());
    written(&ledger);
    assert!(!takes(&ledger, nameless(-32601), None), "the notification was sent before");
    let (ledger, _) = awaiting();
    ledger.queued(&notification());
    let ticket = written(&ledger);
    assert!(takes(&ledger, answer(1), None));
    assert!(!takes(&ledger, nameless(-32600), None), "the notification may be meant");
    assert!(matches!(ticket.state(), State::Written { .. }));
    // A server that has answered this request has read the notification.
    assert!(takes(&ledger, answer(2), None));
    written(&ledger);
    assert!(takes(&ledger, nameless(-32600), None));
    let (ledger, _) = awaiting();
    ledger.queued(&notification());
    assert!(takes(&ledger, nameless(-32601), Some(&RequestId::Number(1))), "it comes with the answer");
}

#[test]
fn unmatched_response_is_ignored() {
    for message in [json!({"id": 2, "result": {}}), json!([1]), json!({"id": 2})] {
        assert_eq!(outcome_of(message), None);
    }
}

#[test]
fn request_of_the_server_is_taken_up_to_a_length_of_its_id_and_method() {
    for (length, is_taken) in [(LONGEST_NAME, true), (LONGEST_NAME + 1, false)] {
        let long = "n".repeat(length);
        for message in [json!({"id": 1, "method": long}), json!({"id": long, "method": "m"})] {
            assert_eq!(ledger().received(message, None).is_some(), is_taken, "{length} bytes");
        }
    }
}

#[test]
fn response_without_result_or_error_fails_its_request() {
    let (ledger, ticket) = awaiting();
    assert!(takes(&ledger, json!({"id": 1}), None));
    assert!(failure_of(&ticket).message.contains("neither"));
}

#[test]
fn response_with_an_invented_id_completes_the_exchange() {
    let message = json!({"id": "server-error", "error": {"code": -32600, "message": "no"}});
    let (ledger, _) = awaiting();
    assert!(!takes(&ledger, message.clone(), None));
    assert!(takes(&ledger, message, Some(&RequestId::Number(1))));
}

#[test]
fn answered_requests_are_counted() {
    let (ledger, _ticket) = awaiting();
    assert_eq!(ledger.answers(), 0);
    assert!(takes(&ledger, answer(1), None));
    assert_eq!(ledger.answers(), 1);
}
