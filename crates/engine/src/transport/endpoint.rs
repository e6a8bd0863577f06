//! Where to connect: parses a target's address and resolves it once, before the run.

use std::collections::HashSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::PathBuf;

use plan::protocol::{Place, Scheme, TlsUse, is_web};
use plan::target::Target;
use url::{Host, Url};

use super::error::TransportError;
use super::tls::Tls;

/// A target that is ready for connecting: resolved once, before the run.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Host and port as the URL names them, for `Host` headers; for a channel its path.
    pub authority: String,
    /// Where to connect.
    pub address: Address,
    /// TLS from the first byte, if the URL requests it.
    pub tls: Option<Tls>,
    /// TLS that the protocol may switch to later (`STARTTLS`); see [`super::secure`].
    pub upgrade: Option<Tls>,
    /// Whether HTTP is spoken there, so that redirects and addresses in answers may lead there.
    pub is_web: bool,
}

/// Where to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// At least one, in order of preference, those of the preferred family first. Connections use the addresses of that
    /// family in turn, and the others where none of those answers.
    Tcp(Vec<SocketAddr>),
    /// A Unix socket.
    Unix(PathBuf),
    /// A channel over shared memory, by the Unix socket that hands its memory over.
    Channel(PathBuf),
    /// A server of the virtual network, by name.
    Memory(String),
}

impl Address {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Tcp(addresses) => addresses.len(),
            Self::Unix(_) | Self::Channel(_) | Self::Memory(_) => 1,
        }
    }

    /// File descriptors of a connection: a channel needs two, its socket and a wake-up descriptor.
    pub fn descriptors(&self) -> u64 {
        match self {
            Self::Tcp(_) | Self::Unix(_) | Self::Memory(_) => 1,
            Self::Channel(_) => 2,
        }
    }
}

/// Characters of an address in an answer that are shown.
const SHOWN_LIMIT: usize = 300;

impl Endpoint {
    /// Resolves a target: parses its URL, queries the resolver once, reads certificates.
    ///
    /// It blocks (resolver, files), so call it before the run.
    ///
    /// Errors: an invalid address, a name without an address, an unreadable certificate
    pub fn resolve(target: &Target) -> Result<Self, TransportError> {
        let url = parse(&target.url)?;
        let Place::Host { port, tls: tls_use } = scheme(target, &url)?.place else {
            let path = target
                .channel()
                .ok_or_else(|| TransportError::url(&target.url, "the path is missing"))?;
            let authority = path.display().to_string();
            let address = Address::Channel(path.to_owned());
            return Ok(Self { authority, address, tls: None, upgrade: None, is_web: false });
        };
        let host =
            host(&url).ok_or_else(|| TransportError::url(&target.url, "the host is missing"))?;
        let port = url.port().unwrap_or(port);
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_string(),
        };
        let address = match (&target.unix_socket, &target.connect_to) {
            (Some(path), _) => Address::Unix(path.clone()),
            (None, Some(places)) => Address::Tcp(by_family(lookup_places(places, port)?)),
            (None, None) => Address::Tcp(by_family(lookup(&host, port)?)),
        };
        let tls = |wanted: bool| wanted.then(|| Tls::new(target, &host)).transpose();
        let (tls, upgrade) = (tls(tls_use == TlsUse::AtOnce)?, tls(tls_use == TlsUse::Later)?);
        let is_web = is_web(url.scheme());
        Ok(Self { authority, address, tls, upgrade, is_web })
    }

    /// Scheme, host and port of a web site, as far as they tell one from another (RFC 6454 section 6.2).
    pub fn origin(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }

    /// Whether any of its addresses is one of this machine's.
    pub(crate) fn is_on_this_machine(&self) -> bool {
        let is_own = |address: &SocketAddr| UdpSocket::bind((address.ip(), 0)).is_ok();
        match &self.address {
            Address::Tcp(addresses) => addresses.iter().any(is_own),
            Address::Unix(_) | Address::Channel(_) | Address::Memory(_) => true,
        }
    }

    /// Whether it is reached without leaving this machine.
    pub fn is_local(&self) -> bool {
        match &self.address {
            Address::Tcp(addresses) => addresses.iter().all(|address| address.ip().is_loopback()),
            Address::Unix(_) | Address::Channel(_) | Address::Memory(_) => true,
        }
    }
}

/// The place of the endpoint with this origin: the current one, or one that negotiates the same protocol, if there are
/// several.
pub fn with_origin(endpoints: &[Endpoint], origin: &str, current: usize) -> Option<usize> {
    let protocols = |place: usize| {
        let tls = endpoints.get(place).and_then(|endpoint| endpoint.tls.as_ref());
        tls.map(|tls| tls.config.alpn_protocols.as_slice())
    };
    let has_origin = |one: &Endpoint| one.is_web && one.origin() == origin;
    let places = (0..endpoints.len()).filter(|&place| has_origin(&endpoints[place]));
    places.min_by_key(|&place| (place != current, protocols(place) != protocols(current)))
}

/// What is seen of an operation that is led to this origin, which no target has. What has no origin is given as it is.
pub fn no_target(origin: &str) -> String {
    let shown: String = origin.chars().take(SHOWN_LIMIT).collect();
    if origin.split_once("://").is_some_and(|(scheme, _)| is_web(scheme)) {
        format!("{shown} is no target of this run: add it to `also` of [target]")
    } else {
        format!("{shown} is not a valid http:// or https:// address")
    }
}

fn scheme(target: &Target, url: &Url) -> Result<&'static Scheme, TransportError> {
    target.schemes.iter().find(|scheme| scheme.name == url.scheme()).ok_or_else(|| {
        let names: Vec<_> = target.schemes.iter().map(|scheme| scheme.name).collect();
        let what = format!("unknown scheme `{}`; known: {}", url.scheme(), names.join(", "));
        TransportError::url(url.as_str(), &what)
    })
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Address::Tcp(addresses) => match &addresses[..] {
                [address] => write!(formatter, "{address}"),
                several => write!(formatter, "{} ({} addresses)", self.authority, several.len()),
            },
            Address::Unix(path) | Address::Channel(path) => {
                write!(formatter, "{}", path.display())
            }
            Address::Memory(name) => formatter.write_str(name),
        }
    }
}

fn parse(text: &str) -> Result<Url, TransportError> {
    let url = Url::parse(text).map_err(|error| TransportError::url(text, &error.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(TransportError::url(
            "(hidden)",
            "credentials are not allowed in the URL; use an `authorization` header",
        ));
    }
    Ok(url)
}

/// The host. For other schemes than those of the web, URLs leave an IPv4 address as text.
fn host(url: &Url) -> Option<Host> {
    match url.host()?.to_owned() {
        Host::Domain(name) if name.is_empty() => None,
        Host::Domain(name) => Some(name.parse().map_or(Host::Domain(name), Host::Ipv4)),
        address => Some(address),
    }
}

/// Addresses of the first one's family before the others; each once.
fn by_family(mut addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let mut seen = HashSet::new();
    addresses.retain(|address| seen.insert(*address));
    let preferred = addresses.first().is_some_and(SocketAddr::is_ipv4);
    addresses.sort_by_key(|address| address.is_ipv4() != preferred);
    addresses
}

/// The addresses of a list with commas.
fn lookup_places(places: &str, default_port: u16) -> Result<Vec<SocketAddr>, TransportError> {
    let mut addresses = Vec::new();
    for place in places.split(',') {
        addresses.extend(lookup_place(place.trim(), default_port)?);
    }
    Ok(addresses)
}

/// An address written as `host`, `host:port`, `[v6]` or `[v6]:port`.
fn lookup_place(place: &str, default_port: u16) -> Result<Vec<SocketAddr>, TransportError> {
    if let Ok(ip) = place.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, default_port)]);
    }
    let url = Url::parse(&format!("http://{place}/"))
        .map_err(|error| TransportError::url(place, &format!("connect_to: {error}")))?;
    // The parser drops a port that is the scheme's default, so `:80` must be found in the text.
    let port = match url.port() {
        Some(port) => port,
        None if place.ends_with(":80") => 80,
        None => default_port,
    };
    match url.host() {
        Some(host) if url.path() == "/" => lookup(&host.to_owned(), port),
        _ => Err(TransportError::url(place, "connect_to: expected HOST:PORT")),
    }
}

fn lookup(host: &Host, port: u16) -> Result<Vec<SocketAddr>, TransportError> {
    let name = match host {
        Host::Ipv4(ip) => return Ok(vec![SocketAddr::new((*ip).into(), port)]),
        Host::Ipv6(ip) => return Ok(vec![SocketAddr::new((*ip).into(), port)]),
        Host::Domain(name) => name,
    };
    let fail = |reason: String| TransportError::Resolve { host: format!("{name}:{port}"), reason };
    let found: Vec<_> =
        (name.as_str(), port).to_socket_addrs().map_err(|error| fail(error.to_string()))?.collect();
    if found.is_empty() { Err(fail("the name has no address".to_owned())) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use plan::protocol::WEB;

    use super::*;

    const SCHEMES: [Scheme; 5] = [
        WEB[0],
        WEB[1],
        Scheme::at("smtp", 25, TlsUse::Later, ""),
        Scheme::at("smtps", 465, TlsUse::AtOnce, ""),
        Scheme { name: "shm", place: Place::Channel, credentials: "" },
    ];

    fn target(url: &str) -> Target {
        Target { url: url.to_owned(), schemes: &SCHEMES, ..Target::default() }
    }

    #[track_caller]
    fn check(url: &str, authority: &str, address: &str) {
        let endpoint = Endpoint::resolve(&target(url)).unwrap();
        assert_eq!(endpoint.authority, authority);
        assert_eq!(endpoint.address, Address::Tcp(vec![address.parse().unwrap()]));
    }

    #[test]
    fn a_url_gives_authority_and_address() {
        check("http://127.0.0.1:8080", "127.0.0.1:8080", "127.0.0.1:8080");
        check("http://127.0.0.1/", "127.0.0.1", "127.0.0.1:80");
        check("http://127.0.0.1:80/x", "127.0.0.1", "127.0.0.1:80");
        check("http://[::1]:9000/", "[::1]:9000", "[::1]:9000");
        check("https://[::1]/", "[::1]", "[::1]:443");
        check("smtp://127.0.0.1", "127.0.0.1", "127.0.0.1:25");
        check("smtp://127.0.0.1:2525", "127.0.0.1:2525", "127.0.0.1:2525");
        check("smtps://[::1]", "[::1]", "[::1]:465");
    }

    #[test]
    fn tls_is_there_from_the_first_byte_or_later_as_the_scheme_says() {
        let tls = |url: &str| {
            let endpoint = Endpoint::resolve(&target(url)).unwrap();
            (endpoint.tls.is_some(), endpoint.upgrade.is_some())
        };
        assert_eq!(tls("http://127.0.0.1"), (false, false));
        assert_eq!(tls("https://127.0.0.1"), (true, false));
        assert_eq!(tls("smtp://127.0.0.1"), (false, true));
        assert_eq!(tls("smtps://127.0.0.1"), (true, false));
    }

    #[test]
    fn an_origin_belongs_to_web_sites_alone() {
        let urls = [
            "smtps://127.0.0.1",
            "smtp://127.0.0.1:81",
            "https://127.0.0.1:444",
            "http://127.0.0.1:82",
            "http://127.0.0.1:82",
        ];
        let endpoints = urls.map(|url| Endpoint::resolve(&target(url)).unwrap());
        for (origin, current, expected) in [
            ("https://127.0.0.1", 3, None),
            ("http://127.0.0.1:81", 3, None),
            ("https://127.0.0.1:444", 3, Some(2)),
            ("http://127.0.0.1:82", 2, Some(3)),
            ("http://127.0.0.1:82", 4, Some(4)),
        ] {
            assert_eq!(with_origin(&endpoints, origin, current), expected, "{origin} {current}");
        }
    }

    #[test]
    fn what_is_no_target_is_named_with_one_thing_to_do() {
        let also = "http://b.example is no target of this run: add it to `also` of [target]";
        assert_eq!(no_target("http://b.example"), also);
        for other in ["javascript:", "ftp:", "\"http://[\"", ""] {
            let expected = format!("{other} is not a valid http:// or https:// address");
            assert_eq!(no_target(other), expected);
        }
        assert!(no_target(&format!("http://{}", "x".repeat(64 * 1024))).len() < 400);
    }

    #[test]
    fn a_name_is_resolved() {
        let Address::Tcp(found) =
            Endpoint::resolve(&target("http://localhost:81")).unwrap().address
        else {
            panic!("not TCP")
        };
        assert!(found.iter().all(|address| address.ip().is_loopback() && address.port() == 81));
        assert!(!found.is_empty());
    }

    #[test]
    fn connect_to_moves_the_connection_and_keeps_the_name() {
        for (place, address) in [
            ("127.0.0.2:81", "127.0.0.2:81"),
            ("127.0.0.2:80", "127.0.0.2:80"),
            ("127.0.0.2", "127.0.0.2:8080"),
            ("[::1]:81", "[::1]:81"),
            ("::1", "[::1]:8080"),
        ] {
            let moved = Target {
                connect_to: Some(place.to_owned()),
                ..target("http://nowhere.invalid:8080")
            };
            let endpoint = Endpoint::resolve(&moved).unwrap();
            assert_eq!(endpoint.authority, "nowhere.invalid:8080", "{place}");
            assert_eq!(endpoint.address, Address::Tcp(vec![address.parse().unwrap()]), "{place}");
        }
    }

    #[test]
    fn several_addresses_stand_by_family_each_once() {
        let places = "127.0.0.2:81, [::1]:81,127.0.0.3,127.0.0.2:81";
        let moved =
            Target { connect_to: Some(places.to_owned()), ..target("http://nowhere.invalid:8080") };
        let endpoint = Endpoint::resolve(&moved).unwrap();
        let expected = ["127.0.0.2:81", "127.0.0.3:8080", "[::1]:81"];
        let expected = expected.map(|address| address.parse().unwrap()).to_vec();
        assert_eq!(endpoint.address, Address::Tcp(expected));
        assert_eq!(endpoint.to_string(), "nowhere.invalid:8080 (3 addresses)");
    }

    #[test]
    fn an_address_of_this_machine_differs_from_another() {
        let here = |url: &str| Endpoint::resolve(&target(url)).unwrap().is_on_this_machine();
        assert!(here("http://127.0.0.1:1/") && here("http://0.0.0.0:1/"));
        // An address from a documentation block that belongs to no machine (RFC 5737).
        assert!(!here("http://192.0.2.1:1/"));
    }

    #[test]
    fn a_unix_socket_needs_no_resolver() {
        let path = PathBuf::from("/run/x.sock");
        let unix = Target { unix_socket: Some(path.clone()), ..target("http://nowhere.invalid/") };
        let endpoint = Endpoint::resolve(&unix).unwrap();
        assert_eq!(endpoint.address, Address::Unix(path));
        assert_eq!(endpoint.authority, "nowhere.invalid");
        assert!(endpoint.is_local());
    }

    #[test]
    fn a_channel_is_its_path() {
        let endpoint = Endpoint::resolve(&target("shm:///run/a folder/x.shm")).unwrap();
        assert_eq!(endpoint.address, Address::Channel(PathBuf::from("/run/a folder/x.shm")));
        assert!(endpoint.is_local() && endpoint.tls.is_none() && endpoint.upgrade.is_none());
        assert_eq!(endpoint.to_string(), "/run/a folder/x.shm");
    }

    #[test]
    fn other_forms_are_refused_with_a_hint() {
        for url in
            ["ftp://127.0.0.1/", "127.0.0.1:80", "http://", "http://u:p@127.0.0.1/", "shm:/x"]
        {
            let error = Endpoint::resolve(&target(url)).unwrap_err();
            assert!(matches!(error, TransportError::Url { .. }), "{url}: {error}");
            assert!(!error.to_string().contains("u:p"));
            assert!(error.hint().is_some());
        }
    }

    #[test]
    fn an_unknown_scheme_is_refused_with_the_known_ones() {
        let error = Endpoint::resolve(&target("ftp://127.0.0.1/")).unwrap_err();
        let reason = "unknown scheme `ftp`; known: http, https, smtp, smtps, shm";
        assert_eq!(error.to_string(), format!("target ftp://127.0.0.1/: {reason}"));
    }

    #[test]
    fn a_name_without_address_is_an_error_of_its_own() {
        let error = Endpoint::resolve(&target("http://nowhere.invalid:81")).unwrap_err();
        assert!(
            matches!(&error, TransportError::Resolve { host, .. } if host == "nowhere.invalid:81")
        );
    }
}
