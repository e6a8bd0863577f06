//! The Unix socket: who may connect, what is passed over it, and how it tells of the other's death.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};

use crate::Error;
use crate::error::{LONGEST_PATH, while_doing};

/// How many descriptors a welcome carries: requests, answers, the bell, the eventfd.
pub(crate) const PASSED: usize = 4;
/// How many connections may wait to be accepted, which the kernel cuts to its own bound.
const BACKLOG: i32 = 4096;

/// The file of a listening socket, removed when this is dropped if it is still ours.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    inode: u64,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if std::fs::symlink_metadata(&self.path).is_ok_and(|there| there.ino() == self.inode) {
            // Whoever removed it meanwhile did what we wanted.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Listens at a path of the file system, not blocking; only its own user may open the file.
///
/// For a Unix stream socket with any protocol. A file that a dead process left is
/// replaced. Errors: [`Error::InUse`], [`Error::NotASocket`], [`Error::LongPath`], the system's.
pub fn listen(path: &Path) -> Result<(OwnedFd, SocketFile), Error> {
    let doing = "listening on the Unix socket";
    let address = address(path)?;
    clear(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket(flags).map_err(while_doing(doing))?;
    // Before the file is there: between `bind` and a `chmod` of it, anybody could connect.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR).map_err(while_doing(doing))?;
    let at_path = |source: std::io::Error| {
        let told = format!("{}: {source}", path.display());
        while_doing(doing)(std::io::Error::new(source.kind(), told))
    };
    match rustix::net::bind(&socket, &address) {
        Err(Errno::ADDRINUSE) => return Err(Error::InUse(path.to_owned())),
        bound => bound.map_err(|errno| at_path(errno.into()))?,
    }
    rustix::net::listen(&socket, BACKLOG).map_err(while_doing(doing))?;
    let inode = std::fs::symlink_metadata(path).map_err(at_path)?.ino();
    Ok((socket, SocketFile { path: path.to_owned(), inode }))
}

/// The address of a socket at this path.
fn address(path: &Path) -> Result<SocketAddrUnix, Error> {
    if path.as_os_str().len() > LONGEST_PATH {
        return Err(Error::LongPath(path.to_owned()));
    }
    SocketAddrUnix::new(path).map_err(while_doing("reading the path of a socket"))
}

/// Removes a socket's file if no process answers there.
fn clear(path: &Path) -> Result<(), Error> {
    let Ok(there) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !there.file_type().is_socket() {
        return Err(Error::NotASocket(path.to_owned()));
    }
    let is_dead = std::os::unix::net::UnixStream::connect(path)
        .is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused);
    if !is_dead {
        return Err(Error::InUse(path.to_owned()));
    }
    std::fs::remove_file(path).map_err(while_doing("removing a dead producer's socket"))
}

/// A connection whose sends and receives take so long at most.
pub(crate) fn connect(path: &Path, patience: Duration) -> Result<OwnedFd, Error> {
    let doing = "connecting to the producer's socket";
    let socket = socket(SocketFlags::CLOEXEC).map_err(while_doing(doing))?;
    for side in [Timeout::Send, Timeout::Recv] {
        sockopt::set_socket_timeout(&socket, side, Some(patience)).map_err(while_doing(doing))?;
    }
    rustix::net::connect(&socket, &address(path)?).map_err(while_doing(doing))?;
    Ok(socket)
}

fn socket(flags: SocketFlags) -> Result<OwnedFd, Errno> {
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

/// Whether the process at the other end runs as our user.
pub(crate) fn is_own_user(socket: impl AsFd) -> bool {
    let peer = sockopt::socket_peercred(socket);
    peer.is_ok_and(|peer| peer.uid == rustix::process::geteuid())
}

/// Whether the other end is closed.
pub(crate) fn is_hung_up(socket: impl AsFd) -> bool {
    let mut watched = [PollFd::new(&socket, PollFlags::RDHUP)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(rustix::event::poll(&mut watched, Some(&now)), Ok(1..))
}

/// Sends a greeting, with descriptors or without.
pub(crate) fn send(
    socket: impl AsFd,
    bytes: &[u8],
    passed: &[BorrowedFd<'_>],
) -> Result<(), Error> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PASSED))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !passed.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(passed));
    }
    let flags = SendFlags::NOSIGNAL;
    let sent = rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags);
    match sent.map_err(while_doing("greeting"))? {
        sent if sent == bytes.len() => Ok(()),
        _ => Err(Error::Damaged("a greeting was cut")),
    }
}

/// Receives a greeting, which came in one piece, into `bytes`, and what was passed with it.
///
/// Errors: [`Error::Deadline`] where nothing came in time, or has come where the socket does not
/// block; [`Error::Gone`]; the system's.
pub(crate) fn receive(socket: impl AsFd, bytes: &mut [u8]) -> Result<(usize, Vec<OwnedFd>), Error> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PASSED))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = rustix::net::recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, flags);
    let received = match received {
        Err(Errno::AGAIN) => return Err(Error::Deadline),
        Err(Errno::CONNRESET) => return Err(Error::Gone),
        received => received.map_err(while_doing("being greeted"))?,
    };
    let mut passed = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            passed.extend(descriptors);
        }
    }
    if received.flags.contains(ReturnFlags::CTRUNC) && passed.len() < PASSED {
        // So the kernel says that this process may have no more of them.
        return Err(while_doing("taking in what was passed")(Errno::MFILE));
    }
    Ok((received.bytes, passed))
}
