//! The record of instruction counts: what `make bench-check` accepts and what it refuses.

// Only the benchmark reads and writes the record and queries the versions of the tools.
#[path = "../benches/instructions/mod.rs"]
#[allow(dead_code)]
mod instructions;

use instructions::{Count, Record, Tools, judge};

fn tools() -> Tools {
    Tools { rustc: "rustc 1".into(), valgrind: "valgrind 3".into(), machine: "x86_64-linux with AVX2".into() }
}

const fn count(instructions: u64, segments: u64) -> Count {
    Count { instructions, segments }
}

/// 2 % of 50 000 are 1000.
#[test]
fn a_count_may_change_by_two_percent() {
    let now = |n| judge(count(50_000, 100), count(n, 100));
    assert_eq!([now(51_000), now(49_000), now(50_000)], ["", "", ""]);
    assert_eq!(now(51_001), "MORE than recorded");
    assert!(now(48_999).starts_with("LESS"));
    let other = judge(count(50_000, 100), count(55_000, 110));
    assert!(other.ends_with("110 segments instead of 100, 500 instructions each instead of 500"), "{other}");
}

#[test]
fn counts_of_other_tools_are_not_compared() {
    let record = Record { tools: tools(), cases: vec![("dumbbell1".into(), count(7, 1))] };
    assert_eq!(record.comparable_with(&tools()), Ok(()));
    for other in [
        Tools { rustc: "rustc 2".into(), ..tools() },
        Tools { valgrind: "valgrind 4".into(), ..tools() },
        Tools { machine: "x86_64-linux without AVX2".into(), ..tools() },
    ] {
        let message = record.comparable_with(&other).unwrap_err();
        assert!(message.starts_with("nothing was compared") && message.contains("rustc 1"), "{message}");
    }
}

#[test]
fn a_record_reads_back_and_a_broken_one_names_the_key() {
    let cases = vec![("b".to_owned(), count(2, 3)), ("a".to_owned(), count(1, 4))];
    let record = Record { tools: tools(), cases };
    let text = record.to_text().unwrap();
    let back = Record::parse(&text).unwrap();
    assert_eq!(
        (back.count("a"), back.count("b"), back.count("c")),
        (Some(count(1, 4)), Some(count(2, 3)), None)
    );
    assert_eq!(back.tools, record.tools);
    for (from, to, key) in [
        ("\"rustc\"", "\"gcc\"", "rustc"),
        (": 2", ": \"2\"", "`b.instructions`"),
        ("\"cases\"", "\"x\"", "cases"),
    ] {
        let message = Record::parse(&text.replace(from, to)).unwrap_err();
        assert!(message.contains(key), "{message}");
    }
}

/// The record in the repository lists each case once, with a count.
#[test]
fn the_record_is_complete() {
    let record = Record::parse(include_str!("../benches/instructions.json")).unwrap();
    let source = include_str!("../benches/scenarios.rs");
    for name in record.names() {
        assert!(source.contains(&format!("name: \"{name}\"")), "{name} is no case");
    }
    let with_short = source.matches("short: Some").count();
    assert_eq!(record.cases.len(), with_short - 1, "all short forms but that of sectors57");
}
