//! What a proxy does with one request: from the cache, from the upstream, or in its own words.

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

use super::asked::{self, Asked};
use super::breaker::Outcome;
use super::condition;
use super::flights::{Boarding, Flight, Flights, Next};
use super::key::{self, Key, Selection};
use super::log::{Entry, Log};
use super::messages::Messages;
use super::outgoing::{Fill, Head, Outgoing, Sent};
use super::policy::{self, Life};
use super::refusal::{self, Refusal, words};
use super::routes::Routes;
use super::settings::{Caching, Configuration};
use super::store::{Store, Stored};
use super::tally::{How, Place, Tally};
use super::times::Times;

/// Requests under it are the proxy's own.
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

/// A request of a client's, with how long it took so far.
struct Turn<'p> {
    peer: &'p Peer,
    times: Times,
}

/// Where all requests are answered.
pub(super) struct Desk {
    proxy: Proxy<Sent>,
    store: Arc<Store>,
    flights: Arc<Flights>,
    routes: Arc<Routes>,
    tally: Arc<Tally>,
    caching: Caching,
    in_flight: u64,
    log: Option<Log>,
    messages: Option<Messages>,
    /// Requests that were answered past the cache.
    busted: AtomicU64,
}

/// An answer, and where it came from.
struct Served {
    answer: Response<Outgoing>,
    how: How,
}

impl Served {
    fn words(answer: Response<Answer<Sent>>) -> Self {
        Self::passed_on(answer, How::Nothing)
    }

    fn passed_on(answer: Response<Answer<Sent>>, how: How) -> Self {
        Self { answer: answer.map(|body| Outgoing::new(body, None)), how }
    }
}

impl Desk {
    pub fn new(configuration: &Configuration, tally: Arc<Tally>, log: Option<Log>) -> Self {
        let Configuration { upstream, bounds, caching, breaker, routes, in_flight, .. } =
            configuration;
        let messages = configuration.messages.as_ref().map(Messages::new);
        Self {
            proxy: Proxy::new(upstream, *bounds, Arc::clone(&tally.upstream)),
            store: Arc::new(Store::new(caching.most, tally.dropped.clone())),
            flights: Arc::default(),
            routes: Arc::new(Routes::new(*breaker, routes.clone())),
            tally,
            caching: caching.clone(),
            in_flight: *in_flight,
            log,
            messages,
            busted: AtomicU64::new(0),
        }
    }

    /// Ends what is told to monitors within this time.
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
        let mut turn = Turn { peer, times: Times::begin() };
        if request.uri().path().starts_with(OWN) {
            return Ok(self.own(&request));
        }
        let entry = |log: &Log| log.entry(peer.address, request.method(), request.uri());
        let entry = self.log.as_ref().map(entry).map(Box::new);
        let about = |one: &Messages| one.about(request.method(), request.uri());
        let about = self.messages.as_ref().map(about);
        let place = Place::take(&self.tally.under_way, self.in_flight);
        let served = match &place {
            Some(_) => self.serve(&mut turn, request).await,
            None => self.shed(),
        };
        if let (Some(messages), Some(about)) = (&self.messages, about) {
            // Before the head goes on, so that it tells of a wait.
            turn.times.cast = messages.tell(&about, served.answer.status(), served.how).await;
        }
        Ok(self.told(served, &turn.times, place, entry))
    }

    /// The one place that every answer passes, once and with its head known: here it is told what was answered.
    fn told(
        &self,
        served: Served,
        times: &Times,
        place: Option<Place>,
        mut entry: Option<Box<Entry>>,
    ) -> Response<Outgoing> {
        let Served { mut answer, how } = served;
        answer.headers_mut().insert(X_CACHE, HeaderValue::from_static(how.name()));
        times.tell(answer.headers_mut());
        self.tally.answer(how);
        if let Some(entry) = &mut entry {
            entry.answer = Some((answer.status(), how));
        }
        answer.map(|body| body.with(place, entry))
    }

    fn shed(&self) -> Served {
        self.tally.shed.one();
        let text = "too many requests are under way\n";
        let mut answer = words(StatusCode::SERVICE_UNAVAILABLE, text);
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        Served::words(answer)
    }

    async fn serve(&self, turn: &mut Turn<'_>, request: Request<Incoming>) -> Served {
        if self.proxy.has_seen(request.headers()) {
            let text = "the request was here before: the upstream leads back to this proxy\n";
            return Served::words(words(StatusCode::LOOP_DETECTED, text));
        }
        // Nothing stored answers what cannot be understood; the core refuses it as it is, and counts.
        let is_sound = proxying::check(&turn.peer.client, &request).is_ok();
        let (mut parts, body) = request.into_parts();
        if is_sound {
            key::strip(&mut parts);
        }
        if is_sound && asked::is_cacheable(&parts, &body, &self.caching) {
            let number = || self.busted.fetch_add(1, Ordering::Relaxed);
            return self.look_up(turn, Asked::new(parts, &self.caching, number)).await;
        }
        let changes = !parts.method.is_safe();
        let key = changes.then(|| Key::of(&parts.uri, &parts.headers));
        let request = Request::from_parts(parts, Either::Left(body));
        match self.send(turn, request).await {
            Ok(answer) => {
                let has_changed = answer.status().is_success() || answer.status().is_redirection();
                if let Some(key) = key.filter(|_| has_changed) {
                    self.store.forget(&key);
                    self.tally.forgotten.one();
                }
                Served::passed_on(answer, How::Pass)
            }
            Err(refusal) => Served::words(refusal.answer()),
        }
    }

    /// From the cache if it is there and fresh, else from whoever asks the upstream for it already, else from the upstream.
    async fn look_up(&self, turn: &mut Turn<'_>, asked: Asked) -> Served {
        let until = tokio::time::Instant::now() + self.caching.collapse;
        let mut how = How::Hit;
        loop {
            let found = self.find(&asked);
            if let Some(stored) = fresh(&asked, found.as_deref()) {
                return self.stored(&asked, stored, how);
            }
            if asked.only_if_cached {
                let text = "it is not in the cache, and nothing else was wanted\n";
                return Served::words(words(StatusCode::GATEWAY_TIMEOUT, text));
            }
            if self.caching.collapse.is_zero() || asked.is_alone(found.as_deref()) {
                return self.fetch(turn, &asked, found, None).await;
            }
            let follower = match self.flights.board(&asked.key) {
                Boarding::Follow(follower) => follower,
                Boarding::Lead(flight) => {
                    // Another one may have landed since it was looked for.
                    let found = self.find(&asked);
                    if let Some(stored) = fresh(&asked, found.as_deref()) {
                        return self.stored(&asked, stored, How::Collapsed);
                    }
                    return self.fetch(turn, &asked, found, Some(flight)).await;
                }
            };
            how = How::Collapsed;
            let next = follower.wait(until).await;
            let now_found = self.find(&asked);
            let is_same = now_found.as_ref().map(Arc::as_ptr) == found.as_ref().map(Arc::as_ptr);
            // Nobody waits twice for what is stale as soon as it comes.
            let has_come = fresh(&asked, now_found.as_deref()).is_some() || is_same;
            if next == Next::Ask || !has_come {
                return self.fetch(turn, &asked, now_found, None).await;
            }
        }
    }

    /// From the upstream; if it fails, from the cache all the same, as far as that may be.
    async fn fetch(
        &self,
        turn: &mut Turn<'_>,
        asked: &Asked,
        found: Option<Arc<Stored>>,
        flight: Option<Flight>,
    ) -> Served {
        let mut known = asked.known(found.as_deref());
        loop {
            let answer = match self.send(turn, asked.request(known)).await {
                Ok(answer) if !policy::is_failure(answer.status()) => answer,
                failed => {
                    land_empty(flight);
                    return self.stand_in(asked, found.as_deref(), failed);
                }
            };
            match known.take().filter(|_| answer.status() == StatusCode::NOT_MODIFIED) {
                None => return self.pass_on(asked, answer, flight),
                Some(stored) => {
                    if let Some(stored) = self.refresh(asked, stored, answer.headers()) {
                        return self.stored(asked, &stored, How::Revalidated);
                    }
                    // It speaks of another answer than ours: the next try asks for all of it.
                }
            }
        }
    }

    /// Asks the upstream, unless the route's breaker is open.
    async fn send(
        &self,
        turn: &mut Turn<'_>,
        request: Request<Sent>,
    ) -> Result<Response<Answer<Sent>>, Refusal> {
        let begun = Instant::now();
        let ticket = self.routes.ask(request.uri().path(), begun).map_err(|wait| {
            self.tally.broken_circuits.one();
            Refusal::Breaker(wait)
        })?;
        let answer = self.proxy.forward(&turn.peer.client, request).await;
        turn.times.upstream += begun.elapsed();
        if let Some(ticket) = ticket {
            ticket.tell(match &answer {
                Ok(answer) if policy::is_failure(answer.status()) => Outcome::Failed,
                Ok(_) => Outcome::Answered,
                Err(failure) => refusal::outcome(failure),
            });
        }
        answer.map_err(Refusal::Failure)
    }

    /// What is answered when the upstream failed.
    fn stand_in(
        &self,
        asked: &Asked,
        found: Option<&Stored>,
        failed: Result<Response<Answer<Sent>>, Refusal>,
    ) -> Served {
        let may = match &failed {
            Ok(_) => true,
            Err(refusal) => refusal.is_not_the_clients(),
        };
        let now = SystemTime::now();
        let may_stand = |stored: &&Stored| stored.life.may_stand_in(&asked.parts.headers, now);
        match (found.filter(|_| may).filter(may_stand), failed) {
            (Some(stored), _) => self.stored(asked, stored, How::Stale),
            (None, Ok(answer)) => Served::passed_on(answer, asked.how),
            (None, Err(refusal)) => Served::words(refusal.answer()),
        }
    }

    /// Passes an answer on, and stores it on the way if it may be.
    fn pass_on(
        &self,
        asked: &Asked,
        answer: Response<Answer<Sent>>,
        flight: Option<Flight>,
    ) -> Served {
        let (parts, body) = answer.into_parts();
        let fill = match self.fill(asked, &parts, &body) {
            Some(fill) => Some(fill.for_others(flight)),
            None => {
                land_empty(flight);
                None
            }
        };
        let answer = Response::from_parts(parts, Outgoing::new(body, fill));
        Served { answer, how: asked.how }
    }

    fn fill(
        &self,
        asked: &Asked,
        parts: &response::Parts,
        body: &Answer<Sent>,
    ) -> Option<Box<Fill>> {
        // Where nothing but the end of the connection says so, nobody knows whether all of it came.
        let has_known_end = parts.extensions.get::<UntilClose>().is_none() || body.is_end_stream();
        if !asked.may_store || !has_known_end {
            return None;
        }
        let now = SystemTime::now();
        let mut headers = parts.headers.clone();
        date(&mut headers, now);
        let life = Life::of(&asked.parts, parts.status, &headers, &self.caching.rules, now)?;
        let selection = Selection::of(&asked.parts.headers, &headers)?;
        let head = Head { key: asked.key.clone(), status: parts.status, headers, life, selection };
        let length = body.size_hint().exact();
        let fill = Fill::begin(head, length, self.caching.object, (&self.store, &self.tally));
        if fill.is_none() {
            self.tally.given_up.one();
        }
        fill
    }

    /// What is stored, with what the upstream says anew of it; `None` if it does not speak of this one.
    fn refresh(&self, asked: &Asked, stored: &Stored, said: &HeaderMap) -> Option<Arc<Stored>> {
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
        let life = Life::of(&asked.parts, stored.status, &headers, &self.caching.rules, now);
        let is_kept = life.is_some();
        let refreshed = Arc::new(Stored {
            status: stored.status,
            headers,
            body: stored.body.clone(),
            life: life.unwrap_or_else(|| stored.life.clone()),
            selection: stored.selection.clone(),
        });
        match is_kept {
            true => self.store.put(&asked.key, Arc::clone(&refreshed)),
            // This once; it says that it is not to be stored any longer.
            false => self.store.forget(&asked.key),
        }
        Some(refreshed)
    }

    /// A stored answer, or that the client has it.
    fn stored(&self, asked: &Asked, stored: &Stored, how: How) -> Served {
        let mut headers = stored.headers.clone();
        // It tells where the time of another answer went.
        headers.remove(SERVER_TIMING);
        headers.insert(AGE, stored.life.age(SystemTime::now()).into());
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

    fn find(&self, asked: &Asked) -> Option<Arc<Stored>> {
        self.store.find(&asked.key, &asked.parts.headers)
    }

    fn own(&self, request: &Request<Incoming>) -> Response<Outgoing> {
        let answer = match (request.method(), request.uri().path()) {
            (&Method::GET, "/_proxy/healthz") => words(StatusCode::OK, "ok\n"),
            (&Method::GET, "/_proxy/metrics") => {
                let mut text = self.tally.render(&self.store, &self.routes);
                self.messages.iter().for_each(|messages| messages.render(&mut text));
                let mut answer = words(StatusCode::OK, text);
                let media_type = HeaderValue::from_static(metrics::CONTENT_TYPE);
                answer.headers_mut().insert(CONTENT_TYPE, media_type);
                answer
            }
            _ => words(StatusCode::NOT_FOUND, "no such path of the proxy\n"),
        };
        answer.map(|body| Outgoing::new(body, None))
    }
}

/// What is stored, if it answers the request without the upstream.
fn fresh<'a>(asked: &Asked, found: Option<&'a Stored>) -> Option<&'a Stored> {
    found.filter(|stored| stored.life.is_fresh_for(&asked.parts.headers, SystemTime::now()))
}

/// Whoever waits for it asks for itself.
fn land_empty(flight: Option<Flight>) {
    if let Some(flight) = flight {
        flight.land_empty();
    }
}

/// Whoever stores an answer without a date says when it came (RFC 9110 6.6.1).
fn date(headers: &mut HeaderMap, now: SystemTime) {
    if !headers.contains_key(DATE)
        && let Ok(value) = HeaderValue::try_from(httpdate::fmt_http_date(now))
    {
        headers.insert(DATE, value);
    }
}

/// What a 304 says of the body that it does not have is not taken over (RFC 9111 3.2).
fn describes_the_body(name: &HeaderName) -> bool {
    [CONTENT_LENGTH, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE].contains(name)
}
