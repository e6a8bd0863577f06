//! Asking a server for its descriptors, so that a file of them can be written.
//!
//! Source: `grpc/reflection/v1/reflection.proto`; v1alpha is the same under another name

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::clock::Clock;
use engine::connect::connect;
use engine::driver::{Call, CompileContext, Driver, Exchange};
use engine::transport::{Endpoint, Network};
use plan::document::{Entry, Node, Table, Value};
use plan::operation::Operation as Planned;
use plan::printable::{printable, shortened};
use prost_reflect::prost::Message;
use prost_reflect::prost_types::{FileDescriptorProto, FileDescriptorSet};
use record::Outcome;
use serde_json::Value as Json;

use super::compile::read_set;
use super::driver::Grpc;
use crate::http::answer::{Keep, KeepBody};

/// The service that is asked, without its version.
const PROTO: &str = r#"
syntax = "proto3";
package grpc.reflection.VERSION;
service ServerReflection {
  rpc ServerReflectionInfo(stream Request) returns (stream Response);
}
message Request {
  oneof request {
    string file_by_filename = 3;
    string file_containing_symbol = 4;
    string list_services = 7;
  }
}
message Response {
  oneof response {
    Files files = 4;
    Services services = 6;
    Error error = 7;
  }
}
message Files { repeated bytes file = 1; }
message Services { repeated Service service = 1; }
message Service { string name = 1; }
message Error { int32 code = 1; string message = 2; }
"#;
const VERSIONS: [&str; 2] = ["v1", "v1alpha"];
/// Files that are taken, at most.
const FILES_LIMIT: usize = 2_000;
/// Bytes of them, at most.
const BYTES_LIMIT: usize = 64 * 1024 * 1024;
/// Services that are asked for, at most.
const SERVICES_LIMIT: usize = 1_000;

/// The descriptors of all services that this server offers, as a `FileDescriptorSet`.
///
/// Errors: why there are none
pub async fn descriptors<C: Clock, N: Network>(
    endpoint: &Endpoint,
    network: &N,
    clock: &C,
    within: Duration,
) -> Result<Vec<u8>, String> {
    let within = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX / 2);
    let until = clock.now().saturating_add(within);
    tokio::select! {
        found = any_version(endpoint, network, clock) => found,
        () = clock.sleep_until(until) => Err("no complete answer within the time-out".to_owned()),
    }
}

async fn any_version<C: Clock, N: Network>(
    endpoint: &Endpoint,
    network: &N,
    clock: &C,
) -> Result<Vec<u8>, String> {
    let mut unknown = String::new();
    for version in VERSIONS {
        let server = Server { endpoint, network, clock, version };
        match server.ask(&[("list_services", "*")]).await {
            Ok(answers) => return server.files(&answers).await,
            Err(Unanswered { detail, is_unknown: true }) => unknown = detail,
            Err(Unanswered { detail, .. }) => return Err(detail),
        }
    }
    Err(format!("the server does not offer reflection ({unknown})"))
}

struct Server<'a, C, N> {
    endpoint: &'a Endpoint,
    network: &'a N,
    clock: &'a C,
    version: &'static str,
}

struct Unanswered {
    detail: String,
    /// Whether another version may be known.
    is_unknown: bool,
}

impl<C: Clock, N: Network> Server<'_, C, N> {
    /// The files of these services and all that they import.
    async fn files(&self, services: &[Json]) -> Result<Vec<u8>, String> {
        let names = services.iter().flat_map(|answer| list(answer, "services", "service"));
        let names = names.filter_map(|service| service["name"].as_str());
        // Servers list this one and often cannot describe it.
        let names: Vec<&str> = names.filter(|name| !name.starts_with("grpc.reflection.")).collect();
        if names.is_empty() || names.len() > SERVICES_LIMIT {
            return Err(format!("the server lists {} services", names.len()));
        }
        let mut found = Found::default();
        let asked: Vec<_> = names.iter().map(|name| ("file_containing_symbol", *name)).collect();
        found.take(&self.ask(&asked).await.map_err(|error| error.detail)?)?;
        loop {
            let missing = found.missing()?;
            if missing.is_empty() {
                break;
            }
            let asked: Vec<_> =
                missing.iter().map(|name| ("file_by_filename", name.as_str())).collect();
            found.take(&self.ask(&asked).await.map_err(|error| error.detail)?)?;
        }
        found.set()
    }

    /// Sends these requests in one call, and returns the answer to each.
    async fn ask(&self, requests: &[(&str, &str)]) -> Result<Vec<Json>, Unanswered> {
        let fail = |detail: String| Unanswered { detail, is_unknown: false };
        let planned = planned(self.version, requests);
        let compile = CompileContext { operation: &planned, targets: &[], wall_clock: "" };
        let operation = Grpc.compile(compile).map_err(|problems| {
            fail(problems.first().map_or(String::new(), |problem| problem.message.clone()))
        })?;
        let mut exchange = Exchange::new(self.clock.clone());
        let call = Call { trial: 1, ..Call::default() };
        let opened = connect(&Grpc, &operation, self.endpoint, self.network, &mut exchange).await;
        let mut opened = opened.map_err(|(_, what)| fail(what))?;
        exchange.clear(0);
        let stream = &mut opened.stream;
        Grpc.encode(&operation, stream, &call);
        exchange.started_at = exchange.now();
        let keep =
            Keep { head: false, body: KeepBody::All, stream: operation.check.stream.as_ref() };
        let outcome = operation.perform_keeping(keep, stream, &mut exchange).await;
        if outcome != Outcome::Succeeded {
            let is_unknown = exchange.status.to_string() == "UNIMPLEMENTED";
            let detail = exchange.detail.take().unwrap_or_default();
            return Err(Unanswered { detail, is_unknown });
        }
        let answers = stream.kept.json.split(|byte| *byte == b'\n');
        let answers = answers.filter(|line| !line.is_empty()).map(serde_json::from_slice);
        let answers: Vec<Json> =
            answers.collect::<Result<_, _>>().map_err(|error| fail(error.to_string()))?;
        if answers.len() != requests.len() {
            let detail = format!("{} answers to {} requests", answers.len(), requests.len());
            return Err(fail(detail));
        }
        let refused = answers.iter().zip(requests).find(|(answer, _)| answer["error"].is_object());
        if let Some((answer, (_, name))) = refused {
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            let message = shown(message);
            return Err(fail(format!("the server does not describe {}: {message}", shown(name))));
        }
        Ok(answers)
    }
}

/// What the server says, as it may be shown.
fn shown(text: &str) -> String {
    shortened(&printable(text)).into_owned()
}

fn list<'a>(answer: &'a Json, kind: &str, key: &str) -> impl Iterator<Item = &'a Json> {
    answer[kind][key].as_array().into_iter().flatten()
}

/// The call as a file would have it.
fn planned(version: &str, requests: &[(&str, &str)]) -> Planned {
    let node = |value| Node { span: Default::default(), value };
    let text = |text: &str| node(Value::String(text.to_owned()));
    let table = |entries: Vec<(&str, Node)>| {
        let entries = entries.into_iter().map(|(key, node)| Entry {
            key: key.to_owned(),
            key_span: Default::default(),
            node,
        });
        Table { entries: entries.collect(), ..Table::default() }
    };
    let proto = PROTO.replace("VERSION", version);
    let file = table(vec![("name", text("reflection.proto")), ("content", text(&proto))]);
    let messages = requests.iter().map(|(key, name)| {
        // Names are no templates.
        node(Value::Table(table(vec![(key, text(&name.replace("{{", "{{{{")))])))
    });
    let method = format!("grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
    let table = table(vec![
        ("proto", node(Value::Array(vec![node(Value::Table(file))]))),
        ("method", text(&method)),
        ("messages", node(Value::Array(messages.collect()))),
        ("stream", node(Value::Boolean(true))),
        ("max_message", node(Value::Integer(8 * 1024 * 1024))),
    ]);
    Planned { protocol: "grpc".to_owned(), table, ..Planned::named("reflection") }
}

/// Files that came, by name.
#[derive(Debug, Default)]
struct Found {
    files: BTreeMap<String, FileDescriptorProto>,
    bytes: usize,
    /// Names that were asked for. Each is asked for once, so asking comes to an end.
    asked: BTreeSet<String>,
}

impl Found {
    fn take(&mut self, answers: &[Json]) -> Result<(), String> {
        for file in answers.iter().flat_map(|answer| list(answer, "files", "file")) {
            let bytes = file.as_str().and_then(|text| STANDARD.decode(text).ok());
            let bytes = bytes.unwrap_or_default();
            let file = FileDescriptorProto::decode(bytes.as_slice())
                .map_err(|error| format!("the server sent an invalid descriptor: {error}"))?;
            if self.files.contains_key(file.name()) {
                continue;
            }
            self.bytes += bytes.len();
            self.files.insert(file.name().to_owned(), file);
            if self.files.len() > FILES_LIMIT || self.bytes > BYTES_LIMIT {
                return Err(format!(
                    "the server describes more than {FILES_LIMIT} files or {BYTES_LIMIT} bytes"
                ));
            }
        }
        Ok(())
    }

    /// Files that are imported and did not come yet.
    fn missing(&mut self) -> Result<Vec<String>, String> {
        let imports = self.files.values().flat_map(|file| &file.dependency);
        let missing: BTreeSet<String> =
            imports.filter(|name| !self.files.contains_key(*name)).cloned().collect();
        if let Some(name) = missing.iter().find(|name| self.asked.contains(*name)) {
            return Err(format!("the server did not send {}, which it was asked for", shown(name)));
        }
        if missing.len() + self.files.len() > FILES_LIMIT {
            return Err(format!("the server describes more than {FILES_LIMIT} files"));
        }
        self.asked.extend(missing.iter().cloned());
        Ok(missing.into_iter().collect())
    }

    /// All files, those that others import before these.
    ///
    /// Errors: files that import each other, or that do not fit together
    fn set(mut self) -> Result<Vec<u8>, String> {
        let mut file = Vec::with_capacity(self.files.len());
        let mut waits_for = BTreeMap::<String, BTreeSet<String>>::new();
        let mut needed_by = BTreeMap::<String, Vec<String>>::new();
        for (name, file) in &self.files {
            let imports: BTreeSet<String> = file.dependency.iter().cloned().collect();
            for import in &imports {
                needed_by.entry(import.clone()).or_default().push(name.clone());
            }
            waits_for.insert(name.clone(), imports);
        }
        let is_ready = |(name, imports): (&String, &BTreeSet<String>)| {
            imports.is_empty().then(|| name.clone())
        };
        let mut ready: VecDeque<String> = waits_for.iter().filter_map(is_ready).collect();
        while let Some(name) = ready.pop_front() {
            for other in needed_by.remove(&name).unwrap_or_default() {
                let imports = waits_for.entry(other.clone()).or_default();
                if imports.remove(&name) && imports.is_empty() {
                    ready.push_back(other);
                }
            }
            file.extend(self.files.remove(&name));
        }
        if let Some((name, _)) = self.files.first_key_value() {
            return Err(format!("{} imports itself", shown(name)));
        }
        if file.is_empty() {
            return Err("the server describes no file".to_owned());
        }
        let bytes = FileDescriptorSet { file }.encode_to_vec();
        read_set(&bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, imports: &[&str]) -> Json {
        let dependency = imports.iter().map(|name| (*name).to_owned()).collect();
        let name = Some(name.to_owned());
        let file = FileDescriptorProto { name, dependency, ..FileDescriptorProto::default() };
        Json::from(STANDARD.encode(file.encode_to_vec()))
    }

    fn answer(files: Vec<Json>) -> Json {
        serde_json::json!({ "files": { "file": files } })
    }

    #[test]
    fn files_are_asked_for_until_nothing_is_missing() {
        let mut found = Found::default();
        found.take(&[answer(vec![file("a", &["b", "c"])])]).unwrap();
        assert_eq!(found.missing().unwrap(), ["b", "c"]);
        found.take(&[answer(vec![file("b", &["c"])]), answer(vec![file("c", &[])])]).unwrap();
        assert_eq!(found.missing().unwrap(), [""; 0]);
        let set = FileDescriptorSet::decode(found.set().unwrap().as_slice()).unwrap();
        let names: Vec<&str> = set.file.iter().map(FileDescriptorProto::name).collect();
        assert_eq!(names, ["c", "b", "a"]);
        let none = Found::default().set().unwrap_err();
        assert_eq!(none, "the server describes no file");
    }

    #[test]
    fn a_server_that_lies_or_loops_is_refused() {
        let mut found = Found::default();
        found.take(&[answer(vec![file("a", &["b"])])]).unwrap();
        found.missing().unwrap();
        found.take(&[answer(vec![file("x", &[])])]).unwrap();
        assert_eq!(
            found.missing().unwrap_err(),
            "the server did not send b, which it was asked for"
        );
        let mut found = Found::default();
        found.take(&[answer(vec![file("a", &["b"]), file("b", &["a"])])]).unwrap();
        assert_eq!(found.missing().unwrap(), [""; 0]);
        assert_eq!(found.set().unwrap_err(), "a imports itself");
        let many = (0..=FILES_LIMIT).map(|number| file(&number.to_string(), &[])).collect();
        assert!(
            Found::default().take(&[answer(many)]).unwrap_err().contains("more than 2000 files")
        );
        let nonsense = answer(vec![Json::from(STANDARD.encode(b"\xff\xff"))]);
        assert!(Found::default().take(&[nonsense]).unwrap_err().contains("invalid descriptor"));
        let mut endless = Found::default();
        for number in 0..FILES_LIMIT {
            endless
                .take(&[answer(vec![file(&number.to_string(), &[&(number + 1).to_string()])])])
                .unwrap();
            if endless.missing().is_err() {
                return;
            }
        }
        panic!("a chain without an end must be refused");
    }
}
