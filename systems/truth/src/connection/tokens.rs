//! A connection in mode `tokens`: reads a whole request, then writes each token at its instant.

use std::io;

use timer::monotonic;

use super::{Connection, FIRST_BUFFER, Next, Request};
use crate::answer::Last;
use crate::completion::{CompletionRequest, TokenWrites, refused_body, refused_method};
use crate::configuration::TokenSettings;
use crate::stamps::TokenStamps;
use crate::tokens::TokenPlan;

/// A read buffer that grew beyond this for one body is given back.
const LARGE_BUFFER: usize = 64 << 10;

impl Connection<'_> {
    /// The rest of one request, and its answer.
    ///
    /// The request arrives with the last byte of its body: a model cannot begin before it.
    pub(super) async fn serve_completion(
        &mut self,
        request: &Request,
        settings: TokenSettings,
    ) -> io::Result<Next> {
        let last = self.last(request);
        let asked = match self.read_completion(request, last).await? {
            Ok(asked) => asked,
            Err(refused) => {
                self.write(&refused).await?;
                return Ok(self.after(request, last));
            }
        };
        let planned = self.state.arrive(self.buffer.read_at_ns);
        let arrived_ns = self.buffer.read_at_ns;
        let number = self.state.stamps.borrow().received();
        let mut plan = self.state.plan_tokens(settings, asked.limit);
        let tokens = plan.tokens();
        let cut_after = plan.cut_after().filter(|_| asked.streamed);
        let writes = match cut_after {
            Some(after) => TokenWrites::cut_stream(number, tokens, after, last),
            None if asked.streamed => TokenWrites::stream(&asked, number, tokens, last),
            None => TokenWrites::whole(&asked, number, tokens, last),
        };
        let last_ns = self.write_tokens(&mut plan, &writes, planned.due_ns).await?;
        if cut_after.is_some() {
            self.stamp(TokenStamps::cut);
            return Ok(Next::End);
        }
        self.stamp(|tokens| tokens.finished(last_ns.saturating_sub(arrived_ns)));
        Ok(self.after(request, last))
    }

    /// Reads the body into the buffer and parses it; the inner error is the answer that refuses it.
    async fn read_completion(
        &mut self,
        request: &Request,
        last: Last,
    ) -> io::Result<Result<CompletionRequest, Vec<u8>>> {
        if !request.posts {
            self.skip_body(request).await?;
            return Ok(Err(refused_method(last)));
        }
        self.begin_body(request).await?;
        let bytes = request.body_bytes as usize;
        while self.buffer.filled().len() < bytes {
            if self.buffer.read(self.stream).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let asked = CompletionRequest::parse(&self.buffer.filled()[..bytes]);
        self.buffer.start += bytes;
        if self.buffer.is_empty() && self.buffer.bytes.len() > LARGE_BUFFER {
            (self.buffer.start, self.buffer.end) = (0, 0);
            self.buffer.bytes = vec![0; FIRST_BUFFER];
        }
        Ok(asked.map_err(|problem| refused_body(&problem, last)))
    }

    /// Waits for each token and writes it; returns the planned instant of the last one.
    async fn write_tokens(
        &mut self,
        plan: &mut TokenPlan,
        writes: &TokenWrites,
        first_ns: u64,
    ) -> io::Result<u64> {
        let state = self.state;
        let mut due_ns = first_ns;
        self.wait_until(due_ns).await;
        let _decoding = state.decoding.enter();
        let mut unsent = 0;
        for index in 0..writes.count() {
            if index > 0 {
                let gap_ns = plan.gap_ns(state.decoding.count());
                due_ns = due_ns.saturating_add(gap_ns);
                self.wait_until(due_ns).await;
                self.stamp(|tokens| tokens.gap(gap_ns));
            }
            unsent += 1;
            let bytes = writes.of_token(index);
            if !bytes.is_empty() {
                state.stamps.borrow_mut().answered(monotonic().saturating_sub(due_ns));
                self.write(bytes).await?;
                self.stamp(|tokens| tokens.sent(unsent));
                unsent = 0;
            }
        }
        Ok(due_ns)
    }

    async fn wait_until(&self, due_ns: u64) {
        self.status.until_ns.set(u64::MAX);
        if monotonic() >= due_ns {
            // Many overdue tokens of one answer must not keep the thread from other connections.
            tokio::task::yield_now().await;
        }
        self.state.timer.sleep_until(due_ns).await;
    }

    fn stamp(&self, keep: impl FnOnce(&mut TokenStamps)) {
        if let Some(tokens) = self.state.stamps.borrow_mut().tokens_mut() {
            keep(tokens);
        }
    }

    /// The stop may have come after the head was rendered: then the connection ends unannounced.
    fn after(&self, request: &Request, announced: Last) -> Next {
        let ends = announced == Last::Yes || self.last(request) == Last::Yes;
        if ends { Next::End } else { Next::Request }
    }
}
