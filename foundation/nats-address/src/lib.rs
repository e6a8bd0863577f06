//! Addresses of NATS servers, which may contain user and password, or a token.
//!
//! Not here: connecting.

use async_nats::{ConnectOptions, ServerAddr};

/// Parses the servers of one cluster: addresses as `nats://user:password@host:port`, separated by
/// commas. Also returns the options with user and password, which the client does not read from the
/// address; a user without a password is a token.
///
/// Errors: an invalid address
pub fn read(servers: &str) -> Result<(Vec<ServerAddr>, ConnectOptions), std::io::Error> {
    let servers: Result<Vec<ServerAddr>, _> =
        servers.split(',').map(|server| server.trim().parse()).collect();
    let servers = servers?;
    let known = servers.iter().find_map(|server| Some((server.username()?, server.password())));
    let options = match known {
        None => ConnectOptions::new(),
        Some((token, None)) => ConnectOptions::with_token(token.into()),
        Some((user, Some(password))) => {
            ConnectOptions::with_user_and_password(user.into(), password.into())
        }
    };
    Ok((servers, options))
}

/// The addresses without user and password, for logs and pages.
pub fn shown(servers: &str) -> String {
    let bare = |server: &str| match server.trim().rsplit_once('@') {
        Some((hidden, bare)) => {
            let scheme = hidden.split_once("://").map_or("nats", |(scheme, _)| scheme);
            format!("{scheme}://{bare}")
        }
        None => server.trim().to_owned(),
    };
    servers.split(',').map(bare).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_shown_a_password() {
        let two = "nats://ada:secret@one:4222, two:4222";
        assert_eq!(shown(two), "nats://one:4222,two:4222");
        assert_eq!(shown("tls://ada:secret@one"), "tls://one");
        assert_eq!(read(two).unwrap().0.len(), 2);
        assert!(read("nats://a b").is_err());
    }
}
