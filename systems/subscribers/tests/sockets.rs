//! Subscribers of a small server that publishes to every socket what it is told over one of them.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use futures_util::{SinkExt, StreamExt};
use serving::options::Options;
use subscribers::SYSTEM;
use testing::{TestSystem, client};
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio_websockets::{Message, ServerBuilder};

/// A server whose sockets get what is sent here once they have subscribed; each says who it is first.
struct Publisher {
    address: SocketAddr,
    publish: broadcast::Sender<String>,
    said: Arc<Mutex<Vec<String>>>,
    _runtime: tokio::runtime::Runtime,
}

impl Publisher {
    fn start() -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().expect("a runtime");
        let (publish, _) = broadcast::channel::<String>(64);
        let said = Arc::<Mutex<Vec<String>>>::default();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (hub, heard) = (publish.clone(), Arc::clone(&said));
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (mut published, hub, heard) =
                    (hub.subscribe(), hub.clone(), Arc::clone(&heard));
                tokio::spawn(async move {
                    let Ok((_, mut socket)) = ServerBuilder::new().accept(stream).await else {
                        return;
                    };
                    let Some(Ok(hello)) = socket.next().await else { return };
                    let hello = hello.as_text().unwrap_or("").to_owned();
                    heard.lock().expect("no panic").push(hello);
                    if socket.send(Message::text("subscribed")).await.is_err() {
                        return;
                    }
                    while let Ok(text) = published.recv().await {
                        if text == "leave" || socket.send(Message::text(text)).await.is_err() {
                            break;
                        }
                    }
                    drop(hub);
                });
            }
        });
        Self { address, publish, said, _runtime: runtime }
    }

    fn options(&self, sockets: &str) -> Options {
        Options::default()
            .with("url", format!("ws://{}/feed", self.address))
            .with("sockets", sockets)
            .with("say", "I am $number")
            .with("confirmation", "subscribed")
    }
}

/// The count of this name once it is as wanted.
fn wait_for(system: &TestSystem, name: &str, wanted: u64) -> serde_json::Value {
    let observed = || {
        let answer = client::ask(
            system.address("http"),
            "GET /observed HTTP/1.1\r\nhost: o\r\nconnection: close\r\n\r\n",
        );
        let body = answer.split_once("\r\n\r\n").expect("a body").1;
        serde_json::from_str::<serde_json::Value>(body).expect("JSON")
    };
    let count = |observed: &serde_json::Value| {
        let count = observed.get(name).or_else(|| observed["detail"].get(name));
        count.and_then(serde_json::Value::as_u64).expect("a count")
    };
    testing::wait_for(name, wanted, || count(&observed()));
    observed()
}

#[test]
fn each_message_is_counted_at_each_socket_that_gets_it() {
    let publisher = Publisher::start();
    let mut system = TestSystem::start(&SYSTEM, publisher.options("5"));
    let mut said = publisher.said.lock().expect("no panic").clone();
    said.sort();
    assert_eq!(said, ["I am 1", "I am 2", "I am 3", "I am 4", "I am 5"]);
    let mark = |index: u64| format!("{{\"id\":\"{:08x}{index:012x}{:012x}-1\"}}", 1, 9);
    for text in [mark(0), mark(1), mark(1), "news".to_owned()] {
        publisher.publish.send(text).expect("there are sockets");
    }
    let observed = wait_for(&system, "unexpected", 5);
    assert_eq!((&observed["received"], &observed["duplicates"]), (&10.into(), &5.into()));
    assert_eq!(observed["detail"]["everywhere"], 2);
    assert!(observed["delivery_time"].is_string());
    publisher.publish.send("leave".to_owned()).expect("there are sockets");
    wait_for(&system, "disconnected", 5);
    system.stop();
}

#[test]
fn a_socket_that_cannot_be_opened_is_named() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = nobody.local_addr().expect("an address");
    drop(nobody);
    let options = Options::default().with("url", format!("ws://{address}/")).with("sockets", "3");
    let told = SYSTEM.serve(&options, |_| {}).expect_err("nobody listens").to_string();
    assert!(told.contains("of 3: ") && told.contains("refused"), "{told}");
}
