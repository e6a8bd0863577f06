//! A compiled operation: its requests, and what their answers are held against.

use std::any::Any;

use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use record::Outcome;

use super::address::Address;
use super::answer::{Answer, Failure, Keep};
use super::answer_check::{AnswerCheck, Continuation, ReceivedAnswer};
use super::carrier::Carrier;
use super::progress::Progress;
use super::redirect::{self, Followed, RedirectAnswer, Redirected};
use super::stream::reading::cut_short;
use super::stream::rules::StreamRules;
use super::{REDIRECTS, cookies};

/// A compiled operation, its requests in the form of one version.
#[derive(Debug)]
pub struct Operation<R> {
    /// One, or one for each row of a target file.
    pub requests: Vec<R>,
    /// For each of them, those that follow redirects; empty where none is followed.
    pub redirected: Vec<Redirected<R>>,
    /// Where it goes, if that depends on the call.
    pub address: Option<Address>,
    /// What answers are held against, and what is read from them.
    pub check: AnswerCheck,
}

impl<R> Operation<R> {
    /// Encodes the request of this call.
    ///
    /// Cost:   O(n) time; allocates as the carrier's encoding does
    pub fn encode(&self, carrier: &mut impl Carrier<Request = R>, call: &Call) {
        self.begin(carrier.progress_mut(), call);
        self.encode_request(carrier);
    }

    /// Encodes the request with which this call goes on here.
    pub fn resume(
        &self,
        carrier: &mut impl Carrier<Request = R>,
        call: &Call,
        state: Box<dyn Any>,
    ) {
        self.begin(carrier.progress_mut(), call);
        carrier.progress_mut().redirection.take_up(state);
        self.encode_request(carrier);
    }

    fn begin(&self, progress: &mut Progress, call: &Call) {
        progress.call.clone_from(call);
        progress.request = if self.requests.len() > 1 { call.row } else { 0 };
        progress.redirection.clear();
    }

    fn encode_request(&self, carrier: &mut impl Carrier<Request = R>) {
        carrier.progress_mut().kept.clear();
        let request = self.request(carrier.progress());
        let answers_need_target = self.check.continuation != Continuation::default();
        carrier.encode(request, self.check.rows.as_deref(), answers_need_target);
    }

    /// The request at hand: the call's own, or one that follows a redirect.
    pub fn request(&self, progress: &Progress) -> &R {
        let redirected = self.redirected.get(progress.request);
        let redirected = redirected.and_then(|redirected| progress.redirection.request(redirected));
        redirected.unwrap_or(&self.requests[progress.request])
    }

    /// Sends the encoded request, reads its answer, and checks it.
    pub async fn perform<C: Clock>(
        &self,
        carrier: &mut impl Carrier<Request = R>,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        match self.exchange(carrier, self.check.keep(), exchange).await {
            Ok(answer) => self.outcome(&answer, carrier, exchange),
            Err(failure) => failure.end(exchange),
        }
    }

    /// Sends the encoded request and reads its answer, and the same for each redirect that is followed.
    ///
    /// Errors: the kind of failure and what was seen
    pub async fn exchange<C: Clock>(
        &self,
        carrier: &mut impl Carrier<Request = R>,
        keep: Keep<'_>,
        exchange: &mut Exchange<C>,
    ) -> Result<Answer, Failure> {
        loop {
            let request = self.request(carrier.progress());
            let answer = carrier.exchange(request, keep, exchange).await;
            let answer = match keep.stream {
                Some(rules) => ended(rules, answer, carrier.progress_mut(), exchange)?,
                None => answer?,
            };
            let Continuation { cookies, follow } = self.check.continuation;
            if cookies && answer.sets_cookie {
                store_cookies(carrier);
            }
            if follow == 0 || !redirect::is_redirect(answer.status) {
                return Ok(answer);
            }
            exchange.stamp(REDIRECTS, exchange.now() - exchange.started_at);
            self.follow(&answer, carrier, exchange)?;
        }
    }

    /// Encodes the request that follows a redirect.
    ///
    /// Errors: the redirect cannot be followed, or not over this connection
    fn follow<C: Clock>(
        &self,
        answer: &Answer,
        carrier: &mut impl Carrier<Request = R>,
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        let (status, url) = (answer.status, carrier.url());
        let Progress { request, redirection, kept, .. } = carrier.progress_mut();
        let method = self.redirected[*request].method;
        let here = url.as_ref().map(redirect::origin_of).unwrap_or_default();
        let redirect = RedirectAnswer { status, head: &kept.head, url };
        exchange.reusable = answer.reusable;
        let origin = match redirection.follow(&redirect, method, self.check.continuation.follow)? {
            Followed::Within if answer.reusable => {
                self.encode_request(carrier);
                return Ok(());
            }
            Followed::Within => here,
            Followed::To(origin) => origin,
        };
        Err(redirection.leave(origin, exchange))
    }

    /// Checks a complete answer against the expectations and reads the items.
    ///
    /// The stream stays usable even if an expectation fails: the answer was complete.
    pub fn outcome<C: Clock>(
        &self,
        answer: &Answer,
        carrier: &impl Carrier<Request = R>,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        let outcome = self.check.outcome(&received(answer, carrier), exchange);
        exchange.reusable = answer.reusable;
        outcome
    }
}

/// Takes the end of an answer that is to be a stream: one that breaks off is cut short, however that came.
fn ended<C: Clock>(
    rules: &StreamRules,
    answer: Result<Answer, Failure>,
    progress: &mut Progress,
    exchange: &mut Exchange<C>,
) -> Result<Answer, Failure> {
    let Some(stream) = &mut progress.kept.stream else { return answer };
    match answer {
        Ok(_) => stream.end(rules, exchange),
        Err(_) => stream.stamp(rules, exchange),
    }
    answer.map_err(|failure| cut_short(failure, stream))
}

/// A complete answer and what was kept of it.
pub fn received<'a>(answer: &Answer, carrier: &'a impl Carrier) -> ReceivedAnswer<'a> {
    let Progress { call, kept, .. } = carrier.progress();
    ReceivedAnswer {
        status: answer.status,
        coding: answer.coding,
        size: answer.size,
        head: &kept.head,
        body: &kept.body,
        stream: kept.stream.as_deref(),
        call,
        authority: carrier.authority(),
        is_secure: carrier.is_secure(),
    }
}

/// Keeps the cookies of the kept head for the journey, if there is one.
fn store_cookies(carrier: &impl Carrier) {
    if let (Some(memory), Some(url)) = (&carrier.progress().call.memory, carrier.url()) {
        cookies::store(&carrier.progress().kept.head, &url, memory);
    }
}
