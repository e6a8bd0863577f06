//! What methods and messages are: `proto` or `protoset`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plan::diagnostic::{Diagnostic, Span};
use plan::document::{Node, Reader, Table};
use plan::printable::{printable, shortened};
use prost_reflect::{DescriptorPool, MethodDescriptor};
use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

/// Files that every compiler of .proto files has.
const BUNDLED: &str = "google/protobuf/";

/// Braces that may stand in each other: the compiler descends into each of them.
const NESTING_LIMIT: usize = 500;

/// Whether the compiler can descend into this text.
fn is_shallow(text: &str) -> bool {
    let mut depth = 0_usize;
    text.bytes().all(|byte| {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth <= NESTING_LIMIT
    })
}

/// The files that a .proto file imports, in order, without those that need no reading; none where it cannot be read,
/// which compiling it reports.
pub fn imports(text: &str) -> Vec<String> {
    if !is_shallow(text) {
        return Vec::new();
    }
    let file = File::from_source("", text);
    let imports = file.map(|file| file.file_descriptor_proto().dependency.clone());
    let imports = imports.unwrap_or_default().into_iter();
    imports.filter(|name| !name.starts_with(BUNDLED)).collect()
}

/// The descriptors of a `FileDescriptorSet`.
///
/// Errors: why it is none, or what it lacks
pub fn read_set(bytes: &[u8]) -> Result<DescriptorPool, String> {
    DescriptorPool::decode(bytes).map_err(|error| printable(&error.to_string()).into_owned())
}

/// `proto` or `protoset`, one of them.
pub fn read(reader: &mut Reader<'_>) -> Option<DescriptorPool> {
    let (proto, set) = (reader.entry("proto"), reader.entry("protoset"));
    // Files that cannot be read have been reported.
    if [proto, set].into_iter().flatten().any(|entry| entry.node.as_str() == Some("")) {
        return None;
    }
    match (proto, set) {
        (Some(_), Some(set)) => {
            let what = "`proto` and `protoset` exclude each other";
            reader.problem(Diagnostic::new(set.key_span, what, "remove one of them"));
            None
        }
        (Some(proto), None) => sources(reader, &proto.node),
        (None, Some(set)) => {
            let bytes = set.node.as_str().and_then(|text| STANDARD.decode(text).ok());
            let Some(bytes) = bytes else {
                reader.problem(set.node.unlike("the name of a file of descriptors"));
                return None;
            };
            let pool = read_set(&bytes).map_err(|error| {
                let what = format!("not a set of descriptors: {}", shortened(&error));
                let problem = Diagnostic::new(set.node.span, what, "named here");
                let hint = "make it with: protoc --include_imports --descriptor_set_out=FILE";
                reader.problem(problem.with_hint(hint));
            });
            pool.ok()
        }
        (None, None) => {
            reader.missing(
                "proto",
                "proto = \"shop.proto\"; or protoset = \"shop.pb\", which `proofload reflect URL > shop.pb` \
                 writes for a server with reflection",
            );
            None
        }
    }
}

/// Compiles .proto files: tables of name and content.
fn sources(reader: &mut Reader<'_>, node: &Node) -> Option<DescriptorPool> {
    let mut files = Vec::new();
    let tables: Vec<&Table> = reader.tables("proto");
    for table in &tables {
        let mut inner = Reader::new(table);
        let (name, content) = (inner.string("name"), inner.string("content"));
        if let (Some((name, _)), Some((content, _))) = (name, content) {
            // Braces came doubled, as for templates.
            files.push((name.to_owned(), content.replace("{{{{", "{{")));
        }
        inner.finish().into_iter().for_each(|problem| reader.problem(problem));
    }
    let names: Vec<String> = files.iter().map(|(name, _)| name.clone()).collect();
    if names.is_empty() {
        reader.problem(node.unlike("the name of a .proto file"));
        return None;
    }
    let mut resolver = ChainFileResolver::new();
    resolver.add(Sources(files));
    resolver.add(GoogleFileResolver::new());
    let mut compiler = Compiler::with_file_resolver(resolver);
    let mut seen: Vec<String> = Vec::new();
    for name in &names {
        // The error of a file that others import is the same for all of them.
        if let Err(error) = compiler.open_file(name) {
            let what = shown(&error, name);
            if !seen.contains(&what) {
                let problem = Diagnostic::new(node.span, what.clone(), "named here");
                reader.problem(problem);
                seen.push(what);
            }
        }
    }
    seen.is_empty().then(|| compiler.descriptor_pool())
}

/// An error with its file, on one line.
fn shown(error: &protox::Error, name: &str) -> String {
    let text = format!("{error:?}");
    // The first line has file, line and column, as far as they are known.
    let text = text.lines().next().unwrap_or_default();
    let file = error.file().unwrap_or(name);
    let file = if text.contains(file) { String::new() } else { format!("{file}: ") };
    shortened(&printable(&format!("{file}{text}"))).into_owned()
}

/// Files that were read already, by name.
struct Sources(Vec<(String, String)>);

impl FileResolver for Sources {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match self.0.iter().find(|(known, _)| known == name) {
            Some((_, content)) if is_shallow(content) => File::from_source(name, content),
            Some(_) => {
                let what = format!("{name}: more than {NESTING_LIMIT} braces stand in each other");
                Err(protox::Error::new(what))
            }
            None => Err(protox::Error::file_not_found(name)),
        }
    }
}

/// The method of this name, `package.Service/Method`.
///
/// Errors: the service, or its method, is not known
pub fn method(
    pool: &DescriptorPool,
    text: &str,
    span: Span,
) -> Result<MethodDescriptor, Diagnostic> {
    let name = text.strip_prefix('/').unwrap_or(text);
    let Some((service, method)) = name.split_once('/') else {
        let what = format!("method {:?} has no service", shortened(text));
        return Err(Diagnostic::new(span, what, "expected a method such as shop.Cart/Add"));
    };
    let Some(found) = pool.get_service_by_name(service) else {
        let services: Vec<_> = pool.services().collect();
        let known = services.iter().map(|service| service.full_name());
        return Err(Diagnostic::unknown("service", service, span, known));
    };
    let methods: Vec<_> = found.methods().collect();
    match methods.iter().find(|known| known.name() == method) {
        Some(method) => Ok(method.clone()),
        None => {
            let known = methods.iter().map(|method| method.name());
            Err(Diagnostic::unknown("method", method, span, known))
        }
    }
}
