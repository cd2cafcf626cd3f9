//! Messages that the user gets for an invalid file.

use super::*;

#[test]
fn a_good_scenario_is_read() {
    let spec = read(GOOD).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(spec.scenario.seed, u64::MAX);
    assert_eq!(spec.link.keys().collect::<Vec<_>>(), ["wired", "radio"]);
    assert_eq!(spec.link["radio"].queue, Queue::Sized(Bytes(65_536)));
    assert_eq!(spec.flow["ftp"].app, App::Bulk);
}

#[test]
fn a_misspelt_key_is_underlined_and_the_right_one_offered() {
    assert_eq!(
        complaints("[scenario]\nname = \"a\"\nsead = 3\n"),
        "\
error: unknown key `sead`
 --> a.toml:3:1
  |
3 | sead = 3
  | ^^^^
  |
  = help: did you mean `seed`?"
    );
}

#[test]
fn for_a_key_like_no_other_all_keys_are_listed() {
    let text = complaints("[scenario]\nname = \"a\"\ncolour = 3\n");
    assert!(text.ends_with("= help: known keys: `name`, `duration`, `seed`, `runs`"), "{text}");
}

#[test]
fn a_number_without_unit_and_other_types_are_reported_in_plain_words() {
    assert_eq!(
        complaints("[scenario]\nname = 7\nduration = 10\nseed = \"x\"\nruns = 300\n"),
        "\
error: expected text; found the number 7
 --> a.toml:2:8
  |
2 | name = 7
  |        ^

error: `10` has no unit: a time is written like `10 ms`
 --> a.toml:3:12
  |
3 | duration = 10
  |            ^^
  |
  = help: units: ns, us, \u{b5}s, ms, s, min, h

error: expected a whole number from 0 to 18446744073709551615; found the text \"x\"
 --> a.toml:4:8
  |
4 | seed = \"x\"
  |        ^^^

error: the number 300 is out of range: expected a whole number from 0 to 255
 --> a.toml:5:8
  |
5 | runs = 300
  |        ^^^"
    );
    let text = complaints("[scenario]\nname = \"a\"\nduration = true");
    assert!(
        text.starts_with("error: expected a time as text with its unit, such as \"10 ms\"; found `true`")
    );
}

#[test]
fn a_list_is_no_table() {
    assert_eq!(
        complaints(
            "scenario = [\"a\", \"1 s\"]\nat = [[\"1 s\"]]\n[link]\nl = [[\"a\", \"b\"], \"1 Mbit/s\"]\n"
        ),
        "\
error: expected a table; found a list
 --> a.toml:1:12
  |
1 | scenario = [\"a\", \"1 s\"]
  |            ^^^^^^^^^^^^

error: expected a table; found a list
 --> a.toml:2:7
  |
2 | at = [[\"1 s\"]]
  |       ^^^^^^^

error: expected a table; found a list
 --> a.toml:4:5
  |
4 | l = [[\"a\", \"b\"], \"1 Mbit/s\"]
  |     ^^^^^^^^^^^^^^^^^^^^^^^^"
    );
}

#[test]
fn unknown_names_and_kinds_are_underlined() {
    assert_eq!(
        complaints(
            "[scenario]\nname = \"a\"\n[flow.x]\nfrom = \"a\"\nto = \"b\"\napp = { kind = \"bulkk\" }\n\
             tcp.cc = \"bbr\"\n[link.l]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\nqueue = 3\n"
        ),
        "\
error: unknown name \"bulkk\"
 --> a.toml:6:16
  |
6 | app = { kind = \"bulkk\" }
  |                ^^^^^^^
  |
  = help: did you mean `bulk`?

error: unknown name \"bbr\"
 --> a.toml:7:10
  |
7 | tcp.cc = \"bbr\"
  |          ^^^^^
  |
  = help: known names: `reno`, `cubic`, `vegas`

error: expected a name, or a table with a `kind`; found the number 3
  --> a.toml:11:9
   |
11 | queue = 3
   |         ^
   |
   = help: known names: `unlimited`, `drop-tail`, `sized`"
    );
}

#[test]
fn a_missing_key_is_shown_at_the_header_of_its_table() {
    assert_eq!(
        complaints("[scenario]\nname = \"a\"\n[flow.x]\nfrom = \"a\"\napp = \"cbr\"\n"),
        "\
error: the key `to` is missing in `flow.x`
 --> a.toml:3:1
  |
3 | [flow.x]
  | ^^^^^^^^

error: the key `rate` is missing in `flow.x.app`
 --> a.toml:5:7
  |
5 | app = \"cbr\"
  |       ^^^^^
  |
  = help: write `{ kind = \"cbr\", rate = ... }`"
    );
    assert_eq!(complaints(""), "error: the key `scenario` is missing\n--> a.toml");
}

#[test]
fn the_consequence_of_a_mistake_is_not_a_second_mistake() {
    let text = complaints("[scenario]\nnane = \"a\"\n[flow.x]\nfrom = 3\nto = \"b\"\n");
    assert_eq!(text.matches("error:").count(), 2, "{text}");
    assert!(text.contains("did you mean `name`?") && !text.contains("missing"), "{text}");
}

#[test]
fn a_unit_variant_takes_no_keys_and_a_wrapped_value_no_others() {
    let base = "[scenario]\nname = \"a\"\n[link.l]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\nqueue = ";
    let text = complaints(&format!("{base}{{ kind = \"unlimited\", packets = 3 }}"));
    assert!(text.starts_with("error: unknown key `packets`\n --> a.toml:6:31"), "{text}");
    assert!(text.ends_with("= help: `unlimited` has no keys of its own"), "{text}");
    let text = complaints(&format!("{base}{{ kind = \"sized\", value = \"1 B\", packets = 3 }}"));
    assert!(text.starts_with("error: unknown key `packets`"), "{text}");
    let text = complaints(&format!("{base}{{ kind = \"sized\", vale = \"1 B\" }}"));
    assert!(text.starts_with("error: unknown key `vale`\n --> a.toml:6:27"), "{text}");
    assert!(text.ends_with("= help: did you mean `value`?"), "{text}");
    let text = complaints(&format!("{base}\"sized\""));
    assert!(text.ends_with("= help: write `{ kind = \"sized\", value = ... }`"), "{text}");
    let text = complaints(&format!("{base}{{ packets = 3 }}"));
    assert!(text.starts_with("error: the key `kind` is missing in `link.l.queue`"), "{text}");
    let text = complaints(&format!("{base}{{ kind = \"drop-tail\", packets = 0 }}"));
    assert!(text.contains("expected a whole number from 1 to 4294967295; found the number 0"), "{text}");
}

#[test]
fn all_syntax_errors_are_shown() {
    assert_eq!(
        complaints("[scenario]\nname = a b\nduration = 10 ms\nname = \"c\"\n"),
        "\
error: text must stand in quotes
 --> a.toml:2:8
  |
2 | name = a b
  |        ^^^
  |
  = help: write \"a b\"

error: text must stand in quotes
 --> a.toml:3:12
  |
3 | duration = 10 ms
  |            ^^^^^
  |
  = help: write \"10 ms\"

error: the key `name` is written twice
 --> a.toml:4:1
  |
4 | name = \"c\"
  | ^^^^
  |
  = help: keep one of the two"
    );
}

#[test]
fn a_check_by_meaning_points_at_its_value_key_or_nearest_parent() {
    let doc = Document::parse(GOOD, "a.toml").unwrap();
    let error = doc.error_at("flow.ftp.from", "no node `sever`").help("did you mean `server`?");
    assert_eq!(
        error.to_string(),
        "\
error: no node `sever`
  --> a.toml:19:8
   |
19 | from = \"server\"
   |        ^^^^^^^^
   |
   = help: did you mean `server`?"
    );
    let place = |d: Diagnostic| (d.line, d.column);
    assert_eq!(place(doc.error_at_key("flow.ftp.from", "")), (Some(19), Some(1)));
    assert_eq!(place(doc.error_at("flow.ftp.start", "")), (Some(18), Some(1)));
    assert_eq!(place(doc.error_at("at.0.set.\"link.radio.loss\"", "")), (Some(33), Some(29)));
    assert_eq!(place(doc.error_at("nothing.here", "")), (None, None));
    let warning = doc.warning_at("link.wired.queue.packets", "far below the bandwidth-delay product");
    assert!(warning.to_string().starts_with("warning: far below"));
}

#[test]
fn machines_read_the_same_diagnostic_as_json() {
    let errors = read("[scenario]\nname = \"a\"\nsead = 3\n").unwrap_err();
    assert_eq!(
        errors.to_json(),
        serde_json::json!([{
            "severity": "error", "message": "unknown key `sead`", "help": "did you mean `seed`?",
            "key": "scenario.sead", "file": "a.toml", "set": null, "line": 3, "column": 1, "span": [22, 26],
        }])
    );
    let coloured = errors.render(true);
    assert!(coloured.contains("\u{1b}[") && !errors.render(false).contains('\u{1b}'));
}
