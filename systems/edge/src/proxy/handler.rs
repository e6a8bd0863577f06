//! Answers one request: from the cache, from the upstream, or with an answer of the proxy's own.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use http_body_util::Either;
use hyper::body::{Body, Incoming};
use hyper::header::{
    AGE, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, DATE, ETAG, HeaderMap,
    HeaderName, HeaderValue, LAST_MODIFIED, RETRY_AFTER,
};
use hyper::http::response;
use hyper::{Method, Request, Response, StatusCode};
use proxying::{Answer, Client, Handle, Proxy, UntilClose};
use serving::metrics;
use serving::timing::SERVER_TIMING;

use super::breaker::Outcome;
use super::collapsing::{Collapsing, Leader, Next, Role};
use super::condition;
use super::key::{self, Key, Selection};
use super::log::{Entry, Log};
use super::lookup::{self, Lookup};
use super::messages::Messages;
use super::outgoing::{Fill, Head, Outgoing, Sent};
use super::policy::{self, Freshness};
use super::refusal::{self, Refusal, text_answer};
use super::routes::Routes;
use super::settings::{Caching, Configuration};
use super::store::{Store, Stored};
use super::tally::{CacheStatus, Permit, Tally};
use super::times::Times;

/// The proxy itself answers requests for paths that begin with it.
const OWN: &str = "/_proxy/";
const X_CACHE: HeaderName = HeaderName::from_static("x-cache");

/// A client's connection.
#[derive(Debug)]
pub(super) struct Peer {
    address: IpAddr,
    client: Client,
}

impl Peer {
    pub fn new(address: IpAddr, is_secure: bool, socket: &Handle) -> Self {
        Self { address, client: Client::new(address, is_secure).with_interims(socket) }
    }
}

/// One request: who sent it, and the times of its parts so far.
struct Exchange<'p> {
    peer: &'p Peer,
    times: Times,
}

/// Answers all requests.
pub(super) struct Handler {
    proxy: Proxy<Sent>,
    store: Arc<Store>,
    collapsing: Arc<Collapsing>,
    routes: Arc<Routes>,
    tally: Arc<Tally>,
    caching: Caching,
    in_flight: u64,
    log: Option<Log>,
    messages: Option<Messages>,
    /// Requests that bypassed the cache.
    busted: AtomicU64,
}

/// An answer, and where it came from.
struct Served {
    answer: Response<Outgoing>,
    how: CacheStatus,
}

impl Served {
    fn own(answer: Response<Answer<Sent>>) -> Self {
        Self::passed_on(answer, CacheStatus::Nothing)
    }

    fn passed_on(answer: Response<Answer<Sent>>, how: CacheStatus) -> Self {
        Self { answer: answer.map(|body| Outgoing::new(body, None)), how }
    }
}

impl Handler {
    pub fn new(configuration: &Configuration, tally: Arc<Tally>, log: Option<Log>) -> Self {
        let Configuration { upstream, bounds, caching, breaker, routes, in_flight, .. } =
            configuration;
        let messages = configuration.messages.as_ref().map(Messages::new);
        Self {
            proxy: Proxy::new(upstream, *bounds, Arc::clone(&tally.upstream)),
            store: Arc::new(Store::new(caching.most, tally.dropped.clone())),
            collapsing: Arc::default(),
            routes: Arc::new(Routes::new(*breaker, routes.clone())),
            tally,
            caching: caching.clone(),
            in_flight: *in_flight,
            log,
            messages,
            busted: AtomicU64::new(0),
        }
    }

    /// Sends what is left for monitors, within this time.
    pub async fn finish(&self, within: Duration) {
        if let Some(messages) = &self.messages {
            messages.finish(within).await;
        }
    }

    /// Answers a request whose head was just read.
    pub async fn answer(
        &self,
        peer: &Peer,
        request: Request<Incoming>,
    ) -> Result<Response<Outgoing>, Infallible> {
        let mut exchange = Exchange { peer, times: Times::begin() };
        if request.uri().path().starts_with(OWN) {
            return Ok(self.own(&request));
        }
        let entry = |log: &Log| log.entry(peer.address, request.method(), request.uri());
        let entry = self.log.as_ref().map(entry).map(Box::new);
        let about = |one: &Messages| one.about(request.method(), request.uri());
        let about = self.messages.as_ref().map(about);
        let permit = Permit::take(&self.tally.under_way, self.in_flight);
        let served = match &permit {
            Some(_) => self.serve(&mut exchange, request).await,
            None => self.shed(),
        };
        if let (Some(messages), Some(about)) = (&self.messages, about) {
            // Before the head goes out, so that its times include the wait.
            exchange.times.cast = messages.cast(&about, served.answer.status(), served.how).await;
        }
        Ok(self.finish_answer(served, &exchange.times, permit, entry))
    }

    /// Every answer passes here once, when its head is known: it is counted, logged and given its headers.
    fn finish_answer(
        &self,
        served: Served,
        times: &Times,
        permit: Option<Permit>,
        mut entry: Option<Box<Entry>>,
    ) -> Response<Outgoing> {
        let Served { mut answer, how } = served;
        answer.headers_mut().insert(X_CACHE, HeaderValue::from_static(how.name()));
        times.write_to(answer.headers_mut());
        self.tally.answer(how);
        if let Some(entry) = &mut entry {
            entry.answer = Some((answer.status(), how));
        }
        answer.map(|body| body.with(permit, entry))
    }

    fn shed(&self) -> Served {
        self.tally.shed.one();
        let text = "too many requests are under way\n";
        let mut answer = text_answer(StatusCode::SERVICE_UNAVAILABLE, text);
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        Served::own(answer)
    }

    async fn serve(&self, exchange: &mut Exchange<'_>, request: Request<Incoming>) -> Served {
        if self.proxy.has_seen(request.headers()) {
            let text =
                "loop: the request has passed this proxy before; check where the upstream leads\n";
            return Served::own(text_answer(StatusCode::LOOP_DETECTED, text));
        }
        // A malformed request never reaches the cache; `forward` refuses and counts it.
        let is_sound = proxying::check(&exchange.peer.client, &request).is_ok();
        let (mut parts, body) = request.into_parts();
        if is_sound {
            key::strip(&mut parts);
        }
        if is_sound && lookup::is_cacheable(&parts, &body, &self.caching) {
            let number = || self.busted.fetch_add(1, Ordering::Relaxed);
            return self.look_up(exchange, Lookup::new(parts, &self.caching, number)).await;
        }
        let changes = !parts.method.is_safe();
        let key = changes.then(|| Key::of(&parts.uri, &parts.headers));
        let request = Request::from_parts(parts, Either::Left(body));
        match self.send(exchange, request).await {
            Ok(answer) => {
                let has_changed = answer.status().is_success() || answer.status().is_redirection();
                if let Some(key) = key.filter(|_| has_changed) {
                    self.store.forget(&key);
                    self.tally.forgotten.one();
                }
                Served::passed_on(answer, CacheStatus::Pass)
            }
            Err(refusal) => Served::own(refusal.answer()),
        }
    }

    /// Answers from the cache if it has a fresh answer, else waits for an equal request, else asks the upstream.
    async fn look_up(&self, exchange: &mut Exchange<'_>, asked: Lookup) -> Served {
        let until = tokio::time::Instant::now() + self.caching.collapse;
        let mut how = CacheStatus::Hit;
        loop {
            let found = self.find(&asked);
            if let Some(stored) = fresh(&asked, found.as_deref()) {
                return self.stored(&asked, stored, how);
            }
            if asked.only_if_cached {
                let text =
                    "not in the cache, and the request accepts nothing else (only-if-cached)\n";
                return Served::own(text_answer(StatusCode::GATEWAY_TIMEOUT, text));
            }
            if self.caching.collapse.is_zero() || asked.is_alone(found.as_deref()) {
                return self.fetch(exchange, &asked, found, None).await;
            }
            let follower = match self.collapsing.join(&asked.key) {
                Role::Follow(follower) => follower,
                Role::Lead(leader) => {
                    // Another request may have stored it since the first look.
                    let found = self.find(&asked);
                    if let Some(stored) = fresh(&asked, found.as_deref()) {
                        return self.stored(&asked, stored, CacheStatus::Collapsed);
                    }
                    return self.fetch(exchange, &asked, found, Some(leader)).await;
                }
            };
            how = CacheStatus::Collapsed;
            let next = follower.wait(until).await;
            let now_found = self.find(&asked);
            let is_same = now_found.as_ref().map(Arc::as_ptr) == found.as_ref().map(Arc::as_ptr);
            // An answer that is stale on arrival is not worth a second wait.
            let has_come = fresh(&asked, now_found.as_deref()).is_some() || is_same;
            if next == Next::Ask || !has_come {
                return self.fetch(exchange, &asked, now_found, None).await;
            }
        }
    }

    /// Asks the upstream; if that fails, falls back to a stale answer where the rules allow it.
    async fn fetch(
        &self,
        exchange: &mut Exchange<'_>,
        asked: &Lookup,
        found: Option<Arc<Stored>>,
        leader: Option<Leader>,
    ) -> Served {
        let mut known = asked.known(found.as_deref());
        loop {
            let answer = match self.send(exchange, asked.request(known)).await {
                Ok(answer) if !policy::is_failure(answer.status()) => answer,
                failed => {
                    release_empty(leader);
                    return self.stand_in(asked, found.as_deref(), failed);
                }
            };
            match known.take().filter(|_| answer.status() == StatusCode::NOT_MODIFIED) {
                None => return self.pass_on(asked, answer, leader),
                Some(stored) => {
                    if let Some(stored) = self.refresh(asked, stored, answer.headers()) {
                        return self.stored(asked, &stored, CacheStatus::Revalidated);
                    }
                    // The 304 is about another answer than the stored one: ask again without a condition.
                }
            }
        }
    }

    /// Asks the upstream, unless the route's breaker is open.
    async fn send(
        &self,
        exchange: &mut Exchange<'_>,
        request: Request<Sent>,
    ) -> Result<Response<Answer<Sent>>, Refusal> {
        let begun = Instant::now();
        let attempt = self.routes.ask(request.uri().path(), begun).map_err(|wait| {
            self.tally.broken_circuits.one();
            Refusal::Breaker(wait)
        })?;
        let answer = self.proxy.forward(&exchange.peer.client, request).await;
        exchange.times.upstream += begun.elapsed();
        if let Some(attempt) = attempt {
            attempt.record(match &answer {
                Ok(answer) if policy::is_failure(answer.status()) => Outcome::Failed,
                Ok(_) => Outcome::Answered,
                Err(failure) => refusal::outcome(failure),
            });
        }
        answer.map_err(Refusal::Failure)
    }

    /// The answer when the upstream failed: a stale one if allowed, else the failure.
    fn stand_in(
        &self,
        asked: &Lookup,
        found: Option<&Stored>,
        failed: Result<Response<Answer<Sent>>, Refusal>,
    ) -> Served {
        let may = match &failed {
            Ok(_) => true,
            Err(refusal) => refusal.is_not_the_clients(),
        };
        let now = SystemTime::now();
        let may_stand = |stored: &&Stored| stored.freshness.may_stand_in(&asked.parts.headers, now);
        match (found.filter(|_| may).filter(may_stand), failed) {
            (Some(stored), _) => self.stored(asked, stored, CacheStatus::Stale),
            (None, Ok(answer)) => Served::passed_on(answer, asked.how),
            (None, Err(refusal)) => Served::own(refusal.answer()),
        }
    }

    /// Passes an answer on, and stores it on the way if allowed.
    fn pass_on(
        &self,
        asked: &Lookup,
        answer: Response<Answer<Sent>>,
        leader: Option<Leader>,
    ) -> Served {
        let (parts, body) = answer.into_parts();
        let fill = match self.fill(asked, &parts, &body) {
            Some(fill) => Some(fill.for_others(leader)),
            None => {
                release_empty(leader);
                None
            }
        };
        let answer = Response::from_parts(parts, Outgoing::new(body, fill));
        Served { answer, how: asked.how }
    }

    fn fill(
        &self,
        asked: &Lookup,
        parts: &response::Parts,
        body: &Answer<Sent>,
    ) -> Option<Box<Fill>> {
        // If only the end of the connection marks the end of the body, it may have been cut off.
        let has_known_end = parts.extensions.get::<UntilClose>().is_none() || body.is_end_stream();
        if !asked.may_store || !has_known_end {
            return None;
        }
        let now = SystemTime::now();
        let mut headers = parts.headers.clone();
        date(&mut headers, now);
        let freshness =
            Freshness::of(&asked.parts, parts.status, &headers, &self.caching.rules, now)?;
        let selection = Selection::of(&asked.parts.headers, &headers)?;
        let head =
            Head { key: asked.key.clone(), status: parts.status, headers, freshness, selection };
        let length = body.size_hint().exact();
        let fill = Fill::begin(head, length, self.caching.object, &self.store, &self.tally);
        if fill.is_none() {
            self.tally.given_up.one();
        }
        fill
    }

    /// The stored answer with the headers of a 304; `None` if the 304 is about another answer.
    fn refresh(&self, asked: &Lookup, stored: &Stored, said: &HeaderMap) -> Option<Arc<Stored>> {
        let text = |headers: &HeaderMap, name| {
            headers.get(name).and_then(|value: &HeaderValue| Some(value.to_str().ok()?.to_owned()))
        };
        let is_same = match (text(said, ETAG), text(&stored.headers, ETAG)) {
            (Some(new), Some(own)) => condition::is_same(&new, &own),
            (Some(_), None) => false,
            (None, _) => {
                let new = text(said, LAST_MODIFIED);
                new.is_none() || new == text(&stored.headers, LAST_MODIFIED)
            }
        };
        if !is_same {
            return None;
        }
        let now = SystemTime::now();
        let mut headers = stored.headers.clone();
        headers.remove(AGE);
        headers.remove(DATE);
        for name in said.keys().filter(|name| !describes_the_body(name)) {
            headers.remove(name);
            said.get_all(name).iter().for_each(|value| {
                headers.append(name, value.clone());
            });
        }
        date(&mut headers, now);
        let freshness =
            Freshness::of(&asked.parts, stored.status, &headers, &self.caching.rules, now);
        let is_kept = freshness.is_some();
        let refreshed = Arc::new(Stored {
            status: stored.status,
            headers,
            body: stored.body.clone(),
            freshness: freshness.unwrap_or_else(|| stored.freshness.clone()),
            selection: stored.selection.clone(),
        });
        match is_kept {
            true => self.store.put(&asked.key, Arc::clone(&refreshed)),
            // Serve it once more; the 304 forbids storing it any longer.
            false => self.store.forget(&asked.key),
        }
        Some(refreshed)
    }

    /// A stored answer, or 304 if the client already has it.
    fn stored(&self, asked: &Lookup, stored: &Stored, how: CacheStatus) -> Served {
        let mut headers = stored.headers.clone();
        // These are the times of the request that filled the cache.
        headers.remove(SERVER_TIMING);
        headers.insert(AGE, stored.freshness.age(SystemTime::now()).into());
        let has_it = stored.status == StatusCode::OK
            && condition::has_it(&asked.parts.headers, &stored.headers);
        let (status, body) = if has_it {
            self.tally.not_modified.one();
            headers.remove(CONTENT_LENGTH);
            (StatusCode::NOT_MODIFIED, Answer::whole(""))
        } else {
            (stored.status, Answer::whole(stored.body.clone()))
        };
        let mut answer = Response::new(body);
        *answer.status_mut() = status;
        *answer.headers_mut() = headers;
        Served::passed_on(answer, how)
    }

    fn find(&self, asked: &Lookup) -> Option<Arc<Stored>> {
        self.store.find(&asked.key, &asked.parts.headers)
    }

    fn own(&self, request: &Request<Incoming>) -> Response<Outgoing> {
        let answer = match (request.method(), request.uri().path()) {
            (&Method::GET, "/_proxy/healthz") => text_answer(StatusCode::OK, "ok\n"),
            (&Method::GET, "/_proxy/metrics") => {
                let mut text = self.tally.render(&self.store, &self.routes);
                self.messages.iter().for_each(|messages| messages.render(&mut text));
                let mut answer = text_answer(StatusCode::OK, text);
                let media_type = HeaderValue::from_static(metrics::CONTENT_TYPE);
                answer.headers_mut().insert(CONTENT_TYPE, media_type);
                answer
            }
            _ => text_answer(StatusCode::NOT_FOUND, "the proxy has no such path\n"),
        };
        answer.map(|body| Outgoing::new(body, None))
    }
}

/// The stored answer, if it is fresh for this request.
fn fresh<'a>(asked: &Lookup, found: Option<&'a Stored>) -> Option<&'a Stored> {
    found.filter(|stored| stored.freshness.is_fresh_for(&asked.parts.headers, SystemTime::now()))
}

/// Lets those that wait ask for themselves.
fn release_empty(leader: Option<Leader>) {
    if let Some(leader) = leader {
        leader.release_empty();
    }
}

/// Adds the time of receipt to an answer without `Date` (RFC 9110 6.6.1).
fn date(headers: &mut HeaderMap, now: SystemTime) {
    if !headers.contains_key(DATE)
        && let Ok(value) = HeaderValue::try_from(httpdate::fmt_http_date(now))
    {
        headers.insert(DATE, value);
    }
}

/// Whether a header describes the body; those of a 304 are not taken over (RFC 9111 3.2).
fn describes_the_body(name: &HeaderName) -> bool {
    [CONTENT_LENGTH, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE].contains(name)
}
