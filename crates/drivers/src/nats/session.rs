//! What comes before the first operation: `INFO`, TLS, `CONNECT`, and the subscription for replies.

use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;

use engine::clock::Clock;
use engine::driver::Exchange;
use engine::transport::{Endpoint, Stream, secure};
use record::FailureKind;

use super::codec::command::Connect;
use super::codec::frame::Frame;
use super::codec::info::Info;
use super::connection::Connection;
use super::failure::Failure;
use super::input::Input;
use super::pending::INBOX_SID;
use super::stream::MessageStream;

/// Letters of the server's id that are part of an inbox: 60 bits.
const SERVER_LETTERS: usize = 12;
/// What stands in the place of a secret.
const HIDDEN: &str = "…";

/// How a connection is opened. Operations that want it alike share their connections.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Session {
    /// When to go over to TLS.
    pub tls: UseTls,
    /// Who we are.
    pub auth: Auth,
}

/// When to go over to TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UseTls {
    /// Not at all.
    Never,
    /// If the server offers or requires it.
    #[default]
    IfOffered,
    /// Always; a server that does not offer it fails.
    Always,
}

/// Who we are.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum Auth {
    /// No one in particular.
    #[default]
    Nobody,
    /// A user.
    User {
        /// The name.
        user: String,
        /// The password.
        password: String,
    },
    /// The bearer of a token.
    Token(String),
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let has_auth = self.auth != Auth::Nobody;
        formatter.debug_struct("Session").field("tls", &self.tls).field("auth", &has_auth).finish()
    }
}

impl Session {
    /// Opens a connection on a fresh stream.
    ///
    /// Errors: the server's refusal, or how the connection has ended
    pub async fn open<C: Clock>(
        self: &Arc<Self>,
        endpoint: &Endpoint,
        mut stream: Stream,
        exchange: &mut Exchange<C>,
    ) -> Result<Rc<Connection>, Failure> {
        exchange.timeout_kind = FailureKind::GreetingTimeout;
        let mut input = Input::new();
        let info = greeting(&mut stream, &mut input, exchange).await?;
        exchange.timeout_kind = FailureKind::Timeout;
        if self.upgrades(endpoint, &info)? {
            if input.unread() > 0 {
                let detail =
                    format!("{} bytes came in the clear before the TLS handshake", input.unread());
                return Err(Failure::new(FailureKind::Malformed, detail));
            }
            let secured = secure(stream, endpoint, exchange).await;
            stream = secured.map_err(|(kind, detail)| Failure::new(kind, detail))?;
        }
        let inbox = inbox(&info, exchange.now());
        let command = self.introduction(&info, &inbox, exchange);
        let connection = Connection::new(stream, input, info, inbox.into_bytes());
        let mut first = MessageStream::open(&connection);
        match first.exchange_alone(command, exchange).await {
            // Who may only publish has no inbox, and needs none.
            Err(refusal) if connection.failure().is_none() => connection.refuse_inbox(refusal),
            other => other.map_err(|failure| Failure {
                detail: self.without_secret(failure.detail),
                ..failure
            })?,
        }
        Ok(connection)
    }

    /// Whether to go over to TLS now.
    fn upgrades(&self, endpoint: &Endpoint, info: &Info) -> Result<bool, Failure> {
        match self.tls {
            _ if endpoint.tls.is_some() => Ok(false),
            UseTls::Never => Ok(false),
            UseTls::IfOffered => Ok(info.offers_tls()),
            UseTls::Always if info.offers_tls() => Ok(true),
            UseTls::Always => {
                Err(Failure::new(FailureKind::WrongContent, "the server does not offer TLS"))
            }
        }
    }

    /// `CONNECT`, and `SUB` for the inbox.
    fn introduction<C: Clock>(
        &self,
        info: &Info,
        inbox: &str,
        exchange: &mut Exchange<C>,
    ) -> Vec<u8> {
        let connect = |hide: bool| {
            let secret = |secret| if hide { HIDDEN } else { secret };
            let (user, pass, token) = match &self.auth {
                Auth::Nobody => (None, None, None),
                Auth::User { user, password } => {
                    (Some(user.as_str()), Some(secret(password)), None)
                }
                Auth::Token(token) => (None, None, Some(secret(token))),
            };
            let connect = Connect {
                verbose: false,
                pedantic: false,
                tls_required: self.tls == UseTls::Always,
                user,
                pass,
                auth_token: token,
                name: "proofload",
                lang: "rust",
                version: env!("CARGO_PKG_VERSION"),
                protocol: 1,
                headers: info.headers,
                no_responders: info.headers,
            };
            connect.line()
        };
        let subscribe = format!("SUB {inbox}* {INBOX_SID}");
        exchange.note_dialogue(true, connect(true).as_bytes());
        exchange.note_dialogue(true, subscribe.as_bytes());
        format!("{}\r\n{subscribe}\r\n", connect(false)).into_bytes()
    }

    /// What the server says may repeat what it was told.
    fn without_secret(&self, text: String) -> String {
        match &self.auth {
            Auth::User { password: secret, .. } | Auth::Token(secret) if !secret.is_empty() => {
                text.replace(secret, HIDDEN)
            }
            _ => text,
        }
    }
}

/// The first `INFO`, with which a server greets.
async fn greeting<C: Clock>(
    stream: &mut Stream,
    input: &mut Input,
    exchange: &mut Exchange<C>,
) -> Result<Info, Failure> {
    loop {
        match input.next(exchange.now())? {
            Some((Frame::Info(json), _)) => return Ok(Info::parse(json)?),
            Some((Frame::Error(error), _)) => return Err(Failure::refusal(error)),
            Some(_) => {
                let detail = "the server does not begin with INFO";
                return Err(Failure::new(FailureKind::Malformed, detail));
            }
            None => poll_fn(|context| input.poll_read(stream, context)).await?,
        }
    }
}

/// The subject of replies without its last word. No other connection of the cluster has the same.
fn inbox(info: &Info, now: u64) -> String {
    let letters = info.server_id.chars().filter(char::is_ascii_alphanumeric);
    let server: String = letters.skip(1).take(SERVER_LETTERS).collect();
    match info.client_id {
        Some(client) if !server.is_empty() => format!("_INBOX.{server}{client}."),
        // A server that does not number its connections.
        _ => format!("_INBOX.p{}t{now}.", std::process::id()),
    }
}
