//! Keys of secret values, and values that are not secret.

/// The kind of value that a key suggests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A secret.
    Secret,
    /// A secret, or a count of such things: `MAX_TOKENS`.
    SecretOrCount,
    /// A secret, or a plain word: `AUTH=oauth`, `--key name`.
    SecretOrWord,
}

// The lists are words with blanks between them.

const SECRETS: &str = "\
    TOKEN TOKENS SECRET SECRETS PASSWD PASSPHRASE PASSCODE PWD CREDENTIAL CREDENTIALS CREDS APIKEY APIKEYS ACCESSKEY \
    ACCOUNTKEY AUTHKEY PRIVATEKEY SECRETKEY AUTHORIZATION BEARER PAT PSK JWT OTP SESSIONID SESSID";
/// Words like [`SECRETS`] that only count at the end of a key: `PASS_THROUGH` is not secret.
const SECRETS_AT_END: [&str; 7] = ["PASS", "PW", "COOKIE", "COOKIES", "SIG", "SIGNATURE", "SAS"];
/// The ends of words written as one: `authtoken`.
const SECRET_ENDINGS: [&str; 3] = ["TOKEN", "SECRET", "SESSID"];
/// Kinds of keys that open nothing.
const PUBLIC_KEYS: &str = "\
    BOARD CACHE CITATION COLUMN DEDUPE FIELD FOREIGN GROUP HOT IDEMPOTENCY INDEX ISSUE LOOKUP MAP OBJECT ORDER \
    PARTITION PRIMARY PROJECT PUBLIC RANGE REGISTRY ROUTING ROW SECTION SHORTCUT SORT SPACE UNIQUE WEBSOCKET";
/// Words at the end of keys that describe the place or the kind of a secret, not the secret.
const HARMLESS_ENDS: &str = "\
    ADDRESS ALG ALGORITHM AUDIENCE BACKEND BROWSER DATABASE DB DIR DIRECTORY DISABLED DOMAIN EMAIL ENABLED ENDPOINT \
    ENV FIELD FILE FILES FOLDER FORMAT HEADER HEADERS HOST ID IDS ISSUER LABEL LEVEL LOCATION MANAGER METHOD MODE \
    NAME PARAM PATH POLICY PORT PREFIX PROVIDER REALM REGION REQUIRED SCOPE SCOPES SERVER SERVICE STDIN STORE SUFFIX \
    TABLE TYPE URI URL USER USERNAME VAULT";
const HARMLESS_STARTS: [&str; 4] = ["NO", "DISABLE", "SKIP", "WITHOUT"];
const COUNTS: &str = "\
    AGE ATTEMPTS BITS BUDGET BYTES COUNT DAYS EXPIRATION EXPIRES EXPIRY HOURS INTERVAL KEYS LENGTH LIFETIME LIMIT \
    MAX MIN MINUTES NUM NUMBER PER RETRIES ROUNDS SECONDS SIZE TIMEOUT TOKENS TOTAL TTL VERSION";
const SWITCHES: &str = "\
    0 1 true false yes no on off none null nil undefined auto default env required optional enabled disabled";
const FILE_ENDINGS: &str = "\
    asc bin cer cfg cjs conf crt csv db der env gpg html ini jar jks js json jsonc jwk kdbx key log md mjs p12 pem \
    pfx pub py sh sock sqlite toml ts txt xml yaml";
const ROOTS: &str = "\
    /Users/ /Volumes/ /app/ /config/ /data/ /dev/ /etc/ /home/ /mnt/ /opt/ /private/ /root/ /run/ /srv/ /tmp/ /usr/ \
    /var/";

/// Classifies a key by its name, or returns `None` if its value is not secret.
pub(super) fn kind(key: &str) -> Option<Key> {
    let words = words(key);
    let (first, last) = (words.first()?.as_str(), words.last()?.as_str());
    let is = |list| words.iter().any(|word| is_among(list, word));
    let is_session = words.iter().any(|word| word == "SESSION" || word == "SESS") && last == "ID";
    if (is_among(HARMLESS_ENDS, last) && !is_session) || HARMLESS_STARTS.contains(&first) {
        return None;
    }
    let joined = words.concat();
    let ends_so = |word: &String| SECRET_ENDINGS.iter().any(|ending| word.ends_with(ending));
    let is_secret = is(SECRETS)
        || is_session
        || SECRETS_AT_END.contains(&last)
        || words.iter().any(ends_so)
        || ["PASSWORD", "APIKEY", "ACCESSKEY"].iter().any(|word| joined.contains(word));
    let is_key = is("KEY KEYS") && !is(PUBLIC_KEYS);
    match () {
        () if !(is_secret || is_key || is("AUTH")) => None,
        () if is(COUNTS) => Some(Key::SecretOrCount),
        () if is_secret || (is_key && words.len() > 1) => Some(Key::Secret),
        () => Some(Key::SecretOrWord),
    }
}

/// Returns `true` if a list has a word.
fn is_among(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

impl Key {
    /// Returns `true` if the value of such a key is a secret. Placeholders are not part of it.
    pub(super) fn holds(self, value: &str) -> bool {
        let value = value.trim();
        if value.is_empty() || SWITCHES.split(' ').any(|word| value.eq_ignore_ascii_case(word)) || is_path(value) {
            return false;
        }
        match self {
            Self::Secret => true,
            Self::SecretOrCount => !is_count(value),
            Self::SecretOrWord => {
                let is_word = value.len() <= 16 && value.bytes().all(|b| b.is_ascii_lowercase() || b"-_".contains(&b));
                !(is_word || value == "oauth2" || value.contains("://"))
            }
        }
    }
}

/// Returns `true` if the key names credentials together with what kind they are: `Bearer abc`.
pub(super) fn has_scheme(key: &str) -> bool {
    words(key).iter().any(|word| word == "AUTHORIZATION" || word == "AUTH" || word.ends_with("COOKIE"))
}

/// Returns the words of `API_KEY`, `api-key`, `apiKey`, `api%5Fkey`, in capitals and without numbers at their ends.
fn words(key: &str) -> Vec<String> {
    let key = without_escapes(key);
    let mut spaced = String::new();
    let mut before = None;
    let mut characters = key.chars().peekable();
    while let Some(character) = characters.next() {
        let next_is_small = characters.peek().is_some_and(char::is_ascii_lowercase);
        let begins = |before: char| !before.is_ascii_uppercase() || next_is_small;
        if character.is_ascii_uppercase() && before.is_some_and(begins) {
            spaced.push(' ');
        }
        spaced.push(character);
        before = Some(character);
    }
    let words = spaced.split(|c: char| !c.is_ascii_alphanumeric());
    let words = words.map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()).to_ascii_uppercase());
    words.filter(|word| !word.is_empty()).collect()
}

/// Replaces escapes like `%5F` by `_`, which separates words.
fn without_escapes(key: &str) -> String {
    let mut parts = key.split('%');
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok());
        decoded.push(code.map_or('%', char::from));
        decoded.push_str(part.get(if code.is_some() { 2 } else { 0 }..).unwrap_or_default());
    }
    decoded
}

fn is_count(value: &str) -> bool {
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit() || "._,".contains(c));
    unit.len() < value.len() && unit.len() <= 4 && unit.bytes().all(|b| b.is_ascii_alphabetic())
}

fn is_path(value: &str) -> bool {
    if value.contains(char::is_whitespace) {
        return false;
    }
    let starts_so = ["./", "../", "~/", ".\\", "..\\", "\0/", "file:"].iter().any(|start| value.starts_with(start));
    let on_drive = value.get(1..3).is_some_and(|colon| colon == ":\\" || colon == ":/");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/\\:@~+\0".contains(c);
    let ending = value.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_file = is_among(FILE_ENDINGS, ending) && value.chars().all(is_plain);
    starts_so || on_drive || is_file || ROOTS.split(' ').any(|root| value.starts_with(root))
}
