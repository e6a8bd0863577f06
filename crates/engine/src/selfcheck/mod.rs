//! The generator as a suspect: what the kernel says about it, read at start, each second, and end.
