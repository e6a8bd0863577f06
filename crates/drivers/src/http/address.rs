//! Addresses that are known only when the operation begins: `url` with a placeholder where its host stands.
//!
//! A reference without a host belongs to the operation's own target, as in a browser.

use std::sync::Arc;

use engine::driver::Call;
use engine::transport::Endpoint;
use plan::rows::Rows;
use plan::target::without_credentials;
use plan::template::Template;
use url::Url;

use super::redirect::origin_of;

/// An address that depends on the call.
#[derive(Debug)]
pub struct Address {
    /// A whole address, or a reference.
    pub template: Template,
    /// Data that it refers to.
    pub rows: Option<Arc<Rows>>,
}

impl Address {
    /// The origin that this call goes to; `None` for the operation's own. What is no address is returned as it is: no
    /// target has it.
    pub fn origin(&self, call: &Call, own: &Endpoint) -> Option<String> {
        let mut text = Vec::new();
        self.template.render(call, self.rows.as_deref(), &mut text);
        let own = own.origin();
        let Some(url) = resolved(&own, &text) else {
            return Some(format!("{:?}", without_credentials(&String::from_utf8_lossy(&text))));
        };
        Some(origin_of(&url)).filter(|origin| *origin != own)
    }
}

/// Appends path and query of this address at this origin.
pub fn append_target(origin: &str, text: &[u8], out: &mut Vec<u8>) {
    let Some(url) = resolved(origin, text) else { return out.push(b'/') };
    out.extend_from_slice(url[url::Position::BeforePath..url::Position::AfterQuery].as_bytes());
}

fn resolved(origin: &str, text: &[u8]) -> Option<Url> {
    let text = std::str::from_utf8(text).ok()?;
    Url::parse(origin).ok()?.join(text).ok()
}

#[cfg(test)]
mod tests {
    use engine::transport::Address as Place;

    use super::*;

    const OWN: &str = "http://a.example:8080";

    /// Origin and request target of this address.
    fn of(text: &str) -> (Option<String>, String) {
        let template = Template::compile(text, Default::default(), Default::default()).unwrap();
        let address = Place::Tcp(Vec::new());
        let authority = "a.example:8080".to_owned();
        let own = Endpoint { authority, address, tls: None, upgrade: None, is_web: true };
        let mut target = Vec::new();
        append_target(OWN, text.as_bytes(), &mut target);
        let address = Address { template, rows: None };
        (address.origin(&Call::default(), &own), String::from_utf8(target).unwrap())
    }

    #[test]
    fn a_reference_belongs_to_the_own_target() {
        for (text, target) in [
            ("/orders/7", "/orders/7"),
            ("orders?page=2#top", "/orders?page=2"),
            ("http://a.example:8080/x", "/x"),
            ("HTTP://A.example:8080", "/"),
            (" /a b\n", "/a%20b"),
            ("", "/"),
        ] {
            assert_eq!(of(text), (None, target.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn a_whole_address_names_its_origin() {
        for (text, origin, target) in [
            ("https://b.example/x?y=1", "https://b.example", "/x?y=1"),
            ("//b.example/x", "http://b.example", "/x"),
            ("http://a.example/", "http://a.example", "/"),
            ("http://user:word@b.example:80/", "http://b.example", "/"),
            ("javascript:alert(1)", "javascript:", "alert(1)"),
            ("http://a:b@[", "\"http://…@[\"", "/"),
        ] {
            assert_eq!(of(text), (Some(origin.to_owned()), target.to_owned()), "{text:?}");
        }
    }
}
