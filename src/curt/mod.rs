//! `.curt`: what a body is (curt(5), the spec).

pub mod write;
