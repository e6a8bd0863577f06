//! The header `traceparent`, rendered by hand: it is on the hot path.
//!
//! Source: W3C Trace Context, section 3.2: version 00, trace id, parent id, and the flag that asks servers to sample

use plan::trace::TraceContext;

/// The name of the header.
pub const NAME: &str = "traceparent";

/// Appends the value of the header.
pub fn append_value(context: &TraceContext, out: &mut Vec<u8>) {
    let mut value = *b"00-00000000000000000000000000000000-0000000000000000-01";
    digits(u128::from(context.trace_id), &mut value[3..35]);
    digits(u128::from(u64::from(context.parent_id)), &mut value[36..52]);
    out.extend_from_slice(&value);
}

/// Appends the header as a line.
pub fn append_line(context: &TraceContext, out: &mut Vec<u8>) {
    out.extend_from_slice(b"traceparent: ");
    append_value(context, out);
    out.extend_from_slice(b"\r\n");
}

/// Fills `out` with hexadecimal digits, the lowest last.
fn digits(mut number: u128, out: &mut [u8]) {
    for digit in out.iter_mut().rev() {
        *digit = b"0123456789abcdef"[(number & 0xf) as usize];
        number >>= 4;
    }
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU64, NonZeroU128};

    use super::*;

    #[track_caller]
    fn check(trace_id: u128, parent_id: u64, expected: &str) {
        let context = TraceContext {
            trace_id: NonZeroU128::new(trace_id).unwrap(),
            parent_id: NonZeroU64::new(parent_id).unwrap(),
        };
        let mut out = Vec::new();
        append_value(&context, &mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected);
        out.clear();
        append_line(&context, &mut out);
        assert_eq!(String::from_utf8_lossy(&out), format!("traceparent: {expected}\r\n"));
    }

    /// The first is the example of the standard.
    #[test]
    fn ids_are_lower_case_and_keep_their_zeros() {
        check(
            0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736,
            0x00f0_67aa_0ba9_02b7,
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        );
        check(1, 1, "00-00000000000000000000000000000001-0000000000000001-01");
        check(u128::MAX, u64::MAX, "00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-01");
    }
}
