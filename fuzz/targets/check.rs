//! The rules and the readers of bodies: one verdict however the input is cut, and an accepted body is JSON.
#![no_main]

use curt_tools::curt::bodies::{Bodies, Judged};
use curt_tools::curt::check::{Checker, Header, Invalid};
use curt_tools::json::raw::Raw;
use libfuzzer_sys::fuzz_target;
use std::io::{self, Read};

fn in_blocks(body: &[u8], size: usize) -> Result<Header, Invalid> {
    let mut checker = Checker::new().with_header();
    body.chunks(size).try_for_each(|block| checker.feed(block))?;
    checker.finish()
}

/// Gives out so many bytes at a time.
struct Slow<'a>(&'a [u8], usize);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.len().min(self.1).min(buffer.len());
        let (given, rest) = self.0.split_at(count);
        buffer[..count].copy_from_slice(given);
        self.0 = rest;
        Ok(count)
    }
}

fn all(input: &[u8], size: usize) -> Vec<Judged> {
    let mut bodies = Bodies::or_lines(Slow(input, size)).with_header();
    std::iter::from_fn(|| bodies.next().unwrap()).collect()
}

fuzz_target!(|input: (u8, &[u8])| {
    let (size, body) = input;
    let size = usize::from(size) + 1;
    let whole = in_blocks(body, body.len().max(1));
    assert_eq!(in_blocks(body, size), whole);
    if let Ok(header) = &whole {
        let text = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        let conversation = Raw::parse(text).unwrap().get("conversation").unwrap();
        assert_eq!(conversation.get("id").unwrap().bytes(), header.id);
        assert_eq!(conversation.get("title").unwrap().bytes(), header.title);
        assert_eq!(conversation.get("createdAt").unwrap().number(), Some(header.created_at));
        assert_eq!(conversation.get("updatedAt").unwrap().number(), Some(header.updated_at));
    }
    assert_eq!(all(body, size), all(body, usize::MAX));
});
