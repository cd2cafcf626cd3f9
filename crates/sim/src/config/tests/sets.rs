//! `--set`, and documents that programs change.

use super::*;

/// GOOD with `sets`, read.
fn with(sets: &[&str]) -> Result<Spec, Diagnostics> {
    let mut doc = Document::parse(GOOD, "a.toml")?;
    for set in sets {
        doc.apply_set(set)?;
    }
    doc.read()
}

fn refused(set: &str) -> String {
    with(&[set]).unwrap_err().to_string()
}

#[test]
fn values_are_toml_and_bare_words_are_text() {
    let spec = with(&[
        "flow.ftp.tcp.cc=reno",
        "scenario.duration = 10 ms",
        "scenario.seed=0xff",
        "scenario.name=\"a b\"",
        "flow.ftp.tcp.sack=true",
        "flow.voice.tcp.gain=0.5",
        "link.wired.between=[\"x\", \"y\"]",
        "at.0.t=\"5 s\"",
        "at.0.set.\"flow.ftp.to\"=z",
    ])
    .unwrap();
    assert_eq!(spec.flow["ftp"].tcp.cc, Cc::Reno);
    assert_eq!(spec.scenario.duration, Duration::from_millis(10));
    assert_eq!(
        (spec.scenario.seed, spec.scenario.name.as_str(), spec.flow["ftp"].tcp.sack),
        (255, "a b", true)
    );
    assert_eq!(spec.flow["voice"].tcp.gain, 0.5);
    assert_eq!(spec.link["wired"].between, ["x", "y"]);
    assert_eq!(spec.at[0].t, Duration::from_secs(5));
    assert_eq!(spec.at[0].set["flow.ftp.to"], "z");
}

#[test]
fn a_key_below_a_bare_name_makes_it_a_table_of_that_kind() {
    let spec = with(&["flow.ftp.app=cbr", "flow.ftp.app.rate=1 Mbit/s", "link.wired.queue.kind=unlimited"]);
    let text = spec.unwrap_err().to_string();
    assert!(text.starts_with("error: unknown key `packets`\n  --> a.toml:10:31"), "{text}");
    let spec =
        with(&["flow.ftp.app=cbr", "flow.ftp.app.rate=1 Mbit/s", "link.wired.queue=unlimited"]).unwrap();
    assert_eq!(spec.flow["ftp"].app, App::Cbr(Cbr { rate: Bitrate(1_000_000), packet: Bytes(1000) }));
    assert_eq!(spec.link["wired"].queue, Queue::Unlimited);
}

#[test]
fn a_wrong_value_is_shown_in_the_set_that_wrote_it() {
    assert_eq!(
        refused("flow.ftp.tcp.cc=renoo"),
        "\
error: unknown name \"renoo\"
--> --set:1:17
 |
 | flow.ftp.tcp.cc=renoo
 |                 ^^^^^
 |
 = help: did you mean `reno`?"
    );
    assert_eq!(
        refused("flow.fpt.tcp.cc=reno"),
        "\
error: there is no `flow.fpt`
--> --set:1:6
 |
 | flow.fpt.tcp.cc=reno
 |      ^^^
 |
 = help: did you mean `flow.ftp`?"
    );
    let errors = with(&["scenario.seed=3", "scenario.sede=3"]).unwrap_err();
    assert_eq!((errors.0[0].set, errors.0[0].column), (Some(2), Some(10)));
}

#[test]
fn broken_sets_are_refused_in_words() {
    let first = |set: &str| refused(set).lines().next().unwrap_or_default().to_owned();
    assert_eq!(first("a"), "error: there is no `=` and no value");
    assert_eq!(first("a="), "error: there is no value after the `=`");
    assert_eq!(first("=3"), "error: a key is missing in the path");
    assert_eq!(first(""), "error: a key is missing in the path");
    assert_eq!(first("a..b=3"), "error: a key is missing in the path");
    assert_eq!(first("x={"), "error: unclosed inline table, expected `}`");
    assert_eq!(first("at.3.t=3"), "error: `at` has no element 3: they are numbered from 0 to 0");
    assert_eq!(first("at.x.t=3"), "error: `at` is a list: `x` is not the number of an element");
    assert_eq!(
        first("scenario.seed.x=3"),
        "error: `scenario.seed` is the number 18446744073709551615, it has no keys"
    );
    let deep = format!("{}=3", vec!["a"; 2000].join("."));
    assert_eq!(first(&deep), "error: tables are nested more than 48 levels deep");
}

#[test]
fn a_refused_set_changes_nothing() {
    let mut doc = Document::parse(GOOD, "a.toml").unwrap();
    let before = doc.to_toml();
    assert!(doc.apply_set("flow.new.at.0=").is_err() && doc.apply_set("scenario.seed.x=1").is_err());
    assert_eq!(doc.to_toml(), before);
}

#[test]
fn a_slip_in_the_name_of_a_table_is_reported_as_one_and_a_new_table_is_not() {
    let errors_of = |sets: &[&str]| {
        let mut doc = Document::parse(GOOD, "a.toml").unwrap();
        sets.iter().for_each(|s| doc.apply_set(s).unwrap());
        doc.read::<Spec>().unwrap_err().0
    };
    let errors = errors_of(&["flow.fpt.tcp.cc=reno"]);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].message, "there is no `flow.fpt`");
    assert_eq!(errors[0].help.as_deref(), Some("did you mean `flow.ftp`?"));
    assert_eq!((errors[0].file.as_str(), errors[0].column), ("--set", Some(6)));
    // The name is far from every other one, so it is a new table, which lacks a key.
    assert_eq!(
        errors_of(&["flow.download.to=ue"])[0].message,
        "the key `from` is missing in `flow.download`"
    );
}

#[test]
fn programs_insert_and_look_up_by_path() {
    let mut doc = Document::parse(GOOD, "a.toml").unwrap();
    doc.insert("flow.ftp.tcp.iw", 10_u64).unwrap();
    doc.insert("flow.\"my flow\".to", "ue").unwrap();
    assert_eq!(doc.get("flow.ftp.tcp.iw").unwrap().value, Value::Integer(10));
    assert_eq!(doc.get("flow.\"my flow\".to").and_then(Node::as_str), Some("ue"));
    assert!(doc.get("flow.none").is_none() && doc.get("flow.").is_none() && doc.get("flow=").is_none());
    let errors = doc.read::<Spec>().unwrap_err();
    assert_eq!(errors.0[0].message, "the key `from` is missing in `flow.\"my flow\"`");
    assert!(doc.insert("scenario.seed.x", true).is_err());
}

#[test]
fn a_later_change_keeps_the_line_that_wrote_it() {
    let mut doc = Document::parse(&GOOD.replace("10 %", "10 ms"), "a.toml").unwrap();
    let changes = doc.get("at.0.set").and_then(Node::as_table).unwrap().clone();
    for (path, value) in changes.iter() {
        assert_eq!(value.value.to_string(), "\"10 ms\"");
        doc.insert(path, value.clone()).unwrap();
    }
    let errors = doc.read::<Spec>().unwrap_err();
    assert_eq!(errors.0[0].key.as_deref(), Some("link.radio.loss"));
    assert_eq!((errors.0[0].line, errors.0[0].column), (Some(33), Some(29)));
}
