//! A compiled operation: its requests, and what their answers are held against.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};

use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use http::uri::PathAndQuery;
use record::Outcome;

use super::answer::Answer;
use super::connection::{PreparedRequest, StreamSlot};
use super::request::Request;
use crate::http1;
use crate::http1::address::Address;
use crate::http1::answer::{Failure, Keep};
use crate::http1::answer_check::{AnswerCheck, Continuation, ReceivedAnswer};
use crate::http1::redirect::{self, Followed, RedirectAnswer, Redirected};
use crate::http1::request::RenderContext;

/// A compiled operation.
#[derive(Debug)]
pub struct Operation {
    /// One, or one for each row of a target file.
    requests: Vec<Request>,
    /// For each of them, those that follow redirects; empty where none is followed.
    redirected: Vec<Redirected<Request>>,
    /// Where it goes, if that depends on the call.
    pub address: Option<Address>,
    /// What answers are held against, and what is read from them.
    pub check: AnswerCheck,
    /// The fewest streams at a time that a peer allowed where that was too few, over all workers.
    allowed: AtomicUsize,
}

impl Operation {
    /// An operation of these requests, whose answers are checked so.
    pub fn new(
        requests: Vec<Request>,
        redirected: Vec<Redirected<Request>>,
        address: Option<Address>,
        check: AnswerCheck,
    ) -> Self {
        Self { requests, redirected, address, check, allowed: AtomicUsize::new(usize::MAX) }
    }

    /// Makes the request of this call.
    pub fn encode(&self, slot: &mut StreamSlot, call: &Call) {
        self.begin(slot, call);
        self.encode_request(slot);
    }

    /// Makes the request with which this call goes on here.
    pub fn resume(&self, slot: &mut StreamSlot, call: &Call, state: Box<dyn Any>) {
        self.begin(slot, call);
        slot.redirection.take_up(state);
        self.encode_request(slot);
    }

    fn begin(&self, slot: &mut StreamSlot, call: &Call) {
        slot.call.clone_from(call);
        slot.request = if self.requests.len() > 1 { call.row } else { 0 };
        slot.redirection.clear();
    }

    fn encode_request(&self, slot: &mut StreamSlot) {
        slot.clear();
        let request = self.request(slot);
        let StreamSlot { call, origin, memory, prepared, redirection, target, .. } = slot;
        let (rows, location) = (self.check.rows.as_deref(), redirection.target.as_str());
        let (authority, is_secure) = (origin.authority.as_str(), origin.is_secure());
        let context = RenderContext { call, rows, authority, is_secure, location };
        *prepared = request.prepare(&context, origin, memory);
        if self.check.continuation != Continuation::default()
            && let Ok(PreparedRequest { head, .. }) = prepared
        {
            target.clear();
            target.push_str(head.uri().path_and_query().map_or("/", PathAndQuery::as_str));
        }
    }

    /// The request at hand: the call's own, or one that follows a redirect.
    pub fn request(&self, slot: &StreamSlot) -> &Request {
        let redirected = self.redirected.get(slot.request);
        let redirected = redirected.and_then(|redirected| slot.redirection.request(redirected));
        redirected.unwrap_or(&self.requests[slot.request])
    }

    /// Sends the encoded request and reads its answer, and the same for each redirect that is followed.
    ///
    /// Errors: the kind of failure and what was seen
    pub async fn exchange<C: Clock>(
        &self,
        slot: &mut StreamSlot,
        keep: Keep,
        exchange: &mut Exchange<C>,
    ) -> Result<Answer, Failure> {
        loop {
            let answer = slot.exchange(keep, exchange).await?;
            let Continuation { cookies, follow } = self.check.continuation;
            if cookies && answer.sets_cookie {
                slot.store_cookies();
            }
            if follow == 0 || !redirect::is_redirect(answer.status) {
                return Ok(answer);
            }
            exchange.stamp(http1::REDIRECTS, exchange.now() - exchange.started_at);
            self.follow(&answer, slot, exchange)?;
        }
    }

    /// Makes the request that follows a redirect.
    ///
    /// Errors: the redirect cannot be followed, or not over this connection
    fn follow<C: Clock>(
        &self,
        answer: &Answer,
        slot: &mut StreamSlot,
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        let method = self.redirected[slot.request].method;
        let (status, url) = (answer.status, slot.url());
        let here = url.as_ref().map(redirect::origin_of).unwrap_or_default();
        let redirect = RedirectAnswer { status, head: &slot.kept_head, url };
        let limit = self.check.continuation.follow;
        let origin = match slot.redirection.follow(&redirect, method, limit)? {
            Followed::Within if !slot.is_over() => {
                self.encode_request(slot);
                return Ok(());
            }
            Followed::Within => here,
            Followed::To(origin) => origin,
        };
        Err(slot.redirection.leave(origin, exchange))
    }

    /// Sends the encoded request, reads its answer, and checks it.
    ///
    /// The stream slot stays usable after a failed operation, unless the connection has ended.
    pub async fn perform<C: Clock>(
        &self,
        slot: &mut StreamSlot,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        let outcome = match self.exchange(slot, self.check.keep(), exchange).await {
            Ok(answer) => {
                self.note_limit(slot);
                self.check.outcome(&received(&answer, slot), exchange)
            }
            Err(failure) => failure.end(exchange),
        };
        exchange.reusable = !slot.is_over();
        outcome
    }

    /// What was noticed beside the answers.
    pub fn note(&self) -> Option<String> {
        let allowed = self.allowed.load(Ordering::Relaxed);
        let waited = (allowed < usize::MAX).then(|| {
            format!(
                "the target allows {allowed} streams at a time on a connection, fewer than the load has: further \
                 requests waited in the connection, which is part of their service time"
            )
        });
        let notes: Vec<String> =
            waited.into_iter().chain(self.check.reported_times.note()).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    fn note_limit(&self, slot: &mut StreamSlot) {
        if let Some(allowed) = slot.too_few_allowed() {
            self.allowed.fetch_min(allowed, Ordering::Relaxed);
        }
    }
}

/// A complete answer and the parts of it that the slot kept.
pub fn received<'a>(answer: &Answer, slot: &'a StreamSlot) -> ReceivedAnswer<'a> {
    let Answer { status, coding, size, .. } = *answer;
    let StreamSlot { call, origin, kept_head, kept_body, .. } = slot;
    let (head, body) = (kept_head, kept_body);
    let (authority, is_secure) = (origin.authority.as_str(), origin.is_secure());
    ReceivedAnswer { status, coding, size, head, body, call, authority, is_secure }
}
