//! Where a program meets the system: its command line, its messages, its exit status, its death by a
//! closed pipe. Used by `src/bin` alone; nothing here knows what a conversation is.

pub mod argv;
pub mod machine;
pub mod progress;
pub mod report;
pub mod shell;
