//! The page itself: the report's style and charts, and what draws them while the run goes on.

use bytes::Bytes;
use pages::html::{CHARTS, STYLE, UPLOT, UPLOT_STYLE};

const PAGE: &str = include_str!("page.html");
const OWN_STYLE: &str = include_str!("page.css");
const OWN: &str = include_str!("page.js");

/// The page, which needs nothing else but the events.
pub fn page() -> Bytes {
    let parts = [
        ("UPLOT_STYLE", UPLOT_STYLE),
        ("OWN_STYLE", OWN_STYLE),
        ("STYLE", STYLE),
        ("UPLOT", UPLOT),
        ("CHARTS", CHARTS),
        ("OWN", OWN),
    ];
    let page = parts.iter().fold(PAGE.to_owned(), |page, (name, text)| {
        page.replacen(&format!("{{{{{name}}}}}"), text, 1)
    });
    page.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_whole_and_loads_nothing() {
        let page = String::from_utf8(page().to_vec()).expect("text");
        assert!(!page.contains("{{"), "a part is missing");
        for other in ["src=", "@import", "url(http", "<link rel=\"stylesheet"] {
            assert!(!page.contains(other), "{other}");
        }
        assert!(page.contains("new EventSource"));
    }
}
