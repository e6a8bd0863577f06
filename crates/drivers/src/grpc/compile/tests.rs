use std::sync::Arc;

use plan::diagnostic::{Colour, render};
use plan::rows::Rows;
use prost_reflect::prost::Message;

use super::*;
use crate::grpc::code::Code;

const SHOP: &str = r#"
syntax = "proto3";
package shop;
import "kinds.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/struct.proto";
message Everything {
  int32 a_number = 1; uint64 big = 2; double ratio = 3; bool yes = 4; string text = 5; bytes raw = 6;
  Kind kind = 7; repeated sint32 list = 8; map<string, Inner> by_name = 9; map<int32, bool> by_number = 10;
  Inner inner = 11; google.protobuf.Timestamp at = 12; google.protobuf.Struct free = 13;
  oneof one { string left = 14; int32 right = 15; }
  repeated Inner inners = 16; optional int32 maybe = 17; repeated Kind kinds = 18;
}
message Inner { int32 n = 1; Inner inner = 2; }
service Cart {
  rpc Add(Everything) returns (Inner);
  rpc List(Inner) returns (stream Inner);
  rpc Put(stream Inner) returns (Inner);
  rpc Talk(stream Inner) returns (stream Inner);
}
"#;
const KINDS: &str =
    "syntax = \"proto3\"; package shop; enum Kind { NONE = 0; SMALL = 1; BIG = 7; }";

fn sources(files: &[(&str, &str)]) -> String {
    let tables =
        files.iter().map(|(name, text)| format!("{{ name = '{name}', content = '''{text}''' }}"));
    format!("proto = [{}]\n", tables.collect::<Vec<_>>().join(", "))
}

fn text(rest: &str) -> String {
    format!("[grpc]\n{}{rest}", sources(&[("shop.proto", SHOP), ("kinds.proto", KINDS)]))
}

fn planned(text: &str) -> Planned {
    crate::planned::planned("grpc", text)
}

#[track_caller]
fn compiled(rest: &str) -> Operation {
    operation(&planned(&text(rest))).unwrap_or_else(|problems| panic!("{rest}: {problems:?}"))
}

#[track_caller]
fn check_text(text: &str, messages: &[&str]) {
    let problems = operation(&planned(text)).expect_err("it is wrong");
    let seen = render("test.toml", text, &problems, Colour::Off);
    for message in messages {
        assert!(seen.contains(message), "{message}: {seen}");
    }
}

#[track_caller]
fn check(rest: &str, messages: &[&str]) {
    check_text(&text(rest), messages);
}

/// The bytes of a message that is the same for every call.
#[track_caller]
fn bytes(message: &str) -> Vec<u8> {
    let operation = compiled(&format!("method = \"shop.Cart/Add\"\nmessage = {message}\n"));
    match operation.request.messages {
        Messages::Same(bytes) => bytes.to_vec(),
        Messages::Rendered(_) => panic!("it has placeholders"),
    }
}

#[test]
fn fields_are_encoded_as_protocol_buffers_have_them() {
    for (message, encoded) in [
        ("{}", &b""[..]),
        ("{ a_number = 150 }", b"\x08\x96\x01"),
        ("{ aNumber = 150 }", b"\x08\x96\x01"),
        ("{ a_number = \"150\" }", b"\x08\x96\x01"),
        ("{ big = \"18446744073709551615\" }", b"\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        ("{ ratio = 1.5 }", b"\x19\0\0\0\0\0\0\xf8\x3f"),
        ("{ ratio = 2 }", b"\x19\0\0\0\0\0\0\0\x40"),
        ("{ yes = true }", b"\x20\x01"),
        ("{ text = \"{{{{x\" }", b"\x2a\x03{{x"),
        ("{ raw = \"AAEC\" }", b"\x32\x03\0\x01\x02"),
        ("{ kind = \"BIG\" }", b"\x38\x07"),
        ("{ kind = 7 }", b"\x38\x07"),
        ("{ kinds = [\"SMALL\", \"BIG\"] }", b"\x92\x01\x02\x01\x07"),
        ("{ list = [-1, 1] }", b"\x42\x02\x01\x02"),
        ("{ by_name = { x = { n = 1 } } }", b"\x4a\x07\x0a\x01x\x12\x02\x08\x01"),
        ("{ by_number = { 5 = true } }", b"\x52\x04\x08\x05\x10\x01"),
        ("{ inner = { inner = { n = 1 } } }", b"\x5a\x04\x12\x02\x08\x01"),
        ("{ at = \"1970-01-01T00:00:01Z\" }", b"\x62\x02\x08\x01"),
        ("{ left = \"\" }", b"\x72\0"),
        ("{ right = 0 }", b"\x78\0"),
        ("{ inners = [{}, { n = 1 }] }", b"\x82\x01\0\x82\x01\x02\x08\x01"),
        ("{ maybe = 0 }", b"\x88\x01\0"),
    ] {
        let framed = bytes(message);
        assert_eq!(&framed[..5], [0, 0, 0, 0, encoded.len() as u8], "{message}");
        assert_eq!(&framed[5..], encoded, "{message}");
    }
    assert!(bytes("{ free = { a = [1, \"x\", { b = true }] } }").len() > 5);
}

#[test]
fn every_problem_of_a_message_points_at_its_place() {
    check(
        "method = \"shop.Cart/Add\"\nmessage = { a_numbr = 1, big = -1, yes = \"true\", kind = \"HUGE\", raw = \"%\", \
         list = 5, by_name = { x = { m = 1 } }, inner = 3, at = \"noon\", inners = [{ n = 2147483648 }], text = 5 }\n",
        &[
            "unknown field `a_numbr`",
            "did you mean `a_number`?",
            "field `big`",
            "expected uint64",
            "field `yes`",
            "field `kind`",
            "expected shop.Kind",
            "field `raw`",
            "expected a list, as `list` is repeated, got 5",
            "unknown field `m`",
            "expected a table, the fields of shop.Inner, got 3",
            "field `at`",
            "field `n`",
            "field `text`",
        ],
    );
    check(
        "method = \"shop.Cart/Add\"\nmessage = { left = \"a\", right = 1, a_number = 1, aNumber = 2 }\n",
        &["`left` and `right` exclude each other (oneof one)", "field `a_number` is set twice"],
    );
}

#[test]
fn methods_and_their_kinds_are_known() {
    check(
        "method = \"shop.Cat/Add\"\n",
        &["unknown service `shop.Cat`", "did you mean `shop.Cart`?"],
    );
    check(
        "method = \"shop.Cart/Ad\"\n",
        &["unknown method `Ad`", "known here: Add, List, Put, Talk"],
    );
    check("method = \"Add\"\n", &["method \"Add\" has no service"]);
    check("message = {}\n", &["missing key `method`"]);
    check(
        "method = \"shop.Cart/List\"\n",
        &["answers with a stream of messages", "add stream = true"],
    );
    check("method = \"shop.Cart/Add\"\nstream = true\n", &["answers with one message"]);
    check("method = \"shop.Cart/List\"\nstream = false\n", &["expected true or"]);
    check("method = \"shop.Cart/Add\"\nmessages = [{}]\n", &["takes one message"]);
    check(
        "method = \"shop.Cart/Put\"\nmessages = [{}]\nmessage = {}\n",
        &["`message` and `messages` exclude each other"],
    );
    let framed = |rest: &str| match compiled(rest).request.messages {
        Messages::Same(bytes) => bytes.to_vec(),
        Messages::Rendered(_) => panic!("it has placeholders"),
    };
    assert_eq!(framed("method = \"shop.Cart/Put\"\nmessages = []\n"), b"");
    assert_eq!(
        framed("method = \"/shop.Cart/Talk\"\nstream = true\nmessages = [{ n = 1 }, {}]\n"),
        b"\0\0\0\0\x02\x08\x01\0\0\0\0\0"
    );
    assert_eq!(framed("method = \"shop.Cart/Put\"\nmessage = {}\n"), b"\0\0\0\0\0");
}

#[test]
fn expectations_metadata_and_limits_are_checked() {
    let rest = "method = \"shop.Cart/Add\"\n";
    check(&format!("{rest}[expect]\nstatus = \"NOTFOUND\"\n"), &["unknown status `NOTFOUND`"]);
    check(&format!("{rest}[expect]\nstatus = 5\n"), &["the name of a status"]);
    check(
        &format!("{rest}[expect]\nevents = 5\n"),
        &["`events` is for answers that are streams", "stream = true"],
    );
    check(&format!("{rest}[expect]\nheader = {{}}\n"), &["unknown key `header`"]);
    check(&format!("{rest}max_message = \"5 GiB\"\n"), &["below 4GiB"]);
    check(&format!("{rest}deadline = \"soon\"\n"), &["a duration"]);
    check(&format!("{rest}deadline = \"0s\"\n"), &["`deadline` must be more than 0"]);
    for (name, problem) in [
        ("grpc-timeout", "write `deadline`"),
        ("te", "set by the protocol"),
        ("connection", "set by the protocol"),
        ("a b", "no name of a field"),
        ("x-bin", "is not base64"),
    ] {
        check(&format!("{rest}metadata = {{ \"{name}\" = \"ä?\" }}\n"), &[problem]);
    }
    let operation = compiled(&format!(
        "{rest}deadline = \"200ms\"\nmetadata = {{ x-user = 5, x-bin = \"AAE\", x-n = \"{{{{sequence}}}}\" }}\n"
    ));
    let field =
        |name: &str| operation.request.fields.get(name).map(|value| value.to_str().unwrap());
    assert_eq!(field("grpc-timeout"), Some("200000u"));
    assert_eq!(
        (field("x-user"), field("x-bin"), field("te")),
        (Some("5"), Some("AAE"), Some("trailers"))
    );
    assert_eq!(operation.request.rendered.len(), 1);
    assert_eq!(operation.max_message, 4 << 20);
    assert_eq!(operation.codes, [Code::OK]);
    assert!(operation.method == "shop.Cart/Add" && operation.request.path == "/shop.Cart/Add");
}

#[test]
fn what_rows_make_of_a_message_is_tried_beforehand() {
    let text = text(
        "method = \"shop.Cart/Add\"\nmessage = { a_number = \"{{row.n}}\", yes = \"{{row.yes}}\" }\n",
    );
    let with = |rows: &str| {
        let rows = Rows::parse("rows.csv", format!("n,yes\n{rows}").as_bytes()).expect("rows");
        operation(&Planned { rows: Some(Arc::new(rows)), ..planned(&text) })
    };
    assert!(with("1,true\n-2147483648,false\n").is_ok());
    let problems = with("1,true\nx,false\n").expect_err("it is no number");
    assert!(problems[0].message.starts_with("the message of row 2: "), "{problems:?}");
    assert!(with("1,\"true, \"\"text\"\": \"\"x\"\"\"\n").is_err(), "it says more than one value");
}

#[test]
fn what_is_wrong_with_sources_is_said_with_their_place() {
    let with = |files: &[(&str, &str)]| format!("[grpc]\n{}method = \"a.B/C\"\n", sources(files));
    let proto3 = |rest: &str| format!("syntax = \"proto3\"; {rest}");
    let (a, b) = (proto3("import \"b.proto\";"), proto3("import \"a.proto\";"));
    check_text(&with(&[("a.proto", &a), ("b.proto", &b)]), &["import cycle detected"]);
    check_text(&with(&[("a.proto", &a)]), &["b.proto' not found"]);
    check_text(&with(&[("a.proto", "syntax = \"proto3\";\nmessage {")]), &["a.proto:2:9"]);
    check_text(
        &with(&[("a.proto", &proto3("message A { Unknown x = 1; }"))]),
        &["a.proto", "Unknown"],
    );
    check_text(&with(&[]), &["the name of a .proto file"]);
    check_text("[grpc]\nmethod = \"a.B/C\"\n", &["missing key `proto`", "protoset"]);
    check_text("[grpc]\nproto = 5\nmethod = \"a.B/C\"\n", &["expected a list"]);
    check_text("[grpc]\nprotoset = \"%\"\nmethod = \"a.B/C\"\n", &["a file of descriptors"]);
    check_text("[grpc]\nprotoset = \"AAAA\"\nmethod = \"a.B/C\"\n", &["not a set of descriptors"]);
}

#[test]
fn a_set_of_descriptors_takes_the_place_of_sources() {
    let file = protox::file::File::from_source("kinds.proto", KINDS).expect("it is fine");
    let mut kinds = file.file_descriptor_proto().clone();
    let set = |file| {
        let set = prost_reflect::prost_types::FileDescriptorSet { file: vec![file] };
        base64::Engine::encode(&base64::engine::general_purpose::STANDARD, set.encode_to_vec())
    };
    let text = |set| format!("[grpc]\nprotoset = \"{set}\"\nmethod = \"shop.Cart/Add\"\n");
    check_text(&text(set(kinds.clone())), &["unknown service `shop.Cart`"]);
    kinds.dependency.push("absent.proto".to_owned());
    check_text(&text(set(kinds)), &["not a set of descriptors", "absent.proto"]);
}

#[test]
fn the_imports_of_a_source_are_those_that_must_be_read() {
    assert_eq!(imports(SHOP), ["kinds.proto"]);
    assert_eq!(
        imports("import public \"a/b.proto\"; import \"c.proto\";"),
        ["a/b.proto", "c.proto"]
    );
    assert!(imports("import ").is_empty() && imports("").is_empty());
}
