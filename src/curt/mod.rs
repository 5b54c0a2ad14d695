//! `.curt`: one file, one conversation (curt(5), the spec). What a body is ([`check`]) and how one is
//! written ([`write`]).

pub mod check;
pub mod write;
