//! The client, as the upstream sees it; made once for each connection.

use std::net::IpAddr;

use hyper::header::HeaderValue;

use crate::socket::Handle;

/// A client's address and protocol, rendered for the headers of each of its requests.
#[derive(Debug, Clone)]
pub struct Client {
    /// What an address of what it speaks begins with.
    pub(crate) scheme: &'static str,
    /// For `X-Forwarded-For`.
    pub(crate) address: HeaderValue,
    /// For `X-Forwarded-Proto`.
    pub(crate) protocol: HeaderValue,
    /// For `Forwarded` (RFC 7239).
    pub(crate) forwarded: HeaderValue,
    /// Where interim answers are written, if they are.
    pub(crate) socket: Option<Handle>,
}

impl Client {
    /// A client at this address, which speaks HTTP over TLS or in the clear.
    pub fn new(address: IpAddr, is_secure: bool) -> Self {
        // What came in over IPv6 from an IPv4 address is told as the latter.
        let address = address.to_canonical();
        let protocol = if is_secure { "https" } else { "http" };
        let forwarded = match address {
            IpAddr::V4(v4) => format!("for={v4};proto={protocol}"),
            IpAddr::V6(v6) => format!("for=\"[{v6}]\";proto={protocol}"),
        };
        let value = |text: String| HeaderValue::try_from(text).expect("addresses are plain ASCII");
        Self {
            scheme: protocol,
            address: value(address.to_string()),
            protocol: HeaderValue::from_static(protocol),
            forwarded: value(forwarded),
            socket: None,
        }
    }

    /// The same client, who gets interim answers to its requests over HTTP/1.1: the socket is that of its connection,
    /// and requests are forwarded in the task that serves it.
    pub fn with_interims(mut self, socket: &Handle) -> Self {
        self.socket = Some(socket.clone());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_as_the_headers_want_them() {
        for (address, is_secure, plain, forwarded) in [
            ("192.0.2.7", false, "192.0.2.7", "for=192.0.2.7;proto=http"),
            ("2001:db8::1", true, "2001:db8::1", "for=\"[2001:db8::1]\";proto=https"),
            ("::ffff:192.0.2.7", false, "192.0.2.7", "for=192.0.2.7;proto=http"),
        ] {
            let client = Client::new(address.parse().unwrap(), is_secure);
            assert_eq!(
                (client.address, client.forwarded),
                (plain.parse().unwrap(), forwarded.parse().unwrap())
            );
        }
    }
}
