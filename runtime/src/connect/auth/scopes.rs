//! Which scopes to ask for.

const OFFLINE: &str = "offline_access";

/// The inputs for choosing scopes.
#[derive(Default)]
pub(super) struct Known<'a> {
    /// The scopes that the program sets.
    pub(super) configured: Option<&'a [String]>,
    /// The scopes of the challenge.
    pub(super) challenged: Option<Vec<String>>,
    /// The scopes of the resource's metadata.
    pub(super) of_resource: Option<&'a [String]>,
    /// The scopes of the authorization server's metadata, if it issues refresh tokens.
    pub(super) of_server: Option<&'a [String]>,
    /// The scopes of the token that is not enough any more.
    pub(super) granted: &'a [String],
}

/// Returns the scopes of a request, in the protocol's order: those of the challenge, or else all that the resource
/// names, or none. Granted scopes are requested again, or one operation's token would lose the scopes of another.
pub(super) fn select(known: Known<'_>) -> Vec<String> {
    let first = match (known.challenged, known.configured) {
        // The program's scopes precede those of the challenge; missing ones are added.
        (challenged, Some(configured)) if !known.granted.is_empty() => {
            let mut scopes = configured.to_vec();
            extend(&mut scopes, challenged.unwrap_or_default());
            scopes
        }
        (_, Some(configured)) => configured.to_vec(),
        (Some(challenged), None) => challenged,
        (None, None) => known.of_resource.unwrap_or_default().to_vec(),
    };
    let mut scopes = Vec::new();
    extend(&mut scopes, known.granted.iter().cloned());
    extend(&mut scopes, first);
    // Without any scope the server gives its default ones; naming this one alone would lose them.
    if !scopes.is_empty() && known.of_server.is_some_and(|of_server| of_server.iter().any(|scope| scope == OFFLINE)) {
        extend(&mut scopes, [OFFLINE.to_owned()]);
    }
    scopes
}

/// Returns `true` if `granted` contains all of `wanted`.
pub(super) fn covers(granted: &[String], wanted: &[String]) -> bool {
    wanted.iter().all(|scope| granted.contains(scope))
}

fn extend(scopes: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    for scope in more {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn configured_scopes_precede_challenge_which_precedes_resource() {
        let resource = list("read write");
        let known = || Known { of_resource: Some(&resource), ..Known::default() };
        assert_eq!(select(Known { challenged: Some(list("basic")), ..known() }), list("basic"));
        assert_eq!(select(known()), resource);
        assert_eq!(select(Known::default()), Vec::<String>::new());
        let configured = list("mine");
        let both = Known { configured: Some(&configured), challenged: Some(list("basic")), ..known() };
        assert_eq!(select(both), configured);
    }

    #[test]
    fn step_up_retains_granted_scopes() {
        let granted = list("basic");
        assert_eq!(
            select(Known { challenged: Some(list("write basic")), granted: &granted, ..Known::default() }),
            list("basic write")
        );
        let configured = list("mine");
        let known = Known {
            configured: Some(&configured),
            challenged: Some(list("write")),
            granted: &granted,
            ..Known::default()
        };
        assert_eq!(select(known), list("basic mine write"));
    }

    #[test]
    fn offline_access_is_requested_if_the_server_supports_it() {
        let (of_server, without) = (list("basic offline_access"), list("basic"));
        let known = |of_server| Known { challenged: Some(list("basic")), of_server, ..Known::default() };
        assert_eq!(select(known(Some(&of_server))), list("basic offline_access"));
        assert_eq!(select(known(Some(&without))), list("basic"));
        assert_eq!(select(Known { of_server: Some(&of_server), ..Known::default() }), Vec::<String>::new());
    }
}
