//! The library behind the curt tools: small filters that carry conversations out of an agent's own
//! store, through `.curt` (one file a conversation), and on into other agents.
//!
//! ```text
//!  state.db ─hermes-dump─┐                              ┌─curt2cc──▶ Claude Code JSONL, cc-chain-check
//!  *.jsonl ──cc-dump──────┼▶ session rows ─curt-pack─▶ .curt ─curt-check, curt-name, curt-cat, curt-zip
//!  chats/ ───cursor-dump──┘    (NDJSON)
//!                                 └─lake-pack─▶ events ─lake-scrub─▶ ─lake-spool─▶ spool
//! ```
//!
//! # Floors
//!
//! A file imports only from floors below its own; `tests/floors.rs` reads the `use` lines.
//!
//! | floor | folder | owns |
//! |---|---|---|
//! | 4 | `src/bin/` | one file a program: options, operands, one loop |
//! | 3 | [`mapping`] | the tables from one format to another, pure, and [`mapping::counts`] |
//! | 2 | [`hermes`], [`curt`], [`cc`], [`cursor`], [`lake`] | what a store, a body, a transcript line, an event *is* |
//! | 1 | [`json`], [`stream`], [`time`], [`id`] | JSON text; bytes in and out; instants; deterministic ids |
//! | 1 | [`edge`] | command line, messages, exit status: used by `src/bin` alone |
//!
//! Floors 1 to 3 name no environment, clock, terminal or process; only `hermes::store`,
//! `stream::{place, operands, tree, spill, bundle}` and `lake::spool` touch files. `json` is the only owner of
//! JSON text, and the only one that names serde_json and simd-json; `hermes::store` the only one that
//! names rusqlite.

pub mod cc;
pub mod cursor;
pub mod curt;
pub mod edge;
pub mod hermes;
pub mod id;
pub mod json;
pub mod lake;
pub mod mapping;
pub mod stream;
pub mod time;

/// What every file of ours is signed with, whichever program wrote it: `writer-name@version`
/// (the spec, "Top-level fields"). One name for all, so that a front end and its pipeline give the
/// same bytes.
pub const GENERATOR: &str = concat!("curt-tools@", env!("CARGO_PKG_VERSION"));

/// The version of every program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
