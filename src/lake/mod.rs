//! The lake: events that a `ctxlake` daemon takes (lake-event(5)).

pub mod event;
pub mod rules;
pub mod scrub;
pub mod spool;
