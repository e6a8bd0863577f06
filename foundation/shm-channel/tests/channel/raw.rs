//! Both sides by hand, with nothing but a socket and files, from the numbers of `LAYOUT.md`: what
//! a peer of another make is, and one that breaks the layout.

use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

/// Where the rings begin.
pub const RING: u64 = 4096;

/// The first message of a client of this version.
pub fn hello(version: u32) -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes[..8].copy_from_slice(b"SHMCHAN\0");
    bytes[8..12].copy_from_slice(&version.to_le_bytes());
    bytes
}

/// A welcome of this version for slots with rooms of 64 bytes.
pub fn welcome(version: u32, outcome: u32, slots: u32) -> [u8; 64] {
    let mut bytes = hello(version);
    bytes[12..16].copy_from_slice(&outcome.to_le_bytes());
    bytes[16..20].copy_from_slice(&slots.to_le_bytes());
    bytes[24] = 64;
    bytes[32] = 64;
    bytes
}

/// An entry, the stamp as given.
pub fn entry(stamp: u32, slot: u32, sequence: u64, length: u64, code: u32) -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes[..4].copy_from_slice(&stamp.to_le_bytes());
    bytes[4..8].copy_from_slice(&slot.to_le_bytes());
    bytes[8..16].copy_from_slice(&sequence.to_le_bytes());
    bytes[16..24].copy_from_slice(&length.to_le_bytes());
    bytes[24..28].copy_from_slice(&code.to_le_bytes());
    bytes
}

/// A client that was let in: its socket, and `requests`, `answers`, bell and eventfd as files.
pub struct Peer {
    pub socket: UnixStream,
    pub passed: Vec<File>,
}

impl Peer {
    pub fn connect(path: &Path) -> Self {
        let mut socket = UnixStream::connect(path).unwrap();
        socket.write_all(&hello(1)).unwrap();
        let mut bytes = [0; 64];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut into = [IoSliceMut::new(&mut bytes)];
        rustix::net::recvmsg(&socket, &mut into, &mut control, RecvFlags::CMSG_CLOEXEC).unwrap();
        let mut passed = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                passed.extend(descriptors.map(File::from));
            }
        }
        assert_eq!(passed.len(), 4);
        Self { socket, passed }
    }

    pub fn requests(&self) -> &File {
        &self.passed[0]
    }

    pub fn answers(&self) -> &File {
        &self.passed[1]
    }

    pub fn bell(&self) -> &File {
        &self.passed[2]
    }

    /// Writes the entry of a submission; it is there at the latest when the worker's nap is over.
    pub fn submit(&self, at: u64, entry: &[u8; 64]) {
        self.requests().write_all_at(&entry[4..], RING + at * 64 + 4).unwrap();
        self.requests().write_all_at(&entry[..4], RING + at * 64).unwrap();
    }

    /// Waits until the producer hangs up.
    pub fn wait_for_hang_up(mut self) -> bool {
        self.socket.set_read_timeout(Some(super::PATIENCE)).unwrap();
        self.socket.read(&mut [0]).is_ok_and(|length| length == 0)
    }
}

/// Accepts one client, hears its hello, and answers with these bytes and files.
pub fn greet(listener: &UnixListener, bytes: &[u8], passed: &[File]) -> UnixStream {
    let (mut socket, _) = listener.accept().unwrap();
    socket.read_exact(&mut [0; 64]).unwrap();
    let descriptors: Vec<_> = passed.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
    }
    let flags = SendFlags::NOSIGNAL;
    rustix::net::sendmsg(&socket, &[IoSlice::new(bytes)], &mut control, flags).unwrap();
    socket
}

/// Memory as a producer makes it, sealed against getting shorter or not.
pub fn memory(length: u64, is_sealed: bool) -> File {
    use rustix::fs::{MemfdFlags, SealFlags};
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let made = rustix::fs::memfd_create("raw", flags).unwrap();
    rustix::fs::ftruncate(&made, length).unwrap();
    if is_sealed {
        rustix::fs::fcntl_add_seals(&made, SealFlags::SHRINK).unwrap();
    }
    made.into()
}
