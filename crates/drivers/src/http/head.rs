//! The fields of a head, written as HTTP/1.1 writes one, and how the content is compressed.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response};

use super::protocol_error::ProtocolError;

/// Bytes of a head, at most; also the size of HTTP/1.1's read buffer, which must hold one.
pub const HEAD_LIMIT: usize = 64 * 1024;
/// Header fields of a head, at most (hyper: 100; curl and browsers take more).
pub const FIELDS_LIMIT: usize = 256;

/// How the content is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// Not at all.
    Identity,
    /// gzip.
    Gzip,
    /// deflate.
    Deflate,
    /// Brotli.
    Brotli,
    /// Zstandard.
    Zstd,
    /// In a way that this instrument does not undo.
    Other,
}

/// Calls `visit` with the head's length and its parsed form, if it is complete.
///
/// Errors: the first rule of the syntax that it breaks
pub fn with_fields<T>(
    bytes: &[u8],
    visit: impl FnOnce(usize, &Response<'_, '_>) -> T,
) -> Result<Option<T>, ProtocolError> {
    let mut fields = [const { MaybeUninit::<Header<'_>>::uninit() }; FIELDS_LIMIT];
    let mut response = Response::new(&mut []);
    let parsed = ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        bytes,
        &mut fields,
    );
    match parsed {
        Ok(httparse::Status::Complete(length)) => Ok(Some(visit(length, &response))),
        Ok(httparse::Status::Partial) => Ok(None),
        Err(httparse::Error::TooManyHeaders) => Err(ProtocolError::TooManyFields(FIELDS_LIMIT)),
        Err(error) => Err(ProtocolError::Head(error)),
    }
}

/// What a `Content-Encoding` means.
pub fn coding(value: &[u8]) -> Coding {
    let value = value.trim_ascii();
    if value.is_empty() || value.eq_ignore_ascii_case(b"identity") {
        Coding::Identity
    } else if value.eq_ignore_ascii_case(b"gzip") || value.eq_ignore_ascii_case(b"x-gzip") {
        Coding::Gzip
    } else if value.eq_ignore_ascii_case(b"deflate") {
        Coding::Deflate
    } else if value.eq_ignore_ascii_case(b"br") {
        Coding::Brotli
    } else if value.eq_ignore_ascii_case(b"zstd") {
        Coding::Zstd
    } else {
        Coding::Other
    }
}
