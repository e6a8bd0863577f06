//! A page of the list of messages: sender, recipients and subject.

use std::sync::Arc;

use mail_parser::{HeaderName, MessageParser};
use serde::Serialize;

use super::list_query::ListQuery;
use crate::store::retained::{RetainedMessage, RetainedMessages};

/// The answer of `GET /messages`.
#[derive(Debug, Serialize)]
pub(super) struct Page {
    pub messages: Vec<Row>,
    /// The cursor of the next page; absent on the last page.
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

/// Longest subject in characters; longer ones are shortened.
const LONGEST_SUBJECT: usize = 1_000;
/// Messages that are checked while the store is locked once.
const STRETCH: usize = 256;

/// The first page of the matching messages after a place, newest first. May read files.
pub(super) fn page(retained: &RetainedMessages, after: u64, query: &ListQuery) -> Page {
    let mut page = Page { messages: Vec::new(), next_cursor: None };
    let mut before = query.cursor;
    loop {
        let stretch = retained.between(after, before, STRETCH);
        let Some(last) = stretch.last() else { return page };
        let end = last.number;
        for (message, row) in
            stretch.iter().filter_map(|message| Some((message, row(message, query)?)))
        {
            if page.messages.len() == query.limit {
                page.next_cursor = Some(before.to_string());
                return page;
            }
            before = message.number;
            page.messages.push(row);
        }
        before = end;
    }
}

/// A message as a row of the list; `None` if it does not match, or its file is gone.
fn row(message: &RetainedMessage, query: &ListQuery) -> Option<Row> {
    let (from, to) = (&message.summary.from, &message.summary.recipients);
    let is = |wanted: &Option<String>, there: &String| {
        wanted.as_ref().is_none_or(|wanted| there.to_lowercase() == *wanted)
    };
    let is_to = query.to.is_none() || to.iter().any(|there| is(&query.to, there));
    if !is_to || !is(&query.from, from) {
        return None;
    }
    let subject = subject(message)?;
    let has_part = |part: &String| subject.to_lowercase().contains(part);
    query.subject.as_ref().is_none_or(has_part).then(|| Row {
        id: Arc::clone(&message.id),
        received_at: message.received_at,
        from: from.clone(),
        to: to.clone(),
        subject: subject.to_owned(),
        size: message.size,
    })
}

/// The subject, decoded at the first request; empty if missing.
fn subject(message: &RetainedMessage) -> Option<&str> {
    if message.subject.get().is_none() {
        let head = message.content.head().ok()?;
        let parser = MessageParser::new().header_text(HeaderName::Subject).default_header_ignore();
        let parsed = parser.parse_headers(&head[..]);
        let parsed = parsed.as_ref().filter(|parsed| !parsed.parts.is_empty());
        let subject = parsed.and_then(|parsed| parsed.subject()).unwrap_or_default();
        // Another request may have decoded it meanwhile.
        let _ = message.subject.set(subject.chars().take(LONGEST_SUBJECT).collect());
    }
    message.subject.get().map(String::as_str)
}
