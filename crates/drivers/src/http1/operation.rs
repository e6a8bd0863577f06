//! A compiled operation: its requests, and what their answers are held against.

use std::any::Any;

use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use record::Outcome;

use super::address::Address;
use super::answer::{Answer, Failure, Keep, SentRequest};
use super::answer_check::{AnswerCheck, Continuation, ReceivedAnswer};
use super::conversation::Conversation;
use super::redirect::{self, Followed, RedirectAnswer, Redirected};
use super::request::{RenderContext, Request};

/// A compiled operation.
#[derive(Debug)]
pub struct Operation {
    /// One, or one for each row of a target file.
    pub requests: Vec<Request>,
    /// For each of them, those that follow redirects; empty where none is followed.
    pub redirected: Vec<Redirected<Request>>,
    /// Where it goes, if that depends on the call.
    pub address: Option<Address>,
    /// What answers are held against, and what is read from them.
    pub check: AnswerCheck,
}

impl Operation {
    /// Encodes the request of this call.
    ///
    /// Cost:   O(n) time; allocates only when a buffer of the conversation must grow
    pub fn encode(&self, conversation: &mut Conversation, call: &Call) {
        self.begin(conversation, call);
        self.encode_request(conversation);
    }

    /// Encodes the request with which this call goes on here.
    pub fn resume(&self, conversation: &mut Conversation, call: &Call, state: Box<dyn Any>) {
        self.begin(conversation, call);
        conversation.redirection.take_up(state);
        self.encode_request(conversation);
    }

    fn begin(&self, conversation: &mut Conversation, call: &Call) {
        conversation.call.clone_from(call);
        conversation.request = if self.requests.len() > 1 { call.row } else { 0 };
        conversation.redirection.clear();
    }

    fn encode_request(&self, conversation: &mut Conversation) {
        conversation.clear();
        let request = self.request(conversation);
        let Conversation { call, authority, is_secure, redirection, scratch, output, .. } =
            conversation;
        let (rows, location) = (self.check.rows.as_deref(), redirection.target.as_str());
        let context = RenderContext { call, rows, authority, is_secure: *is_secure, location };
        request.encode(&context, scratch, &mut output.bytes);
    }

    /// The request at hand: the call's own, or one that follows a redirect.
    pub fn request(&self, conversation: &Conversation) -> &Request {
        let place = conversation.request;
        let redirected = self.redirected.get(place);
        let redirected =
            redirected.and_then(|redirected| conversation.redirection.request(redirected));
        redirected.unwrap_or(&self.requests[place])
    }

    /// Sends the encoded request, reads its answer, and checks it.
    pub async fn perform<C: Clock>(
        &self,
        conversation: &mut Conversation,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        match self.exchange(conversation, self.check.keep(), exchange).await {
            Ok(answer) => self.outcome(&answer, conversation, exchange),
            Err(failure) => failure.end(exchange),
        }
    }

    /// Sends the encoded request and reads its answer, and the same for each redirect that is followed.
    ///
    /// Errors: the kind of failure and what was seen
    pub async fn exchange<C: Clock>(
        &self,
        conversation: &mut Conversation,
        keep: Keep,
        exchange: &mut Exchange<C>,
    ) -> Result<Answer, Failure> {
        loop {
            let request = self.request(conversation);
            let (tail, is_head) = (request.tail(), request.is_head);
            let sent_request = SentRequest { tail, is_head, keep, began: exchange.started_at };
            let answer = conversation.exchange(&sent_request, exchange).await?;
            let Continuation { cookies, follow } = self.check.continuation;
            if cookies && answer.sets_cookie {
                conversation.store_cookies();
            }
            if follow == 0 || !redirect::is_redirect(answer.status) {
                return Ok(answer);
            }
            exchange.stamp(super::REDIRECTS, exchange.now() - exchange.started_at);
            self.follow(&answer, conversation, exchange)?;
        }
    }

    /// Encodes the request that follows a redirect.
    ///
    /// Errors: the redirect cannot be followed, or not over this connection
    fn follow<C: Clock>(
        &self,
        answer: &Answer,
        conversation: &mut Conversation,
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        let method = self.redirected[conversation.request].method;
        let (status, url) = (answer.status, conversation.url());
        let here = url.as_ref().map(redirect::origin_of).unwrap_or_default();
        let redirect = RedirectAnswer { status, head: &conversation.kept_head, url };
        let limit = self.check.continuation.follow;
        exchange.reusable = answer.reusable;
        let origin = match conversation.redirection.follow(&redirect, method, limit)? {
            Followed::Within if answer.reusable => {
                self.encode_request(conversation);
                return Ok(());
            }
            Followed::Within => here,
            Followed::To(origin) => origin,
        };
        Err(conversation.redirection.leave(origin, exchange))
    }

    /// Checks a complete answer against the expectations and reads the items.
    ///
    /// The connection stays usable even if an expectation fails: the answer was complete.
    pub fn outcome<C: Clock>(
        &self,
        answer: &Answer,
        conversation: &Conversation,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        let outcome = self.check.outcome(&received(answer, conversation), exchange);
        exchange.reusable = answer.reusable;
        outcome
    }
}

/// A complete answer and what the conversation kept of it.
pub fn received<'a>(answer: &Answer, conversation: &'a Conversation) -> ReceivedAnswer<'a> {
    let Conversation { call, authority, is_secure, kept_head, kept_body, .. } = conversation;
    let (Answer { status, coding, size, .. }, is_secure) = (*answer, *is_secure);
    let (head, body) = (kept_head, kept_body);
    ReceivedAnswer { status, coding, size, head, body, call, authority, is_secure }
}
