//! Messages from JSON and as JSON, by their descriptors.
//!
//! Source: <https://protobuf.dev/programming-guides/json>. Beside it, 64-bit integers are written as numbers, and fields
//! with their default value are written, so that rules and items can read them.

use std::io::{self, Write};

use prost_reflect::prost::Message;
use prost_reflect::{DynamicMessage, MessageDescriptor, SerializeOptions};
use record::FailureKind;

use crate::http::answer::{BODY_LIMIT, Failure};

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
    let message = DynamicMessage::decode(descriptor.clone(), bytes).map_err(|error| Failure {
        kind: FailureKind::Malformed,
        detail: format!("the message is not a valid {}: {error}", descriptor.full_name()),
    })?;
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
