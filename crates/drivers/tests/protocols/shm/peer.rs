//! A producer by hand, from the numbers of `LAYOUT.md`, that does what no producer of ours does.

use std::fs::File;
use std::io::{IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::thread;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};

use crate::shm::stand::Folder;

/// Where the ring begins.
const RING: u64 = 4096;
/// Where the rooms begin, behind the ring of one slot.
const ROOMS: u64 = 8192;
/// Room for a request.
const REQUEST_ROOM: u64 = 64;

/// A peer with one slot, and one client at most.
pub struct Peer {
    folder: Folder,
    listener: UnixListener,
    requests: File,
    pub answers: File,
    eventfd: OwnedFd,
    answer_room: u64,
}

impl Peer {
    /// One with so much room for an answer, a multiple of 64; a region without a byte in it takes no memory.
    pub fn new(answer_room: u64) -> Self {
        let folder = Folder::new();
        Self {
            listener: UnixListener::bind(folder.socket()).unwrap(),
            folder,
            requests: memory(ROOMS + 4096),
            answers: memory((ROOMS + answer_room).next_multiple_of(4096)),
            // Whoever reads it waits until it is signalled.
            eventfd: eventfd(0, EventfdFlags::CLOEXEC).unwrap(),
            answer_room,
        }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.socket()
    }

    /// Lets one client in; its socket.
    pub fn admit(&self) -> UnixStream {
        let (mut socket, _) = self.listener.accept().unwrap();
        let mut bytes = [0; 64];
        socket.read_exact(&mut bytes).unwrap();
        bytes[16] = 1;
        bytes[24..32].copy_from_slice(&REQUEST_ROOM.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.answer_room.to_le_bytes());
        let bell = memory(4096);
        let passed =
            [self.requests.as_fd(), self.answers.as_fd(), bell.as_fd(), self.eventfd.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&passed)));
        let sent = [IoSlice::new(&bytes)];
        rustix::net::sendmsg(&socket, &sent, &mut control, SendFlags::NOSIGNAL).unwrap();
        socket
    }

    /// Answers the client's request number `number`, from 1, with what its room holds; waits for it, unless the client
    /// hangs up first.
    pub fn answer(&self, client: &UnixStream, number: u32, length: u64) {
        let mut stamp = [0; 4];
        while u32::from_le_bytes(stamp) != number {
            let mut watched = [PollFd::new(client, PollFlags::RDHUP)];
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            if rustix::event::poll(&mut watched, Some(&now)).unwrap() > 0 {
                return;
            }
            self.requests.read_exact_at(&mut stamp, RING).unwrap();
            thread::yield_now();
        }
        let mut entry = [0; 64];
        entry[..4].copy_from_slice(&number.to_le_bytes());
        entry[8..16].copy_from_slice(&u64::from(number).to_le_bytes());
        entry[16..24].copy_from_slice(&length.to_le_bytes());
        // The stamp last: with it the entry is there.
        self.answers.write_all_at(&entry[4..], RING + 4).unwrap();
        self.answers.write_all_at(&entry[..4], RING).unwrap();
        rustix::io::write(&self.eventfd, &1_u64.to_ne_bytes()).unwrap();
    }

    /// Writes to the room of the answer.
    pub fn fill(&self, bytes: &[u8]) {
        self.answers.write_all_at(bytes, ROOMS).unwrap();
    }
}

/// Memory that nobody can make shorter.
fn memory(length: u64) -> File {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let made = rustix::fs::memfd_create("peer", flags).unwrap();
    rustix::fs::ftruncate(&made, length).unwrap();
    rustix::fs::fcntl_add_seals(&made, SealFlags::SHRINK).unwrap();
    made.into()
}
