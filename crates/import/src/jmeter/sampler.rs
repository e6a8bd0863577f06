//! An HTTP sampler as an operation: address, arguments, header fields and body.

use url::form_urlencoded::{self, Serializer};

use super::element::Element;
use super::{Reader, Scope};
use crate::draft::{Body, DraftOperation, Part};
use crate::masks::{Masks, UNKNOWN};
use crate::request;

/// Redirects that JMeter follows at most.
const FOLLOWED: u32 = 20;

impl Reader<'_> {
    /// The operation of a sampler, its variables masked.
    pub(super) fn sampler<'d>(
        &mut self,
        element: &Element<'d>,
        scope: &Scope<'d>,
        masks: &mut Masks,
    ) -> Option<DraftOperation> {
        let line = element.line();
        let address = self.address(element, scope);
        let address = self.variables.masked(&address, line, masks, &mut self.draft);
        let mut operation = match request::to(&address, &mut self.draft.credentials) {
            Ok(operation) => operation,
            Err(what) => {
                let what = self.draft.credentials.hidden(&masks.unmask(&what));
                self.draft.note(line, what.as_str());
                return None;
            }
        };
        operation.name = element.title().to_owned();
        let method = element.text("HTTPSampler.method").trim();
        operation.method = method.to_owned();
        for (name, value, line) in &scope.headers {
            let value = self.variables.masked(value, *line, masks, &mut self.draft);
            request::add_header(&mut operation, name, &value, &mut self.draft.credentials);
        }
        let follows = ["HTTPSampler.follow_redirects", "HTTPSampler.auto_redirects"];
        if follows.into_iter().any(|name| element.is(name)) {
            operation.follow = FOLLOWED;
        }
        if element.is("HTTPSampler.image_parser") {
            self.draft.note(line, "what the page embeds is not fetched");
        }
        self.content(element, &mut operation, masks);
        Some(operation)
    }

    /// The address, with what the defaults say where the sampler says nothing.
    fn address<'d>(&mut self, element: &Element<'d>, scope: &Scope<'d>) -> String {
        let part = |name: &str| {
            let own = std::iter::once(element).chain(&scope.defaults);
            own.map(|one| one.text(name).trim()).find(|text| !text.is_empty()).unwrap_or_default()
        };
        let path = self.variables.filled(part("HTTPSampler.path"));
        if path.starts_with("http://") || path.starts_with("https://") {
            return path;
        }
        let protocol = self.variables.filled(part("HTTPSampler.protocol")).to_ascii_lowercase();
        if protocol.contains("${") {
            let what = "the protocol is a variable: http stands for it";
            self.draft.note(element.line(), what);
        }
        let protocol = if protocol == "https" { "https" } else { "http" };
        let domain = part("HTTPSampler.domain");
        // Without a host, the path's beginning would be taken for one.
        let unknown = UNKNOWN.trim_start_matches("http://");
        let domain = if domain.is_empty() { unknown } else { domain };
        let port = part("HTTPSampler.port");
        let colon = if port.is_empty() { "" } else { ":" };
        let slash = if path.starts_with('/') || path.is_empty() { "" } else { "/" };
        self.variables.filled(&format!("{protocol}://{domain}{colon}{port}{slash}{path}"))
    }

    /// Arguments and files: a query, a form, or a body.
    fn content(
        &mut self,
        element: &Element<'_>,
        operation: &mut DraftOperation,
        masks: &mut Masks,
    ) {
        let inner = element.inner("HTTPsampler.Arguments");
        let arguments = inner.map(|one| one.entries("Arguments.arguments")).unwrap_or_default();
        let mut pairs: Vec<(String, String)> = Vec::new();
        for one in &arguments {
            let line = one.line();
            let mut text =
                |name: &str| self.variables.masked(one.text(name), line, masks, &mut self.draft);
            let (name, value) = (text("Argument.name"), text("Argument.value"));
            // What is sent as it stands is encoded already.
            if one.text("HTTPArgument.always_encode") == "false" && !name.is_empty() {
                let pair = format!("{name}={value}");
                pairs.extend(form_urlencoded::parse(pair.as_bytes()).into_owned());
            } else {
                pairs.push((name, value));
            }
        }
        if self.files(element, &pairs, operation) {
            return;
        }
        let is_raw = element.is("HTTPSampler.postBodyRaw")
            || (!pairs.is_empty() && pairs.iter().all(|(name, _)| name.is_empty()));
        let has_body = matches!(operation.method.as_str(), "POST" | "PUT" | "PATCH");
        let credentials = &mut self.draft.credentials;
        if is_raw {
            let body: String = pairs.into_iter().map(|(_, value)| value).collect();
            if !body.is_empty() {
                request::set_body(operation, &body, credentials);
            }
        } else if has_body && !pairs.is_empty() {
            let is_typed = operation.headers.iter().any(|(name, _)| name == "content-type");
            if is_typed {
                let form = Serializer::new(String::new()).extend_pairs(&pairs).finish();
                request::set_body(operation, &form, credentials);
            } else {
                let pairs = pairs.into_iter().map(|(name, value)| {
                    let value = credentials.text(&name, &value);
                    (name, value)
                });
                operation.body = Body::Form(pairs.collect());
            }
        } else {
            let pairs = pairs.into_iter().map(|(name, value)| {
                let value = credentials.text(&name, &value);
                (name, value)
            });
            operation.query.extend(pairs);
        }
    }

    /// Whether files are the body, or parts of it.
    fn files(
        &mut self,
        element: &Element<'_>,
        pairs: &[(String, String)],
        operation: &mut DraftOperation,
    ) -> bool {
        let inner = element.inner("HTTPsampler.Files");
        let files = inner.map(|one| one.entries("HTTPFileArgs.files")).unwrap_or_default();
        let mut parts = Vec::new();
        for file in &files {
            let path = self.variables.filled(file.text("File.path"));
            let name = file.text("File.paramname");
            let kind = Some(file.text("File.mimetype").to_owned()).filter(|kind| !kind.is_empty());
            if path.contains("${") || !request::is_within(&path) {
                let what = format!("the file {path:?} is left out: name one beside the experiment");
                self.draft.note(file.line(), what);
            } else if name.is_empty() {
                operation.body = Body::File(path);
                return true;
            } else {
                parts.push((name.to_owned(), Part::File(path, kind)));
            }
        }
        if parts.is_empty() && !element.is("HTTPSampler.DO_MULTIPART_POST") {
            return false;
        }
        let credentials = &mut self.draft.credentials;
        let texts = pairs
            .iter()
            .map(|(name, value)| (name.clone(), Part::Text(credentials.text(name, value))));
        let parts: Vec<_> = texts.chain(parts).collect();
        if parts.is_empty() {
            return false;
        }
        operation.body = Body::Multipart(parts);
        true
    }
}
