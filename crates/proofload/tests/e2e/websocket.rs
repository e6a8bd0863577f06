//! Sockets to servers that nobody here wrote: Node's `ws`, and Python's `websockets` over TLS.

use record::summary::TrialSummary;

use crate::journeys::application::{Application, node, python};
use crate::lab::{Lab, Ran, assert_accounting, only_trial};
use crate::peers::self_signed;

fn experiment(url: &str, target: &str, load: &str, operations: &str) -> String {
    format!(
        "title = \"sockets\"\n[target]\nurl = \"{url}\"\n{target}\n\
         [load]\n{load}\nwarm_up = \"0s\"\nsteady_state = \"reported\"\n{operations}"
    )
}

fn run(lab: &Lab, text: &str) -> (Ran, TrialSummary) {
    lab.write("sockets.toml", text);
    let (ran, summary) = lab.run(&["sockets.toml", "--samples"]);
    let trial = only_trial(&summary).clone();
    assert_accounting(&trial);
    (ran, trial)
}

const ASK: &str = "[[operation]]\nname = \"say\"\n\
    websocket = { path = \"/room\", subprotocol = \"chat.v2\", \
    json = { id = \"{{sequence}}\", text = \"{{bytes 100B}}\" }, answer = { \"$.reply_to\" = \"{{sequence}}\" } }\n\
    expect = { contains = \"{{sequence}}\" }\nitems = { opened = \"$.opened\" }\n";

#[test]
fn messages_are_answered_out_of_order_on_few_sockets() {
    let lab = Lab::new();
    let rooms = Application::start(node(&lab, "rooms.js"));
    let url = rooms.url.replace("http://", "ws://");
    let load = "operations = 4000\nconnections = 2\nstreams = 8";
    let (_, trial) = run(&lab, &experiment(&url, "", load, ASK));
    let say = &trial.operations[0];
    assert_eq!((say.succeeded, say.failed), (4000, 0), "{:?}", say.failures);
    assert!(say.items["opened"].per_operation_mean <= 2.0, "{:?}", say.items["opened"]);
    let told = lab.proofload(&["report", "run", "--full"]).stdout;
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("messages came that answered none of its own"), "{told}");
}

#[test]
fn opening_is_an_operation_and_a_refused_handshake_counts_by_its_status() {
    let lab = Lab::new();
    let rooms = Application::start(node(&lab, "rooms.js"));
    let operations = "[[operation]]\nname = \"member\"\n\
        websocket = { path = \"/members\", auth = { bearer = \"s3cret-token\" } }\n\
        [[operation]]\nname = \"stranger\"\nwebsocket = { path = \"/members/{{sequence}}\" }\n";
    let load = "operations = 400\nconnections = 4";
    let (_, trial) = run(&lab, &experiment(&rooms.url, "", load, operations));
    let [member, stranger] = &trial.operations[..] else { panic!("two operations") };
    assert!(member.succeeded > 0 && member.failed == 0, "{:?}", member.failures);
    assert_eq!(member.statuses["101"], member.succeeded);
    assert!(stranger.succeeded == 0 && stranger.failed > 0);
    assert_eq!(stranger.statuses["401"], stranger.failures["status"]);
    // Each opens a connection of its own.
    assert!(member.spans["connect"].count == member.succeeded);
    let tried = lab.proofload(&["check", "sockets.toml", "--try"]);
    let shown = format!("{}{}", tried.stdout, tried.stderr);
    assert!(shown.contains("101 Switching Protocols") && shown.contains("401"), "{shown}");
    assert!(!shown.contains("s3cret-token"), "{shown}");
}

#[test]
fn operations_of_several_kinds_keep_connections_of_their_own() {
    let lab = Lab::new();
    let rooms = Application::start(node(&lab, "rooms.js"));
    let members = ASK.replace("\"say\"", "\"other\"").replace("/room", "/room?floor=2");
    let open = "[[operation]]\nname = \"enter\"\nwebsocket = { path = \"/room\" }\n";
    let load = "operations = 3000\nconnections = 4\nstreams = 4";
    let (_, trial) = run(&lab, &experiment(&rooms.url, "", load, &format!("{ASK}{members}{open}")));
    let [say, other, enter] = &trial.operations[..] else { panic!("three operations") };
    for operation in [say, other, enter] {
        assert!(operation.succeeded > 0 && operation.failed == 0, "{:?}", operation.failures);
    }
    for asked in [say, other] {
        let opened = asked.spans.get("connect").map_or(0, |connect| connect.count);
        assert!((1..=16).contains(&opened), "{opened} connections");
    }
    assert_eq!(enter.spans["connect"].count, enter.succeeded);
}

#[test]
fn sockets_are_reached_over_tls_and_the_code_of_a_close_is_a_status() {
    let lab = Lab::new();
    let (certificate, key) = self_signed();
    lab.write("certificate.pem", &certificate);
    lab.write("key.pem", &key);
    let program = crate::journeys::application::applications().join("pong.py");
    let pong = Application::start(python(&lab, &[&program.display().to_string()]));
    let url = pong.url.replace("http://", "wss://");
    let operations = "[[operation]]\nname = \"ping\"\n\
        websocket = { body = \"ping {{sequence}};\", answer = \"pong {{sequence}};\" }\n\
        [[operation]]\nname = \"bad\"\nweight = 0.05\nwebsocket = { path = \"/other\", body = \"hello\" }\n";
    let load = "operations = 1000\nconnections = 4";
    let (_, trial) = run(&lab, &experiment(&url, "insecure = true", load, operations));
    let [ping, bad] = &trial.operations[..] else { panic!("two operations") };
    assert!(ping.succeeded > 0 && ping.failed == 0, "{:?}", ping.failures);
    assert!(bad.failed > 0 && bad.succeeded == 0);
    assert_eq!(bad.statuses["1008"], bad.failures["closed"], "{:?}", bad.failures);
    assert!(trial.total.spans["tls"].count > 0);
}

#[test]
fn what_is_published_is_counted_at_each_socket() {
    let lab = Lab::new();
    let feed = Application::start(node(&lab, "feed.js"));
    let listeners = format!(
        "[[observer]]\nname = \"listeners\"\nserve = \"subscribers\"\n\
         set = {{ url = \"{}/room?user=$number\", sockets = 20 }}\n\
         expect = \"everywhere == publish.succeeded and disconnected == 0\"\n",
        feed.url.replace("http://", "ws://")
    );
    let publish = "[[operation]]\nname = \"publish\"\n\
        http = { method = \"POST\", path = \"/\", body = \"news: {{nonce}}\" }\n";
    let load = "operations = 300\nconnections = 3";
    let (_, trial) = run(&lab, &experiment(&feed.url, &listeners, load, publish));
    assert_eq!(trial.accounting.succeeded, 300);
    let [listeners] = &trial.observers[..] else { panic!("one observer") };
    assert!(listeners.expect.as_ref().is_some_and(|expected| expected.holds), "{listeners:?}");
    assert_eq!((listeners.received, listeners.duplicates, listeners.lost), (6_000, 0, 0));
    // Each socket was greeted.
    assert_eq!(listeners.unexpected, 20);
    assert!(listeners.delivery_time.as_ref().is_some_and(|times| times.count == 6_000));
}
