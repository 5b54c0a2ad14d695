//! What can be wrong with a transcript: one table of faults, how grave each is, and its words.
//!
//! The words never hold anything of the transcript: it is private, and the line says where to look.

use super::shape::Shape;
use crate::json::write::{Layout, Writer};
use std::fmt;

/// Which rules hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// For any file that Claude Code wrote: only what makes the graph unreadable is an error. Forks,
    /// several roots, missing parents, unknown records are everyday.
    Real,
    /// For generated files: one straight chain a conversation, every field in its place.
    Strict,
}

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The input breaks the rules.
    Error,
    /// Readers disagree on it, or lose something.
    Warning,
}

/// One thing that is wrong, at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The line, counted from 1; 0 is the input as a whole.
    pub line: u64,
    /// By [`Fault::severity`].
    pub severity: Severity,
    /// What is wrong.
    pub fault: Fault,
}

impl fmt::Display for Finding {
    /// The reason, after `warning: ` where it is one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.severity {
            Severity::Error => self.fault.fmt(f),
            Severity::Warning => write!(f, "warning: {}", self.fault),
        }
    }
}

macro_rules! faults {
    ($($(#[doc = $doc:literal])+ $name:ident $({ $($field:ident : $type:ty),+ })? = $words:literal,)+) => {
        /// Everything that can be wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the fields are named by the words")]
        pub enum Fault { $($(#[doc = $doc])+ $name $({ $($field: $type),+ })?,)+ }

        impl fmt::Display for Fault {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(Fault::$name $({ $($field),+ })? => write!(f, $words),)+ }
            }
        }
    };
}

faults! {
    // The text of a line.
    /// Undecodable.
    NotJson { column: u64 } = "not JSON at byte {column}",
    /// Undecodable, and the last one: whoever wrote it was stopped.
    Truncated = "last line is not JSON to its end",
    /// Skipped unread.
    TooLong = "line is longer than the limit",
    /// `}{`
    Joined = "several objects on one line",
    /// U+FEFF
    Bom = "begins with a byte order mark",
    /// Bytes that decode to no character.
    NotUtf8 = "not UTF-8",
    /// `null`, `42`, `[…]`, `"…"`
    NotObject = "not a JSON object",
    /// CRLF line ends, mostly.
    CarriageReturn = "carriage return outside a string",
    /// An empty line, or one of white space.
    Blank = "blank line",
    /// The last line has no line end.
    NoNewline = "no newline at the end",
    /// An object with a key twice.
    DuplicateKey = "an object has the same key twice",

    // The graph.
    /// No record with a place in the graph.
    NoChain = "no chain: no line with a uuid",
    /// Parents lead back to where they started.
    Cycle { length: u64 } = "cycle: its parents lead back to it ({length} in the round)",
    /// One uuid, two records.
    OtherContent { first: u64 } = "same uuid as line {first}, other content",
    /// The parent of a user or assistant line is nowhere.
    OrphanParent = "parentUuid names no line",
    /// A second beginning that nothing explains.
    ExtraRoot = "another root",
    /// A line and its parent, or the line before, are of different sessions.
    OtherSession = "sessionId changes along the chain",
    /// A result of a call that was not made before.
    OrphanResult = "tool_result without an earlier tool_use",

    // The further rules for generated files.
    /// `type`
    Type = "type is not user, assistant or system",
    /// A record that holds the title
    Title = "a title that is no text, or not of the conversation before it",
    /// `uuid`
    Uuid = "uuid is not a lower-case UUID",
    /// `uuid` again
    SameUuid { first: u64 } = "same uuid as line {first}",
    /// `parentUuid` of a conversation's first line
    FirstParent = "first line of a conversation, but parentUuid is not null",
    /// `parentUuid` of every other line
    NotPrevious = "parentUuid is not the uuid of the line before",
    /// The key `parentUuid` is missing
    NoParent = "no parentUuid",
    /// `sessionId`
    Session = "sessionId is not a string",
    /// A conversation is taken up again, or stands there twice.
    SessionAgain = "this sessionId was there before, in another conversation",
    /// `isSidechain`
    Sidechain = "isSidechain is not false",
    /// `userType`
    UserType = "userType is not \"external\"",
    /// `cwd`
    Cwd = "cwd is not a string",
    /// `gitBranch`
    Branch = "gitBranch is not a string",
    /// `version`
    Version = "version is not a string",
    /// `timestamp`
    Timestamp = "timestamp is not an instant like 2026-01-31T23:59:59.000Z",
    /// `timestamp` against the line before
    Backwards = "timestamp goes backwards",
    /// `message`
    Message = "message is not an object",
    /// `message.role`
    Role = "message.role is not the type",
    /// `message.content` of a user
    Content = "message.content is neither a string nor an array",
    /// `message.content` of an assistant
    NoBlocks = "message.content is not a non-empty array",
    /// An item of `message.content`
    Block = "a content block is not an object",
    /// `tool_use.id`
    ToolId = "a tool_use has no id",
    /// `tool_use.id` again
    SameToolId { first: u64 } = "same tool_use id as line {first}",
    /// `tool_use.input`
    Input = "the input of a tool_use is not an object",
    /// `tool_result.tool_use_id`
    ResultId = "a tool_result has no tool_use_id",
    /// A call that nothing answered.
    NoResult = "tool_use without a tool_result",
    /// `message.stop_reason`
    StopReason = "unknown stop_reason",
}

impl Fault {
    /// How grave it is under these rules.
    pub fn severity(self, mode: Mode) -> Severity {
        use Fault::*;
        match (self, mode) {
            (Truncated | OrphanParent | ExtraRoot | OrphanResult | Backwards | NoResult | StopReason, _)
            | (Joined | Bom | NotUtf8 | NotObject | OtherSession, Mode::Real) => Severity::Warning,
            _ => Severity::Error,
        }
    }
}

/// How many findings of one severity a report lists. More are counted, so that memory is bounded when
/// someone checks what is no transcript at all.
pub const MOST_LISTED: u64 = 10_000;

/// The verdicts on one input.
#[derive(Clone, Debug)]
pub struct Report {
    mode: Mode,
    /// By line; those of one line in the order of their discovery.
    pub findings: Vec<Finding>,
    /// How many errors there are, listed or not.
    pub errors: u64,
    /// How many warnings there are, listed or not.
    pub warnings: u64,
    /// Records with a place in the graph, each uuid once.
    pub nodes: u64,
    /// Nodes without a parent. In a strict report every conversation has one.
    pub roots: u64,
    /// Nodes with more than one child.
    pub forks: u64,
    /// Nodes with a parent that is nowhere.
    pub orphans: u64,
    /// Lines, blank ones too.
    pub lines: u64,
    /// What the graph looks like; of a real transcript.
    pub shape: Option<Shape>,
}

impl Report {
    pub(super) fn new(mode: Mode) -> Self {
        Report {
            mode,
            findings: Vec::new(),
            errors: 0,
            warnings: 0,
            nodes: 0,
            roots: 0,
            forks: 0,
            orphans: 0,
            lines: 0,
            shape: None,
        }
    }

    pub(super) fn add(&mut self, line: u64, fault: Fault) {
        let severity = fault.severity(self.mode);
        let count = match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        *count += 1;
        if *count <= MOST_LISTED {
            self.findings.push(Finding { line, severity, fault });
        }
    }

    pub(super) fn sorted(mut self) -> Self {
        self.findings.sort_by_key(|finding| finding.line);
        self
    }

    /// The same report for a caller to whom every warning is an error.
    pub fn with_warnings_as_errors(mut self) -> Self {
        self.errors += std::mem::take(&mut self.warnings);
        self.findings.iter_mut().for_each(|finding| finding.severity = Severity::Error);
        self
    }

    /// The report for programs, one line of JSON, as cc-chain-check(1) lists its fields; `file` is what messages
    /// call the input.
    pub fn json(&self, file: &str) -> Vec<u8> {
        let mut out = Vec::new();
        let mut object = Writer::new(&mut out, Layout::Line);
        object.open(b'{');
        object.key("file");
        object.string(file.as_bytes());
        object.key("ok");
        object.scalar(self.errors == 0);
        for (name, count) in [
            ("lines", self.lines),
            ("records", self.nodes),
            ("errors", self.errors),
            ("warnings", self.warnings),
        ] {
            object.key(name);
            object.scalar(count);
        }
        if let Some(shape) = &self.shape {
            shape.write(&mut object);
        }
        object.key("findings");
        object.open(b'[');
        for finding in &self.findings {
            object.open(b'{');
            object.key("line");
            object.scalar(finding.line);
            object.key("severity");
            object.string(if finding.severity == Severity::Error { b"error" } else { b"warning" });
            object.key("reason");
            object.string(finding.fault.to_string().as_bytes());
            object.close(b'}');
        }
        object.close(b']');
        object.close(b'}');
        out.push(b'\n');
        out
    }

    /// How many findings of this severity were counted but not listed.
    pub fn unlisted(&self, severity: Severity) -> u64 {
        let all = if severity == Severity::Error { self.errors } else { self.warnings };
        let listed = self.findings.iter().filter(|finding| finding.severity == severity).count() as u64;
        all.saturating_sub(listed)
    }
}

impl fmt::Display for Report {
    /// The graph in one line: `12 records, 1 root, 2 forks, 0 orphans`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts =
            [(self.nodes, "record"), (self.roots, "root"), (self.forks, "fork"), (self.orphans, "orphan")];
        for (at, (count, noun)) in counts.into_iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            let plural = if count == 1 { "" } else { "s" };
            write!(f, "{comma}{count} {noun}{plural}")?;
        }
        Ok(())
    }
}
