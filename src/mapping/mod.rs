//! The tables from one format to another. Pure: rows and tokens in, messages and counts out.

pub mod cc_to_curt;
pub mod copy;
pub mod counts;
pub mod cursor_to_curt;
pub mod curt_to_cc;
pub mod emit;
pub mod hermes_to_curt;
mod images;
mod output;
pub mod pack;
pub mod rows_to_events;
