//! A reverse proxy's core: what comes in on one side goes out on the other, within bounds.
