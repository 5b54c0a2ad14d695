//! What only this machine knows, for the lake's events: its name, and bits that nobody else has drawn.

use std::env;
use std::fs;
use std::hash::{BuildHasher, RandomState};

/// The machine's name, as the other writers of the lake find it.
pub fn name() -> String {
    let of_environment = ["HOSTNAME", "COMPUTERNAME"].into_iter().filter_map(|key| env::var(key).ok());
    let of_file = || fs::read_to_string("/etc/hostname").ok();
    let mut names = of_environment.chain(std::iter::once_with(of_file).flatten());
    let name = names.find_map(|name| Some(name.trim().to_owned()).filter(|name| !name.is_empty()));
    name.unwrap_or_else(|| "unknown-host".to_owned())
}

/// 128 bits, drawn anew each time.
pub fn entropy() -> u128 {
    let draw = || u128::from(RandomState::new().hash_one(0));
    draw() << 64 | draw()
}
