//! The state that a client keeps for the proxy (`requestState`) while a person is asked.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_bindgen_model::canonical_json;
use mcp_bindgen_runtime::middleware::ApprovalRequest;
use serde_json::{Map, Value, json};

use super::signer::{Signer, Unsigned};

/// How long a person may think about it.
const LIFETIME: Duration = Duration::from_secs(15 * 60);

/// How far the call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// A person is asked.
    Asked,
    /// A person has approved it, and the server asks something more.
    Approved,
    /// Nothing was asked by this proxy: it is a state of the server's that looks like the proxy's own, as another proxy's does.
    Passed,
}

/// The signed state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Claims {
    pub(crate) standing: Standing,
    /// Of server, tool and arguments: an approval is of one call and no other. Of what is asked now.
    pub(crate) asked: Option<String>,
    /// Likewise, of what was approved before: layers may ask about a call that each of them changes.
    pub(crate) approved: Vec<String>,
    /// By which the state is known where it comes a second time.
    pub(crate) nonce: String,
    pub(crate) expires: SystemTime,
    /// The state that the server wants back.
    pub(crate) upstream: Option<String>,
    /// The client's answers to the server before it was asked.
    pub(crate) responses: Option<Map<String, Value>>,
}

impl Claims {
    pub(crate) fn new(standing: Standing, nonce: String, upstream: Option<String>) -> Self {
        let expires = SystemTime::now() + LIFETIME;
        Self { standing, asked: None, approved: Vec::new(), nonce, expires, upstream, responses: None }
    }

    /// As a client keeps it.
    pub(crate) fn signed(&self, signer: &Signer) -> String {
        let standing = match self.standing {
            Standing::Asked => "asked",
            Standing::Approved => "approved",
            Standing::Passed => "passed",
        };
        let expires = self.expires.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let claims = json!({
            "standing": standing, "call": self.asked, "approved": self.approved, "nonce": self.nonce, "expires": expires,
            "state": self.upstream, "responses": self.responses,
        });
        signer.sign(&claims)
    }

    /// Reads the state that a client gives back; `Ok(None)` where it is not the proxy's own.
    pub(crate) fn read(signer: &Signer, state: &str) -> Result<Option<Self>, Unsigned> {
        let Some(claims) = signer.read(state)? else { return Ok(None) };
        let text = |key: &str| claims.get(key).and_then(Value::as_str).map(str::to_owned);
        let standing = match claims.get("standing").and_then(Value::as_str) {
            Some("asked") => Standing::Asked,
            Some("approved") => Standing::Approved,
            Some("passed") => Standing::Passed,
            _ => return Err(Unsigned),
        };
        let expires = claims.get("expires").and_then(Value::as_u64).ok_or(Unsigned)?;
        Ok(Some(Self {
            standing,
            asked: text("call"),
            approved: claims
                .get("approved")
                .and_then(Value::as_array)
                .ok_or(Unsigned)?
                .iter()
                .filter_map(|digest| Some(digest.as_str()?.to_owned()))
                .collect(),
            nonce: text("nonce").ok_or(Unsigned)?,
            expires: UNIX_EPOCH + Duration::from_secs(expires),
            upstream: text("state"),
            responses: claims.get("responses").and_then(Value::as_object).cloned(),
        }))
    }

    pub(crate) fn has_expired(&self) -> bool {
        self.expires <= SystemTime::now()
    }
}

/// Returns the digest of a call.
pub(crate) fn digest_of(request: &ApprovalRequest) -> String {
    let principal = request.caller.as_ref().and_then(|caller| caller.principal.as_deref());
    digest((&request.server, &request.tool), &request.arguments, principal)
}

fn digest((server, tool): (&str, &str), arguments: &Map<String, Value>, principal: Option<&str>) -> String {
    let call = canonical_json(&json!([server, tool, arguments, principal]));
    super::signer::base64(&mcp_bindgen_model::sha256(call.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn what_was_signed_comes_back_and_nothing_else_does() {
        let signer = Signer::new(Vec::new()).expect("there are random numbers");
        let mut claims = Claims::new(Standing::Asked, signer.nonce(), Some("opaque".to_owned()));
        (claims.asked, claims.approved) = (Some("d".to_owned()), vec!["c".to_owned()]);
        let state = claims.signed(&signer);
        let read = Claims::read(&signer, &state).expect("it is signed").expect("it is ours");
        assert_eq!((read.standing, &read.asked, &read.nonce), (Standing::Asked, &claims.asked, &claims.nonce));
        assert_eq!((&read.approved, &read.responses), (&claims.approved, &None));
        assert_eq!(read.upstream.as_deref(), Some("opaque"));
        assert!(!read.has_expired());

        assert_eq!(Claims::read(&signer, "a server's own"), Ok(None));
        let other = Signer::new(Vec::new()).expect("there are random numbers");
        assert_eq!(Claims::read(&other, &state), Err(Unsigned));
        // Each of its letters counts, the last of each part only in its upper bits.
        for at in 0..state.len() {
            let mut bytes = state.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'w' } else { b'A' };
            let altered = String::from_utf8(bytes).expect("it is text");
            let read = Claims::read(&signer, &altered);
            assert!(read == Err(Unsigned) || read == Ok(None), "{at}: {altered} {read:?}");
        }
    }

    #[test]
    fn a_call_is_known_by_all_of_it_and_not_by_its_order() {
        let one = digest(("s", "t"), &arguments(json!({ "a": 1, "b": { "c": 2, "d": 3 } })), None);
        assert_eq!(one, digest(("s", "t"), &arguments(json!({ "b": { "d": 3, "c": 2 }, "a": 1 })), None));
        for other in [
            digest(("s", "t"), &arguments(json!({ "a": 1, "b": { "c": 2, "d": 4 } })), None),
            digest(("s", "t"), &arguments(json!({ "a": 1, "b": { "c": 2, "d": 3 } })), Some("ann")),
            digest(("s", "u"), &arguments(json!({ "a": 1, "b": { "c": 2, "d": 3 } })), None),
            digest(("r", "t"), &arguments(json!({ "a": 1, "b": { "c": 2, "d": 3 } })), None),
        ] {
            assert_ne!(one, other);
        }
    }
}
