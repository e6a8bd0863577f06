//! Memory that two processes have mapped: made, sealed, mapped, and looked at within its bounds.
//!
//! A region has one writer. The producer's is sealed against any later writable mapping, the
//! client's is mapped for reading by the producer; neither can be made shorter, so that a look at
//! it cannot fault. All places are checked against the mapping's length, here and nowhere else.

#![expect(unsafe_code, reason = "there is no safe way to map memory or to look into it")]

use std::num::NonZeroUsize;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::time::Duration;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{Advice, MapFlags, ProtFlags};
use rustix::thread::futex;

use crate::Error;
use crate::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::error::while_doing;
use crate::layout::PAGE;
use crate::ring::Entry;
use crate::sleep::Park;

/// Makes anonymous memory of this length, all zero, without a name that could be guessed.
pub(crate) fn make(name: &str, length: u64) -> Result<OwnedFd, Error> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let made = rustix::fs::memfd_create(name, flags).map_err(while_doing("making a region"))?;
    rustix::fs::ftruncate(&made, length).map_err(while_doing("making a region"))?;
    Ok(made)
}

/// Fixes the length for good; `sole_writer` refuses every writable mapping from now on as well, which needs Linux 5.1.
pub(crate) fn seal(memory: impl AsFd, sole_writer: bool) -> Result<(), Error> {
    let mut seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    let mut doing = "sealing a region";
    if sole_writer {
        seals |= SealFlags::FUTURE_WRITE;
        doing = "sealing a region against other writers (Linux 5.1 or later)";
    }
    rustix::fs::fcntl_add_seals(memory, seals).map_err(while_doing(doing))
}

/// Whether no process can make the region shorter; a read of a shortened region would fault.
pub(crate) fn is_sealed(memory: impl AsFd) -> bool {
    rustix::fs::fcntl_get_seals(memory).is_ok_and(|seals| seals.contains(SealFlags::SHRINK))
}

/// A mapping of a region, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    length: NonZeroUsize,
    is_writable: bool,
}

// SAFETY: the memory belongs to no thread, and what is done to it through a shared reference is
// atomic, or reads or writes bytes of which the callers of the `unsafe` functions vouch.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the whole region for reading, after a look that it is as long and cannot get shorter.
    pub(crate) fn readable(memory: impl AsFd, length: u64) -> Result<Self, Error> {
        Self::new(memory, length, ProtFlags::READ)
    }

    /// Maps the whole region for reading and writing, likewise.
    pub(crate) fn writable(memory: impl AsFd, length: u64) -> Result<Self, Error> {
        Self::new(memory, length, ProtFlags::READ | ProtFlags::WRITE)
    }

    fn new(memory: impl AsFd, length: u64, protection: ProtFlags) -> Result<Self, Error> {
        let doing = "mapping a region";
        let status = rustix::fs::fstat(&memory).map_err(while_doing(doing))?;
        let whole = usize::try_from(length).ok().and_then(NonZeroUsize::new);
        let (Some(length), true) = (whole, status.st_size.cast_unsigned() >= length) else {
            return Err(Error::Damaged("the length of a region"));
        };
        // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing of Rust's.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                length.get(),
                protection,
                MapFlags::SHARED,
                &memory,
                0,
            )
        };
        let start = start.map_err(while_doing(doing))?;
        let start = NonNull::new(start.cast()).expect("no mapping begins at zero");
        Ok(Self { start, length, is_writable: protection.contains(ProtFlags::WRITE) })
    }

    /// Address of `length` bytes at `at`; panics where they are not within the mapping.
    fn place(&self, at: u64, length: u64) -> NonNull<u8> {
        let end = at.checked_add(length).expect("a place within memory");
        assert!(end <= self.length.get() as u64, "a place within the region");
        // SAFETY: the line before says that the offset is within the mapping.
        unsafe { self.start.add(at as usize) }
    }

    /// The word at `at`, which is a multiple of four.
    pub(crate) fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4), "an aligned word");
        let place = self.place(at as u64, 4).cast();
        // SAFETY: within the mapping and aligned; all processes touch words atomically. Where the
        // mapping is for reading, the crate does nothing but relaxed loads and futex calls.
        unsafe { place.as_ref() }
    }

    /// The ring of `count` entries at `at`, which is a multiple of 64.
    pub(crate) fn entries(&self, at: usize, count: u32) -> &[Entry] {
        assert!(at.is_multiple_of(align_of::<Entry>()), "an aligned entry");
        let length = u64::from(count) * size_of::<Entry>() as u64;
        let place = self.place(at as u64, length).cast();
        // SAFETY: within the mapping and aligned; an entry is atomics alone, valid for any bytes.
        unsafe { std::slice::from_raw_parts(place.as_ptr(), count as usize) }
    }

    /// Copies bytes that their writer may change meanwhile: what comes out may be any mixture.
    ///
    /// `at` is a multiple of eight, and memory up to the next one is there.
    pub(crate) fn copy_out(&self, at: u64, length: u64, into: &mut Vec<u8>) {
        assert!(at.is_multiple_of(8), "an aligned payload");
        let words = length.div_ceil(8);
        let place = self.place(at, words * 8).cast::<AtomicU64>();
        // SAFETY: within the mapping and aligned; the words are only loaded, relaxed.
        let words = unsafe { std::slice::from_raw_parts(place.as_ptr(), words as usize) };
        into.resize(words.len() * 8, 0);
        for (eight, word) in into.chunks_exact_mut(8).zip(words) {
            eight.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        into.truncate(length as usize);
    }

    /// Takes whole pages of a place out of this process's memory; what is in them stays, and a look brings it back.
    pub(crate) fn unload(&self, at: u64, length: u64) {
        let (from, to) = (at.next_multiple_of(PAGE), (at + length) / PAGE * PAGE);
        if from < to {
            let place = self.place(from, to - from);
            // SAFETY: within the mapping, which is of a file and shared: nothing is lost, and addresses stay.
            let told = unsafe {
                rustix::mm::madvise(
                    place.as_ptr().cast(),
                    (to - from) as usize,
                    Advice::LinuxDontNeed,
                )
            };
            // Advice that is not taken changes nothing but where memory is counted.
            let _ = told;
        }
    }

    /// Writes bytes.
    ///
    /// # Safety
    ///
    /// No other thread of this process reads the place meanwhile.
    pub(crate) unsafe fn copy_in(&self, at: u64, bytes: &[u8]) {
        assert!(self.is_writable, "a region of ours");
        let place = self.place(at, bytes.len() as u64);
        // SAFETY: within the mapping and writable; the caller says that the place is ours.
        unsafe { place.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) }
    }

    /// Bytes in place.
    ///
    /// # Safety
    ///
    /// No process writes to the place as long as they are borrowed.
    pub(crate) unsafe fn bytes(&self, at: u64, length: u64) -> &[u8] {
        let place = self.place(at, length);
        // SAFETY: within the mapping; the caller says that the bytes stand still.
        unsafe { std::slice::from_raw_parts(place.as_ptr(), length as usize) }
    }

    /// Bytes in place, to be written.
    ///
    /// # Safety
    ///
    /// Nothing writes to the place through another mapping, and no other thread of this process reads it.
    #[expect(clippy::mut_from_ref, reason = "the caller vouches that the place is borrowed once")]
    pub(crate) unsafe fn bytes_mut(&self, at: u64, length: u64) -> &mut [u8] {
        assert!(self.is_writable, "a region of ours");
        let place = self.place(at, length);
        // SAFETY: within the mapping and writable; the caller says that the place is ours.
        unsafe { std::slice::from_raw_parts_mut(place.as_ptr(), length as usize) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: all borrows of the mapping have ended, since they borrow it.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.length.get()) };
        unmapped.expect("what was mapped can be unmapped");
    }
}

/// The kernel's futex between processes: without the flag that says "private".
pub(crate) struct Futex {
    /// How long to sleep at most.
    pub nap: Duration,
}

impl Park for Futex {
    fn park(&self, word: &AtomicU32, seen: u32) {
        let nap = self.nap.try_into().expect("a nap is short");
        // Woken, changed meanwhile, interrupted, time over: the caller looks again in any case.
        let _ = futex::wait(word, futex::Flags::empty(), seen, Some(&nap));
    }

    fn unpark(&self, word: &AtomicU32) {
        // Fails for an address that is none alone, and this one is a reference.
        let _ = futex::wake(word, futex::Flags::empty(), 1);
    }
}
