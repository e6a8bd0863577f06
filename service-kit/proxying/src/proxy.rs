//! A request taken up, sent on, and answered.

use std::pin::pin;
use std::sync::Arc;

use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::TrySendError;
use hyper::header::{CONTENT_LENGTH, EXPECT, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use hyper::{Request, Response, Version};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::answer::Answer;
use crate::bounds::Bounds;
use crate::client::Client;
use crate::counts::Counts;
use crate::failure::Failure;
use crate::heads::{self, Intermediary};
use crate::interim::{self, Interims};
use crate::pool::{Connection, Pool};
use crate::upload::{self, Progress, Stream, Upload};
use crate::upstream::Upstream;

/// A proxy before one upstream. Clones share their connections; use it on one runtime.
pub struct Proxy<B: Send + 'static = Incoming> {
    pool: Arc<Pool<B>>,
    intermediary: Intermediary,
    bounds: Bounds,
    counts: Arc<Counts>,
}

impl<B: Send + 'static> Clone for Proxy<B> {
    fn clone(&self) -> Self {
        Self {
            pool: Arc::clone(&self.pool),
            intermediary: self.intermediary.clone(),
            bounds: self.bounds,
            counts: Arc::clone(&self.counts),
        }
    }
}

impl<B> Proxy<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
{
    /// A proxy that opens its first connection with its first request, and its `counts`: its alone.
    pub fn new(upstream: &Upstream, bounds: Bounds, counts: Arc<Counts>) -> Self {
        let pool = Pool::new(upstream.host.clone(), upstream.port, bounds, Arc::clone(&counts));
        Self { pool: Arc::new(pool), intermediary: upstream.intermediary.clone(), bounds, counts }
    }

    /// Whether a request came through a proxy of this one's name before, as its `Via` says.
    pub fn has_seen(&self, headers: &HeaderMap) -> bool {
        heads::has_passed(headers, &self.intermediary)
    }

    /// Sends a request on and gives its answer, whose body comes as it is asked for.
    ///
    /// Dropping the future or the answer cancels the request at the upstream, too.
    ///
    /// Errors: nothing was answered; [`Failure::status`] says which status that is
    pub async fn forward(
        &self,
        client: &Client,
        request: Request<B>,
    ) -> Result<Response<Answer<B>>, Failure> {
        self.counts.requests.one();
        let mut watch = Watch { counts: &self.counts, has_ended: false };
        let answer = self.exchange(client, request).await;
        watch.has_ended = true;
        match &answer {
            Ok(_) => self.counts.answered.one(),
            Err(failure) => failure.count(&self.counts).one(),
        }
        answer
    }

    async fn exchange(
        &self,
        client: &Client,
        request: Request<B>,
    ) -> Result<Response<Answer<B>>, Failure> {
        let begun = Instant::now();
        let deadline = begun + self.bounds.whole;
        heads::check(client, &request)?;
        let (mut request, interims) = self.prepare(begun, client, request).await?;
        let place = self.pool.place(deadline).await?;
        let mut kept = self.pool.take();
        loop {
            let was_kept = kept.is_some();
            let mut connection = match kept.take() {
                Some(connection) => connection,
                None => self.pool.connect(deadline).await?,
            };
            let spare = if was_kept { spare(&request) } else { None };
            match self.ask(&mut connection, request, interims.as_ref(), deadline).await {
                Ok(answer) => {
                    let (mut parts, body) = answer.into_parts();
                    heads::incoming(&mut parts, &self.intermediary).map_err(Failure::Head)?;
                    if was_kept {
                        self.counts.reused.one();
                    }
                    let lease = self.pool.lease(connection, place);
                    let body = Answer::relay(body, lease, deadline, Arc::clone(&self.counts));
                    return Ok(Response::from_parts(parts, body));
                }
                Err(Unanswered::Failed(failure)) => return Err(failure),
                Err(Unanswered::Lost(error, unsent)) => {
                    let spare = spare.filter(|_| !connection.read_flag.is_set());
                    let again = unsent.map(|unsent| *unsent).or(spare);
                    match again.filter(|_| was_kept) {
                        Some(again) => request = again,
                        None => return Err(Failure::Upstream(error)),
                    }
                    self.counts.retried.one();
                }
            }
        }
    }

    /// Makes the request that of the next hop: its head changed, its body taken whole if it is short.
    async fn prepare(
        &self,
        begun: Instant,
        client: &Client,
        request: Request<B>,
    ) -> Result<(Request<Upload<B>>, Option<Arc<Interims>>), Failure> {
        let (mut parts, mut body) = request.into_parts();
        let socket = client.socket.clone().filter(|_| parts.version == Version::HTTP_11);
        let expects = heads::outgoing(&mut parts, client, &self.intermediary);
        parts.extensions.clear();
        let may_come = expects || socket.is_some();
        let interims = may_come.then(|| Interims::new(socket, expects, &self.counts));
        let most = match body.size_hint().exact() {
            Some(_) if !expects => self.bounds.gathered,
            // Whoever does not say how much comes, or waits to be told to go on, may wait for the upstream's word.
            _ => 0,
        };
        let end = begun + self.bounds.first_byte.min(self.bounds.whole);
        let taken = timeout_at(end, upload::gather(&mut body, most, &self.counts)).await;
        let taken = taken.map_err(|_| Failure::BodySlow)??;
        let upload = if body.is_end_stream() {
            parts.headers.remove(EXPECT);
            Upload::Whole(taken)
        } else {
            if !parts.headers.contains_key(CONTENT_LENGTH) {
                // HTTP/2 has no word for it, and hyper would not expect a body of a GET.
                parts.headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
            }
            let place = self.pool.upload(begun + self.bounds.whole).await?;
            let wait = interims.as_ref().filter(|_| expects).map(Interims::wait_for_continue);
            // What stood still meanwhile did so because of us.
            let progress = Arc::new(Progress::new(Instant::now()));
            let counts = Arc::clone(&self.counts);
            Upload::Stream(Box::new(Stream {
                begun: taken,
                body,
                wait,
                progress,
                counts,
                _place: place,
            }))
        };
        Ok((Request::from_parts(parts, upload), interims))
    }

    /// Sends a request, passes interim answers on, and waits for the head of that, within the deadlines.
    async fn ask(
        &self,
        connection: &mut Connection<B>,
        mut request: Request<Upload<B>>,
        interims: Option<&Arc<Interims>>,
        deadline: Instant,
    ) -> Result<Response<Incoming>, Unanswered<B>> {
        if let Some(interims) = interims {
            interims.listen(&mut request);
        }
        let progress = request.body().progress();
        connection.read_flag.reset();
        let mut answer = pin!(connection.sender.try_send_request(request));
        let first = Instant::now() + self.bounds.first_byte;
        let mut alarm = pin!(sleep_until(first.min(deadline)));
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => {
                    // hyper has told of all of them before.
                    self.pass_on(interims).await;
                    return answer.map_err(|lost| Unanswered::of(lost, progress.as_deref()));
                }
                Some(()) = interim::come(interims) => self.pass_on(interims).await,
                () = &mut alarm => {
                    let next = self.overdue(progress.as_deref(), deadline);
                    alarm.as_mut().reset(next.map_err(Unanswered::Failed)?);
                }
            }
        }
    }

    async fn pass_on(&self, interims: Option<&Arc<Interims>>) {
        if let Some(interims) = interims {
            interims.pass_on(&self.intermediary).await;
        }
    }

    /// Which side is overdue, or until when neither is.
    fn overdue(&self, progress: Option<&Progress>, deadline: Instant) -> Result<Instant, Failure> {
        let now = Instant::now();
        let moved = progress.map(|progress| progress.moved_at() + self.bounds.first_byte);
        match moved {
            Some(next) if next > now && now < deadline => Ok(next.min(deadline)),
            _ if progress.is_some_and(Progress::waits_for_client) => Err(Failure::BodySlow),
            _ if now >= deadline => Err(Failure::WholeSlow),
            _ => Err(Failure::FirstByteSlow),
        }
    }
}

/// Why there is no answer.
enum Unanswered<B> {
    Failed(Failure),
    /// The connection broke; the request as well if nothing of it was written.
    Lost(hyper::Error, Option<Box<Request<Upload<B>>>>),
}

impl<B> Unanswered<B> {
    fn of(mut lost: TrySendError<Request<Upload<B>>>, progress: Option<&Progress>) -> Self {
        if progress.is_some_and(Progress::is_broken) {
            return Self::Failed(Failure::BodyBroken);
        }
        let unsent = lost.take_message().map(Box::new);
        Self::Lost(lost.into_error(), unsent)
    }
}

/// The same request for a second try, if it may be made twice.
fn spare<B>(request: &Request<Upload<B>>) -> Option<Request<Upload<B>>> {
    if !request.body().is_empty() || !request.method().is_idempotent() {
        return None;
    }
    let mut spare = Request::new(Upload::Whole(None));
    spare.method_mut().clone_from(request.method());
    spare.uri_mut().clone_from(request.uri());
    spare.headers_mut().clone_from(request.headers());
    Some(spare)
}

/// Counts a request that is dropped before it was answered.
struct Watch<'a> {
    counts: &'a Counts,
    has_ended: bool,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.counts.cancelled.one();
        }
    }
}
