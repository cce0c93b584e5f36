//! The pooled HTTP client, which follows redirects within one origin and retries nothing, and its network settings: TLS,
//! the proxy, and the program's changes.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use mcp_bindgen_model::ServerConfig;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, StatusCode, Url};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::runtime::{Handle, Id};

use super::refusals::describe;
use crate::ground::redact::debug_as;
use crate::ground::sync::lock;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_REDIRECTS: usize = 5;
/// The lifetime of idle connections. Node and uvicorn close theirs after five seconds, and a request at that moment is
/// lost.
const IDLE_CONNECTIONS_KEPT: Duration = Duration::from_secs(4);
const ENCRYPTED: &[u8] = b"-----BEGIN ENCRYPTED PRIVATE KEY-----";

/// Changes the builder of the HTTP client.
#[derive(Clone)]
pub(crate) struct Customize(pub(crate) Arc<dyn Fn(ClientBuilder) -> ClientBuilder + Send + Sync>);

impl PartialEq for Customize {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

debug_as!(Customize, "Customize(..)");

/// The network path to a server. The system and the environment set the defaults.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Network {
    /// PEM, as read.
    ca: Option<Vec<u8>>,
    client_cert: Option<Vec<u8>>,
    pub(crate) proxy: Option<Url>,
    customize: Option<Customize>,
}

impl Network {
    /// Creates the network path of a configuration without placeholders, and reads its files.
    ///
    /// # Errors
    /// Fails with the invalid key, without its value.
    pub(crate) fn of(config: &ServerConfig, customize: Option<Customize>) -> Result<Self, String> {
        for key in ["ca", "client_cert", "proxy"] {
            if let Some(problem) = config.network_problem(key) {
                return Err(format!("`{key}` {problem}"));
            }
        }
        let ca = config.ca.as_deref().map(|ca| pem("ca", ca)).transpose()?;
        let client_cert = config.client_cert.as_deref().map(|cert| pem("client_cert", cert)).transpose()?;
        let proxy = config.proxy.as_deref().map(Url::parse).transpose();
        let proxy = proxy.map_err(|_| "`proxy` is not a URL with a host")?;
        let network = Self { ca, client_cert, proxy, customize };
        // Wrong certificates are found before the first request. Plain HTTP does without those of the system.
        if network.ca.is_some() || network.client_cert.is_some() {
            network.tls(true)?;
        }
        Ok(network)
    }

    /// Returns the TLS settings of a client; `is_secure` if it is for `https`.
    ///
    /// # Errors
    /// Fails with the invalid key, or if the system's certificates cannot be read.
    fn tls(&self, is_secure: bool) -> Result<ClientConfig, String> {
        /// With the system's certificates, which take long to read.
        static OF_SYSTEM: OnceLock<ClientConfig> = OnceLock::new();
        let is_of_system = is_secure && self.ca.is_none() && self.client_cert.is_none();
        if let Some(tls) = OF_SYSTEM.get().filter(|_| is_of_system) {
            return Ok(tls.clone());
        }
        // ring is for these connections only; the program's own provider is untouched.
        let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = match &self.ca {
            Some(ca) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates("ca", ca)? {
                    roots.add(certificate).map_err(|error| format!("`ca`: a certificate is invalid: {error}"))?;
                }
                builder.with_root_certificates(roots)
            }
            // Plain HTTP also works if the system has no certificates.
            None if !is_secure => builder.with_root_certificates(RootCertStore::empty()),
            None => builder
                .with_platform_verifier()
                .map_err(|error| format!("failed to read the system's certificates: {error}"))?,
        };
        let mut tls = match &self.client_cert {
            Some(pem) => {
                let (chain, key) = identity(pem)?;
                let wrong = |error| format!("`client_cert`: the private key does not fit the certificate: {error}");
                builder.with_client_auth_cert(chain, key).map_err(wrong)?
            }
            None => builder.with_no_client_auth(),
        };
        // The server chooses HTTP/2 if this build supports it.
        if cfg!(feature = "http2") {
            tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        }
        Ok(if is_of_system { OF_SYSTEM.get_or_init(|| tls).clone() } else { tls })
    }
}

/// Returns the host and port of a URL.
pub(crate) fn place(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default())
}

/// Returns the text of a PEM file, from the configuration or from the file that it names.
fn pem(key: &str, text: &str) -> Result<Vec<u8>, String> {
    if text.contains("-----BEGIN ") {
        return Ok(text.as_bytes().to_vec());
    }
    // A value that is not a path may be a secret.
    fs::read(located(text, std::env::home_dir())).map_err(|error| format!("`{key}`: failed to read the file: {error}"))
}

/// Returns the path with `~` as the user's home.
fn located(path: &str, home: Option<PathBuf>) -> PathBuf {
    if let (Some(rest), Some(home)) = (path.strip_prefix("~/"), home) { home.join(rest) } else { PathBuf::from(path) }
}

fn certificates(key: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = read.map_err(|_| format!("`{key}`: a certificate is not PEM"))?;
    if certificates.is_empty() { Err(format!("`{key}` has no certificate")) } else { Ok(certificates) }
}

fn identity(pem: &[u8]) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
    let chain = certificates("client_cert", pem)?;
    if pem.windows(ENCRYPTED.len()).any(|begin| begin == ENCRYPTED) {
        return Err("`client_cert`: the private key is encrypted, which is not supported; decrypt it".to_owned());
    }
    // The error may repeat the unreadable value.
    let key = PrivateKeyDer::from_pem_slice(pem).map_err(|_| "`client_cert` has no private key in PEM")?;
    Ok((chain, key))
}

/// Returns the HTTP client of this runtime for a network path, so that connections to one origin share sockets. The
/// client ends with its last owner. Runtimes do not share clients, because each drives its own sockets.
///
/// # Errors
/// Fails if no client can be created, for example because the system's certificates are unreadable.
pub(crate) fn shared(url: &str, network: &Network) -> Result<Arc<Client>, String> {
    /// The runtime, whether the client is for `https`, and the network path.
    type Key = (Id, bool, Network);
    static CLIENTS: Mutex<Vec<(Key, Weak<Client>)>> = Mutex::new(Vec::new());
    let runtime = Handle::try_current().map_err(|error| error.to_string())?.id();
    let is_secure = !url.starts_with("http:");
    let key = (runtime, is_secure, network.clone());
    let mut clients = lock(&CLIENTS);
    clients.retain(|(_, client)| client.strong_count() > 0);
    if let Some(client) = clients.iter().find(|(other, _)| *other == key).and_then(|(_, client)| client.upgrade()) {
        return Ok(client);
    }
    let client = Arc::new(build(network, is_secure)?);
    clients.push((key, Arc::downgrade(&client)));
    Ok(client)
}

fn build(network: &Network, is_secure: bool) -> Result<Client, String> {
    let mut builder = Client::builder()
        .user_agent(concat!("mcp-bindgen/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_CONNECTIONS_KEPT)
        .tcp_nodelay(true)
        .tls_backend_preconfigured(network.tls(is_secure)?);
    if let Some(proxy) = &network.proxy {
        builder = builder.proxy(reqwest::Proxy::all(proxy.clone()).map_err(|error| describe(&error))?);
    }
    if let Some(Customize(change)) = &network.customize {
        builder = change(builder);
    }
    let same_origin =
        Policy::custom(|attempt| match check_redirect(attempt.status(), attempt.url(), attempt.previous()) {
            Ok(()) => attempt.follow(),
            Err(problem) => attempt.error(problem),
        });
    // Last, whatever the program sets: both could send a call again.
    let builder = builder.redirect(same_origin).retry(reqwest::retry::never());
    builder.build().map_err(|error| describe(&error))
}

/// Checks a redirect, which must stay on the origin: the headers contain secrets.
///
/// # Errors
/// Fails with the reason why a redirect from the last of the visited URLs is not followed.
pub(super) fn check_redirect(status: StatusCode, target: &Url, visited: &[Url]) -> Result<(), String> {
    let stays = visited.last().is_some_and(|from| from.origin() == target.origin());
    // The other redirects turn a POST into a GET.
    let keeps_method = matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    if !stays {
        let origin = target.origin().ascii_serialization();
        Err(format!("to another origin, {origin}, which is not followed; if it is right, set `url` to it"))
    } else if !keeps_method {
        let status = status.as_u16();
        Err(format!("with HTTP {status}, which turns a POST into a GET; set `url` to where it leads"))
    } else if visited.len() > MAX_REDIRECTS {
        Err(format!("more than {MAX_REDIRECTS} times"))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    #[test]
    fn changes_of_the_http_client_are_equal_only_to_their_clones() {
        let change = || Customize(Arc::new(|builder| builder));
        let one = change();
        assert!(one.clone() == one && change() != one);
    }

    #[test]
    fn invalid_certificate_fails_before_the_first_request() {
        const CUT: &str = "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n";
        let config = || ServerConfig::http("s", "https://a.example/mcp");
        for (key, config) in [("ca", config().ca(CUT)), ("client_cert", config().client_cert(CUT))] {
            let error = Network::of(&config, None).err().expect(key);
            assert!(error.starts_with(&format!("`{key}`")), "{error}");
        }
    }

    #[test]
    fn own_certificates_replace_those_of_the_system_which_plain_http_does_without() {
        let key = KeyPair::generate().expect("a key");
        let certificate = CertificateParams::new(["a.example".to_owned()]).expect("a name").self_signed(&key);
        let certificate = certificate.expect("a certificate").pem();
        let identity = Some(format!("{certificate}{}", key.serialize_pem()).into_bytes());
        let (ca, of_system) = (Some(certificate.into_bytes()), Network::default());
        // It is kept for later connections.
        let system = of_system.tls(true).expect("a configuration");
        let shows = |tls: &ClientConfig, roots: &str| format!("{tls:?}").contains(roots);
        assert!(!shows(&system, "(0 roots)") && !shows(&system, "(1 roots)"));
        assert!(shows(&of_system.tls(false).expect("a configuration"), "(0 roots)"));
        let own = Network { ca, ..Network::default() }.tls(true).expect("a configuration");
        assert!(shows(&own, "(1 roots)") && !own.client_auth_cert_resolver.has_certs());
        let known = Network { client_cert: identity, ..Network::default() }.tls(true).expect("a configuration");
        assert!(known.client_auth_cert_resolver.has_certs());
    }

    #[test]
    fn tilde_expands_to_the_home_directory() {
        let home = || Some(PathBuf::from("/home/me"));
        assert_eq!(located("~/certs/ca.pem", home()), PathBuf::from("/home/me/certs/ca.pem"));
        assert_eq!(located("/etc/ca.pem", home()), PathBuf::from("/etc/ca.pem"));
        assert_eq!(located("~/ca.pem", None), PathBuf::from("~/ca.pem"));
    }

    #[tokio::test]
    async fn http_client_is_shared_by_equal_settings_and_dropped_with_its_users() {
        let client = |url: &str, config: &ServerConfig| {
            shared(url, &Network::of(config, None).expect("a way")).expect("a client")
        };
        let config = ServerConfig::http("s", "https://a.example/mcp");
        let one = client("https://a.example/mcp", &config);
        assert!(Arc::ptr_eq(&one, &client("https://b.example/mcp", &config)));
        let proxied = config.clone().proxy("http://proxy.example:3128");
        assert!(!Arc::ptr_eq(&one, &client("https://a.example/mcp", &proxied)));
        let weak = Arc::downgrade(&one);
        drop(one);
        assert!(weak.upgrade().is_none());
        let (next, other) = (client("https://a.example/mcp", &config), client("https://a.example/mcp", &config));
        assert!(Arc::ptr_eq(&next, &other), "the dropped one does not stand in the way");
        assert!(rustls::crypto::CryptoProvider::get_default().is_none());
    }
}
