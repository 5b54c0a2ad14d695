//! Strings short enough to be a name we know.

/// A string token read in pieces, unescaped, and forgotten as soon as it cannot be any name of ours:
/// those are ASCII and have at most [`Short::MAX`] characters.
#[derive(Clone, Debug)]
pub struct Short {
    bytes: [u8; Self::MAX],
    len: usize,
    escape: Escape,
}

#[derive(Clone, Copy, Debug)]
enum Escape {
    No,
    Letter,
    /// `\u` with the value so far and the digits to come.
    Hex(u16, u8),
    /// Too long, or not ASCII.
    Foreign,
}

impl Short {
    /// The longest text that is kept, in bytes.
    pub const MAX: usize = 32;

    /// Nothing read yet.
    pub const fn new() -> Short {
        Short { bytes: [0; Self::MAX], len: 0, escape: Escape::No }
    }

    /// Take the next piece of a string that the scanner found to be one. A bare quote belongs to the
    /// token, not to the text, and is left out.
    pub fn push(&mut self, piece: &[u8]) {
        for &byte in piece {
            self.escape = match self.escape {
                Escape::Foreign => return,
                Escape::No if byte == b'"' => Escape::No,
                Escape::No if byte == b'\\' => Escape::Letter,
                Escape::No => self.put(u16::from(byte)),
                Escape::Letter if byte == b'u' => Escape::Hex(0, 4),
                Escape::Letter => self.put(u16::from(match byte {
                    b'b' => 0x08,
                    b'f' => 0x0c,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    other => other,
                })),
                Escape::Hex(unit, left) => {
                    let digit = char::from(byte).to_digit(16).unwrap_or_default() as u16;
                    match (unit << 4 | digit, left) {
                        (unit, 1) => self.put(unit),
                        (unit, left) => Escape::Hex(unit, left - 1),
                    }
                }
            };
        }
    }

    fn put(&mut self, unit: u16) -> Escape {
        match (u8::try_from(unit), self.bytes.get_mut(self.len)) {
            (Ok(byte), Some(free)) if byte.is_ascii() => {
                *free = byte;
                self.len += 1;
                Escape::No
            }
            _ => Escape::Foreign,
        }
    }

    /// The text, if it can be a name of ours.
    pub fn get(&self) -> Option<&[u8]> {
        match self.escape {
            Escape::Foreign => None,
            _ => self.bytes.get(..self.len),
        }
    }
}

impl Default for Short {
    fn default() -> Short {
        Short::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(token: &str) -> Option<Vec<u8>> {
        let mut whole = Short::new();
        whole.push(token.as_bytes());
        let mut bytewise = Short::new();
        token.bytes().for_each(|b| bytewise.push(&[b]));
        assert_eq!(whole.get(), bytewise.get(), "{token}");
        whole.get().map(<[u8]>::to_vec)
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(short(r#""curt""#).unwrap(), b"curt");
        assert_eq!(short(r#""\u0063ur\u0074""#).unwrap(), b"curt");
        assert_eq!(short(r#""\"\\\/\b\f\n\r\t""#).unwrap(), b"\"\\/\x08\x0c\n\r\t");
        assert_eq!(short(r#""\u004a\u004B""#).unwrap(), b"JK");
        assert_eq!(short(r#""""#).unwrap(), b"");
    }

    #[test]
    fn what_cannot_be_a_name_is_forgotten() {
        assert_eq!(short(&"a".repeat(Short::MAX)).unwrap().len(), Short::MAX);
        assert_eq!(short(&"a".repeat(Short::MAX + 1)), None);
        assert_eq!(short("curt\u{e4}"), None);
        assert_eq!(short(r"curt\u00e4"), None);
        assert_eq!(short(r"curt\ud83d"), None);
    }
}
