//! What a person wrote down for their agents, as claims.
//!
//! `ctxlake` describes claims and has no event of that name. So a claim takes a form that its daemon
//! knows: a prompt of a person, in session `claims` of runtime `other`, that names itself in
//! `injected_context`. It has no time: its key is that of its text, so that it is stored once, whichever
//! project has it and however often it is read.

use super::Packer;
use crate::json::raw::Raw;
use crate::json::text::is_blank;
use crate::json::write::{Layout, Writer};
use crate::lake::event::{Event, Type, hash, utf8};
use std::borrow::Cow;

/// The files of a project that every agent is told to read.
pub const FILES: [&str; 2] = ["CLAUDE.md", "AGENTS.md"];
/// The folder of such files.
pub const RULES: &str = ".cursor/rules";

impl Packer {
    /// Append the claim that a file of a project makes, by its path in there; nothing where it says
    /// nothing, or nothing new.
    pub fn claim(&mut self, path: &str, text: &[u8], out: &mut Vec<u8>) {
        let text = utf8(Cow::Borrowed(text));
        let id = hash(text.as_bytes());
        if is_blank(text.as_bytes()) || !self.claimed.insert(id.clone()) {
            self.counts.repeated += 1;
            return;
        }
        let mut context = Vec::new();
        let mut w = Writer::new(&mut context, Layout::Line);
        w.open(b'[');
        w.open(b'{');
        for (key, value) in [("claim_id", &*id), ("source", path), ("observed_by", "human")] {
            w.key(key);
            w.string(value.as_bytes());
        }
        w.close(b'}');
        w.close(b']');
        let event_id = self.mint.next_id();
        let event = Event {
            event_id: event_id.into(),
            emitted_at: "1970-01-01T00:00:00.000Z".into(),
            message_id: Some(id.into()),
            role: Some("user".into()),
            content: Some(text),
            injected_context: Some(Raw::known(&context)),
            ..Event::new(self.source("other"), Type::Prompt, "claims".into())
        };
        event.write(out);
        self.counts.claims += 1;
    }
}
