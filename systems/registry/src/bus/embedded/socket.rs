//! A receiver's WebSocket: deliveries go out as binary frames, acknowledgements come in as text.
//!
//! Reading and writing are independent, so a receiver may acknowledge before it reads on. An
//! invalid message ends only the connection that sent it.

use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use hyper::body::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_websockets::{CloseCode, Error, Limits, Message, ServerBuilder, WebSocketStream};

use super::queue::AckReader;
use super::{Listener, Settings};
use crate::message::Acknowledgement;
use crate::object;

/// Bytes of one message from a receiver: about 40,000 acknowledgements.
const LONGEST_WORDS: usize = 1 << 20;
/// Most bytes that are written before a flush.
const BATCH: usize = 256 << 10;
/// Time limit for a receiver to take the last frame.
const FAREWELL: Duration = Duration::from_secs(1);

type Socket<S> = WebSocketStream<S>;
/// The close code and reason for the receiver.
type CloseReason = (CloseCode, &'static str);

/// Serves one connection until it ends or the system stops; the result is why it ends.
pub(super) async fn converse<S>(stream: S, mut listener: Listener, settings: Settings)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let limits = Limits::default().max_payload_len(Some(LONGEST_WORDS));
    let socket = ServerBuilder::new().limits(limits).serve(stream);
    let (mut sink, mut words) = socket.split();
    let (ack_reader, stopped) = (listener.ack_reader(), listener.stopped());
    let (code, reason) = tokio::select! {
        end = read(&mut words, &ack_reader, &settings) => end,
        end = write(&mut sink, &mut listener, &settings) => end,
        () = stopped => (CloseCode::GOING_AWAY, "the registry stops"),
    };
    // Dropped before the close frame: nothing more is promised to this receiver.
    drop(listener);
    let farewell = async {
        let _ = sink.send(Message::close(Some(code), reason)).await;
        // Waits for the other side's close or end, so that our close frame is not lost with the
        // connection.
        while let Some(Ok(_)) = words.next().await {}
    };
    let _ = timeout(FAREWELL, farewell).await;
}

async fn read<S>(
    words: &mut SplitStream<Socket<S>>,
    ack_reader: &AckReader,
    settings: &Settings,
) -> CloseReason
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        let word = match timeout(settings.ping * 3, words.next()).await {
            Ok(Some(Ok(word))) => word,
            Ok(Some(Err(Error::PayloadTooLong { .. }))) => {
                return (CloseCode::MESSAGE_TOO_BIG, "at most 1 MiB at a time");
            }
            Ok(Some(Err(_))) => return (CloseCode::PROTOCOL_ERROR, "not understood"),
            Ok(None) => return (CloseCode::NORMAL_CLOSURE, ""),
            Err(_) => return (CloseCode::POLICY_VIOLATION, "no sign of life"),
        };
        if word.is_binary() {
            return (CloseCode::UNSUPPORTED_DATA, "acknowledgements are text");
        }
        let Some(text) = word.as_text() else { continue };
        let Ok(words) = object::read::<Acknowledgement>(text.as_bytes()) else {
            return (CloseCode::POLICY_VIOLATION, "expected {\"ack\":[deliveries]}");
        };
        ack_reader.acknowledge(&words);
    }
}

async fn write<S>(
    sink: &mut SplitSink<Socket<S>, Message>,
    listener: &mut Listener,
    settings: &Settings,
) -> CloseReason
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut ping = interval_at(Instant::now() + settings.ping, settings.ping);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let sent = tokio::select! {
            biased;
            _ = ping.tick() => timeout(settings.stall, sink.send(Message::ping(""))).await,
            bytes = listener.next() => match bytes {
                Some(bytes) => timeout(settings.stall, send(sink, listener, bytes)).await,
                None => return (CloseCode::NORMAL_CLOSURE, "the subscription has ended"),
            },
        };
        match sent {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return (CloseCode::NORMAL_CLOSURE, ""),
            Err(_) => return (CloseCode::POLICY_VIOLATION, "too slow"),
        }
    }
}

/// Writes a delivery and those queued behind it, with one flush.
async fn send<S>(
    sink: &mut SplitSink<Socket<S>, Message>,
    listener: &mut Listener,
    bytes: Bytes,
) -> Result<(), Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut written = bytes.len();
    sink.feed(Message::binary(bytes)).await?;
    while written < BATCH
        && let Some(bytes) = listener.next_now()
    {
        written += bytes.len();
        sink.feed(Message::binary(bytes)).await?;
    }
    sink.flush().await
}
