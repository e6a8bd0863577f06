//! What comes before the first message: greeting, `EHLO`, `STARTTLS` and `EHLO` again, `AUTH`.

use engine::clock::Clock;
use engine::driver::Exchange;
use engine::transport::{Endpoint, Stream, secure};
use record::FailureKind;

use super::buffered_stream::BufferedStream;
use super::codec::offers::{Extension, Offers};
use super::codec::reply::{Class, Reply};
use super::failure::Failure;
use super::span::{self, PhaseTimer};

/// How a session is opened. Messages that want it alike share their connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// What we call ourselves.
    pub helo: String,
    /// When to go over to TLS, on a stream that has none.
    pub tls: StartTls,
    /// Who we say that we are.
    pub auth: Option<Auth>,
}

/// When to go over to TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartTls {
    /// Not at all.
    #[default]
    Never,
    /// If the server offers it.
    IfOffered,
    /// Always; a server that does not offer it fails.
    Always,
}

/// A proof of who we are.
#[derive(Clone, PartialEq, Eq)]
pub struct Auth {
    /// The mechanism, as it is offered.
    pub mechanism: Extension,
    /// What is sent, line by line.
    pub lines: Vec<Vec<u8>>,
    /// The first of them as it may be shown.
    pub shown: &'static str,
}

impl std::fmt::Debug for Auth {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Auth").field("mechanism", &self.mechanism).finish_non_exhaustive()
    }
}

impl Session {
    /// Opens a session on a fresh stream, each phase stamped.
    ///
    /// Errors: the kind of failure and what was seen
    pub async fn open<C: Clock>(
        &self,
        endpoint: &Endpoint,
        stream: Stream,
        exchange: &mut Exchange<C>,
    ) -> Result<(BufferedStream, Offers), Failure> {
        let mut phase = PhaseTimer { since: exchange.now() };
        exchange.timeout_kind = FailureKind::GreetingTimeout;
        let mut line = BufferedStream::new(stream);
        let greeting = line.reply(exchange).await?;
        phase.end(span::GREETING, exchange);
        exchange.timeout_kind = FailureKind::Timeout;
        want(Class::Done, "greeting", greeting, &line)?;
        let mut offers = self.introduce(&mut line, exchange).await?;
        phase.end(span::EHLO, exchange);
        if self.upgrades(endpoint, offers)? {
            command(&mut line, "STARTTLS\r\n", Class::Done, exchange).await?;
            phase.end(span::STARTTLS, exchange);
            line = BufferedStream::new(secured(line, endpoint, exchange).await?);
            phase.since = exchange.now();
            offers = self.introduce(&mut line, exchange).await?;
            phase.end(span::EHLO_TLS, exchange);
        }
        if let Some(auth) = &self.auth {
            auth.prove(&mut line, offers, exchange).await?;
            phase.end(span::AUTH, exchange);
        }
        Ok((line, offers))
    }

    /// `EHLO`; a server that does not know it is asked in the old way, and offers nothing.
    async fn introduce<C: Clock>(
        &self,
        line: &mut BufferedStream,
        exchange: &mut Exchange<C>,
    ) -> Result<Offers, Failure> {
        line.send(format!("EHLO {}\r\n", self.helo).as_bytes(), exchange).await?;
        let reply = line.reply(exchange).await?;
        if reply.class() == Class::Permanent {
            line.send(format!("HELO {}\r\n", self.helo).as_bytes(), exchange).await?;
            let reply = line.reply(exchange).await?;
            want(Class::Done, "HELO", reply, line)?;
            return Ok(Offers::default());
        }
        want(Class::Done, "EHLO", reply, line)?;
        Ok(Offers::parse(line.text(reply)))
    }

    /// Whether to go over to TLS now.
    fn upgrades(&self, endpoint: &Endpoint, offers: Offers) -> Result<bool, Failure> {
        let offered = offers.has(Extension::StartTls);
        match self.tls {
            _ if endpoint.tls.is_some() => Ok(false),
            StartTls::Never => Ok(false),
            StartTls::IfOffered => Ok(offered),
            StartTls::Always if offered => Ok(true),
            StartTls::Always => Err(Failure::not_offered("STARTTLS")),
        }
    }
}

/// The stream under TLS. Bytes that came in the clear after the reply to `STARTTLS` are refused: anyone could have
/// injected them.
async fn secured<C: Clock>(
    line: BufferedStream,
    endpoint: &Endpoint,
    exchange: &mut Exchange<C>,
) -> Result<Stream, Failure> {
    let stream = line.into_stream().map_err(|ahead| {
        let detail = format!("{ahead} bytes came in the clear before the TLS handshake");
        Failure::new(FailureKind::Malformed, detail)
    })?;
    let secured = secure(stream, endpoint, exchange).await;
    secured.map_err(|(kind, detail)| Failure::new(kind, detail))
}

impl Auth {
    /// Sends what proves it, line by line, each but the first when the server says to go on.
    async fn prove<C: Clock>(
        &self,
        line: &mut BufferedStream,
        offers: Offers,
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        if !offers.has(self.mechanism) {
            return Err(Failure::not_offered(self.shown.trim_end_matches(" …")));
        }
        let mut shown = format!("{}\r\n", self.shown);
        for (place, secret) in self.lines.iter().enumerate() {
            line.send_secret(secret, &shown, exchange).await?;
            let reply = line.reply(exchange).await?;
            let is_last = place + 1 == self.lines.len();
            want(if is_last { Class::Done } else { Class::GoOn }, "AUTH", reply, line)?;
            "…\r\n".clone_into(&mut shown);
        }
        Ok(())
    }
}

/// Sends a command, its line end included, and reads the reply, which must be of this class.
///
/// Errors: the stream's, the reply's, or a refusal
pub async fn command<C: Clock>(
    line: &mut BufferedStream,
    text: &str,
    class: Class,
    exchange: &mut Exchange<C>,
) -> Result<Reply, Failure> {
    line.send(text.as_bytes(), exchange).await?;
    let reply = line.reply(exchange).await?;
    want(class, text.trim_ascii_end(), reply, line)?;
    Ok(reply)
}

/// Whether the reply just read is of this class; `to` is what it answers.
///
/// Errors: a refusal
pub fn want(class: Class, to: &str, reply: Reply, line: &BufferedStream) -> Result<(), Failure> {
    if reply.class() == class {
        return Ok(());
    }
    Err(Failure::refusal(to, reply, line.text(reply)))
}
