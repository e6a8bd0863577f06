//! A page of the list: who sent what to whom, and under which subject.

use std::sync::Arc;

use mail_parser::MessageParser;
use serde::Serialize;

use super::asked::Asked;
use crate::store::shelf::Shelved;

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

/// The first page of those messages, newest first, that were asked for. May read files.
pub(super) fn page(messages: Vec<Arc<Shelved>>, asked: &Asked) -> Page {
    let mut page = Page { messages: Vec::new(), next_cursor: None };
    let mut last = None;
    for message in messages.iter().filter(|message| fits(message, asked)) {
        if page.messages.len() == asked.limit {
            page.next_cursor = last.map(|number: u64| number.to_string());
            break;
        }
        last = Some(message.number);
        page.messages.push(row(message));
    }
    page
}

fn row(message: &Shelved) -> Row {
    Row {
        id: Arc::clone(&message.id),
        received_at: message.received_at,
        from: message.slip.from.clone(),
        to: message.slip.recipients.clone(),
        subject: subject(message).to_owned(),
        size: message.size,
    }
}

fn fits(message: &Shelved, asked: &Asked) -> bool {
    let is = |wanted: &Option<String>, there: &str| {
        wanted.as_ref().is_none_or(|wanted| there.to_lowercase() == *wanted)
    };
    let recipients = &message.slip.recipients;
    let is_to = asked.to.is_none() || recipients.iter().any(|there| is(&asked.to, there));
    let has_subject = |part: &String| subject(message).to_lowercase().contains(part);
    is_to && is(&asked.from, &message.slip.from) && asked.subject.as_ref().is_none_or(has_subject)
}

/// Decoded when it is asked for the first time; empty where there is none.
fn subject(message: &Shelved) -> &str {
    message.subject.get_or_init(|| {
        let content = message.content.read().unwrap_or_default();
        let parser = MessageParser::new().header_text(mail_parser::HeaderName::Subject);
        let parsed = parser.default_header_ignore().parse_headers(&content[..]);
        let parsed = parsed.as_ref().filter(|parsed| !parsed.parts.is_empty());
        let subject = parsed.and_then(|parsed| parsed.subject());
        subject.unwrap_or_default().chars().take(1_000).collect()
    })
}
