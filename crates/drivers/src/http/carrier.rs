//! How one version of HTTP carries requests and answers.

use engine::clock::Clock;
use engine::driver::Exchange;
use plan::rows::Rows;
use url::Url;

use super::answer::{Answer, Failure, Keep};
use super::progress::Progress;
use super::request::RenderContext;

/// A stream that carries one request at a time.
#[expect(async_fn_in_trait, reason = "workers are single-threaded: futures need not be Send")]
pub trait Carrier {
    /// A compiled request, as this version sends it.
    type Request;

    /// The operation at hand.
    fn progress(&self) -> &Progress;

    /// The operation at hand, to be changed.
    fn progress_mut(&mut self) -> &mut Progress;

    /// Host and port that it leads to.
    fn authority(&self) -> &str;

    /// Whether it is TLS.
    fn is_secure(&self) -> bool;

    /// Path and query of the encoded request.
    fn target(&self) -> &str;

    /// Encodes a request for the call of [`Carrier::progress`]. `answers_need_target`: [`Carrier::target`] is asked for
    /// later.
    fn encode(&mut self, request: &Self::Request, rows: Option<&Rows>, answers_need_target: bool);

    /// Sends the encoded request and reads its answer to the end; what is kept of it goes to `progress`.
    ///
    /// Errors: the kind of failure and what was seen
    async fn exchange<C: Clock>(
        &mut self,
        request: &Self::Request,
        keep: Keep<'_>,
        exchange: &mut Exchange<C>,
    ) -> Result<Answer, Failure>;

    /// What templates are rendered with.
    fn context<'a>(&'a self, rows: Option<&'a Rows>) -> RenderContext<'a> {
        let Progress { call, redirection, .. } = self.progress();
        let (authority, is_secure) = (self.authority(), self.is_secure());
        RenderContext { call, rows, authority, is_secure, location: &redirection.target }
    }

    /// The address of the encoded request, if the target has a valid one.
    fn url(&self) -> Option<Url> {
        self.context(None).url(self.target())
    }
}
