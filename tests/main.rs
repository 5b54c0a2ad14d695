//! Tests of the real programs: one module a program, and what holds for all of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::print_stderr
)]

#[cfg(feature = "sqlite")]
mod archive;
mod cc_chain_check;
mod cc_dump;
mod cc_pack;
mod cc_traps;
mod common;
mod completions;
mod cursor_dump;
mod curt2cc;
mod curt_cat;
mod curt_check;
#[cfg(feature = "sqlite")]
mod curt_hermes;
mod curt_name;
mod curt_pack;
mod curt_zip;
#[cfg(feature = "sqlite")]
mod damage;
mod documents;
mod edge;
#[cfg(feature = "sqlite")]
mod examples;
mod floors;
mod help;
#[cfg(feature = "sqlite")]
mod hermes_dump;
#[cfg(feature = "sqlite")]
mod hermes_real;
mod lake_pack;
mod lake_scrub;
mod lake_spool;
mod manual;
#[cfg(feature = "sqlite")]
mod mapping;
mod mutants;
#[cfg(feature = "sqlite")]
mod pipes;
mod readme;
mod round_trip;
mod zips;
