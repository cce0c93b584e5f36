//! Selects the private values of a server's configuration, after its placeholders were replaced.

use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use mcp_bindgen_model::{ServerConfig, Transport};

use super::forms;

const SHORTEST: usize = 4;
/// The minimum length of a literal under a harmless key, or of a line of a longer value. Shorter ones may be words.
const SHORTEST_UNSURE: usize = 8;
const LONGEST_WORD: usize = 12;
const SCHEMES: [&str; 7] = ["bearer", "basic", "token", "digest", "apikey", "api-key", "negotiate"];
/// Variables that are on every machine, and secret on none.
const HARMLESS: &str = "\
    APPDATA,EDITOR,HOME,HOSTNAME,LANG,LOCALAPPDATA,LOGNAME,OS,PATH,PWD,SHELL,TEMP,TERM,TMP,TMPDIR,USER,USERNAME,\
    USERPROFILE";
/// Words that mean something in every text, even as the value of a password.
const ORDINARY: &str = "\
    admin,anonymous,auto,basic,bearer,console,critical,debug,default,demo,dev,development,disable,disabled,docker,\
    enable,enabled,error,example,false,file,guest,http,https,info,json,latest,local,localhost,main,master,model,\
    node,none,null,password,prod,production,public,python,readonly,root,secret,server,silent,staging,stdio,string,\
    test,testing,text,token,trace,true,undefined,user,utf-8,verbose,warn,warning";

/// A kind of characters.
type Chars = fn(char) -> bool;

/// The origin of a value in the configuration.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Under a key, or in a form, that secrets have.
    Secret,
    /// From outside of the configuration.
    Handed,
    /// Written out under a harmless key.
    Written,
    /// Part of an argument or a path.
    Part,
}

/// The private values, each with whether it is unmistakable. Some are there more than once.
#[derive(Clone, Default)]
pub(crate) struct PrivateValues {
    pub(super) found: Vec<(String, bool)>,
    /// The program, which messages name.
    program: String,
}

impl PrivateValues {
    /// Creates the values of a configuration whose placeholders are replaced.
    pub(crate) fn of(config: &ServerConfig) -> Self {
        let mut values = Self::default();
        values.secrets_of(config);
        match &config.transport {
            Transport::Stdio { command, args, .. } => {
                values.program.clone_from(command);
                args.iter().for_each(|argument| values.add(argument, Origin::Part));
            }
            Transport::Http { url, headers } | Transport::Sse { url, headers } => {
                values.add(url, Origin::Written);
                headers.values().for_each(|value| values.add(value, Origin::Written));
            }
        }
        config.env.values().for_each(|value| values.add(value, Origin::Written));
        values
    }

    /// Adds the value of a placeholder, or of a variable that the server inherits.
    pub(crate) fn handed(&mut self, name: &str, value: &str) {
        if HARMLESS.split(',').any(|harmless| harmless == name) {
            return;
        }
        self.add(value, Origin::Handed);
        // The same as if it were written out under that name.
        self.secrets_of(&ServerConfig::stdio("", "").env(name, value));
    }

    /// Adds a value that is certainly secret.
    pub(crate) fn secret(&mut self, value: &str) {
        self.add(value, Origin::Secret);
    }

    fn secrets_of(&mut self, config: &ServerConfig) {
        config.secrets().iter().for_each(|value| self.add(value, Origin::Secret));
    }

    fn add(&mut self, value: &str, origin: Origin) {
        self.add_credentials(value);
        let has_url = value.contains("://");
        if has_url {
            self.add_url(value);
        }
        if origin == Origin::Part {
            let between: Chars = |c| c.is_whitespace() || "\"'`,;:=&?/\\@()[]{}<>".contains(c);
            value.split(between).for_each(|part| self.keep(part, origin));
            return;
        }
        if !(has_url && origin != Origin::Secret) {
            self.keep(value, origin);
        }
        let lines = value.replace("\\n", "\n");
        for line in lines.split('\n') {
            if line.len() < lines.len() && line.len() >= SHORTEST_UNSURE && !line.starts_with("-----") {
                self.keep(line, origin);
            }
        }
    }

    fn keep(&mut self, value: &str, origin: Origin) {
        let value = value.trim();
        if is_ordinary(value, origin) || (value == self.program && origin != Origin::Secret) {
            return;
        }
        let is_word = value.chars().all(char::is_alphabetic);
        let is_sure = value.len() >= SHORTEST_UNSURE
            && match origin {
                Origin::Secret => true,
                Origin::Handed => !is_word,
                Origin::Written | Origin::Part => is_random(value),
            };
        self.found.push((value.to_owned(), is_sure));
    }

    /// Adds the credentials of `Bearer X` or `Basic X`: the receiver sees only `X` or its decoded form.
    fn add_credentials(&mut self, value: &str) {
        let between: Chars = |c| c.is_whitespace() || "\"'`,;:=".contains(c);
        let words: Vec<&str> = value.split_whitespace().collect();
        for (at, word) in words.iter().enumerate() {
            let scheme = word.rsplit(between).next().unwrap_or_default().to_ascii_lowercase();
            let Some(credentials) = words.get(at + 1).filter(|_| SCHEMES.contains(&&*scheme)) else { continue };
            let credentials = credentials.trim_matches(between);
            // `Token abc` inside a sentence is not a credential.
            if credentials.len() < SHORTEST_UNSURE && at + 2 < words.len() {
                continue;
            }
            self.keep(credentials, Origin::Secret);
            if let Some(login) = decoded(credentials).filter(|_| scheme == "basic") {
                self.add_login(&login);
            }
        }
    }

    fn add_login(&mut self, login: &str) {
        self.keep(login, Origin::Secret);
        match login.split_once(':') {
            Some((user, password)) if !password.is_empty() => {
                self.keep(user, Origin::Part);
                self.keep(password, Origin::Secret);
            }
            _ => self.keep(login.trim_end_matches(':'), Origin::Written),
        }
    }

    /// Adds the private parts of a URL: the user, the query, and random parts of the path.
    fn add_url(&mut self, text: &str) {
        for (at, _) in text.match_indices("://") {
            let rest = text.get(at + 3..).unwrap_or_default();
            let ends: Chars = |c| c.is_whitespace() || "\"'`<>".contains(c);
            let end = rest.find(ends).unwrap_or(rest.len());
            let url = rest.get(..end).unwrap_or_default();
            let authority = url.split(['/', '?', '#']).next().unwrap_or_default();
            if let Some((login, _)) = authority.rsplit_once('@') {
                self.add_login(login);
                if let Some(login) = forms::decode(login) {
                    self.add_login(&login);
                }
            }
            let after = url.get(authority.len()..).unwrap_or_default();
            let (path, query) = after.split_at(after.find(['?', '#']).unwrap_or(after.len()));
            path.split('/').for_each(|segment| self.keep(segment, Origin::Part));
            for pair in query.split(['?', '#', '&']) {
                self.keep(pair.split_once('=').map_or(pair, |(_, value)| value), Origin::Written);
            }
        }
    }
}

/// Returns `true` if a text would be unreadable without it.
fn is_ordinary(value: &str, origin: Origin) -> bool {
    let is_short = value.len() < SHORTEST || ORDINARY.split(',').any(|word| value.eq_ignore_ascii_case(word));
    let all = |of: &dyn Fn(char) -> bool| value.chars().all(of);
    let is_number = all(&|c| c.is_ascii_digit());
    let is_version = value.contains('.') && all(&|c| c.is_ascii_digit() || ".:v".contains(c));
    let is_date = value.len() == 10 && value.split('-').count() == 3 && all(&|c| c.is_ascii_digit() || c == '-');
    let is_known_form = || is_version || is_date || is_path(value);
    is_short
        || match origin {
            Origin::Secret => false,
            Origin::Handed => (is_number && value.len() < 6) || is_known_form(),
            Origin::Written => {
                let is_word = value.len() <= LONGEST_WORD && all(&char::is_alphabetic);
                value.len() < SHORTEST_UNSURE || is_word || is_known_form() || is_host(value)
            }
            Origin::Part => value.len() < SHORTEST_UNSURE || is_known_form() || !is_random(value),
        }
}

fn is_path(value: &str) -> bool {
    let on_drive = value.get(1..3).is_some_and(|after| after == ":\\" || after == ":/");
    let starts_so = ["/", "./", "../", "~/"].iter().any(|start| value.starts_with(start)) || on_drive;
    let between: Chars = |c| "/\\:,".contains(c);
    starts_so && !value.contains(char::is_whitespace as Chars) && !value.split(between).any(is_random)
}

/// Returns `true` for a host such as `api.example.com:443`.
fn is_host(value: &str) -> bool {
    let host = value.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let host = host.map_or(value, |(host, _)| host);
    let last = host.rsplit('.').next().unwrap_or_default();
    host.contains('.')
        && last.len() >= 2
        && last.bytes().all(|b| b.is_ascii_lowercase())
        && host.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b".-".contains(&b))
        && !is_random(host)
}

/// Returns `true` if letters and digits are mixed as in no word, version or name of a model.
fn is_random(value: &str) -> bool {
    let (mut length, mut changes, mut was_digit) = (0, 0, false);
    value.len() >= SHORTEST_UNSURE
        && value.bytes().any(|b| {
            changes = if length == 0 { 0 } else { changes + usize::from(b.is_ascii_digit() != was_digit) };
            length = if b.is_ascii_alphanumeric() { length + 1 } else { 0 };
            was_digit = b.is_ascii_digit();
            (length >= 6 && changes >= 2) || (length >= LONGEST_WORD && changes >= 1)
        })
}

fn decoded(credentials: &str) -> Option<String> {
    let bytes = BASE64_STANDARD_NO_PAD.decode(credentials.trim_end_matches('='));
    String::from_utf8(bytes.ok()?).ok().filter(|login| login.contains(':'))
}
