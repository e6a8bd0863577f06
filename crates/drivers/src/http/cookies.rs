//! The cookies of one journey, over all its answers and requests.
//!
//! Source: RFC 6265; limits as in its section 6.1

use std::cmp::Reverse;

use cookie_store::{Cookie, CookieStore, StoreAction};
use plan::journey::Memory;
use url::Url;

use super::head;

/// Cookies of one jar; further ones are ignored.
const COOKIES_LIMIT: usize = 50;
/// Bytes of a `set-cookie` field; a longer one is ignored.
const COOKIE_LIMIT: usize = 4096;

/// The cookies of a journey.
#[derive(Debug, Default)]
pub struct CookieJar(CookieStore);

/// Stores what the answer with this head sets, which came from `url`.
pub fn store(head: &[u8], url: &Url, memory: &Memory) {
    memory.session(|jar: &mut CookieJar| {
        // A head that is kept has been parsed before.
        let _ = head::with_fields(head, |_, response| {
            let named = |name: &str| name.eq_ignore_ascii_case("set-cookie");
            for field in response.headers.iter().filter(|field| named(field.name)) {
                jar.store(field.value, url);
            }
        });
    });
}

/// Whether there is any cookie to send.
pub fn has_any(memory: &Memory) -> bool {
    memory.session(|jar: &mut CookieJar| jar.0.iter_any().next().is_some())
}

/// Appends the value of the `cookie` field of a request for `url`; nothing where no cookie belongs there.
pub fn append(url: &Url, memory: &Memory, out: &mut Vec<u8>) {
    memory.session(|jar: &mut CookieJar| jar.append(url, out));
}

impl CookieJar {
    fn store(&mut self, field: &[u8], url: &Url) {
        let text = String::from_utf8_lossy(field);
        if field.len() > COOKIE_LIMIT {
            return;
        }
        let Ok(cookie) = Cookie::parse(text, url) else { return };
        let cookie = cookie.into_owned();
        let Some((domain, path, name)) = place(&cookie) else { return };
        let is_new = !self.0.contains_any(&domain, &path, &name);
        if is_new && self.0.iter_any().count() >= COOKIES_LIMIT {
            self.forget_expired();
            if self.0.iter_any().count() >= COOKIES_LIMIT {
                return;
            }
        }
        // One that may not be set here is ignored, as by a browser.
        if let Ok(StoreAction::ExpiredExisting) = self.0.insert(cookie, url) {
            self.0.remove(&domain, &path, &name);
        }
    }

    fn forget_expired(&mut self) {
        let expired = self.0.iter_any().filter(|cookie| cookie.is_expired());
        let places: Vec<_> = expired.filter_map(place).collect();
        for (domain, path, name) in places {
            self.0.remove(&domain, &path, &name);
        }
    }

    /// Those with longer paths come first (RFC 6265 section 5.4).
    fn append(&self, url: &Url, out: &mut Vec<u8>) {
        let mut cookies = self.0.matches(url);
        cookies.sort_by_key(|cookie| Reverse(cookie.path.len()));
        for (place, cookie) in cookies.into_iter().enumerate() {
            if place > 0 {
                out.extend_from_slice(b"; ");
            }
            out.extend_from_slice(cookie.name().as_bytes());
            out.push(b'=');
            out.extend_from_slice(cookie.value().as_bytes());
        }
    }
}

/// Domain, path and name, by which one cookie takes the place of another.
fn place(cookie: &Cookie<'_>) -> Option<(String, String, String)> {
    let domain = cookie.domain.as_cow()?.into_owned();
    Some((domain, cookie.path.to_string(), cookie.name().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A journey's memory after these answers: address and value of `set-cookie`.
    fn after(answers: &[(&str, &str)]) -> Memory {
        let memory = Memory::default();
        for (url, field) in answers {
            let head = format!("HTTP/1.1 200 OK\r\nx: y\r\nSet-Cookie: {field}\r\n\r\n");
            store(head.as_bytes(), &Url::parse(url).unwrap(), &memory);
        }
        memory
    }

    fn sent(memory: &Memory, url: &str) -> String {
        let mut out = Vec::new();
        append(&Url::parse(url).unwrap(), memory, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_cookie_goes_back_to_its_host_and_to_no_other() {
        let memory = after(&[("http://a.example/", "sid=1; HttpOnly")]);
        assert!(has_any(&memory));
        assert_eq!(sent(&memory, "http://a.example/x?y"), "sid=1");
        assert_eq!(sent(&memory, "http://a.example:8080/"), "sid=1", "ports do not matter");
        assert_eq!(sent(&memory, "http://b.a.example/"), "");
        assert_eq!(sent(&memory, "http://b.example/"), "");
        let memory = after(&[("http://a.example/", "sid=1; Domain=b.example")]);
        assert!(!has_any(&memory), "of another domain");
        let memory = after(&[("http://www.a.example/", "sid=1; Domain=.A.example")]);
        assert_eq!(sent(&memory, "http://b.a.example/"), "sid=1");
        assert_eq!(sent(&memory, "http://xa.example/"), "");
        let memory = after(&[("http://[::1]:8080/", "a=1"), ("http://192.0.2.1/", "b=2")]);
        assert_eq!(sent(&memory, "http://[::1]:8080/"), "a=1");
        assert_eq!(sent(&memory, "http://192.0.2.1/"), "b=2");
    }

    #[test]
    fn paths_and_secure_connections_matter() {
        let url = "http://a.example/shop/cart";
        let memory = after(&[(url, "a=1"), (url, "b=2; Path=/"), (url, "c=3; Path=/shop/cart")]);
        assert_eq!(sent(&memory, "http://a.example/shop/cart"), "c=3; a=1; b=2");
        assert_eq!(sent(&memory, "http://a.example/shop/cart/x"), "c=3; a=1; b=2");
        assert_eq!(sent(&memory, "http://a.example/shopping"), "b=2");
        let memory = after(&[("https://a.example/", "a=1; Secure")]);
        assert_eq!(sent(&memory, "https://a.example/"), "a=1");
        assert_eq!(sent(&memory, "http://a.example/"), "");
    }

    #[test]
    fn a_cookie_is_replaced_and_expires() {
        let url = "http://a.example/";
        let memory = after(&[(url, "a=1"), (url, "b=2"), (url, "a=3")]);
        assert_eq!(sent(&memory, url), "a=3; b=2");
        let memory = after(&[(url, "a=1"), (url, "b=2; Max-Age=3600"), (url, "a=; Max-Age=0")]);
        assert_eq!(sent(&memory, url), "b=2");
        let past = "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT";
        assert!(!has_any(&after(&[(url, past)])));
        assert!(!has_any(&after(&[(url, "a=1"), (url, past)])));
        let huge = after(&[(url, "a=1; Max-Age=99999999999999999999")]);
        assert_eq!(sent(&huge, url), "a=1");
    }

    #[test]
    fn what_cannot_be_understood_is_ignored() {
        let url = "http://a.example/a/b";
        for field in ["", ";", "=", "noequals", "=x", "a=1; Domain=[", "a=1; Domain=\u{0}"] {
            let memory = after(&[(url, field)]);
            assert!(sent(&memory, url).len() <= 3, "{field:?}");
        }
        let memory = after(&[(url, "a=\"x y\"; Path=relative; SameSite=Odd; Unknown")]);
        assert_eq!(sent(&memory, "http://a.example/a/c"), "a=\"x y\"");
    }

    #[test]
    fn thousands_of_cookies_leave_as_many_as_the_limit() {
        let url = "http://a.example/";
        let fields: Vec<String> = (0..5_000).map(|k| format!("c{k}=1")).collect();
        let answers: Vec<_> = fields.iter().map(|field| (url, field.as_str())).collect();
        let memory = after(&answers);
        assert_eq!(sent(&memory, url).split("; ").count(), COOKIES_LIMIT);
        assert!(sent(&memory, url).starts_with("c0=1; c1=1; "));
        let long = format!("long={}", "x".repeat(COOKIE_LIMIT));
        assert!(!has_any(&after(&[(url, &long)])));
    }

    #[test]
    fn cookies_that_were_deleted_take_no_place() {
        let url = "http://a.example/";
        let names = (0..1_000).flat_map(|k| [format!("c{k}=1"), format!("c{k}=; Max-Age=0")]);
        let fields: Vec<String> = names.chain(["last=1".to_owned()]).collect();
        let answers: Vec<_> = fields.iter().map(|field| (url, field.as_str())).collect();
        assert_eq!(sent(&after(&answers), url), "last=1");
    }
}
