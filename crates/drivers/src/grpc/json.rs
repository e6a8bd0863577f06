//! Messages from JSON and as JSON, by their descriptors.
//!
//! Source: <https://protobuf.dev/programming-guides/json>. Beside it, 64-bit integers are written as numbers, and fields
//! with their default value are written, so that rules and items can read them.

use std::io::{self, Write};

use prost_reflect::prost::Message;
use prost_reflect::{DynamicMessage, MessageDescriptor, ReflectMessage, SerializeOptions, Value};
use record::FailureKind;

use super::count;
use crate::http::answer::{BODY_LIMIT, Failure};

/// A message that holds another of any type, as bytes.
const ANY: &str = "google.protobuf.Any";
/// How deep such messages may stand in each other: each is decoded anew, so that no other limit applies.
const ANY_LIMIT: usize = 16;

/// Most messages within a message: two bytes on the wire become some 800 in memory.
const MESSAGES_LIMIT: usize = 1 << 18;

/// Appends the message that this JSON text stands for.
///
/// Errors: what of it does not fit the descriptor
pub fn encode(
    descriptor: &MessageDescriptor,
    text: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let message = DynamicMessage::deserialize(descriptor.clone(), &mut deserializer)
        .and_then(|message| deserializer.end().map(|()| message))
        .map_err(|error| error.to_string())?;
    message.encode(out).map_err(|error| error.to_string())
}

/// Appends a message as JSON.
///
/// Errors: it does not fit the descriptor, or is too long as JSON
pub fn append(
    descriptor: &MessageDescriptor,
    bytes: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    if count::messages(descriptor, bytes, MESSAGES_LIMIT).is_none() {
        let detail = format!("more than {MESSAGES_LIMIT} messages in one");
        return Err(Failure { kind: FailureKind::TooLarge, detail });
    }
    let message = DynamicMessage::decode(descriptor.clone(), bytes).map_err(|error| Failure {
        kind: FailureKind::Malformed,
        detail: format!("the message is not a valid {}: {error}", descriptor.full_name()),
    })?;
    if descriptor.parent_pool().get_message_by_name(ANY).is_some() && is_too_deep(&message, 0) {
        let detail = format!("more than {ANY_LIMIT} messages of {ANY} in each other");
        return Err(Failure { kind: FailureKind::Malformed, detail });
    }
    let options =
        SerializeOptions::new().stringify_64_bit_integers(false).skip_default_fields(false);
    let mut serializer = serde_json::Serializer::new(Bounded(out));
    message.serialize_with_options(&mut serializer, &options).map_err(|error| {
        if error.is_io() {
            let detail = format!("messages of more than {BODY_LIMIT} bytes as JSON");
            return Failure { kind: FailureKind::TooLarge, detail };
        }
        let detail = format!("{} cannot be written as JSON: {error}", descriptor.full_name());
        Failure { kind: FailureKind::Malformed, detail }
    })
}

/// Whether more messages of `Any` than may be stand in each other; `depth` is how many are around this one.
fn is_too_deep(message: &DynamicMessage, depth: usize) -> bool {
    let is_any = message.descriptor().full_name() == ANY;
    let inner = is_any.then(|| within(message)).flatten();
    inner.is_some_and(|inner| depth + 1 > ANY_LIMIT || is_too_deep(&inner, depth + 1))
        || message.fields().any(|(_, value)| match value {
            Value::Message(inner) => is_too_deep(inner, depth),
            Value::List(values) => values.iter().any(|value| is_too_deep_in(value, depth)),
            Value::Map(values) => values.values().any(|value| is_too_deep_in(value, depth)),
            _ => false,
        })
}

fn is_too_deep_in(value: &Value, depth: usize) -> bool {
    value.as_message().is_some_and(|inner| is_too_deep(inner, depth))
}

/// The message in a message of `Any`, if its type is known and it is valid.
fn within(any: &DynamicMessage) -> Option<DynamicMessage> {
    let (url, bytes) = (any.get_field_by_name("type_url")?, any.get_field_by_name("value")?);
    let name = url.as_str()?.rsplit_once('/')?.1;
    let descriptor = any.descriptor().parent_pool().get_message_by_name(name)?;
    DynamicMessage::decode(descriptor, bytes.as_bytes()?.clone()).ok()
}

/// A few bytes of a message may be much JSON.
struct Bounded<'a>(&'a mut Vec<u8>);

impl Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > BODY_LIMIT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use prost_reflect::DescriptorPool;
    use prost_reflect::prost::encoding::{WireType, encode_key, encode_varint};
    use protox::Compiler;
    use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

    use super::*;

    const PROTO: &str = "syntax = \"proto3\"; package t; import \"google/protobuf/any.proto\";\n\
        message Box { google.protobuf.Any inner = 1; }";

    struct One;

    impl FileResolver for One {
        fn open_file(&self, name: &str) -> Result<File, protox::Error> {
            match name {
                "box.proto" => File::from_source(name, PROTO),
                _ => Err(protox::Error::file_not_found(name)),
            }
        }
    }

    fn pool() -> DescriptorPool {
        let mut resolver = ChainFileResolver::new();
        resolver.add(One);
        resolver.add(GoogleFileResolver::new());
        let mut compiler = Compiler::with_file_resolver(resolver);
        compiler.open_file("box.proto").unwrap();
        compiler.descriptor_pool()
    }

    fn bytes(tag: u32, content: &[u8], out: &mut Vec<u8>) {
        encode_key(tag, WireType::LengthDelimited, out);
        encode_varint(content.len() as u64, out);
        out.extend_from_slice(content);
    }

    /// So many boxes, each as bytes in the one around it.
    fn boxes(count: usize) -> Vec<u8> {
        (0..count).fold(Vec::new(), |inner, _| {
            let (mut any, mut out) = (Vec::new(), Vec::new());
            bytes(1, b"type.googleapis.com/t.Box", &mut any);
            bytes(2, &inner, &mut any);
            bytes(1, &any, &mut out);
            out
        })
    }

    #[test]
    fn a_message_of_very_many_is_not_decoded() {
        let lists = DescriptorPool::global();
        let descriptor = lists.get_message_by_name("google.protobuf.ListValue").unwrap();
        // Each of them is null.
        let many = |count: usize| [0x0a, 0x02, 0x08, 0x00].repeat(count);
        append(&descriptor, &many(MESSAGES_LIMIT), &mut Vec::new()).unwrap();
        let refused = append(&descriptor, &many(MESSAGES_LIMIT + 1), &mut Vec::new()).unwrap_err();
        assert_eq!(refused.kind, FailureKind::TooLarge, "{}", refused.detail);
    }

    #[test]
    fn messages_of_any_type_stand_in_each_other_up_to_a_limit() {
        let descriptor = pool().get_message_by_name("t.Box").unwrap();
        let mut json = Vec::new();
        append(&descriptor, &boxes(ANY_LIMIT), &mut json).unwrap();
        let found = String::from_utf8(json).unwrap().matches("@type").count();
        assert_eq!(found, ANY_LIMIT);
        for count in [ANY_LIMIT + 1, 3_000] {
            let failure = append(&descriptor, &boxes(count), &mut Vec::new()).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Malformed, "{}", failure.detail);
        }
    }
}
