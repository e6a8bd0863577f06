//! Where a redirect leads, for any version of HTTP.
//!
//! An operation goes on over the connection on which it was redirected, so only within the origin.
//!
//! Source: RFC 9110 section 15.4; methods change as in browsers (Fetch standard, section 4.4)

use record::FailureKind;
use url::Url;

use super::answer::Failure;
use super::codec::head;
use crate::expect::rule::shown;
use crate::probe::CheckedExpectation;

/// Requests that follow redirects, made from an operation's own.
#[derive(Debug)]
pub struct Redirected<R> {
    /// With the operation's method and body.
    pub same: R,
    /// A GET without a body.
    pub as_get: R,
    /// The operation's method, as far as it matters.
    pub method: Method,
}

/// A method, as far as it matters to a redirect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// GET or HEAD, which never change.
    Safe,
    /// POST.
    Post,
    /// Any other.
    Other,
}

impl Method {
    /// The method of this name.
    pub fn of(name: &str) -> Self {
        match name {
            "GET" | "HEAD" => Self::Safe,
            "POST" => Self::Post,
            _ => Self::Other,
        }
    }
}

/// How far an operation in progress was redirected.
#[derive(Debug, Default)]
pub struct Redirection {
    /// How often.
    pub count: u32,
    /// Path and query of the last redirect; empty without one.
    pub target: String,
    /// Whether the method has become GET.
    pub is_get: bool,
}

/// An answer that redirects.
#[derive(Debug)]
pub struct RedirectAnswer<'a> {
    /// Its status.
    pub status: u16,
    /// Its head, as HTTP/1.1 writes one.
    pub head: &'a [u8],
    /// Where it came from; `None` where the target has no valid address.
    pub url: Option<Url>,
}

impl Redirection {
    /// Forgets the previous operation, but not its memory.
    pub fn clear(&mut self) {
        self.count = 0;
        self.target.clear();
        self.is_get = false;
    }

    /// What was followed, for people to read.
    pub fn check(&self) -> Option<CheckedExpectation> {
        let redirects = if self.count == 1 { "redirect" } else { "redirects" };
        (self.count > 0).then(|| CheckedExpectation {
            text: format!("{} {redirects} followed", self.count),
            holds: true,
            seen: self.target.clone(),
        })
    }

    /// The request to be sent now, if there was a redirect.
    pub fn request<'a, R>(&self, redirected: &'a Redirected<R>) -> Option<&'a R> {
        let request = if self.is_get { &redirected.as_get } else { &redirected.same };
        (self.count > 0).then_some(request)
    }

    /// Takes the redirect of this answer.
    ///
    /// Errors: it has no location, leads to another origin, or is one too many
    pub fn follow(
        &mut self,
        answer: &RedirectAnswer<'_>,
        method: Method,
        limit: u32,
    ) -> Result<(), Failure> {
        let refuse = |detail| Failure { kind: FailureKind::Redirect, detail };
        let status = answer.status;
        let location = location(answer.head)
            .ok_or_else(|| refuse(format!("status {status} without a location")))?;
        if self.count == limit {
            let times = if limit == 1 { "redirect" } else { "redirects" };
            let location = shown(&location);
            return Err(refuse(format!("more than {limit} {times}; the next leads to {location}")));
        }
        let base = answer.url.as_ref();
        let url = base.and_then(|base| base.join(&location).ok());
        let Some((base, url)) = base.zip(url) else {
            return Err(refuse(format!("the location {:?} is not an address", shown(&location))));
        };
        if base.origin() != url.origin() {
            let (from, to) =
                (base.origin().ascii_serialization(), url.origin().ascii_serialization());
            let detail = format!("redirected from {from} to {to}, which is another origin");
            return Err(refuse(detail));
        }
        self.count += 1;
        self.is_get |= becomes_get(status, method);
        self.target.clear();
        self.target.push_str(url.path());
        if let Some(query) = url.query() {
            self.target.push('?');
            self.target.push_str(query);
        }
        Ok(())
    }
}

/// Whether an answer with this status redirects.
pub fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

fn becomes_get(status: u16, method: Method) -> bool {
    match status {
        301 | 302 => method == Method::Post,
        303 => method != Method::Safe,
        _ => false,
    }
}

fn location(head: &[u8]) -> Option<String> {
    let found = head::with_fields(head, |_, response| {
        let mut fields = response.headers.iter();
        let field = fields.find(|field| field.name.eq_ignore_ascii_case("location"))?;
        Some(String::from_utf8_lossy(field.value).trim().to_owned())
    });
    found.ok().flatten().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(
        redirection: &mut Redirection,
        status: u16,
        fields: &str,
        method: Method,
    ) -> Result<String, String> {
        let head = format!("HTTP/1.1 {status} X\r\n{fields}\r\n");
        let url = Url::parse("http://a.example:8080/shop/cart?x=1").ok();
        let answer = RedirectAnswer { status, head: head.as_bytes(), url };
        let followed = redirection.follow(&answer, method, 2);
        followed.map(|()| redirection.target.clone()).map_err(|failure| failure.detail)
    }

    #[track_caller]
    fn check(location: &str, expected: Result<&str, &str>) {
        let fields = format!("x: y\r\nLocation: {location}\r\n");
        let seen = follow(&mut Redirection::default(), 302, &fields, Method::Safe);
        assert_eq!(seen, expected.map(str::to_owned).map_err(str::to_owned));
    }

    #[test]
    fn locations_are_resolved_against_the_request() {
        check("/login", Ok("/login"));
        check("pay?a=b#c", Ok("/shop/pay?a=b"));
        check("../x/./y", Ok("/x/y"));
        check("?page=2", Ok("/shop/cart?page=2"));
        check("http://a.example:8080", Ok("/"));
        check("//a.example:8080/ü x", Ok("/%C3%BC%20x"));
        check("", Ok("/shop/cart?x=1"));
    }

    #[test]
    fn another_origin_is_not_followed() {
        let refused = |to: &str| {
            format!("redirected from http://a.example:8080 to {to}, which is another origin")
        };
        check("http://b.example/", Err(&refused("http://b.example")));
        check("https://a.example:8080/", Err(&refused("https://a.example:8080")));
        check("http://a.example/", Err(&refused("http://a.example")));
        check("javascript:alert(1)", Err(&refused("null")));
        check("http://[", Err("the location \"http://[\" is not an address"));
    }

    #[test]
    fn a_redirect_needs_a_location_and_ends_at_the_limit() {
        let mut redirection = Redirection::default();
        let without = follow(&mut redirection, 301, "", Method::Safe);
        assert_eq!(without, Err("status 301 without a location".to_owned()));
        for _ in 0..2 {
            assert!(follow(&mut redirection, 302, "location: /\r\n", Method::Safe).is_ok());
        }
        let many = follow(&mut redirection, 302, "location: /again\r\n", Method::Safe);
        assert_eq!(many, Err("more than 2 redirects; the next leads to /again".to_owned()));
    }

    #[test]
    fn the_method_changes_as_in_browsers_and_stays_changed() {
        use Method::{Other, Post, Safe};
        for (status, method, is_get) in [
            (301, Post, true),
            (302, Post, true),
            (303, Post, true),
            (307, Post, false),
            (308, Post, false),
            (302, Other, false),
            (303, Other, true),
            (303, Safe, false),
        ] {
            let mut redirection = Redirection::default();
            follow(&mut redirection, status, "location: /\r\n", method).unwrap();
            assert_eq!(redirection.is_get, is_get, "{status} {method:?}");
        }
        let mut redirection = Redirection::default();
        follow(&mut redirection, 303, "location: /\r\n", Post).unwrap();
        follow(&mut redirection, 307, "location: /\r\n", Post).unwrap();
        assert!(redirection.is_get);
    }
}
