//! Undoes the compression of a body, within the limit of what is read of one.
//!
//! Source: RFC 9110 section 8.4.1; RFC 7932 (br); RFC 8878 and 9659 (zstd)

use std::io::{self, Read};

use brotli_decompressor::Decompressor;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use ruzstd::decoding::StreamingDecoder;

use crate::http::answer::BODY_LIMIT;
use crate::http::head::Coding;
use crate::http::protocol_error::ProtocolError;

/// Bytes that a decompressor reads at a time.
const PIECE: usize = 4096;
/// The largest window that zstd may ask for (RFC 9659).
const ZSTD_WINDOW: u64 = 8 * 1024 * 1024;

/// Undoes the compression of a body.
///
/// Shape:  → `None` where there is nothing to undo
/// Errors: what is wrong with it, or that it is too large
pub fn decode(coding: Coding, body: &[u8]) -> Result<Option<Vec<u8>>, Undecodable> {
    if body.is_empty() {
        return Ok(None);
    }
    let (name, decoded) = match coding {
        Coding::Identity => return Ok(None),
        Coding::Other => return Err(Undecodable::Unknown),
        Coding::Gzip => ("gzip", read(MultiGzDecoder::new(body))),
        Coding::Deflate => ("deflate", deflate(body)),
        Coding::Brotli => ("br", read(Decompressor::new(body, PIECE))),
        Coding::Zstd => ("zstd", zstd(body)),
    };
    let decoded = decoded.map_err(|error| Undecodable::Broken(name, error.to_string()))?;
    match decoded.len() > BODY_LIMIT {
        true => Err(Undecodable::TooLong(ProtocolError::BodyTooLong(BODY_LIMIT))),
        false => Ok(Some(decoded)),
    }
}

/// What comes out, up to one byte more than the limit.
fn read(decoder: impl Read) -> io::Result<Vec<u8>> {
    let mut decoded = Vec::new();
    decoder.take(BODY_LIMIT as u64 + 1).read_to_end(&mut decoded)?;
    Ok(decoded)
}

/// With the header of zlib, or without it, as some servers send it.
fn deflate(body: &[u8]) -> io::Result<Vec<u8>> {
    read(ZlibDecoder::new(body)).or_else(|error| read(DeflateDecoder::new(body)).map_err(|_| error))
}

/// One frame after the other.
fn zstd(mut body: &[u8]) -> io::Result<Vec<u8>> {
    let mut decoded = Vec::new();
    while !body.is_empty() && decoded.len() <= BODY_LIMIT {
        let frame = StreamingDecoder::new_with_max_window_size(&mut body, ZSTD_WINDOW);
        decoded.extend(read(frame.map_err(io::Error::other)?)?);
    }
    Ok(decoded)
}

/// Why a body cannot be decompressed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Undecodable {
    /// Compressed in an unknown way.
    #[error(
        "the body must be read, but its content-encoding is none of gzip, deflate, br and zstd"
    )]
    Unknown,
    /// Not what its `content-encoding` says.
    #[error("the body is not valid {0}, as its content-encoding claims: {1}")]
    Broken(&'static str, String),
    /// Too large once decompressed.
    #[error("{0}")]
    TooLong(ProtocolError),
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    const TEXT: &[u8] = b"hello, hello, hello world";
    /// `TEXT` as Node.js and the program `zstd` compress it.
    const VECTORS: [(Coding, &str); 5] = [
        (Coding::Gzip, "H4sIAAAAAAAAA8tIzcnJ11HIQKIUyvOLclIAlmVt/RkAAAA="),
        (Coding::Deflate, "eJzLSM3JyddRyECiFMrzi3JSAHSHCR0="),
        (Coding::Deflate, "y0jNycnXUchAohTK84tyUgA="),
        (Coding::Brotli, "GxgA+I3UTvnDUFRlaA3CwvamFomnEjhh1QIB"),
        (Coding::Zstd, "KLUv/QRYnQAAaGhlbGxvLCAgd29ybGQBAOKKEW0fVYU="),
    ];
    /// 16 MiB and one byte of zeros, by Node.js.
    const LONG_BROTLI: &str = "y///P/gnAOKxQCD3/o///3/wTwDEYRGA7v0fAAACAAM=";

    fn bytes(vector: &str) -> Vec<u8> {
        STANDARD.decode(vector).expect("it is base64")
    }

    #[test]
    fn what_other_tools_compressed_comes_back() {
        for (coding, vector) in VECTORS {
            assert_eq!(decode(coding, &bytes(vector)), Ok(Some(TEXT.to_vec())), "{coding:?}");
            assert_eq!(decode(coding, b""), Ok(None), "{coding:?}");
        }
        assert_eq!(decode(Coding::Identity, TEXT), Ok(None));
        assert_eq!(decode(Coding::Other, TEXT), Err(Undecodable::Unknown));
    }

    #[test]
    fn several_members_or_frames_are_one_body() {
        for coding in [Coding::Gzip, Coding::Zstd] {
            let vector = VECTORS.iter().find(|(known, _)| *known == coding).expect("a vector").1;
            let twice = bytes(vector).repeat(2);
            assert_eq!(decode(coding, &twice), Ok(Some(TEXT.repeat(2))), "{coding:?}");
        }
    }

    #[test]
    fn what_is_not_compressed_so_or_was_cut_is_broken() {
        for (coding, vector) in VECTORS {
            let wrong = decode(coding, b"\xff\xff\xff not compressed");
            assert!(matches!(wrong, Err(Undecodable::Broken(..))), "{coding:?}: {wrong:?}");
            let whole = bytes(vector);
            for length in 1..whole.len() - 8 {
                let cut = decode(coding, &whole[..length]);
                assert!(
                    matches!(cut, Err(Undecodable::Broken(..))),
                    "{coding:?}, {length}: {cut:?}"
                );
            }
        }
    }

    #[test]
    fn a_body_that_becomes_too_long_is_refused() {
        let zeros = vec![0; BODY_LIMIT + 1];
        let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&zeros).unwrap();
        let mut zlib = ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(&zeros).unwrap();
        for (coding, bomb) in [
            (Coding::Gzip, gzip.finish().unwrap()),
            (Coding::Deflate, zlib.finish().unwrap()),
            (Coding::Brotli, bytes(LONG_BROTLI)),
            (Coding::Zstd, compress_to_vec(zeros.as_slice(), CompressionLevel::Fastest)),
        ] {
            assert!(bomb.len() < BODY_LIMIT / 100, "small on the wire: {coding:?}");
            let too_long = Undecodable::TooLong(ProtocolError::BodyTooLong(BODY_LIMIT));
            assert_eq!(decode(coding, &bomb), Err(too_long), "{coding:?}");
        }
    }

    #[test]
    fn a_window_beyond_the_limit_is_refused() {
        // A frame whose window is 128 MiB, with one empty block.
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, 17 << 3, 1, 0, 0];
        let refused = decode(Coding::Zstd, &frame);
        assert!(matches!(refused, Err(Undecodable::Broken("zstd", _))), "{refused:?}");
    }
}
