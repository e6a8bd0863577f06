//! A mail transaction, and why its content may be refused.

use crate::command::Parameters;
use crate::refusal::Refusal;

/// A mail transaction: from `MAIL` to the reply after the content.
#[derive(Debug)]
pub(super) struct Transaction {
    pub(super) from: String,
    pub(super) to: Vec<String>,
    pub(super) parameters: Parameters,
    /// Whether a recipient was named, even a refused one.
    pub(super) has_tried: bool,
    /// Bytes of content so far; `None` before any.
    pub(super) content: Option<u64>,
    /// Bytes of addresses.
    pub(super) held: usize,
    /// Whether an injected fault drops the connection within the content.
    pub(super) is_doomed: bool,
}

impl Transaction {
    pub(super) fn new(from: &str, parameters: Parameters) -> Self {
        Self {
            from: from.to_owned(),
            to: Vec::new(),
            parameters,
            has_tried: false,
            content: None,
            held: from.len(),
            is_doomed: false,
        }
    }

    pub(super) fn add(&mut self, recipient: &str) {
        self.held += size_of::<String>() + recipient.len();
        self.to.push(recipient.to_owned());
    }

    pub(super) fn recipients(&self) -> usize {
        self.to.len()
    }

    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Whether the store was asked to begin.
    pub(super) fn has_begun(&self) -> bool {
        self.content.is_some()
    }
}

/// Why content that is being read will be refused.
#[derive(Debug)]
pub(super) enum Rejection {
    /// The message is refused.
    Refused(Refusal),
    /// The content belongs to no message.
    Astray(&'static str),
}
