//! Where Claude Code keeps its sessions: `projects/FOLDER/SESSION.jsonl` below its directory, a folder for each
//! directory that sessions were of.

/// Longer names are cut, and told apart by what follows.
const LONGEST: usize = 200;

/// The name of the folder for the sessions of a directory: each UTF-16 unit of its path that is no ASCII letter or
/// digit is `-`. Without a directory it is the folder of `/`.
///
/// Of a long path the first 200 remain, and a hash that each release computes in its own way; readers go by what
/// stands before it.
pub fn folder(cwd: &[u8]) -> String {
    let path = String::from_utf8_lossy(if cwd.is_empty() { b"/" } else { cwd });
    let units = path.chars().flat_map(|c| {
        let shown = if c.is_ascii_alphanumeric() { c } else { '-' };
        std::iter::repeat_n(shown, c.len_utf16())
    });
    let whole: String = units.collect();
    match whole.get(..LONGEST) {
        Some(start) if whole.len() > LONGEST => {
            let hash = crate::id::of(&[b"folder", cwd]).as_u128();
            format!("{start}-{}", base36(hash as u32))
        }
        _ => whole,
    }
}

fn base36(mut n: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(n % 36, 36));
        n /= 36;
        if n == 0 {
            return digits.iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_those_of_claude_code() {
        for (cwd, expected) in [
            ("/home/me/my project", "-home-me-my-project"),
            ("/home/me/.config/x_y", "-home-me--config-x-y"),
            ("/", "-"),
            ("", "-"),
            ("/é/🙂", "-----"),
            ("C:\\Users\\Me", "C--Users-Me"),
        ] {
            assert_eq!(folder(cwd.as_bytes()), expected, "{cwd}");
        }
        let long = format!("/{}", "a".repeat(300));
        let (start, hash) = (format!("-{}-", "a".repeat(199)), folder(long.as_bytes()));
        assert!(hash.starts_with(&start) && hash.len() <= start.len() + 7, "{hash}");
        assert_ne!(hash, folder(format!("{long}b").as_bytes()));
        assert_eq!(folder(format!("/{}", "a".repeat(199)).as_bytes()).len(), 200);
    }
}
