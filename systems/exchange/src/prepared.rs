//! A payload that is made once and then differs by its nonce alone.
//!
//! `{"nonce":"00000000000000ff","users":[…]}`, and for a requested size `,"padding":"…"` after the
//! users. The nonce is at the same place in all of them and always has 16 digits.

use crate::checksum::Tail;
use crate::records::Records;
use crate::request::{DataRequest, Wanted};

/// Where the nonce begins.
pub const NONCE_AT: usize = BEFORE.len();
/// Where it ends, and all that is the same for every nonce begins.
pub const NONCE_END: usize = NONCE_AT + 16;

const BEFORE: &[u8] = b"{\"nonce\":\"";
const USERS: &[u8] = b"\",\"users\":[";
const PADDING: &[u8] = b"],\"padding\":\"";

/// A payload, and what is known of it.
#[derive(Debug)]
pub struct Prepared {
    id: u64,
    bytes: Vec<u8>,
    tail: Tail,
}

impl Prepared {
    /// Makes the payload; `id` must be unique.
    pub fn new(id: u64, what: Wanted, records: &mut Records) -> Self {
        let bytes = match what {
            Wanted::Users(users) => with_users(records.first(users)),
            Wanted::Bytes(bytes) => with_length(usize::try_from(bytes).unwrap_or(0), records),
        };
        let tail = Tail::new(&bytes[NONCE_END..]);
        Self { id, bytes, tail }
    }

    /// A number unique within this producer.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The payload with a nonce of zeros.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The checksum of the payload with this nonce; read are only the bytes up to its end.
    pub fn checksum(&self, nonce: u64) -> u32 {
        let mut head = [0; NONCE_END];
        head.copy_from_slice(&self.bytes[..NONCE_END]);
        patch(&mut head, nonce);
        self.tail.after(&head)
    }
}

/// Puts another nonce into a payload.
pub fn patch(payload: &mut [u8], nonce: u64) {
    payload[NONCE_AT..NONCE_END].copy_from_slice(&digits(nonce));
}

/// Whether a payload begins as one with this nonce does.
pub fn has_nonce(payload: &[u8], nonce: u64) -> bool {
    payload.starts_with(BEFORE)
        && payload.get(NONCE_AT..NONCE_END).is_some_and(|found| found == digits(nonce))
        && payload[NONCE_END..].starts_with(USERS)
}

/// 16 lower-case hexadecimal digits.
fn digits(nonce: u64) -> [u8; 16] {
    std::array::from_fn(|at| {
        let digit = (nonce >> (60 - 4 * at)) & 15;
        b"0123456789abcdef"[digit as usize]
    })
}

fn with_users(users: &[u8]) -> Vec<u8> {
    [BEFORE, &digits(0), USERS, users, b"]}"].concat()
}

fn with_length(length: usize, records: &mut Records) -> Vec<u8> {
    let frame = NONCE_END + USERS.len() + PADDING.len() + b"\"}".len();
    let room = length.saturating_sub(frame);
    let users = records.within(room);
    let padding = vec![b'.'; room - users.len()];
    [BEFORE, &digits(0), USERS, users, PADDING, &padding, b"\"}"].concat()
}

/// What is wrong with a payload as the answer to a question, if anything: the one judgement that
/// every way uses. All of its bytes are read.
pub fn mismatch(ask: &DataRequest, payload: &[u8], checksum: u32) -> Option<&'static str> {
    if let Wanted::Bytes(bytes) = ask.what
        && payload.len() as u64 != bytes
    {
        return Some("its length is not the requested one");
    }
    if !has_nonce(payload, ask.nonce) {
        return Some("its nonce is not the requested one");
    }
    (crate::checksum::of(payload) != checksum).then_some("its checksum does not match")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum;
    use crate::request::SIZES;

    fn prepared(what: Wanted) -> Prepared {
        Prepared::new(7, what, &mut Records::new(1))
    }

    #[test]
    fn the_nonce_stands_where_it_is_put_and_the_rest_is_json() {
        let prepared = prepared(Wanted::Users(2));
        let mut bytes = prepared.bytes().to_vec();
        patch(&mut bytes, 0x0123_4567_89ab_cdef);
        assert!(bytes.starts_with(b"{\"nonce\":\"0123456789abcdef\",\"users\":[{\"id\":1,"));
        let read: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(read["nonce"], "0123456789abcdef");
        assert_eq!(read["users"].as_array().unwrap().len(), 2);
        assert_eq!(read.as_object().unwrap().len(), 2);
    }

    #[test]
    fn a_size_is_kept_to_the_byte() {
        let mut records = Records::new(1);
        let one = records.first(1).len() as u64;
        // Sizes around the one at which another user just fits.
        let tight = NONCE_END as u64 + 26 + one;
        for bytes in [
            1024,
            1025,
            4096,
            65_536,
            262_144,
            1_000_003,
            tight - 1,
            tight,
            tight + 1,
            *SIZES.end(),
        ] {
            let prepared = Prepared::new(7, Wanted::Bytes(bytes), &mut records);
            assert_eq!(prepared.bytes().len() as u64, bytes);
            let read: serde_json::Value = serde_json::from_slice(prepared.bytes()).unwrap();
            let padding = read["padding"].as_str().unwrap().len() as u64;
            // One more user would not have fitted.
            assert!(padding < one + 400, "{padding} bytes of padding in {bytes}");
        }
        let users = |bytes| {
            let prepared = Prepared::new(7, Wanted::Bytes(bytes), &mut records);
            let read: serde_json::Value = serde_json::from_slice(prepared.bytes()).unwrap();
            read["users"].as_array().unwrap().len()
        };
        assert_eq!([tight - 1, tight].map(users), [0, 1]);
    }

    #[test]
    fn the_checksum_is_that_of_the_patched_bytes() {
        for what in [Wanted::Users(3), Wanted::Bytes(1024), Wanted::Bytes(100_000)] {
            let prepared = prepared(what);
            for nonce in [0, 1, 0xdead_beef, u64::MAX] {
                let mut bytes = prepared.bytes().to_vec();
                patch(&mut bytes, nonce);
                assert_eq!(prepared.checksum(nonce), checksum::of(&bytes));
            }
        }
    }

    #[test]
    fn whatever_is_changed_is_found() {
        let prepared = prepared(Wanted::Bytes(5_000));
        let ask = DataRequest { what: Wanted::Bytes(5_000), nonce: 0xabc };
        let mut bytes = prepared.bytes().to_vec();
        patch(&mut bytes, ask.nonce);
        let checksum = prepared.checksum(ask.nonce);
        assert_eq!(mismatch(&ask, &bytes, checksum), None);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x20;
            assert!(mismatch(&ask, &changed, checksum).is_some(), "byte {at}");
        }
        assert!(mismatch(&ask, &bytes[..4_999], checksum).is_some());
        assert!(mismatch(&ask, &[], 0).is_some());
        assert!(mismatch(&ask, &bytes, checksum ^ 1).is_some());
        // An answer to another request, whole and with its own checksum.
        let other = DataRequest { nonce: 0xabd, ..ask };
        assert!(mismatch(&other, &bytes, checksum).is_some());
        let users = DataRequest { what: Wanted::Users(2), ..ask };
        assert!(mismatch(&users, b"{}", checksum::of(b"{}")).is_some());
    }
}
