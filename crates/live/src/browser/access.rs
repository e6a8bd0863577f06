//! Who may see the page: everyone on this machine, or whoever has the token.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};

use hyper::Request;
use hyper::header::{AUTHORIZATION, HOST};

/// What a request must show.
#[derive(Debug, Clone)]
pub enum Access {
    /// Nothing; but a name that is not this machine's is refused, since a page elsewhere may have made it lead here.
    Local,
    /// This, as `token=` in the query or as a bearer's.
    Token(String),
}

impl Access {
    /// For a server that listens there: a fresh token, unless only this machine reaches it.
    ///
    /// Errors: the system gives no random bytes
    pub fn of(address: SocketAddr) -> io::Result<Self> {
        if address.ip().is_loopback() {
            return Ok(Self::Local);
        }
        let mut bytes = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let mut token = String::new();
        for byte in bytes {
            let _ = write!(token, "{byte:02x}");
        }
        Ok(Self::Token(token))
    }

    /// The query of a link.
    pub fn query(&self) -> String {
        match self {
            Self::Local => String::new(),
            Self::Token(token) => format!("?token={token}"),
        }
    }

    /// Whether this request may see the run.
    pub fn allows<B>(&self, request: &Request<B>) -> bool {
        match self {
            Self::Local => {
                let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
                host.is_none_or(is_this_machine)
            }
            Self::Token(token) => {
                let query = request.uri().query().unwrap_or_default();
                let in_query = query.split('&').filter_map(|part| part.strip_prefix("token="));
                let bearer = request.headers().get(AUTHORIZATION);
                let bearer = bearer
                    .and_then(|value| value.to_str().ok()?.split_once(' '))
                    .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
                    .map(|(_, given)| given.trim());
                in_query.chain(bearer).any(|given| is_same(given, token))
            }
        }
    }
}

fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

/// Takes the same time wherever they differ.
fn is_same(given: &str, token: &str) -> bool {
    let differences = given.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == token.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(uri: &str, field: (&str, &str)) -> Request<()> {
        Request::get(uri).header(field.0, field.1).body(()).expect("a request")
    }

    #[test]
    fn this_machine_needs_no_token_and_no_name_of_others() {
        let access = Access::of("127.0.0.1:7070".parse().expect("an address")).expect("none");
        for host in ["127.0.0.1:7070", "localhost:7070", "LOCALHOST", "[::1]:7070", "10.0.0.7"] {
            assert!(access.allows(&request("/", ("host", host))), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example:7070", "127.0.0.1.nip.io", ""] {
            assert!(!access.allows(&request("/", ("host", host))), "{host}");
        }
    }

    #[test]
    fn others_need_the_whole_token() {
        let access = Access::of("0.0.0.0:7070".parse().expect("an address")).expect("a token");
        let Access::Token(token) = &access else { panic!("{access:?}") };
        assert_eq!(token.len(), 32);
        let allows =
            |uri: &str, value: &str| access.allows(&request(uri, ("authorization", value)));
        assert!(allows(&format!("/events?token={token}"), ""));
        assert!(allows(&format!("/?a=b&token={token}"), ""));
        assert!(allows("/metrics", &format!("Bearer {token}")));
        for (uri, value) in [
            ("/", ""),
            ("/?token=", "Bearer"),
            (&*format!("/?token={}", &token[1..]), "Basic YTpi"),
            (&*format!("/?tokens={token}"), &*format!("Bearer {token}0")),
        ] {
            assert!(!allows(uri, value), "{uri} {value}");
        }
        assert_ne!(
            access.query(),
            Access::of("0.0.0.0:0".parse().expect("one")).expect("one").query()
        );
    }
}
