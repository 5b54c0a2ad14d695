//! A Cursor session row to a `.curt` conversation: what the person asked.
//!
//! | Cursor | `.curt` |
//! |---|---|
//! | the chat's folder | `conversation.id` |
//! | `title`, else the first prompt on one line, 60 characters | `title` |
//! | `created`, `updated` | `createdAt`, `updatedAt` (milliseconds) |
//! | that no answer is stored | `cursor.promptsOnly` |
//! | prompts | messages of role `user`, ids `<chat>-<n>` from 1 |

use super::counts::{Count, Counts};
use super::output;
use crate::cursor::millis;
use crate::curt::write::{Body, Header, Message};
use crate::json::raw::{Kind, Raw};
use crate::json::text::{Text, is_blank, one_line};
use crate::json::write::Layout;
use std::io::{self, Write};

/// A chat whose header is known.
pub struct Conversation<'a> {
    header: Header<'a>,
    /// Texts and their times, in the order of the store.
    prompts: Vec<(Raw<'a>, Option<i64>)>,
    counts: Counts,
}

impl<'a> Conversation<'a> {
    /// What a row holds. The error says which part of the row is not there.
    pub fn of(row: Raw<'a>) -> Result<Self, &'static str> {
        let id = row.get("id").filter(|id| id.is_string()).ok_or("not a session row: no id")?;
        let list = row.get("messages").filter(|list| list.kind() == Kind::Array);
        let list = list.ok_or("not a session row: no messages")?;
        let mut counts = Counts::default();
        let mut tally = |count, object: Raw<'_>, key| {
            for name in object.get(key).into_iter().flat_map(Raw::items).filter_map(Raw::text) {
                counts.tally(count, &String::from_utf8_lossy(&name));
            }
        };
        tally(Count::MalformedCells, row, "malformed");
        std::iter::once(row)
            .chain(list.items())
            .for_each(|object| tally(Count::RedactedFields, object, "withheld"));
        let time = |object: Raw<'_>, key| object.get(key).and_then(millis).map(|ms| ms.floor() as i64);
        let texts = list
            .items()
            .filter_map(|prompt| Some((prompt.get("content").filter(|text| text.is_string())?, prompt)));
        let (blank, said): (Vec<_>, Vec<_>) =
            texts.partition(|(text, _)| text.text().is_none_or(|text| is_blank(&text)));
        counts.add(Count::EmptyDropped, blank.len() as u64);
        let prompts: Vec<_> =
            said.into_iter().map(|(text, prompt)| (text, time(prompt, "timestamp"))).collect();

        let times = || prompts.iter().filter_map(|(_, time)| *time);
        let created_at = time(row, "created").or(times().next()).unwrap_or(0);
        let updated_at = times().chain(time(row, "updated")).max().unwrap_or(created_at).max(created_at);
        let stored = row.get("title").filter(|title| title.quoted().is_some_and(|inner| !inner.is_empty()));
        let derived = || {
            let first = prompts.first().and_then(|(text, _)| text.text()).unwrap_or_default();
            Text::Decoded(one_line(&first, 60).into())
        };
        let header = Header {
            id: Text::Token(id),
            title: stored.map_or_else(derived, Text::Token),
            created_at,
            updated_at,
            extras: vec![("cursor", br#"{"promptsOnly":true}"#.to_vec())],
            ..Header::default()
        };
        Ok(Conversation { header, prompts, counts })
    }
}

impl output::Conversation for Conversation<'_> {
    fn is_empty(&self) -> bool {
        self.prompts.is_empty()
    }

    fn header(&self) -> &Header<'_> {
        &self.header
    }

    fn counts(&self) -> &Counts {
        &self.counts
    }

    fn write(&self, to: &mut dyn Write, layout: Layout) -> io::Result<Counts> {
        let mut counts = Counts::default();
        let mut body = Body::begin(to, layout, &self.header)?;
        let chat = self.header.id.decoded();
        let mut timestamp = self.header.created_at;
        for ((text, time), number) in self.prompts.iter().zip(1_u64..) {
            timestamp = time.unwrap_or(timestamp);
            let id = Text::Decoded([&*chat, format!("-{number}").as_bytes()].concat().into());
            body.message(&Message {
                id,
                role: "user",
                content: Text::Token(*text),
                timestamp,
                extras: Vec::new(),
            })?;
            counts.add(Count::Messages, 1);
        }
        body.end()?;
        Ok(counts)
    }
}
