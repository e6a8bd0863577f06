//! What a route serves with status 200, made once: pure but for its making, which takes a while.

use std::io::Write;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use hyper::body::Bytes;

use super::draws::Draws;
use super::recipe::Piece;

/// A payload as it goes over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// As they are sent.
    pub bytes: Bytes,
    /// Whether it begins like JSON, before any coding.
    pub is_json: bool,
}

impl Payload {
    /// A payload made of pieces, compressed if that is asked for.
    pub fn of(pieces: &[Piece], gzip: bool, draws: &mut Draws) -> Self {
        let mut whole = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => whole.extend_from_slice(text.as_bytes()),
                Piece::Random(size) => draws.print(*size as usize, &mut whole),
            }
        }
        Self::plain(whole.into(), gzip)
    }

    /// A payload that was had without coding, compressed if that is asked for.
    pub fn plain(whole: Bytes, gzip: bool) -> Self {
        let is_json = whole.first() == Some(&b'{');
        Self { bytes: if gzip { compressed(&whole) } else { whole }, is_json }
    }

    /// A payload that was had as it is to be sent, which is compressed.
    pub fn compressed(bytes: Bytes) -> Self {
        let mut first = [0];
        let read = std::io::Read::read(&mut GzDecoder::new(&bytes[..]), &mut first);
        Self { is_json: matches!(read, Ok(1)) && first == *b"{", bytes }
    }
}

fn compressed(whole: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(whole).and_then(|()| encoder.finish());
    written.expect("memory takes every write").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn made(pieces: &[Piece], gzip: bool, seed: u64) -> Payload {
        Payload::of(pieces, gzip, &mut Draws::of(seed, &["payload"]))
    }

    #[test]
    fn pieces_are_put_together_the_same_for_the_same_seed() {
        let pieces =
            [Piece::Text("{\"a\":\"".into()), Piece::Random(1_000), Piece::Text("\"}".into())];
        let payload = made(&pieces, false, 1);
        assert_eq!(payload.bytes.len(), 1_008);
        assert!(payload.is_json && payload.bytes.ends_with(b"\"}"));
        assert_eq!(payload, made(&pieces, false, 1));
        assert_ne!(payload, made(&pieces, false, 2));
        assert!(!made(&[], false, 1).is_json);
    }

    #[test]
    fn compressed_payloads_read_back_and_are_still_known_as_json() {
        let pieces = [Piece::Text("{".into()), Piece::Random(5_000)];
        let (plain, packed) = (made(&pieces, false, 1), made(&pieces, true, 1));
        let mut read = Vec::new();
        GzDecoder::new(&packed.bytes[..]).read_to_end(&mut read).unwrap();
        assert_eq!(read, plain.bytes);
        assert!(packed.is_json);
        assert_eq!(Payload::compressed(packed.bytes.clone()), packed);
        assert!(!Payload::compressed(plain.bytes).is_json);
        assert!(!Payload::compressed(made(&[], true, 1).bytes).is_json);
    }
}
