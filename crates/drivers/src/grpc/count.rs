//! How many messages stand in a message, found without decoding any.

use prost_reflect::prost::encoding::{
    DecodeContext, WireType, decode_key, decode_varint, skip_field,
};
use prost_reflect::{Kind, MessageDescriptor};

/// How deep messages are decoded in each other; deeper ones are refused by the decoder.
const DEPTH_LIMIT: usize = 100;

/// How many messages stand in this one, at any depth; `None` if they are more than this. What is no valid message counts
/// up to its first fault.
pub(super) fn messages(descriptor: &MessageDescriptor, bytes: &[u8], most: usize) -> Option<usize> {
    let mut left = most;
    within(descriptor, bytes, DEPTH_LIMIT, &mut left)?;
    Some(most - left)
}

/// `None` if there are more than are left.
fn within(
    descriptor: &MessageDescriptor,
    mut bytes: &[u8],
    depth: usize,
    left: &mut usize,
) -> Option<()> {
    while !bytes.is_empty() {
        let Ok((tag, wire)) = decode_key(&mut bytes) else { return Some(()) };
        let kind = descriptor.get_field(tag).map(|field| field.kind());
        let (WireType::LengthDelimited, Some(Kind::Message(inner))) = (wire, kind) else {
            match skip_field(wire, tag, &mut bytes, DecodeContext::default()) {
                Ok(()) => continue,
                Err(_) => return Some(()),
            }
        };
        let length = decode_varint(&mut bytes).ok().and_then(|length| usize::try_from(length).ok());
        let Some((content, rest)) = length.and_then(|length| bytes.split_at_checked(length)) else {
            return Some(());
        };
        *left = left.checked_sub(1)?;
        if depth > 0 {
            within(&inner, content, depth - 1, left)?;
        }
        bytes = rest;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use prost_reflect::DescriptorPool;

    use super::*;

    /// `google.protobuf.Value` and `ListValue` hold each other.
    fn list() -> MessageDescriptor {
        DescriptorPool::global().get_message_by_name("google.protobuf.ListValue").unwrap()
    }

    #[test]
    fn messages_are_counted_at_every_depth() {
        // Two values: null, and a list of one null.
        let bytes = [0x0a, 0x02, 0x08, 0x00, 0x0a, 0x06, 0x32, 0x04, 0x0a, 0x02, 0x08, 0x00];
        assert_eq!(messages(&list(), &bytes, 10), Some(4));
        assert_eq!(messages(&list(), &bytes, 4), Some(4));
        assert_eq!(messages(&list(), &bytes, 3), None);
        assert_eq!(messages(&list(), &[], 0), Some(0));
    }

    #[test]
    fn a_broken_message_counts_up_to_its_fault() {
        for broken in [&[0x0a][..], &[0x0a, 0x05, 0x08], &[0x0a, 0x00, 0x0f], &[0xff; 20]] {
            assert!(messages(&list(), broken, 10).is_some_and(|count| count <= 1), "{broken:?}");
        }
    }
}
