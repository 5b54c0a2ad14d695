//! `.curt`: one file, one conversation (curt(5), the spec). What a body is ([`check`]), how one is
//! written ([`write`]), what its file is called ([`name`]), where an input holds one ([`bodies`]), and how
//! many travel in one zip ([`bundle`]).

pub mod bodies;
pub mod bundle;
pub mod check;
pub mod lint;
pub mod name;
pub mod write;
