//! What a server offers in its reply to `EHLO`. The grammar is that of `smtp_proto`.

use smtp_proto::{
    AUTH_LOGIN, AUTH_PLAIN, EXT_8BIT_MIME, EXT_CHUNKING, EXT_PIPELINING, EXT_SIZE, EXT_SMTP_UTF8,
    EXT_START_TLS, EhloResponse,
};

/// The extensions that this client knows to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offers {
    extensions: u32,
    mechanisms: u64,
}

/// An extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// RFC 1870: `MAIL` announces the size of the message.
    Size,
    /// RFC 2920: commands without waiting.
    Pipelining,
    /// RFC 3030: `BDAT`.
    Chunking,
    /// RFC 3207.
    StartTls,
    /// RFC 6152.
    EightBit,
    /// RFC 6531.
    Utf8,
    /// RFC 4616 over RFC 4954.
    AuthPlain,
    /// The older way that many servers still have.
    AuthLogin,
}

impl Offers {
    /// What this reply offers, all of its lines with code 250. A line that cannot be read ends the list.
    pub fn parse(reply: &[u8]) -> Self {
        match EhloResponse::parse(&mut reply.iter()) {
            Ok(response) => {
                Self { extensions: response.capabilities, mechanisms: response.auth_mechanisms }
            }
            Err(_) => Self::default(),
        }
    }

    /// Whether it is offered.
    pub fn has(self, extension: Extension) -> bool {
        let flag = match extension {
            Extension::AuthPlain => return self.mechanisms & AUTH_PLAIN != 0,
            Extension::AuthLogin => return self.mechanisms & AUTH_LOGIN != 0,
            Extension::Size => EXT_SIZE,
            Extension::Pipelining => EXT_PIPELINING,
            Extension::Chunking => EXT_CHUNKING,
            Extension::StartTls => EXT_START_TLS,
            Extension::EightBit => EXT_8BIT_MIME,
            Extension::Utf8 => EXT_SMTP_UTF8,
        };
        self.extensions & flag != 0
    }
}
