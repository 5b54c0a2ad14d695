//! Bytes in and bytes out: which inputs, one bounded record after the other, and files put down whole.

pub mod bundle;
pub mod deliver;
pub mod ndjson;
pub mod operands;
pub mod ordered;
pub mod place;
pub mod spill;
pub mod tree;
