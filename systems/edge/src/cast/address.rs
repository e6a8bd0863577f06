//! Where casts go: host and port of a monitor, or a NATS server.

/// A peer's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A monitor, as `host:port`.
    Tcp(String),
    /// A NATS server, as `nats://user:password@host:port`.
    Nats(String),
}

impl Address {
    /// Reads one.
    ///
    /// Errors: what was expected
    pub fn read(text: &str) -> Result<Self, String> {
        let wanted = || format!("expected HOST:PORT or nats://HOST:PORT, got \"{text}\"");
        if text.starts_with("nats://") {
            return nats_address::read(text)
                .map(|_| Self::Nats(text.to_owned()))
                .map_err(|_| wanted());
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(wanted)?;
        let is_plain = !host.is_empty() && !host.contains(['/', '@', ' ']);
        match port.parse::<u16>() {
            Ok(1..) if is_plain => Ok(Self::Tcp(text.to_owned())),
            _ => Err(wanted()),
        }
    }

    /// For everybody to read: without user and password.
    pub fn shown(&self) -> String {
        match self {
            Self::Tcp(address) => address.clone(),
            Self::Nats(url) => nats_address::shown(url),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_apart_and_nobody_is_shown_a_password() {
        assert_eq!(Address::read("one:7171"), Ok(Address::Tcp("one:7171".into())));
        assert_eq!(Address::read("[::1]:7171"), Ok(Address::Tcp("[::1]:7171".into())));
        let nats = Address::read("nats://ada:secret@one:4222").unwrap();
        assert_eq!(nats.shown(), "nats://one:4222");
        assert_eq!(Address::read("nats://one:4222").unwrap().shown(), "nats://one:4222");
        for bad in ["", "one", ":1", "one:", "one:0", "one:70000", "http://one:1", "nats://a b"] {
            assert!(Address::read(bad).is_err(), "{bad}");
        }
    }
}
