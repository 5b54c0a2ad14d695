//! Deterministic ids: UUID version 5 of a fixed namespace, so that a second run gives the same bytes
//! (rulings, ".curt to Claude Code", `uuid`).

use uuid::Uuid;

/// The namespace of every id this project mints: version 5 of the DNS namespace and the name below.
/// It can never change, or archives that were emitted before would not match.
fn namespace() -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_DNS, b"curt-tools.conversation")
}

/// The id of a thing in a conversation: its kind, the conversation's id, its place. The parts are
/// joined by NUL, so that no two lists of parts read alike.
pub fn of(parts: &[&[u8]]) -> Uuid {
    Uuid::new_v5(&namespace(), &parts.join(&0))
}

/// A provider-style id, `msg_` or `toolu_` and 24 letters and digits, of the same parts.
pub fn prefixed(prefix: &str, parts: &[&[u8]]) -> String {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut rest = of(parts).as_u128();
    let mut id = String::from(prefix);
    for _ in 0..24 {
        let digit = usize::try_from(rest % 62).ok().and_then(|n| ALPHABET.get(n)).copied().unwrap_or(b'0');
        id.push(char::from(digit));
        rest /= 62;
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_depend_on_their_parts_alone() {
        assert_eq!(of(&[b"line", b"a", b"1"]), of(&[b"line", b"a", b"1"]));
        assert_ne!(of(&[b"line", b"a", b"1"]), of(&[b"line", b"a1"]));
        assert_eq!(of(&[b"x"]).get_version_num(), 5);
        let id = prefixed("msg_", &[b"a"]);
        assert!(id.len() == 28 && id.starts_with("msg_") && id.is_ascii());
    }
}
