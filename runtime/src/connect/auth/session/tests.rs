use futures_util::future::pending;
use serde_json::json;
use tokio::sync::oneshot;

use super::super::secret::now;
use super::super::store::StoredTokens;
use super::*;
use crate::rpc::transports::http::network::Network;

fn session(settings: Settings) -> Session {
    let fetch = Fetch::new("https://a.example/mcp", Redactor::default(), Network::default());
    Session::new(settings, fetch.expect("a server"))
}

#[tokio::test]
async fn failed_renewal_of_another_request_does_not_fail_a_refused_request() {
    let session = session(Settings::default());
    let (running, ends) = oneshot::channel::<()>();
    let renewal = ends.map(|_| Err("no answer".to_owned())).boxed().shared();
    *lock(&session.attempt) = Some((true, renewal));
    let need = Need::Refusal { challenge: BearerChallenge::default(), is_step_up: false, sent: None };
    let end = async { drop(running) };
    let (renewed, refused, ()) = tokio::join!(session.obtain(Need::Renewal), session.obtain(need), end);
    assert_eq!((renewed, refused), (Err("no answer".to_owned()), Ok(())));
}

#[tokio::test]
async fn free_lock_is_taken_without_patience() {
    let session = session(Settings { patience: Some(Duration::ZERO), ..Settings::default() });
    let _held = session.core.lock().await.expect("it is free");
    let error = session.core.lock().await.expect_err("it is held");
    assert!(error.contains("another process"), "{error}");
}

#[tokio::test]
async fn late_refusal_of_an_earlier_token_does_not_wait_for_a_user() {
    let session = session(Settings::default());
    let stored = r#"{"issuer":"i","tokens":{"access":"new","scopes":[],"resource":"r","client_id":"c"}}"#;
    *lock(&session.core.entry) = Some(Entry::parse(&StoredTokens::new(stored)));
    *lock(&session.attempt) = Some((false, pending().boxed().shared()));
    let challenge = |sent| {
        let sent = Some(HeaderValue::from_static(sent));
        Challenge { status: StatusCode::UNAUTHORIZED, values: Vec::new(), sent }
    };
    assert_eq!(session.answer(challenge("Bearer old")).now_or_never(), Some(Ok(true)));
    assert_eq!(session.answer(challenge("Bearer new")).now_or_never(), None);
}

#[test]
fn connecting_takes_longer_only_while_a_user_must_act_and_is_waited_for() {
    let session = |waits_for_user| session(Settings { waits_for_user, ..Settings::default() });
    let (waiting, other) = (session(true), session(false));
    assert_eq!(waiting.extra_time(), None);
    for session in [&waiting, &other] {
        *lock(&session.core.waits_for) = Some("waiting for a user".to_owned());
    }
    assert_eq!((waiting.extra_time(), other.extra_time()), (Some(Settings::default().patience()), None));
}

fn list(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// The metadata of a resource with these scopes, and of an authorization server.
fn found(scopes: &str, of_server: &str) -> Found {
    let metadata = json!({ "scopes_supported": list(of_server) });
    let server = AuthorizationServer { issuer: "https://auth.example".to_owned(), metadata };
    Found { resource: "https://a.example".to_owned(), scopes: list(scopes), server }
}

#[test]
fn configured_scopes_precede_challenge_which_precedes_resource() {
    let found = found("read write", "");
    assert_eq!(select(None, &list("basic"), &found, &[]), list("basic"));
    assert_eq!(select(None, &[], &found, &[]), list("read write"));
    assert_eq!(select(Some(&list("mine")), &list("basic"), &found, &[]), list("mine"));
}

#[test]
fn step_up_retains_granted_scopes() {
    let (found, granted) = (found("", ""), list("basic"));
    assert_eq!(select(None, &list("write basic"), &found, &granted), list("basic write"));
    assert_eq!(select(Some(&list("mine")), &list("write"), &found, &granted), list("basic mine write"));
}

#[test]
fn offline_access_is_requested_if_the_server_supports_it() {
    let select = |challenged, of_server| select(None, &list(challenged), &found("", of_server), &[]);
    assert_eq!(select("basic", "basic offline_access"), list("basic offline_access"));
    assert_eq!(select("basic", "basic"), list("basic"));
    assert_eq!(select("", "basic offline_access"), Vec::<String>::new());
}

fn tokens(access: &str, expires: Option<u64>) -> Tokens {
    let refresh = Some(Secret::new("refresh"));
    let (scopes, resource, client_id) = (list("basic"), "r".to_owned(), "me".to_owned());
    Tokens { access: Secret::new(access), refresh, expires, scopes, resource, client_id }
}

#[test]
fn refusal_is_met_by_another_fresh_token_that_covers_a_step_up() {
    let (new, old, stale) = (tokens("new", None), tokens("old", None), tokens("new", Some(0)));
    for (tokens, wanted, is_step_up, expected) in [
        (&new, "write", false, true),
        (&new, "basic", true, true),
        (&new, "write", true, false),
        (&old, "basic", false, false),
        (&old, "basic", true, false),
        (&stale, "basic", false, false),
        (&stale, "basic", true, false),
    ] {
        let challenge = BearerChallenge { scopes: list(wanted), ..BearerChallenge::default() };
        let need = Need::Refusal { challenge, is_step_up, sent: Some(Secret::new("old")) };
        assert_eq!(need.is_met_by(Some(tokens)), expected, "{tokens:?} {wanted} {is_step_up}");
    }
}

#[tokio::test]
async fn refused_request_is_not_repeated_with_the_same_token() {
    // Nothing listens there.
    let fetch = Fetch::new("http://127.0.0.1:1/mcp", Redactor::default(), Network::default()).expect("a server");
    let session = Session::new(Settings::default(), fetch);
    *lock(&session.core.entry) = Some(Entry { tokens: Some(tokens("old", None)), ..Entry::default() });
    let (running, ends) = oneshot::channel::<()>();
    let renewal = ends.map(|_| Err("no answer".to_owned())).boxed().shared();
    *lock(&session.attempt) = Some((true, renewal));
    let sent = Some(HeaderValue::from_static("Bearer old"));
    let challenge = Challenge { status: StatusCode::UNAUTHORIZED, values: Vec::new(), sent };
    let (answered, ()) = tokio::join!(session.answer(challenge), async { drop(running) });
    let error = answered.expect_err("the renewal of another request changed nothing");
    assert!(error.contains("127.0.0.1"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn failed_renewal_is_repeated_after_a_pause_or_once_the_token_has_ended() {
    let session = session(Settings::default());
    let core = &session.core;
    let expires = |seconds: u64| {
        *lock(&core.entry) = Some(Entry { tokens: Some(tokens("old", Some(seconds))), ..Entry::default() });
    };
    expires(now() + 20);
    assert!(core.may_renew());
    *lock(&core.renewal_failed) = Some(Instant::now());
    assert!(!core.may_renew());
    tokio::time::advance(RENEWAL_PAUSE / 2).await;
    assert!(!core.may_renew());
    expires(0);
    assert!(core.may_renew());
    expires(now() + 20);
    tokio::time::advance(RENEWAL_PAUSE / 2).await;
    assert!(core.may_renew());
}
