//! Several operations at the same time on a connection.

use super::*;

fn with(load: &str, operation: &str) -> String {
    let text = with_load(load);
    text.replace("http = { path = \"/\" }", operation)
}

const HTTP2: &str = "name = \"home\"\nhttp2 = { path = \"/\" }";

#[test]
fn a_connection_carries_one_operation_at_a_time_unless_told_otherwise() {
    let load = |text: &str| plan(&with(text, HTTP2)).arms.remove(0).load;
    assert_eq!(load("connections = 5").streams, 1);
    let many = load("connections = 5\nstreams = 10");
    assert_eq!((many.connections, many.streams), (5, 10));
    let (one, many) = (
        plan(&with("connections = 5", HTTP2)).describe(),
        plan(&with("connections = 5\nstreams = 10", HTTP2)).describe(),
    );
    assert!(one.contains("closed loop over 5 connections,"), "{one}");
    assert!(many.contains("closed loop over 5 connections of 10 streams,"), "{many}");
}

#[test]
fn the_address_says_what_tls_is_to_agree_on() {
    let target =
        |operation: &str| plan(&with("connections = 5", operation)).arms[0].targets[0].clone();
    assert_eq!((target(HTTP2).alpn, target("http = {}").alpn), (Some("h2"), None));
    let both = format!("{HTTP2}\n[[operation]]\nname = \"old\"\nhttp = {{}}");
    let targets = plan(&with("connections = 5", &both)).arms.remove(0).targets;
    assert_eq!(targets.len(), 2, "each version has connections of its own");
    assert_eq!(targets[0].url, targets[1].url);
    let address = "[target]\nurl = \"http://127.0.0.1:8080\"";
    let system = with("connections = 5", HTTP2).replace(address, "[system]\nserve = \"truth\"");
    assert_eq!(plan(&system).arms[0].targets[0].url, "http://{system.http}");
}

#[track_caller]
fn refused(load: &str, operation: &str, message: &str, place: &str) {
    let shown = read(&with(load, operation), &Options::default()).unwrap_err();
    assert!(shown.contains(message) && shown.contains(place), "{shown}");
}

#[test]
fn streams_where_there_can_be_none_are_told_with_their_place() {
    let alone = "10 streams on a connection, but `http` carries one operation at a time";
    refused("connections = 5\nstreams = 10", "http = {}", alone, "--> test.toml:5:1");
    refused("connections = 5\nstreams = 10", "http = {}", alone, "streams are for `http2`;");
    let exclude = "`streams` and `users` exclude each other";
    refused("users = 5\nstreams = 10", HTTP2, exclude, "--> test.toml:5:1");
    let exclude = "`streams` and `new_connections` exclude each other";
    refused("streams = 10\nnew_connections = true", HTTP2, exclude, "--> test.toml:4:1");
    let near = "unknown key `steams`";
    refused("steams = 10", HTTP2, near, "did you mean `streams`?");
    refused("streams = 0", HTTP2, "streams", "--> test.toml:4:11");
}
