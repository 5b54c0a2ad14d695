//! JSON text, kept as text: validated once, walked without being materialised, written with
//! JavaScript's escapes. Nothing here turns a string or a number into another one, so a lone
//! surrogate or a 40-digit integer leaves as it came.

pub mod canon;
pub mod decimal;
pub mod raw;
pub mod scan;
pub mod short;
pub mod skip;
mod tape;
pub mod text;
pub mod write;
