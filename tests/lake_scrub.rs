//! lake-scrub: what it takes out, and what it leaves.

use super::common::{Cmd, Dir, sh};

fn quoted(text: &str) -> String {
    text.chars().fold("\"".to_owned(), |out, c| match c {
        '"' | '\\' => out + "\\" + &c.to_string(),
        '\n' => out + "\\n",
        c => out + &c.to_string(),
    }) + "\""
}

fn line(kind: &str, more: &str) -> String {
    format!(
        "{{\"schema_version\":1,\"event_id\":\"01\",\"emitted_at\":\"2026-11-01T08:00:00.000Z\",\"fleet_id\":\"f\",\
         \"agent_id\":\"a\",\"runtime\":\"hermes\",\"host_id\":\"h\",\"session_id\":\"s\",\"event_type\":\"{kind}\",\
         {more},\"redaction\":{{}},\"imported\":true}}\n"
    )
}

fn prompt(token: &str) -> String {
    line("prompt", &format!("\"role\":\"user\",\"content\":{token},\"content_hash\":\"\""))
}

fn tool(input: &str, result: &str, paths: &str) -> String {
    let (input, result) = (quoted(input), quoted(result));
    line(
        "tool_call",
        &format!(
            "\"content_hash\":\"\",\"tool\":{{\"name\":\"t\",\"input\":{input},\"input_hash\":\"\",\"result\":{result}{paths}}}"
        ),
    )
}

#[track_caller]
fn scrubbed(line: &str) -> String {
    String::from_utf8(Cmd::new("lake-scrub").stdin(line).run().ok().stdout.clone()).unwrap()
}

const KEY: &str = "AKIAIOSFODNN7EXAMPLE";

#[test]
fn b01_a_text_of_three_kinds_loses_all_three() {
    let out = scrubbed(&prompt("\"db postgres://me:hunter2@db ssn 123-45-6789 card 4111 1111 1111 1111.\""));
    assert!(out.contains(
        "\"db postgres://me:[ctxlake:redacted]@db ssn [ctxlake:redacted-ssn] card [ctxlake:redacted-card].\""
    ), "{out}");
    assert!(
        out.contains(
            "{\"status\":\"redacted\",\"rules_fired\":[\"uri_credentials\",\"card_number\",\"ssn\"]}"
        ),
        "{out}"
    );
}

#[test]
fn b02_a_key_is_found_at_the_start_at_300_kib_and_at_the_end_of_2_mib() {
    for at in [0, 300 << 10, (2 << 20) - 21] {
        let text = format!("{} {KEY} {}", "x ".repeat(at / 2), "y ".repeat(((2 << 20) - at) / 2));
        let out = scrubbed(&prompt(&quoted(&text)));
        assert!(!out.contains("AKIA") && out.len() < 1000, "{at}: {}", out.len());
        assert!(out.contains("\"quarantined\",\"rules_fired\":[\"aws_access_key_id\"]"), "{at}");
    }
    let ssn = format!("{} 123-45-6789", "x ".repeat(1 << 20));
    let out = scrubbed(&prompt(&quoted(&ssn)));
    assert!(out.contains("...[ctxlake:truncated]\"") && out.contains("\"ssn\"") && !out.contains("6789"));
    assert_eq!(scrubbed(&out), out);
}

#[test]
fn b03_a_large_write_to_a_denied_path_is_withheld() {
    let input =
        format!("{{\"content\":\"{}\",\"path\":\"/home/me/.aws/credentials\"}}", "hush ".repeat(300_000));
    let out = scrubbed(&tool(&input, "written hush", ",\"paths\":[\"x\"]"));
    assert!(!out.contains("hush") && out.contains("denied path /home/me/.aws/credentials]"), "{}", out.len());
    assert!(
        out.contains("\"quarantined\",\"rules_fired\":[\"denied_path\"]") && out.contains("\"name\":\"t\"")
    );
}

#[test]
fn b19_words_are_no_secrets() {
    for text in [
        "the task-list, risk-free disk-usage mask-rom of task-0123456789abcdef0123",
        "ASIA, a PRIVATE KEY, Authorization: see below, ANTHROPIC_API_KEY must be set",
        "MSG.0123456789abcdef0123 npm_config_registry_0123456789 1763000100250 1700000000000",
        "order 20261101080000 at 415-555-0134, 94105-1234, 900-12-3456",
        "postgres://db.example.com:5432/x https://github.com/a/b v1.2.3 test result: ok. 12 passed",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709 MSG.txt \"MSG. Something\" hf_size Bearer token",
    ] {
        let event = prompt(&quoted(text));
        let out = scrubbed(&event);
        assert!(out.contains(&quoted(text)) && out.contains("{\"status\":\"clean\"}"), "{text}\n{out}");
    }
    for path in ["src/.envelope", ".env.example", ".keyboard/.keys", "notes/vault/day.md", "id_rsa.pub"] {
        let out = scrubbed(&tool(&format!("{{\"path\":\"{path}\"}}"), "fine", ""));
        assert!(out.contains("\"clean\""), "{path}: {out}");
    }
}

#[test]
fn b20_secrets_are_found_however_they_are_spelled() {
    for path in [
        ".aws/credentials",
        "C:\\\\Users\\\\me\\\\.AWS\\\\Credentials",
        "/x/.ssh/id_ed25519",
        "~/.netrc",
        ".npmrc",
        "/etc/secrets/token",
        "/home/me/.docker/config.json",
        "/home/me/.kube/config",
        "/var/vault/approle",
        ".env",
        "x/.env.production",
        "tls/Server.KEY",
    ] {
        let out = scrubbed(&tool(&format!("{{\"path\":\"{path}\"}}"), "hush", ""));
        assert!(out.contains("\"denied_path\"") && !out.contains("hush"), "{path}: {out}");
    }
    for command in ["cat ~/.aws/credentials", "base64 <'.env'|wc", "cat .ne\\\"\\\"trc; cat /home/me/.netrc"]
    {
        let out = scrubbed(&tool(&format!("{{\"command\":\"{command}\"}}"), "hush", ""));
        assert!(out.contains("\"denied_path\"") && !out.contains("hush"), "{command}: {out}");
    }
    for (text, secret) in [
        ("redis://:pa/ss?x@host/0", "pa/ss"),
        ("amqp://me:p@ss@host", "ss@"),
        ("12/27 4111 1111 1111 1111 123", "4111"),
        ("card:4111-1111-1111-1111.", "4111"),
        ("3782 822463 10005", "8224"),
    ] {
        let out = scrubbed(&prompt(&quoted(text)));
        assert!(!out.contains(secret) && out.contains("\"redacted\""), "{text}: {out}");
    }
}

#[test]
fn b20_no_hash_of_what_was_withheld_or_of_what_was_given_is_left() {
    let out = scrubbed(&tool(KEY, "x", ""));
    assert!(out.contains("[ctxlake: withheld, 20 bytes]"), "{out}");
    // SHA-256 of the placeholder, by sha256sum(1).
    assert!(out.contains("sha256:") && out.matches("sha256:").count() == 2);
}

#[test]
fn b21_hashes_are_of_what_stands_in_the_event() {
    let dir = Dir::new("hash");
    dir.write("in", tool("ssn 123-45-6789", "r", ""));
    let want =
        sh(&dir, "printf 'ssn [ctxlake:redacted-ssn]' | sha256sum | cut -d' ' -f1").ok().stdout.clone();
    let out = scrubbed(&String::from_utf8(dir.read("in")).unwrap());
    assert!(
        out.contains(&format!("\"input_hash\":\"sha256:{}\"", String::from_utf8(want).unwrap().trim())),
        "{out}"
    );
}

#[test]
fn escapes_hide_nothing() {
    let escaped = format!("\\u0041{}", &KEY[1..]);
    assert!(scrubbed(&prompt(&format!("\"{escaped}\""))).contains("aws_access_key_id"));
    let nested = format!("{{\"text\":\"{escaped}\",\"n\":1}}");
    assert!(scrubbed(&tool(&nested, "x", "")).contains("aws_access_key_id"));
    let lines = format!("{{\"text\":\"a\\n{KEY}\"}}");
    assert!(scrubbed(&tool("x", &lines, "")).contains("aws_access_key_id"));
    assert!(scrubbed(&tool("x", &format!("log: a\\n{KEY}"), "")).contains("aws_access_key_id"));
}

#[test]
fn entropy_counts_in_tools_alone() {
    let run = "q7Zk2pXw9LmVb4Rt8NcYh1GfDs6JuTa3EoQi5BxK";
    assert!(scrubbed(&prompt(&quoted(run))).contains("\"clean\""));
    let out = scrubbed(&tool("x", run, ""));
    assert!(!out.contains(run) && out.contains("\"result\":\"[ctxlake:redacted-secret]\""), "{out}");
}

#[test]
fn what_is_no_event_is_named_and_never_passed_on() {
    let good = prompt("\"hello\"");
    let run = Cmd::new("lake-scrub").stdin(format!("hush {KEY}\n{{}}\n[]\n{good}")).run().status(1);
    assert_eq!(run.stderr.lines().count(), 3);
    assert!(
        run.stderr.starts_with("lake-scrub: -:1: not an event") && !run.stderr.contains(KEY),
        "{}",
        run.stderr
    );
    assert_eq!(String::from_utf8(run.stdout.clone()).unwrap().lines().count(), 1);
}

#[test]
fn the_rules_are_printed_with_what_they_find() {
    let dir = Dir::new("rules");
    let text = String::from_utf8(sh(&dir, "lake-scrub --rules").ok().stdout.clone()).unwrap();
    assert!(text.lines().count() > 40 && text.lines().all(|line| line.split('\t').count() == 6), "{text}");
}
