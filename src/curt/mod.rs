//! `.curt`: one file, one conversation (curt(5), the spec). What a body is ([`check`]), how one is
//! written ([`write`]), what its file is called ([`name`]), and where an input holds one ([`bodies`]).

pub mod bodies;
pub mod check;
pub mod lint;
pub mod name;
pub mod write;
