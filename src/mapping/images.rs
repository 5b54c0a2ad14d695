//! Images in the text of a message: a line that is a whole data URI is one (rulings, "Content": images stand as their
//! URL, one a line).

/// The media types that the Messages API takes.
const MEDIA: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A part of a message's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// Lines of text, without the line end of the last.
    Text(&'a [u8]),
    /// An image of this media type, in base64.
    Image(&'a str, &'a [u8]),
}

/// The parts of a text that holds an image; joined by newlines they are the text again. `None` for any other, also
/// where a part would be blank: readers refuse a blank block, and without it a line would be lost.
pub(super) fn parts(text: &[u8]) -> Option<Vec<Part<'_>>> {
    memchr::memmem::find(text, b"data:image/")?;
    let mut parts = Vec::new();
    let (mut from, mut at) = (0_usize, 0_usize);
    for line in text.split(|byte| *byte == b'\n') {
        if let Some((media, data)) = image(line) {
            if from < at {
                parts.push(Part::Text(text.get(from..at.checked_sub(1)?)?));
            }
            parts.push(Part::Image(media, data));
            from = at + line.len() + 1;
        }
        at += line.len() + 1;
    }
    if from < at {
        parts.push(Part::Text(text.get(from..)?));
    }
    let is_sound = |part: &Part<'_>| !matches!(part, Part::Text(text) if text.trim_ascii().is_empty());
    let has_image = parts.iter().any(|part| matches!(part, Part::Image(..)));
    (has_image && parts.iter().all(is_sound)).then_some(parts)
}

/// The media type and the base64 of a data URI that is nothing but an image.
fn image(uri: &[u8]) -> Option<(&'static str, &[u8])> {
    let rest = uri.strip_prefix(b"data:")?;
    let (media, data) =
        MEDIA.iter().find_map(|media| Some((*media, rest.strip_prefix(media.as_bytes())?)))?;
    let data = data.strip_prefix(b";base64,")?;
    let digits = data.strip_suffix(b"==").or_else(|| data.strip_suffix(b"=")).unwrap_or(data);
    let is_base64 = data.len().is_multiple_of(4)
        && !digits.is_empty()
        && digits.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
    is_base64.then_some((media, data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PNG: &str = "data:image/png;base64,AAAA";

    #[test]
    fn a_line_that_is_a_whole_data_uri_is_an_image() {
        let image = Part::Image("image/png", b"AAAA");
        let text = |text: &'static str| Part::Text(text.as_bytes());
        assert_eq!(parts(PNG.as_bytes()), Some(vec![image]));
        let lines = |lines: &[&str]| lines.join("\n").into_bytes();
        let is = |given: &[&str], expected: Option<Vec<Part<'_>>>| {
            assert_eq!(parts(&lines(given)), expected, "{given:?}")
        };
        is(&["look", "here", PNG], Some(vec![text("look\nhere"), image]));
        is(&[PNG, PNG, " then "], Some(vec![image, image, text(" then ")]));
        is(&["a", "", PNG], Some(vec![text("a\n"), image]));
        // A blank part cannot be kept.
        is(&[PNG, ""], None);
        is(&["", PNG], None);
        is(&[PNG, " ", PNG], None);
        // Not whole, or not an image that a reader takes.
        for other in [
            "",
            "text",
            "see data:image/png;base64,AAAA",
            "data:image/png;base64,AAAA.",
            "data:image/png;base64,AAA",
            "data:image/png;base64,====",
            "data:image/png;base64,",
            "data:image/svg+xml;base64,AAAA",
            "data:image/png,AAAA",
            "data:text/plain;base64,AAAA",
            "data:image/pngx;base64,AAAA",
        ] {
            assert_eq!(parts(other.as_bytes()), None, "{other}");
        }
        assert!(
            parts(b"data:image/jpeg;base64,AAA=").is_some()
                && parts(b"data:image/webp;base64,AA==").is_some()
        );
    }

    proptest! {
        #[test]
        fn parts_joined_are_the_text(lines in prop::collection::vec(prop_oneof![Just(PNG.to_owned()), "[a ]{0,3}"], 0..8)) {
            let text = lines.join("\n");
            let Some(parts) = parts(text.as_bytes()) else { return Ok(()) };
            let joined: Vec<String> = parts.iter().map(|part| match part {
                Part::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
                Part::Image(media, data) => format!("data:{media};base64,{}", std::str::from_utf8(data).unwrap()),
            }).collect();
            prop_assert_eq!(joined.join("\n"), text);
        }
    }
}
