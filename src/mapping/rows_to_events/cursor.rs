//! A Cursor session row to events: prompts, and when the chat was.

use super::Emitter;
use crate::cursor::millis;
use crate::json::raw::Raw;
use crate::lake::event::{Type, utf8};
use crate::time::in_window;
use std::borrow::Cow;

/// Write them. Prompts have no ids in the store: theirs is their place, from 1.
pub(super) fn events<'p>(row: Raw<'p>, to: &mut Emitter<'p>) {
    let time = |object: Raw<'_>, key| object.get(key).and_then(millis).map(|ms| ms / 1e3).and_then(in_window);
    let prompts = || row.get("messages").into_iter().flat_map(Raw::items);
    let times = prompts().filter_map(|prompt| time(prompt, "timestamp"));
    let Some(first) = time(row, "created")
        .or_else(|| times.clone().next())
        .or_else(|| prompts().next().map(|_| time(row, "updated").unwrap_or(0.0)))
    else {
        to.counts.empty += 1;
        return;
    };
    let mut start = to.at(Type::SessionStart, first);
    start.content = row.get("title").and_then(Raw::text).map(utf8).filter(|title| !title.is_empty());
    to.emit(start);
    let mut at = first;
    for (prompt, number) in prompts().zip(1_u64..) {
        at = time(prompt, "timestamp").unwrap_or(at);
        let mut event = to.at(Type::Prompt, at);
        event.message_id = Some(Cow::Owned(number.to_string()));
        event.role = Some(Cow::Borrowed("user"));
        event.content = prompt.get("content").and_then(Raw::text).map(utf8);
        to.emit(event);
    }
    let last = times.chain(time(row, "updated")).fold(first, f64::max);
    match to.has_ended(last, None) {
        true => to.emit(to.at(Type::SessionEnd, last)),
        false => to.counts.open += 1,
    }
}
