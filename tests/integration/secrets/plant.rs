//! Configurations with secrets in them, and how they are broken.

use std::fmt::Write;
use std::path::Path;

use mcp_bindgen_model::{Config, FileError};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// How a secret stands in a text. `{}` is the secret, `{url}`, `{json}` and `{base64}` are the secret in that encoding.
/// Several texts are several arguments.
pub(crate) const FORMS: [&[&str]; 46] = [
    &["--token={}"],
    &["--token", "{}"],
    &["--api-key={}"],
    &["--db-password", "{}"],
    &["-p", "{}"],
    &["-e", "API_KEY={}"],
    &["--env=DB_PASSWORD={}"],
    &["-u", "user:{}"],
    &["--header", "X-Api-Key: {}"],
    &["--header", "Authorization: Bearer {}"],
    &["--header=Authorization:Bearer {}"],
    &["Authorization:Basic {base64}"],
    &["Authorization: token {}"],
    &["Proxy-Authorization: Basic {base64}"],
    &["Cookie: a=b; sid={}"],
    &["API_KEY={}"],
    &["Bearer {}"],
    &["{base64}"],
    &["postgres://user:{url}@host:5432/db"],
    &["--db=mysql://user:{url}@host/db?ssl=1"],
    &["https://user:{url}@host/x?a=b&api_key={url}"],
    &["https://host/x?access_token={url}&a=b"],
    &["https://host/x?sv=1&sig={url}"],
    &["https://host/x#access_token={url}&state=y"],
    &["https://hooks.slack.com/services/T0/B0/{url}"],
    &["Server=host;User=u;Password={};Database=d"],
    &["AccountName=n;AccountKey={}==;EndpointSuffix=s"],
    &["host=h password={} dbname=d"],
    &["{\"apiKey\":\"{json}\",\"port\":1}"],
    &["{\"headers\": {\"Authorization\": \"Bearer {json}\"}, \"a\": [1]}"],
    &["{\"tokens\": [\"{json}\"]}"],
    &["-c", "server --token {} --port 80"],
    &["-c", "curl -H 'Authorization: Bearer {}' https://host"],
    &["A=1\nSECRET_KEY={}\nB=2"],
    &["-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----"],
    &["ghp_{shape}"],
    &["github_pat_{shape}"],
    &["sk-{shape}"],
    &["glpat-{shape}"],
    &["xoxb-{shape}"],
    &["AKIA{shape}"],
    &["eyJ{shape}.eyJ{shape}.{shape}"],
    &["see ghp_{shape} there"],
    &["--token", "${A}{}"],
    &["Authorization: Bearer ${A}{}${B:-{}}"],
    &["${API_KEY:-{}}"],
];
const SECRET_NAMES: [&str; 12] = [
    "GITHUB_TOKEN",
    "apiKey",
    "DB_PASSWORD",
    "CLIENT_SECRET",
    "OPENAI_KEY",
    "AUTH_TOKEN_2",
    "Authorization",
    "X-Api-Key",
    "Cookie",
    "pgpassword",
    "PRIVATE_KEY",
    "MYSQL_PWD",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Spot {
    Arguments,
    Env,
    SecretEnv,
    Header,
    SecretHeader,
    Url,
    Command,
    Folder,
    Description,
}

pub(crate) const SPOTS: [Spot; 9] = [
    Spot::Arguments,
    Spot::Env,
    Spot::Header,
    Spot::SecretEnv,
    Spot::SecretHeader,
    Spot::Url,
    Spot::Command,
    Spot::Folder,
    Spot::Description,
];

#[derive(Clone, Debug)]
pub(crate) struct Plant {
    pub(crate) spot: Spot,
    pub(crate) form: usize,
    pub(crate) secret: String,
    pub(crate) name: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Format {
    Toml,
    McpJson,
    Variable,
}

/// Damage to a file, at a position that is a fraction of its length.
#[derive(Clone, Debug)]
pub(crate) enum Damage {
    Cut(f64),
    Insert(f64, char),
    Remove(f64),
    RepeatLine(f64),
}

fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{2}[A-Z][0-9][a-zA-Z0-9]{9,24}",
        2 => "[0-9]{9,16}",
        3 => "[a-z][A-Z][0-9][a-zA-Z0-9!*^%+~._/@&?#=-]{10,20}[a-zA-Z0-9]",
        1 => "[a-z][A-Z][0-9][a-zA-Z0-9]{8,12} [a-zA-Z0-9]{4,8}",
    ]
}

pub(crate) fn plant() -> impl Strategy<Value = Plant> {
    let spot = prop_oneof![select(&SPOTS[..]), select(&SPOTS[..3])];
    (spot, 0..FORMS.len(), secret(), select(&SECRET_NAMES[..])).prop_map(|(spot, form, secret, name)| Plant {
        spot,
        form,
        secret,
        name,
    })
}

pub(crate) fn damage() -> impl Strategy<Value = Damage> {
    let share = 0.0..1.0f64;
    prop_oneof![
        share.clone().prop_map(Damage::Cut),
        (share.clone(), select("\"'{}[]=,:\n#\\$x".chars().collect::<Vec<_>>()))
            .prop_map(|(at, c)| Damage::Insert(at, c)),
        share.clone().prop_map(Damage::Remove),
        share.prop_map(Damage::RepeatLine),
    ]
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits = chunk.iter().chain([0; 2].iter()).take(3).fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            encoded.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    encoded
}

fn url_encoded(text: &str) -> String {
    text.bytes()
        .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}

impl Plant {
    /// The texts, and what of them may not be seen.
    fn texts(&self) -> (Vec<String>, Vec<String>) {
        let form = FORMS[self.form];
        // In forms where a blank ends the value, the secret has no blanks. No secret here contains `}` or `;`, which
        // would end other forms.
        let in_line = ["password={} dbname", "--token {} ", "{base64}", "{shape}", "Bearer {}'", "${A}{}"];
        let is_line = form.len() > 1 && self.spot != Spot::Arguments;
        let plain = is_line || form.iter().any(|text| in_line.iter().any(|mark| text.contains(mark)));
        let secret = if plain { self.secret.replace(' ', "") } else { self.secret.clone() };
        let shape: String =
            secret.chars().filter(char::is_ascii_alphanumeric).chain("0123456789abcdef".chars()).collect();
        let encoded = base64(&format!("user:{secret}"));
        let texts = form
            .iter()
            .map(|text| {
                text.replace("{}", &secret)
                    .replace("{url}", &url_encoded(&secret))
                    .replace("{json}", &secret)
                    .replace("{base64}", &encoded)
                    .replace("{shape}", &shape)
            })
            .collect();
        (texts, vec![secret.clone(), url_encoded(&secret), encoded])
    }

    /// Puts it into the entry of a server; gives what may not be seen.
    fn put(&self, entry: &mut Value, number: usize) -> Vec<String> {
        let (texts, hidden) = self.texts();
        let joined = || texts.join(" ");
        match self.spot {
            Spot::Arguments => {
                let arguments = entry["args"].as_array_mut().expect("arguments");
                arguments.extend(texts.into_iter().map(Value::from));
            }
            Spot::Env => entry["env"][format!("INNOCENT_{number}")] = json!(joined()),
            Spot::Header => entry["headers"][format!("X-Innocent-{number}")] = json!(joined()),
            Spot::SecretEnv => entry["env"][self.name] = json!(self.secret),
            Spot::SecretHeader => entry["headers"][self.name] = json!(format!("Bearer {}", self.secret)),
            Spot::Url => {
                let secret = url_encoded(&self.secret);
                entry["url"] = json!(format!("https://user:{secret}@host/mcp?a=b&api_key={secret}#token={secret}"));
            }
            Spot::Command => entry["command"] = json!(joined()),
            Spot::Folder => entry["cwd"] = json!(joined()),
            Spot::Description => {
                let shape: String = self.secret.chars().filter(char::is_ascii_alphanumeric).collect();
                entry["description"] = json!(format!("use glpat-{shape}x1234567890 or https://u:{shape}@h/"));
                return vec![shape];
            }
        }
        hidden
    }
}

/// Two servers, one for the places of each transport.
pub(crate) fn servers(plants: &[Plant]) -> (Value, Vec<String>) {
    let mut local = json!({ "command": "server", "args": ["--verbose"], "env": { "LEVEL": "debug" } });
    let mut remote = json!({ "url": "https://example.com/mcp", "headers": { "Accept": "text/plain" } });
    let mut hidden = Vec::new();
    for (number, plant) in plants.iter().enumerate() {
        let is_remote = matches!(plant.spot, Spot::Url | Spot::Header | Spot::SecretHeader);
        hidden.extend(plant.put(if is_remote { &mut remote } else { &mut local }, number));
    }
    (json!({ "local": local, "remote": remote }), hidden)
}

pub(crate) fn toml(servers: &Value) -> String {
    let mut text = String::new();
    for (name, entry) in servers.as_object().unwrap() {
        let _ = writeln!(text, "[servers.{name}]");
        for (key, value) in entry.as_object().unwrap() {
            match value {
                Value::Object(members) => {
                    let members: Vec<String> =
                        members.iter().map(|(key, value)| format!("\"{key}\" = {value}")).collect();
                    let _ = writeln!(text, "{key} = {{ {} }}", members.join(", "));
                }
                value => {
                    let _ = writeln!(text, "{key} = {value}");
                }
            }
        }
    }
    text
}

pub(crate) fn written(format: Format, servers: &Value) -> String {
    match format {
        Format::Toml => toml(servers),
        Format::McpJson => format!("{:#}", json!({ "mcpServers": servers })),
        Format::Variable => servers.to_string(),
    }
}

pub(crate) fn parse(format: Format, text: &str) -> Result<Config, FileError> {
    match format {
        Format::Toml => Config::parse_toml(text, Path::new("mcp.toml")),
        Format::McpJson => Config::parse_mcp_json(text, Path::new(".mcp.json")),
        Format::Variable => Config::from_env_json(text),
    }
}

pub(crate) fn damaged(text: &str, damage: &Damage) -> String {
    let characters: Vec<char> = text.chars().collect();
    let at = |share: f64| (share * characters.len() as f64) as usize;
    let collect = |part: &[char]| part.iter().collect::<String>();
    match *damage {
        Damage::Cut(share) => collect(&characters[..at(share)]),
        Damage::Insert(share, c) => {
            format!("{}{c}{}", collect(&characters[..at(share)]), collect(&characters[at(share)..]))
        }
        Damage::Remove(share) => {
            format!("{}{}", collect(&characters[..at(share)]), collect(&characters[at(share) + 1..]))
        }
        Damage::RepeatLine(share) => {
            let lines: Vec<&str> = text.lines().collect();
            let line = (share * lines.len() as f64) as usize;
            [&lines[..=line], &lines[line..]].concat().join("\n")
        }
    }
}
