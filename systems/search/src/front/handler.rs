//! What a front does with one request: it answers its own paths, rewrites others, burns its cost, forwards, and reports
//! its time.

use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::PathAndQuery;
use hyper::{Method, Request, Response, StatusCode, Uri};
use proxying::{Answer, Client, Proxy};
use serving::metrics;

use super::cost::Burner;
use super::settings::NAME;
use super::tally::Tally;

/// A prefix that the upstream does not see.
const REFRAMED: &str = "/_go";
/// The prefix of the front's own paths.
const OWN: &str = "/_front/";
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// The handler of one thread's requests.
pub(super) struct Handler {
    proxy: Proxy,
    tally: Arc<Tally>,
    burner: Arc<Burner>,
}

impl Handler {
    pub fn new(proxy: Proxy, tally: Arc<Tally>, burner: Arc<Burner>) -> Self {
        Self { proxy, tally, burner }
    }

    /// Answers a request whose head was just read.
    pub async fn answer(
        &self,
        client: &Client,
        mut request: Request<Incoming>,
    ) -> Result<Response<Answer>, Infallible> {
        let begun = Instant::now();
        let path = request.uri().path();
        if path.starts_with(OWN) {
            return Ok(self.own(&request));
        }
        if let Some(target) = reframed(request.uri()) {
            *request.uri_mut() = target;
        }
        self.burner.burn();
        let mut answer = match self.proxy.forward(client, request).await {
            Ok(answer) => answer,
            Err(failure) => Answer::of_failure(&failure),
        };
        append_server_timing(answer.headers_mut(), begun.elapsed());
        Ok(answer)
    }

    fn own(&self, request: &Request<Incoming>) -> Response<Answer> {
        let (status, media_type, body) = match (request.method(), request.uri().path()) {
            (&Method::GET, "/_front/healthz") => (StatusCode::OK, "text/plain", "ok\n".to_owned()),
            (&Method::GET, "/_front/metrics") => {
                (StatusCode::OK, metrics::CONTENT_TYPE, self.tally.render())
            }
            _ => (StatusCode::NOT_FOUND, "text/plain", "no such path of the front\n".to_owned()),
        };
        let mut answer = Response::new(Answer::whole(body));
        *answer.status_mut() = status;
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        answer
    }
}

/// The target of a request under [`REFRAMED`].
fn reframed(uri: &Uri) -> Option<Uri> {
    let rest = uri.path().strip_prefix(REFRAMED)?;
    if !rest.is_empty() && !rest.starts_with('/') {
        return None;
    }
    let path = if rest.is_empty() { "/" } else { rest };
    let target = match uri.query() {
        Some(query) => PathAndQuery::try_from(format!("{path}?{query}")),
        None => PathAndQuery::try_from(path),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(target.ok()?);
    Uri::from_parts(parts).ok()
}

/// Appends `front;dur=…` to the times of the parts behind.
fn append_server_timing(headers: &mut HeaderMap, took: Duration) {
    let mut text = String::with_capacity(96);
    for times in headers.get_all(SERVER_TIMING).iter().filter_map(|times| times.to_str().ok()) {
        text.push_str(times);
        text.push_str(", ");
    }
    // Writing to a string cannot fail.
    let _ = write!(text, "{NAME};dur={:.3}", took.as_secs_f64() * 1e3);
    if let Ok(value) = HeaderValue::try_from(text) {
        headers.insert(SERVER_TIMING, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_under_the_prefix_goes_to_the_same_path_without_it() {
        let target = |uri: &str| reframed(&uri.parse().unwrap()).map(|uri| uri.to_string());
        assert_eq!(target("/_go/v1/matrix/search").as_deref(), Some("/v1/matrix/search"));
        assert_eq!(target("/_go/a%2Fb?c=/_go/d").as_deref(), Some("/a%2Fb?c=/_go/d"));
        assert_eq!(target("/_go").as_deref(), Some("/"));
        assert_eq!(target("/_go?a").as_deref(), Some("/?a"));
        assert_eq!(target("http://host/_go/a").as_deref(), Some("http://host/a"));
        assert_eq!(target("/_good/a"), None);
        assert_eq!(target("/v1/_go/a"), None);
    }

    #[test]
    fn the_time_comes_after_those_of_the_parts_behind() {
        let mut headers = HeaderMap::new();
        append_server_timing(&mut headers, Duration::from_micros(1_234));
        assert_eq!(headers[SERVER_TIMING], "front;dur=1.234");
        headers.insert(SERVER_TIMING, HeaderValue::from_static("embed;dur=0.1"));
        headers.append(SERVER_TIMING, HeaderValue::from_static("gateway;dur=0.2"));
        append_server_timing(&mut headers, Duration::from_millis(3));
        assert_eq!(headers.get_all(SERVER_TIMING).iter().count(), 1);
        assert_eq!(headers[SERVER_TIMING], "embed;dur=0.1, gateway;dur=0.2, front;dur=3.000");
    }
}
