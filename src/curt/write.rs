//! Writing a `.curt` body, message by message, in the spec's key order (rulings, "Writing").
//!
//! `messages` stands last in the conversation, so that whoever reads the body as a stream knows
//! whose messages they are before the first one comes.

use crate::GENERATOR;
use crate::json::raw::Raw;
use crate::json::text::Text;
use crate::json::write::{Layout, Writer};
use std::io::{self, Write};

/// Everything of a conversation but its messages.
#[derive(Clone, Debug, Default)]
pub struct Header<'a> {
    /// `conversation.id`
    pub id: Text<'a>,
    /// `conversation.title`
    pub title: Text<'a>,
    /// `conversation.createdAt`, epoch milliseconds
    pub created_at: i64,
    /// `conversation.updatedAt`, epoch milliseconds
    pub updated_at: i64,
    /// `conversation.model`
    pub model: Option<Text<'a>>,
    /// Further fields of the conversation, by name, in order.
    pub extras: Vec<(&'static str, Vec<u8>)>,
    /// Extensions the file declares; the field is left out when there is none.
    pub extensions: &'static [&'static str],
}

/// One message.
#[derive(Clone, Debug, Default)]
pub struct Message<'a> {
    /// `id`
    pub id: Text<'a>,
    /// `role`: one of the spec's four
    pub role: &'static str,
    /// `content`
    pub content: Text<'a>,
    /// `timestamp`, epoch milliseconds
    pub timestamp: i64,
    /// Further fields, by name, in order.
    pub extras: Vec<(&'static str, Extra<'a>)>,
}

/// The value of a further field.
#[derive(Clone, Debug)]
pub enum Extra<'a> {
    /// A string.
    Text(Text<'a>),
    /// Valid JSON.
    Json(Vec<u8>),
}

/// Where messages stand: body, conversation, list.
const LIST_DEPTH: usize = 3;

/// How much is gathered before it is passed on.
const BLOCK: usize = 64 * 1024;

/// A body being written.
pub struct Body<W> {
    to: W,
    layout: Layout,
    buffer: Vec<u8>,
    empty: bool,
}

impl<W: Write> Body<W> {
    /// Write everything up to the first message.
    pub fn begin(to: W, layout: Layout, header: &Header<'_>) -> io::Result<Self> {
        let mut buffer = Vec::with_capacity(BLOCK);
        let mut w = Writer::new(&mut buffer, layout);
        w.open(b'{');
        w.key("curt");
        w.string(b"curtis-conversation");
        w.key("version");
        w.scalar(1);
        w.key("generator");
        w.string(GENERATOR.as_bytes());
        if !header.extensions.is_empty() {
            w.key("extensions");
            w.open(b'[');
            header.extensions.iter().for_each(|name| w.string(name.as_bytes()));
            w.close(b']');
        }
        w.key("conversation");
        w.open(b'{');
        w.key("id");
        w.text(&header.id);
        w.key("title");
        w.text(&header.title);
        w.key("createdAt");
        w.scalar(header.created_at);
        w.key("updatedAt");
        w.scalar(header.updated_at);
        if let Some(model) = &header.model {
            w.key("model");
            w.text(model);
        }
        for (name, json) in &header.extras {
            w.key(name);
            w.raw(Raw::known(json));
        }
        w.key("messages");
        w.open(b'[');
        Ok(Body { to, layout, buffer, empty: true })
    }

    /// Write one message.
    pub fn message(&mut self, message: &Message<'_>) -> io::Result<()> {
        let fresh = std::mem::take(&mut self.empty);
        let mut w = Writer::nested(&mut self.buffer, self.layout, LIST_DEPTH, fresh);
        w.open(b'{');
        w.key("id");
        w.text(&message.id);
        w.key("role");
        w.string(message.role.as_bytes());
        w.key("content");
        w.text(&message.content);
        w.key("timestamp");
        w.scalar(message.timestamp);
        for (name, extra) in &message.extras {
            w.key(name);
            match extra {
                Extra::Text(text) => w.text(text),
                Extra::Json(json) => w.raw(Raw::known(json)),
            }
        }
        w.close(b'}');
        if self.buffer.len() >= BLOCK {
            self.to.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Close the body with a newline and give back what it was written to.
    pub fn end(mut self) -> io::Result<W> {
        let mut w = Writer::nested(&mut self.buffer, self.layout, LIST_DEPTH, self.empty);
        w.close(b']');
        w.close(b'}');
        w.close(b'}');
        self.buffer.push(b'\n');
        self.to.write_all(&self.buffer)?;
        Ok(self.to)
    }
}
