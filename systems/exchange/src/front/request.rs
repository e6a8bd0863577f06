//! What a request asks for, by which way.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use quantities::parse_size;
use serving::percent;

use super::api_error::ApiError;
use crate::request::{DataRequest, SIZES, USERS, Wanted, read_nonce};

/// By which way the producer is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    Http,
    Unix,
    Shm,
}

impl Route {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Http, Self::Unix, Self::Shm];

    /// The one that a path names.
    pub fn of(path: &str) -> Option<Self> {
        let name = path.strip_prefix("/api/users-via-")?;
        Self::ALL.into_iter().find(|route| route.in_paths() == name)
    }

    /// Its name in paths, which are those of the original.
    fn in_paths(self) -> &'static str {
        match self {
            Self::Http => "api",
            Self::Unix => "uds",
            Self::Shm => "shm",
        }
    }

    /// Its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Unix => "unix",
            Self::Shm => "shm",
        }
    }
}

/// Generates nonces for requests without one: unpredictable, and repeated only by chance.
#[derive(Debug, Default)]
pub(super) struct NonceGenerator {
    key: RandomState,
    drawn: AtomicU64,
}

impl NonceGenerator {
    /// Another one.
    pub fn draw(&self) -> u64 {
        self.key.hash_one(self.drawn.fetch_add(1, Ordering::Relaxed))
    }
}

/// Reads the query of a request; `users` are asked for where it does not say how many.
///
/// Errors: the first parameter that is wrong
pub(super) fn read(
    query: Option<&str>,
    users: u32,
    nonces: &NonceGenerator,
) -> Result<DataRequest, ApiError> {
    let [mut count, mut size, mut nonce] = [None, None, None];
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (place, key) = match key {
            "users" => (&mut count, "users"),
            "size" => (&mut size, "size"),
            "nonce" => (&mut nonce, "nonce"),
            _ => return Err(ApiError::bad("unknown parameter; use users, size and nonce")),
        };
        let value = percent::decode(value)
            .ok_or_else(|| ApiError::at(key, format!("{key} must be percent-encoded")))?;
        if place.replace(value).is_some() {
            return Err(ApiError::at(key, format!("{key} is given twice")));
        }
    }
    let what = match (count, size) {
        (Some(_), Some(_)) => return Err(ApiError::at("size", "give users or size, not both")),
        (_, Some(size)) => Wanted::Bytes(bytes(&size)?),
        (Some(count), None) => Wanted::Users(number(&count)?),
        (None, None) => Wanted::Users(users),
    };
    let nonce = nonce.map_or_else(|| Ok(nonces.draw()), |nonce| given(&nonce))?;
    Ok(DataRequest { what, nonce })
}

fn number(text: &str) -> Result<u32, ApiError> {
    text.parse().ok().filter(|count| USERS.contains(count)).ok_or_else(|| {
        let (least, most) = (USERS.start(), USERS.end());
        ApiError::at("users", format!("users must be a whole number from {least} to {most}"))
    })
}

fn bytes(text: &str) -> Result<u64, ApiError> {
    let size = text.parse().ok().or_else(|| parse_size(text));
    size.filter(|size| SIZES.contains(size)).ok_or_else(|| {
        let (least, most) = (SIZES.start(), SIZES.end());
        let message = format!("size must be {least} to {most} bytes, such as 262144 or 256KiB");
        ApiError::at("size", message)
    })
}

/// It must come back exactly as it was sent.
fn given(nonce: &str) -> Result<u64, ApiError> {
    read_nonce(nonce)
        .map_err(|_| ApiError::at("nonce", "nonce must be 16 lower-case hexadecimal digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &str) -> Result<DataRequest, Option<&'static str>> {
        read(Some(query), 100, &NonceGenerator::default()).map_err(|error| error.at)
    }

    #[test]
    fn each_way_has_its_path() {
        assert_eq!(Route::of("/api/users-via-api"), Some(Route::Http));
        assert_eq!(Route::of("/api/users-via-uds"), Some(Route::Unix));
        assert_eq!(Route::of("/api/users-via-shm"), Some(Route::Shm));
        for other in ["/", "/api/users-via-", "/api/users-via-shm/", "/api/users-via-tcp"] {
            assert_eq!(Route::of(other), None, "{other}");
        }
    }

    #[test]
    fn a_question_is_read_with_all_that_it_says() {
        let nonce = 0x0123_4567_89ab_cdef;
        let users = DataRequest { what: Wanted::Users(7), nonce };
        assert_eq!(asked("users=7&nonce=0123456789abcdef"), Ok(users));
        let size = DataRequest { what: Wanted::Bytes(262_144), nonce };
        assert_eq!(asked("nonce=0123456789abcdef&size=256KiB"), Ok(size));
        assert_eq!(asked("nonce=0123456789abcdef&&size=262%3144"), Ok(size));
        assert_eq!(asked("nonce=0123456789abcdef").unwrap().what, Wanted::Users(100));
    }

    #[test]
    fn nonces_that_are_drawn_differ() {
        let nonces = NonceGenerator::default();
        let drawn: std::collections::BTreeSet<_> = (0..1_000).map(|_| nonces.draw()).collect();
        assert_eq!(drawn.len(), 1_000);
        assert_ne!(nonces.draw(), NonceGenerator::default().draw());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (query, at) in [
            ("users=0", Some("users")),
            ("users=1000000000", Some("users")),
            ("users=-1", Some("users")),
            ("users=many", Some("users")),
            ("users", Some("users")),
            ("size=17MiB", Some("size")),
            ("size=17825792", Some("size")),
            ("size=1023", Some("size")),
            ("size=18446744073709551616", Some("size")),
            ("size=1KiB&users=1", Some("size")),
            ("users=1&users=1", Some("users")),
            ("nonce=", Some("nonce")),
            ("nonce=0123456789abcde", Some("nonce")),
            ("nonce=0123456789ABCDEF", Some("nonce")),
            ("nonce=+123456789abcdef", Some("nonce")),
            ("nonce=0123456789abcdeg", Some("nonce")),
            ("nonce=%zz", Some("nonce")),
            ("count=1", None),
        ] {
            assert_eq!(asked(query), Err(at), "{query}");
        }
    }
}
