//! What a Claude Code transcript is: its lines, and the graph they form by `uuid` and `parentUuid`.
//!
//! | file | owns |
//! |---|---|
//! | [`line`] | one line: what is left of a damaged one, which fields a record has |
//! | [`chain`] | the lines of one input, and the verdicts on them |
//! | [`graph`] | the records of a real transcript: who goes on from whom |
//! | [`shape`] | what a graph looks like, by kind |
//! | [`strict`] | the further rules that generated lines keep |
//! | [`verdict`] | findings, their severity and their words |
//! | [`branch`] | which records are the conversation, and which the person went back from |
//! | [`row`] | a file as a session row: which keys of its records leave it |
//! | [`layout`] | where Claude Code keeps its sessions |
//! | [`ids`] | many uuids in little memory; digests of contents |

pub mod branch;
pub mod chain;
mod graph;
pub mod ids;
pub mod layout;
pub mod line;
pub mod row;
pub mod shape;
pub mod strict;
pub mod verdict;

#[cfg(test)]
mod tests;
