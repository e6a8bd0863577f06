//! A server that describes itself, well and badly.

use std::rc::Rc;
use std::time::Duration;

use drivers::grpc::reflection::descriptors;
use engine::clock::Virtual;
use engine::transport::MemoryNetwork;
use prost_reflect::DescriptorPool;
use prost_reflect::prost::Message;
use prost_reflect::prost_types::FileDescriptorProto;

use super::stand::{Answered, GRPC, endpoint, serve_plain};
use crate::http2::stand::body_of;

/// A field that has a length, of fewer than 128 bytes or not.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    prost_reflect::prost::encoding::encode_varint(bytes.len() as u64, &mut out);
    out.extend_from_slice(bytes);
    out
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&[0][..], &u32::try_from(message.len()).expect("it is short").to_be_bytes(), message].concat()
}

/// The requests of a body: number of the field, and text.
fn requests(mut body: &[u8]) -> Vec<(u8, String)> {
    let mut requests = Vec::new();
    while let Some(length) = body.get(4) {
        let (message, rest) = body[5..].split_at(usize::from(*length));
        requests.push((message[0] >> 3, String::from_utf8_lossy(&message[2..]).into_owned()));
        body = rest;
    }
    requests
}

const FILE_BY_NAME: u8 = 3;
const FILE_OF_SYMBOL: u8 = 4;
const SERVICES: u8 = 7;

fn files(files: &[Vec<u8>]) -> Vec<u8> {
    let files: Vec<u8> = files.iter().flat_map(|file| field(1, file)).collect();
    field(4, &files)
}

fn refusal(text: &str) -> Vec<u8> {
    field(7, &[&[8, 5][..], &field(2, text.as_bytes())].concat())
}

fn file(name: &str, imports: &[&str], service: bool) -> Vec<u8> {
    let source = match service {
        true => {
            "syntax = 'proto3'; package shop; message M {} service Cart { rpc Add(M) returns (M); }"
        }
        false => "syntax = 'proto3';",
    };
    let parsed = protox::file::File::from_source(name, source).expect("it is fine");
    let dependency = imports.iter().map(|name| (*name).to_owned()).collect();
    FileDescriptorProto { dependency, ..parsed.file_descriptor_proto().clone() }.encode_to_vec()
}

/// What is found at a server of this version that answers requests so.
fn found(
    version: &'static str,
    answer: impl Fn(u8, &str) -> Vec<u8> + 'static,
) -> Result<Vec<u8>, String> {
    let answer = Rc::new(answer);
    let (network, clock) = (MemoryNetwork::new(), Virtual::new());
    network.serve("target", move |stream| {
        let answer = Rc::clone(&answer);
        serve_plain(stream, move |(request, respond)| {
            let answer = Rc::clone(&answer);
            async move {
                let path =
                    format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
                if request.uri().path() != path {
                    let head = [GRPC, &[("grpc-status", "12")]].concat().leak();
                    let unknown = Answered { head, trailers: None, ..Answered::ok(b"") };
                    return unknown.send(respond);
                }
                let requests = requests(&body_of(request).await);
                let messages = requests.iter().map(|(kind, name)| framed(&answer(*kind, name)));
                Answered::ok(&messages.collect::<Vec<_>>().concat()).send(respond);
            }
        })
    });
    let runtime = clock.runtime().expect("a runtime");
    runtime.block_on(descriptors(&endpoint(), &network, &clock, Duration::from_secs(5)))
}

fn services() -> Vec<u8> {
    let service = |name: &[u8]| field(1, &field(1, name));
    field(6, &[service(b"shop.Cart"), service(b"grpc.reflection.v1.ServerReflection")].concat())
}

#[test]
fn a_server_describes_itself_in_either_version() {
    for version in ["v1", "v1alpha"] {
        let set = found(version, |kind, name| match (kind, name) {
            (SERVICES, _) => services(),
            (FILE_OF_SYMBOL, "shop.Cart") => files(&[file("cart.proto", &["a.proto"], true)]),
            (FILE_BY_NAME, "a.proto") => files(&[file("a.proto", &[], false)]),
            other => panic!("{other:?}"),
        });
        let pool = DescriptorPool::decode(set.expect("descriptors").as_slice()).expect("a set");
        assert!(pool.get_service_by_name("shop.Cart").is_some());
        assert_eq!(pool.files().count(), 2);
    }
}

#[test]
fn what_a_server_lacks_is_said() {
    let unknown = found("v2", |_, _| panic!("no version is known"));
    assert_eq!(unknown.unwrap_err(), "the server does not offer reflection (UNIMPLEMENTED)");
    let silent = found("v1", |kind, _| match kind {
        SERVICES => services(),
        _ => refusal("not \u{1b}[2J found"),
    });
    assert_eq!(
        silent.unwrap_err(),
        "the server does not describe shop.Cart: not \u{fffd}[2J found"
    );
    let nothing = found("v1", |_, _| field(6, b""));
    assert_eq!(nothing.unwrap_err(), "the server lists 0 services");
}

#[test]
fn a_server_that_lies_is_not_believed() {
    let with = |answer: fn() -> Vec<u8>| {
        found("v1", move |kind, _| match kind {
            SERVICES => services(),
            FILE_OF_SYMBOL => files(&[file("cart.proto", &["a.proto"], true)]),
            _ => answer(),
        })
    };
    let other = with(|| files(&[file("b.proto", &[], false)]));
    assert_eq!(other.unwrap_err(), "the server did not send a.proto, which it was asked for");
    let looping = with(|| files(&[file("a.proto", &["cart.proto"], false)]));
    assert_eq!(looping.unwrap_err(), "a.proto imports itself");
    let nonsense = with(|| files(&[b"\xff".to_vec()]));
    assert!(nonsense.unwrap_err().starts_with("the server sent an invalid descriptor"));
    let services = with(services);
    assert_eq!(services.unwrap_err(), "the server did not send a.proto, which it was asked for");
}
