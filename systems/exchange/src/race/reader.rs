//! The front's side: asks for the file, lets it lie, takes it.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::{File, PATH};
use crate::failure::Failure;
use crate::payload::Payload;
use crate::request::DataRequest;
use crate::transport::Transport;
use crate::transports::http::query;

/// A way that keeps none of the promises of one: nothing that it returns was judged.
#[derive(Debug)]
pub(crate) struct Reader {
    producer: SocketAddr,
    file: File,
    hold: Duration,
}

impl Reader {
    /// Has the producer at this address write the file, and reads it so long after that.
    pub fn new(producer: SocketAddr, file: File, hold: Duration) -> Self {
        Self { producer, file, hold }
    }

    async fn read(&self, ask: &DataRequest) -> Result<Vec<u8>, Failure> {
        self.request_file(ask).await?;
        sleep(self.hold).await;
        let file = self.file.clone();
        let taken = tokio::task::spawn_blocking(move || file.take()).await;
        taken.unwrap_or_else(|error| Err(Failure::Damaged(error.to_string())))
    }

    /// On a connection of its own, as each hop of the original had.
    async fn request_file(&self, ask: &DataRequest) -> Result<(), Failure> {
        let request = Request::get(format!("{PATH}?{}", query(ask)))
            .header(HOST, self.producer.to_string())
            .body(Empty::<Bytes>::new())
            .expect("a path of letters and digits");
        let stream = TcpStream::connect(self.producer).await.map_err(Failure::unreachable)?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(Failure::unreachable)?;
        let answered = async {
            tokio::select! {
                biased;
                answer = sender.send_request(request) => answer.map_err(Failure::unreachable),
                ended = connection => Err(match ended {
                    Ok(()) => Failure::unreachable("it closed the connection"),
                    Err(error) => Failure::unreachable(error),
                }),
            }
        };
        match answered.await?.status() {
            StatusCode::OK => Ok(()),
            status => {
                Err(Failure::Refused(format!("the producer did not write the file: {status}")))
            }
        }
    }
}

impl Transport for Reader {
    async fn fetch(&self, ask: &DataRequest, deadline: Duration) -> Result<Payload, Failure> {
        let read = timeout(deadline, self.read(ask)).await;
        Ok(read.unwrap_or(Err(Failure::Deadline))?.into())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use serving::http::{Answer, serve, text};
    use serving::limits::Limits;
    use serving::listener;
    use serving::metrics::Registry;
    use serving::stop::{Stop, Stopper};
    use tokio::sync::Barrier;

    use super::*;
    use crate::race::NAME;
    use crate::request::Wanted;

    /// Writes every nonce it is asked for, and answers after so many requests.
    fn producer(file: File, together: usize) -> (SocketAddr, Stopper) {
        let (stopper, stop) = Stop::pair();
        let listener = listener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let barrier = Arc::new(Barrier::new(together));
        let handler = move |request: Request<Bytes>| {
            let (file, barrier) = (file.clone(), Arc::clone(&barrier));
            async move {
                let answer: Answer = match request.uri().query() {
                    Some(query) if query.contains("count=0") => {
                        text(StatusCode::BAD_REQUEST, "none")
                    }
                    query => {
                        let payload = format!("{:?}", query.unwrap_or_default());
                        file.write(payload.as_bytes()).unwrap();
                        text(StatusCode::OK, "")
                    }
                };
                barrier.wait().await;
                answer
            }
        };
        tokio::spawn(serve(listener, handler, Limits::default(), Registry::default(), stop));
        (address, stopper)
    }

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("race-read-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    const PATIENCE: Duration = Duration::from_secs(30);

    /// Both are written before either is read: one reader gets the last, and nothing is left for the other.
    #[tokio::test]
    async fn two_at_once_get_one_answer_between_them_and_it_is_not_judged() {
        let folder = folder("two");
        let file = File::at(folder.join(NAME));
        let (address, _stopper) = producer(file.clone(), 2);
        let reader = Reader::new(address, file, Duration::ZERO);
        let [one, two] = [1, 2].map(|nonce| DataRequest { what: Wanted::Users(1), nonce });
        let (one, two) = tokio::join!(reader.fetch(&one, PATIENCE), reader.fetch(&two, PATIENCE));
        let (mut right, mut gone) = (0, 0);
        for fetched in [one, two] {
            match fetched {
                Ok(payload) => right += usize::from(!payload.is_empty()),
                Err(Failure::Damaged(_)) => gone += 1,
                Err(other) => panic!("{other}"),
            }
        }
        // Both may have opened the file before either removed it.
        assert!(right >= 1 && right + gone == 2, "{right} {gone}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn what_the_producer_refuses_or_does_not_hear_is_told() {
        let folder = folder("refused");
        let file = File::at(folder.join(NAME));
        let (address, stopper) = producer(file.clone(), 1);
        let reader = Reader::new(address, file.clone(), Duration::ZERO);
        let none = DataRequest { what: Wanted::Users(0), nonce: 1 };
        let text = reader.fetch(&none, PATIENCE).await.unwrap_err();
        assert_eq!(text.kind(), "refused", "{text}");
        drop(stopper);
        let slow = Reader::new(address, file, PATIENCE);
        let one = DataRequest { what: Wanted::Users(1), nonce: 1 };
        let text = slow.fetch(&one, Duration::from_millis(1)).await.unwrap_err();
        assert!(matches!(text.kind(), "deadline" | "unreachable"), "{text}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
