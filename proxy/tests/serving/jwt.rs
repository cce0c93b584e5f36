//! Access tokens of an authorization server, by keys of the test.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_bindgen_proxy::{HttpOptions, HttpServer, JwtAuth};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{Asking, Desk};

const AUDIENCE: &str = "https://mcp.example.com/mcp";

/// An authorization server as far as resource servers know it: metadata and keys.
#[derive(Clone)]
struct Issuer {
    address: SocketAddr,
    keys: Arc<Mutex<Vec<Value>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Issuer {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = Self { address: listener.local_addr().unwrap(), keys: Arc::default(), asked: Arc::default() };
        let own = issuer.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let own = own.clone();
                tokio::spawn(async move {
                    let mut buffer = vec![0; 4096];
                    let read = stream.read(&mut buffer).await.unwrap_or_default();
                    let text = String::from_utf8_lossy(&buffer[..read]).into_owned();
                    let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
                    own.asked.lock().unwrap().push(path.clone());
                    let (status, body) = match path.as_str() {
                        "/.well-known/openid-configuration" => {
                            (200, json!({ "issuer": own.url(), "jwks_uri": format!("{}/keys", own.url()) }))
                        }
                        "/keys" => (200, json!({ "keys": *own.keys.lock().unwrap() })),
                        _ => (404, json!({})),
                    };
                    let body = body.to_string();
                    // The body of an error never ends: nobody needs it.
                    let length = if status == 200 { body.len() } else { 1 << 20 };
                    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
                    let _ = stream.write_all((head + &body).as_bytes()).await;
                    if status != 200 {
                        std::future::pending().await
                    }
                });
            }
        });
        issuer
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn claims(&self) -> Value {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        json!({ "iss": self.url(), "aud": AUDIENCE, "sub": "ann", "exp": now + 600, "scope": "mcp read", "groups": ["support"] })
    }
}

enum Signer {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
}

impl Signer {
    fn es256() -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self::Es256(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap())
    }

    fn eddsa() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::EdDsa(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap())
    }

    fn jwk(&self, id: &str) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match self {
            Self::Es256(pair) => {
                let point = pair.public_key().as_ref();
                json!({ "kty": "EC", "crv": "P-256", "kid": id, "x": text(&point[1..33]), "y": text(&point[33..]) })
            }
            Self::EdDsa(pair) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "x": text(pair.public_key().as_ref()), "use": "sig" })
            }
        }
    }

    fn token(&self, header: &Value, claims: &Value) -> String {
        let text = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", text(header), text(claims));
        let signature = match self {
            Self::Es256(pair) => pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap().as_ref().to_vec(),
            Self::EdDsa(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
        };
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

async fn status(server: &HttpServer, token: &str) -> (u16, String) {
    let asking = Asking::modern(1, "tools/list", json!({})).with("Authorization", &format!("Bearer {token}"));
    let patience = Duration::from_secs(5);
    let answered =
        tokio::time::timeout(patience, asking.of(server)).await.expect("the body of an error is not awaited");
    (answered.status, answered.headers.get("www-authenticate").cloned().unwrap_or_default())
}

async fn serve(issuer: &Issuer) -> HttpServer {
    let auth = JwtAuth::new(issuer.url(), AUDIENCE).scope("mcp");
    Desk::default().proxy().serve_http(HttpOptions::new().jwt(auth)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_valid_tokens_of_the_issuer_are_accepted() {
    let issuer = Issuer::start().await;
    let (key, other) = (Signer::es256(), Signer::es256());
    issuer.keys.lock().unwrap().push(key.jwk("1"));
    let server = serve(&issuer).await;
    let header = json!({ "alg": "ES256", "kid": "1", "typ": "at+jwt" });
    let good = key.token(&header, &issuer.claims());
    assert_eq!(status(&server, &good).await.0, 200);
    let with = |member: &str, value: Value| {
        let mut claims = issuer.claims();
        claims[member] = value;
        key.token(&header, &claims)
    };
    let headed = |header: Value| key.token(&header, &issuer.claims());
    let unsigned = format!("{}.", good.rsplit_once('.').unwrap().0);
    for (what, token) in [
        ("another issuer", with("iss", json!("https://evil.example"))),
        ("another audience", with("aud", json!("https://other.example/mcp"))),
        ("no audience", with("aud", Value::Null)),
        ("expired", with("exp", json!(1_700_000_000))),
        ("no expiry", with("exp", Value::Null)),
        ("not yet", with("nbf", json!(4_000_000_000_u64))),
        ("nobody", with("sub", Value::Null)),
        ("another key", other.token(&header, &issuer.claims())),
        ("no signature", unsigned.clone()),
        ("no algorithm", headed(json!({ "alg": "none", "kid": "1" }))),
        ("a shared secret", headed(json!({ "alg": "HS256", "kid": "1" }))),
        ("an unknown key", headed(json!({ "alg": "ES256", "kid": "2" }))),
        ("an extension", headed(json!({ "alg": "ES256", "kid": "1", "crit": ["exp"] }))),
        ("an ID token of a logout", headed(json!({ "alg": "ES256", "kid": "1", "typ": "logout+jwt" }))),
        ("no token", "x".to_owned()),
        ("nothing", String::new()),
    ] {
        let (status, challenge) = status(&server, &token).await;
        let metadata = "resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\"";
        assert!(status == 401 && challenge.contains(metadata), "{what}: {status} {challenge}");
        assert!(challenge.contains("error=\"invalid_token\""), "{what}: {challenge}");
    }
    let (status, challenge) = status(&server, &with("scope", json!("read"))).await;
    assert!(status == 403 && challenge.contains("error=\"insufficient_scope\", scope=\"mcp\""), "{status} {challenge}");
    let audiences = with("aud", json!(["x", AUDIENCE]));
    assert_eq!(self::status(&server, &audiences).await.0, 200);

    let metadata = Asking::new("").by("GET").at("/.well-known/oauth-protected-resource/mcp").of(&server).await.json();
    assert_eq!(metadata["resource"], AUDIENCE);
    assert_eq!(
        (&metadata["authorization_servers"], &metadata["scopes_supported"]),
        (&json!([issuer.url()]), &json!(["mcp"]))
    );
    assert_eq!(Asking::new("").by("GET").at("/.well-known/oauth-protected-resource/x").of(&server).await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_fetched_once_and_again_for_an_unknown_key() {
    let issuer = Issuer::start().await;
    let (first, second) = (Signer::es256(), Signer::eddsa());
    issuer.keys.lock().unwrap().push(first.jwk("1"));
    let server = serve(&issuer).await;
    let fetched = || issuer.asked.lock().unwrap().iter().filter(|path| *path == "/keys").count();
    let token = first.token(&json!({ "alg": "ES256", "kid": "1" }), &issuer.claims());
    for _ in 0..20 {
        assert_eq!(status(&server, &token).await.0, 200);
    }
    assert_eq!(fetched(), 1);
    // A new key, and a moment in which the keys are not fetched again.
    issuer.keys.lock().unwrap().push(second.jwk("2"));
    let new = second.token(&json!({ "alg": "EdDSA", "kid": "2" }), &issuer.claims());
    for _ in 0..20 {
        assert_eq!(status(&server, &new).await.0, 401);
    }
    assert_eq!(fetched(), 1, "strangers do not make the proxy fetch");
    let other = serve(&issuer).await;
    assert_eq!((status(&other, &new).await.0, status(&other, &token).await.0), (200, 200));
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_keys_refuse_all_tokens_with_503() {
    let issuer = Issuer::start().await;
    let key = Signer::es256();
    let auth = JwtAuth::new("http://127.0.0.1:1", AUDIENCE);
    let server = Desk::default().proxy().serve_http(HttpOptions::new().jwt(auth)).await.unwrap();
    let mut claims = issuer.claims();
    claims["iss"] = json!("http://127.0.0.1:1");
    assert_eq!(status(&server, &key.token(&json!({ "alg": "ES256" }), &claims)).await.0, 503);
    let plain = HttpOptions::new().jwt(JwtAuth::new("http://login.example.com", AUDIENCE));
    let refused = Desk::default().proxy().serve_http(plain).await.map(drop).unwrap_err();
    assert!(refused.to_string().contains("issuer: expected an https URL"), "{refused}");
}
