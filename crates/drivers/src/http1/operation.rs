//! A compiled operation: its requests, and what their answers are held against.

use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use record::{FailureKind, Outcome};

use super::answer::{Answer, Failure, Keep, SentRequest};
use super::answer_check::{AnswerCheck, Continuation, ReceivedAnswer};
use super::conversation::Conversation;
use super::redirect::{self, RedirectAnswer, Redirected};
use super::request::{RenderContext, Request};
use crate::expect::rule::shown;

/// A compiled operation.
#[derive(Debug)]
pub struct Operation {
    /// One, or one for each row of a target file.
    pub requests: Vec<Request>,
    /// For each of them, those that follow redirects; empty where none is followed.
    pub redirected: Vec<Redirected<Request>>,
    /// What answers are held against, and what is read from them.
    pub check: AnswerCheck,
}

impl Operation {
    /// Encodes the request of this call.
    ///
    /// Cost:   O(n) time; allocates only when a buffer of the conversation must grow
    pub fn encode(&self, conversation: &mut Conversation, call: &Call) {
        conversation.call.clone_from(call);
        conversation.request = if self.requests.len() > 1 { call.row } else { 0 };
        conversation.redirection.clear();
        self.encode_request(conversation);
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
            Err(failure) => exchange.fail(failure.kind, || failure.detail),
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
            self.follow(&answer, conversation)?;
        }
    }

    /// Encodes the request that follows a redirect.
    fn follow(&self, answer: &Answer, conversation: &mut Conversation) -> Result<(), Failure> {
        let method = self.redirected[conversation.request].method;
        let (status, url) = (answer.status, conversation.url());
        let redirect = RedirectAnswer { status, head: &conversation.kept_head, url };
        let limit = self.check.continuation.follow;
        conversation.redirection.follow(&redirect, method, limit)?;
        if !answer.reusable {
            let target = shown(&conversation.redirection.target);
            let detail = format!("the peer closes the connection with the redirect to {target}");
            return Err(Failure { kind: FailureKind::Redirect, detail });
        }
        self.encode_request(conversation);
        Ok(())
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
