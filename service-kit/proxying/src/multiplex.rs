//! How heads differ that came by HTTP/2, and their form in HTTP/1.1 (RFC 9113 8.2 and 8.3).
//!
//! Names in capitals, bytes that no value has, fields of one connection and a length that is not kept are refused by
//! the reader of the frames; the rest is done here.

use hyper::Request;
use hyper::header::{CONTENT_LENGTH, COOKIE, HOST, HeaderMap, HeaderValue};

/// Refuses what only HTTP/2 can say, and must not.
pub(crate) fn check<B>(request: &Request<B>) -> Result<(), &'static str> {
    let (uri, headers) = (request.uri(), request.headers());
    let target = uri.path_and_query().map_or("", |target| target.as_str());
    if !target.starts_with('/') && target != "*" {
        return Err("a path begins with a slash");
    }
    // Whoever reads the frames takes it for nothing; over HTTP/1.1 it is no length.
    if headers.get(CONTENT_LENGTH).is_some_and(HeaderValue::is_empty) {
        return Err("a length is a number");
    }
    if headers.values().any(is_padded) {
        return Err("a value neither begins nor ends with a blank");
    }
    let is_other = |authority: &str| {
        let named = headers.get(HOST).map(HeaderValue::as_bytes);
        named.is_some_and(|host| !host.eq_ignore_ascii_case(authority.as_bytes()))
    };
    match uri.authority() {
        Some(authority) if is_other(authority.as_str()) => {
            Err("Host and :authority are of two hosts")
        }
        _ => Ok(()),
    }
}

/// Over HTTP/1.1 the blank would go, and the value be another one.
fn is_padded(value: &HeaderValue) -> bool {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    is_blank(value.as_bytes().first()) || is_blank(value.as_bytes().last())
}

/// Puts cookies together that came one by one, so that they can be told from a list (RFC 9113 8.2.3).
pub(crate) fn join_cookies(headers: &mut HeaderMap) {
    if headers.get_all(COOKIE).iter().nth(1).is_none() {
        return;
    }
    let pieces: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    // What was fit for values each is so with this between.
    if let Ok(all) = HeaderValue::from_bytes(&pieces.join(&b"; "[..])) {
        headers.insert(COOKIE, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(uri: &str, fields: &[(&'static str, &str)]) -> Result<(), &'static str> {
        let mut request = Request::new(());
        *request.uri_mut() = uri.parse().unwrap();
        for (name, value) in fields {
            request.headers_mut().append(*name, HeaderValue::from_str(value).unwrap());
        }
        check(&request)
    }

    #[test]
    fn a_host_is_the_authority_or_stands_alone() {
        assert_eq!(checked("http://h:80/a", &[]), Ok(()));
        assert_eq!(checked("http://h:80/a", &[("host", "H:80")]), Ok(()));
        assert_eq!(checked("/a", &[("host", "i")]), Ok(()));
        assert_eq!(
            checked("http://h/a", &[("host", "i")]),
            Err("Host and :authority are of two hosts")
        );
    }

    #[test]
    fn values_have_no_blanks_around_them() {
        assert_eq!(checked("/", &[("x", "a b"), ("y", "")]), Ok(()));
        for padded in [" a", "a ", "\ta", " "] {
            assert!(checked("/", &[("x", padded)]).is_err(), "{padded:?}");
        }
    }

    #[test]
    fn a_length_is_a_number() {
        assert_eq!(checked("/", &[("content-length", "0")]), Ok(()));
        assert!(checked("/", &[("content-length", "")]).is_err());
    }

    #[test]
    fn cookies_are_one_field() {
        let mut headers = HeaderMap::new();
        join_cookies(&mut headers);
        assert!(headers.is_empty());
        for cookie in ["a=1", "b=2; c=3", "d=4"] {
            headers.append(COOKIE, HeaderValue::from_static(cookie));
        }
        join_cookies(&mut headers);
        let all: Vec<&HeaderValue> = headers.get_all(COOKIE).iter().collect();
        assert_eq!(all, ["a=1; b=2; c=3; d=4"]);
    }
}
