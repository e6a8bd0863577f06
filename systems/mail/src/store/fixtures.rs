//! Messages for tests, and a folder that is removed with its test.

use std::path::{Path, PathBuf};

use super::{Draft, Store};
use crate::envelope::{Content, Envelope};
use crate::refusal::Refusal;

/// An envelope from `a@x` to these recipients.
pub(crate) fn envelope(recipients: &[&str]) -> Envelope {
    Envelope {
        peer: "192.0.2.1:50000".parse().unwrap(),
        client: "client.example".to_owned(),
        user: None,
        tls: None,
        from: "a@x".to_owned(),
        recipients: recipients.iter().map(|&recipient| recipient.to_owned()).collect(),
        content: Content::EightBit,
        is_utf8: false,
        announced: None,
    }
}

/// Sends one message in pieces of 100 bytes.
pub(crate) async fn send<S: Store>(store: &S, content: &[u8]) -> Result<String, Refusal> {
    send_to(store, &["b@y"], content).await
}

/// The same to these recipients.
pub(crate) async fn send_to<S: Store>(
    store: &S,
    recipients: &[&str],
    content: &[u8],
) -> Result<String, Refusal> {
    let mut draft = store.begin(envelope(recipients)).await?;
    for piece in content.chunks(100) {
        draft.write(piece).await?;
    }
    draft.commit().await
}

/// A folder of a test's own.
#[derive(Debug)]
pub(crate) struct TempFolder(PathBuf);

impl TempFolder {
    pub fn new() -> Self {
        // Each test has its own thread.
        let name = format!("mail-{}-{:?}", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The names in one of its folders.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
