//! Where a redirect leads, for any version of HTTP.
//!
//! Within the origin an operation goes on over the same connection, as far as the peer keeps it. To other origins it goes
//! on only if they are targets of the run: nobody else gets load because a server says so.
//!
//! Source: RFC 9110 section 15.4; methods and credentials as in browsers (Fetch standard, section 4.4)

use std::any::Any;

use engine::clock::Clock;
use engine::driver::{Exchange, Onward};
use engine::transport::no_target;
use plan::target::without_credentials;
use record::FailureKind;
use url::Url;

use super::answer::Failure;
use super::head;
use crate::expect::rule::shown;
use crate::probe::CheckedExpectation;

/// Requests that follow redirects, made from an operation's own.
#[derive(Debug)]
pub struct Redirected<R> {
    /// Within the origin.
    pub within: ByMethod<R>,
    /// At other origins: without the credentials, and the host, that the experiment names.
    pub elsewhere: ByMethod<R>,
    /// The operation's method, as far as it matters.
    pub method: Method,
}

/// Requests that follow redirects, by what becomes of the method.
#[derive(Debug)]
pub struct ByMethod<R> {
    /// With the operation's method and body.
    pub same: R,
    /// A GET without a body.
    pub as_get: R,
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
#[derive(Debug, Clone, Default)]
pub struct Redirection {
    /// How often.
    pub count: u32,
    /// Path and query of the last redirect; empty without one.
    pub target: String,
    /// Whether the method has become GET.
    pub is_get: bool,
    /// Whether it has left its origin, if only for a while.
    pub is_elsewhere: bool,
}

/// Where an operation goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// At the origin that redirected it.
    Within,
    /// At another one.
    To(String),
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
        self.is_elsewhere = false;
    }

    /// What was followed, for people to read: as far as the last request, which went to `url`. `is_left`: the last
    /// redirect leads away from there.
    pub fn check(&self, url: Option<Url>, is_left: bool) -> Option<CheckedExpectation> {
        let count = self.count - u32::from(is_left);
        let redirects = if count == 1 { "redirect" } else { "redirects" };
        (count > 0).then(|| CheckedExpectation {
            text: format!("{count} {redirects} followed"),
            holds: true,
            seen: url.map_or_else(String::new, String::from),
        })
    }

    /// The request to be sent now, if there was a redirect.
    pub fn request<'a, R>(&self, redirected: &'a Redirected<R>) -> Option<&'a R> {
        let Redirected { within, elsewhere, .. } = redirected;
        let by_method = if self.is_elsewhere { elsewhere } else { within };
        let request = if self.is_get { &by_method.as_get } else { &by_method.same };
        (self.count > 0).then_some(request)
    }

    /// Takes the redirect of this answer.
    ///
    /// Errors: it has no location, or is one too many
    pub fn follow(
        &mut self,
        answer: &RedirectAnswer<'_>,
        method: Method,
        limit: u32,
    ) -> Result<Followed, Failure> {
        let refuse = |detail| Failure { kind: FailureKind::Redirect, detail };
        let status = answer.status;
        let location = location(answer.head)
            .ok_or_else(|| refuse(format!("status {status} without a location")))?;
        if self.count == limit {
            let times = if limit == 1 { "redirect" } else { "redirects" };
            let location = without_credentials(&location);
            let location = shown(&location);
            return Err(refuse(format!("more than {limit} {times}; the next leads to {location}")));
        }
        let base = answer.url.as_ref();
        let url = base.and_then(|base| base.join(&location).ok());
        let Some((base, url)) = base.zip(url) else {
            let location = without_credentials(&location);
            return Err(refuse(format!("the location {:?} is not an address", shown(&location))));
        };
        let leaves = base.origin() != url.origin();
        self.is_elsewhere |= leaves;
        self.count += 1;
        self.is_get |= becomes_get(status, method);
        self.target.clear();
        self.target.push_str(url.path());
        if let Some(query) = url.query() {
            self.target.push('?');
            self.target.push_str(query);
        }
        Ok(if leaves { Followed::To(origin_of(&url)) } else { Followed::Within })
    }

    /// Lets the operation go on at this origin over another connection, if it is one of a target. Returns the failure if
    /// it is none.
    pub fn leave<C: Clock>(&self, origin: String, exchange: &mut Exchange<C>) -> Failure {
        let failure = Failure { kind: FailureKind::Redirect, detail: no_target(&origin) };
        exchange.onward = Some(Onward { origin, state: Box::new(self.clone()) });
        failure
    }

    /// Takes up what an operation came with from another connection.
    pub fn take_up(&mut self, state: Box<dyn Any>) {
        if let Ok(state) = state.downcast() {
            *self = *state;
        }
    }
}

/// Scheme, host and port of an address; only the scheme of one that is not for HTTP.
pub fn origin_of(url: &Url) -> String {
    match url.scheme() {
        "http" | "https" => url.origin().ascii_serialization(),
        other => format!("{other}:"),
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
        let place = followed.map(|followed| match followed {
            Followed::Within => redirection.target.clone(),
            Followed::To(origin) => format!("{origin} {}", redirection.target),
        });
        place.map_err(|failure| failure.detail)
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
    fn another_origin_is_told_apart_by_scheme_host_and_port() {
        check("http://b.example/", Ok("http://b.example /"));
        check("https://a.example:8080/x?y", Ok("https://a.example:8080 /x?y"));
        check("http://a.example/", Ok("http://a.example /"));
        check("http://user:word@B.example:80/x", Ok("http://b.example /x"));
        check("javascript:alert(1)", Ok("javascript: alert(1)"));
        check("ftp://a.example:8080/x", Ok("ftp: /x"));
        check("http://a:b@[", Err("the location \"http://…@[\" is not an address"));
    }

    #[test]
    fn credentials_do_not_come_back_with_the_operation() {
        let mut redirection = Redirection::default();
        let away = follow(&mut redirection, 302, "location: http://b.example/\r\n", Method::Safe);
        assert_eq!(away, Ok("http://b.example /".to_owned()));
        follow(&mut redirection, 302, "location: /back\r\n", Method::Safe).unwrap();
        let variants = |name: &str| ByMethod { same: name.to_owned(), as_get: name.to_owned() };
        let (within, elsewhere) = (variants("within"), variants("elsewhere"));
        let redirected = Redirected { within, elsewhere, method: Method::Safe };
        assert_eq!(redirection.request(&redirected), Some(&"elsewhere".to_owned()));
        redirection.clear();
        follow(&mut redirection, 302, "location: /\r\n", Method::Safe).unwrap();
        assert_eq!(redirection.request(&redirected), Some(&"within".to_owned()));
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
