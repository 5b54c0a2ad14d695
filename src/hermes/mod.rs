//! Hermes' store: what it holds, row by row, and what of it a person sees.

pub mod calls;
pub mod content;
pub mod row;
pub mod session;
#[cfg(feature = "sqlite")]
pub mod store;
pub mod visible;
