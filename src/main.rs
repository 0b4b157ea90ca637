//! The `plumbago` binary.

fn main() {}
