//! OAuth on the command line: with stored tokens, in a browser, or by pasting an address.

use std::io::{self, BufRead};

use mcp_bindgen_model::{ServerConfig, Transport};
use mcp_bindgen_runtime::{ClientOptions, LocalTokenStore, OAuth};

use crate::terminal;

/// The program as authorization servers show it to users.
const NAME: &str = "mcp-bindgen";
/// The beginning of the address that a user pastes. No program listens at it.
const PASTED: &str = "http://127.0.0.1/callback";

/// The way in which a user is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Not at all: only stored tokens are used.
    Stored,
    /// In a browser on this machine.
    Browser,
    /// In any browser: the user pastes the final address.
    Pasted,
}

/// Returns the options of a client with the authorization of its server. Servers that ask for none are not affected.
pub(crate) fn authorized(server: &ServerConfig, options: ClientOptions) -> ClientOptions {
    let way = if terminal::is_there() { Way::Browser } else { Way::Stored };
    if takes_tokens(server) { options.authorization(oauth(&server.name, way)) } else { options }
}

/// Returns `true` for a server at a URL without an `Authorization` header of its own.
pub(crate) fn takes_tokens(server: &ServerConfig) -> bool {
    let (Transport::Http { headers, .. } | Transport::Sse { headers, .. }) = &server.transport else { return false };
    !headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
}

/// Returns the authorization of a server. Tokens are kept for the user of this machine.
pub(crate) fn oauth(server: &str, way: Way) -> OAuth {
    let oauth = OAuth::new().client_name(NAME).store(LocalTokenStore::new()).wait_for_user();
    let server = server.to_owned();
    match way {
        Way::Stored => oauth,
        Way::Browser => oauth.open_browser().on_url(move |url| {
            terminal::tell(&format!("Open this address in a browser to authorize {NAME} for `{server}`:\n{url}"));
        }),
        Way::Pasted => oauth.on_redirect(PASTED, move |url| {
            terminal::tell(&format!(
                "Open this address in a browser to authorize {NAME} for `{server}`:\n{url}\n\
                 The browser then ends at a page that it cannot show. Paste the address of that page here:"
            ));
            async { terminal::apart(line).await.map_err(|failure| failure.message)?.map_err(|error| error.to_string()) }
        }),
    }
}

fn line() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim().to_owned())
}
