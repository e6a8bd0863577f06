//! A page of the list: who sent what to whom, and under which subject.

use std::sync::Arc;

use mail_parser::{HeaderName, MessageParser};
use serde::Serialize;

use super::asked::Asked;
use crate::store::shelf::{Shelf, Shelved};

/// What `GET /messages` answers.
#[derive(Debug, Serialize)]
pub(super) struct Page {
    pub messages: Vec<Row>,
    /// Where the next page begins; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// One message of a list.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    id: Arc<str>,
    received_at: i64,
    from: String,
    to: Vec<String>,
    subject: String,
    size: u64,
}

/// Characters of a subject that are kept.
const LONGEST_SUBJECT: usize = 1_000;
/// Messages that are looked at between two looks at the shelf.
const STRETCH: usize = 256;

/// The first page of those messages after a place, newest first, that were asked for. May read files.
pub(super) fn page(shelf: &Shelf, after: u64, asked: &Asked) -> Page {
    let mut page = Page { messages: Vec::new(), next_cursor: None };
    let mut before = asked.cursor;
    loop {
        let stretch = shelf.between(after, before, STRETCH);
        let Some(last) = stretch.last() else { return page };
        let end = last.number;
        for (message, row) in
            stretch.iter().filter_map(|message| Some((message, row(message, asked)?)))
        {
            if page.messages.len() == asked.limit {
                page.next_cursor = Some(before.to_string());
                return page;
            }
            before = message.number;
            page.messages.push(row);
        }
        before = end;
    }
}

/// What the list says of a message; `None` if it was not asked for, or its file is gone.
fn row(message: &Shelved, asked: &Asked) -> Option<Row> {
    let (from, to) = (&message.slip.from, &message.slip.recipients);
    let is = |wanted: &Option<String>, there: &String| {
        wanted.as_ref().is_none_or(|wanted| there.to_lowercase() == *wanted)
    };
    let is_to = asked.to.is_none() || to.iter().any(|there| is(&asked.to, there));
    if !is_to || !is(&asked.from, from) {
        return None;
    }
    let subject = subject(message)?;
    let has_part = |part: &String| subject.to_lowercase().contains(part);
    asked.subject.as_ref().is_none_or(has_part).then(|| Row {
        id: Arc::clone(&message.id),
        received_at: message.received_at,
        from: from.clone(),
        to: to.clone(),
        subject: subject.to_owned(),
        size: message.size,
    })
}

/// Decoded when it is asked for the first time; empty where there is none.
fn subject(message: &Shelved) -> Option<&str> {
    if message.subject.get().is_none() {
        let head = message.content.head().ok()?;
        let parser = MessageParser::new().header_text(HeaderName::Subject).default_header_ignore();
        let parsed = parser.parse_headers(&head[..]);
        let parsed = parsed.as_ref().filter(|parsed| !parsed.parts.is_empty());
        let subject = parsed.and_then(|parsed| parsed.subject()).unwrap_or_default();
        // Somebody else may have been faster, and found the same.
        let _ = message.subject.set(subject.chars().take(LONGEST_SUBJECT).collect());
    }
    message.subject.get().map(String::as_str)
}
