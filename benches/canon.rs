//! `json::canon::document` with simd-json's tape against the exact path alone, on documents of the
//! three shapes that tool results have. Prints one JSON object a shape: bytes, and how many times as
//! fast the tape is (median of pairs). Run: `cargo bench --bench canon`
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use curt_tools::json::canon::{canonical, document};
use curt_tools::json::raw::Raw;
use std::hint::black_box;
use std::time::{Duration, Instant};

const BYTES: usize = 20_000_000;
const PAIRS: usize = 9;

fn main() {
    let words = r#"words and words \n and a quote \" here "#;
    let item = r#"{"id": 7, "name": "item seven", "tags": ["a", "b"], "ok": true}"#;
    let shapes = [
        ("one line of output", format!(r#"{{"output": "{words}", "exit_code": 0, "error": null}}"#)),
        ("a page of output", format!(r#"{{"output": "{}", "exit_code": 1}}"#, words.repeat(500))),
        ("a list of 100 objects", format!(r#"{{"items": [{}], "total": 100}}"#, [item; 100].join(", "))),
    ];
    for (shape, text) in shapes {
        let rounds = BYTES / text.len();
        let mut ratios: Vec<f64> = (0..PAIRS)
            .map(|_| {
                let exact = time(rounds, || {
                    let mut out = Vec::with_capacity(text.len());
                    canonical(Raw::parse(text.as_bytes()).unwrap(), &mut out).unwrap();
                    out
                });
                let tape = time(rounds, || document(text.as_bytes()).unwrap());
                exact.as_secs_f64() / tape.as_secs_f64()
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        let [low, median, high] = [0, PAIRS / 2, PAIRS - 1].map(|at| ratios.get(at).copied().unwrap_or(0.0));
        println!(
            r#"{{"shape":"{shape}","bytes":{},"times_as_fast":{median:.2},"from":{low:.2},"to":{high:.2}}}"#,
            text.len()
        );
    }
}

fn time(rounds: usize, mut work: impl FnMut() -> Vec<u8>) -> Duration {
    let start = Instant::now();
    for _ in 0..rounds {
        black_box(work());
    }
    start.elapsed()
}
