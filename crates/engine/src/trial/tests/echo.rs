//! A minimal protocol: one byte there, one byte back; and servers for it.

use std::future::pending;
use std::rc::Rc;

use plan::diagnostic::Diagnostic;
use record::{FailureKind, Outcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::Mutex;

use crate::clock::{Clock, Virtual};
use crate::driver::{Call, CompileContext, Driver, Exchange, NewConnection};
use crate::transport::{Endpoint, MemoryNetwork, Stream};

#[derive(Debug)]
pub(super) struct Echo;

/// An answer that makes the driver panic, to show that this does not hang the trial.
pub(super) const PANIC: u8 = 0xFF;
/// An answer after which the driver sends a farewell and reads one more byte.
const LEAVE: u8 = 0xFE;

impl Driver for Echo {
    type Operation = ();
    type Connection = Option<Stream>;
    type Stream = Stream;

    fn span_names(&self) -> &[&'static str] {
        &[]
    }

    fn compile(&self, _: CompileContext<'_>) -> Result<(), Vec<Diagnostic>> {
        Ok(())
    }

    async fn connect<C: Clock>(
        &self,
        (): &(),
        _: &Endpoint,
        stream: Stream,
        _: &mut Exchange<C>,
    ) -> Result<NewConnection<Option<Stream>>, (FailureKind, String)> {
        Ok(NewConnection { connection: Some(stream), background: None })
    }

    fn open_stream(&self, connection: &mut Option<Stream>) -> Option<Stream> {
        connection.take()
    }

    fn encode(&self, (): &(), _: &mut Stream, _: &Call) {}

    async fn perform<C: Clock>(
        &self,
        (): &(),
        stream: &mut Stream,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        exchange.bytes_sent = 1;
        let mut answer = [0];
        let conversation = async {
            stream.write_all(&[7]).await?;
            stream.read_exact(&mut answer).await
        };
        match conversation.await {
            Ok(_) => {
                assert_ne!(answer[0], PANIC, "the driver was told to panic");
                exchange.bytes_received = 1;
                if answer[0] == LEAVE {
                    exchange.note_read();
                    let _ = stream.read_exact(&mut answer).await;
                }
                Outcome::Succeeded
            }
            Err(error) => exchange.fail(FailureKind::Closed, || error.to_string()),
        }
    }

    async fn idle(&self, stream: &mut Stream) {
        let _ = stream.read(&mut [0]).await;
    }
}

/// A server for each connection: answers after the pause that `pause` returns for the arrival's
/// instant.
pub(super) fn answer_after(
    network: &MemoryNetwork,
    clock: &Virtual,
    pause: impl Fn(u64) -> u64 + 'static,
) {
    answer_after_as("target", network, clock, pause);
}

/// The same under another name.
pub(super) fn answer_after_as(
    name: &str,
    network: &MemoryNetwork,
    clock: &Virtual,
    pause: impl Fn(u64) -> u64 + 'static,
) {
    let (clock, pause) = (clock.clone(), Rc::new(pause));
    network.serve(name, move |mut stream: DuplexStream| {
        let (clock, pause) = (clock.clone(), Rc::clone(&pause));
        async move {
            let mut byte = [0];
            while stream.read_exact(&mut byte).await.is_ok() {
                let now = clock.now();
                clock.sleep_until(now + pause(now)).await;
                if stream.write_all(&byte).await.is_err() {
                    return;
                }
            }
        }
    });
}

/// A server for each connection: answers after the first pause, and ends the farewell after the
/// second one.
pub(super) fn take_leave(network: &MemoryNetwork, clock: &Virtual, (answer, leave): (u64, u64)) {
    let clock = clock.clone();
    network.serve("target", move |mut stream: DuplexStream| {
        let clock = clock.clone();
        async move {
            let mut byte = [0];
            while stream.read_exact(&mut byte).await.is_ok() {
                for pause in [answer, leave] {
                    clock.sleep_until(clock.now() + pause).await;
                    if stream.write_all(&[LEAVE]).await.is_err() {
                        return;
                    }
                }
            }
        }
    });
}

/// One server for all connections, first come, first served; `service` returns the next service
/// time.
pub(super) fn answer_in_turn(
    network: &MemoryNetwork,
    clock: &Virtual,
    service: impl FnMut() -> u64 + 'static,
) {
    answer_in_turn_as("target", network, clock, service);
}

/// The same under another name.
pub(super) fn answer_in_turn_as(
    name: &str,
    network: &MemoryNetwork,
    clock: &Virtual,
    service: impl FnMut() -> u64 + 'static,
) {
    let clock = clock.clone();
    let server = Rc::new(Mutex::new(service));
    network.serve(name, move |mut stream: DuplexStream| {
        let (clock, server) = (clock.clone(), Rc::clone(&server));
        async move {
            let mut byte = [0];
            while stream.read_exact(&mut byte).await.is_ok() {
                let mut service = server.lock().await;
                let length = service();
                clock.sleep_until(clock.now() + length).await;
                drop(service);
                if stream.write_all(&byte).await.is_err() {
                    return;
                }
            }
        }
    });
}

/// A server that takes connections and never answers.
pub(super) fn never_answer(network: &MemoryNetwork) {
    network.serve("target", |stream| async move {
        let _open = stream;
        pending::<()>().await;
    });
}
