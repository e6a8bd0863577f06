//! Trouble that can be foreseen, said before the run: file descriptors, ports, processors.
