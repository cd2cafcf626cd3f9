//! Hostile input: an error in bounded time, never a panic.

use std::time::Duration as Wall;

use proptest::prelude::*;

use super::*;

/// Parses and reads `bytes` and renders all messages. Returns the first message.
fn survive(bytes: &[u8]) -> String {
    let read = Document::from_bytes(bytes, "a.toml").and_then(|doc| {
        let _ = doc.to_toml();
        doc.read::<Spec>()
    });
    match read {
        Ok(_) => "good".to_owned(),
        Err(errors) => {
            let rendered = errors.render(true);
            assert!(rendered.len() < 1 << 20, "{} bytes of message", rendered.len());
            let _ = errors.to_json();
            errors.0[0].message.clone()
        }
    }
}

/// The same, in a thread with a small stack.
fn survive_in_time(bytes: Vec<u8>) -> String {
    let (sender, receiver) = std::sync::mpsc::channel();
    let work = move || sender.send(survive(&bytes));
    let worker = std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap();
    // A thread cannot be stopped, so a reader that does not end would hang the test. On a loaded
    // machine the answer has taken more than a minute; work that grows with the square of ten
    // megabytes takes a day.
    let message = receiver.recv_timeout(Wall::from_secs(1200)).expect("the reader ends");
    worker.join().unwrap().unwrap();
    message
}

#[test]
fn marks_line_ends_and_empty_files_are_harmless() {
    assert_eq!(survive(GOOD.replace('\n', "\r\n").as_bytes()), "good");
    assert_eq!(survive(format!("\u{feff}{GOOD}").as_bytes()), "good");
    assert_eq!(survive(b""), "the key `scenario` is missing");
    let errors = read("\u{feff}x = 1\r\n[scenario]\r\nname = \"\u{e9}\"; sead = 3\r\n").unwrap_err();
    assert_eq!((errors.0[0].line, errors.0[0].column), (Some(3), Some(11)));
    let errors = read("\u{feff}xyz = 1\r\n[scenario]\r\nname = \"\u{e9}\"\r\n").unwrap_err();
    assert_eq!(errors.to_string().lines().nth(3), Some("1 | xyz = 1"));
    assert_eq!((errors.0[0].line, errors.0[0].column), (Some(1), Some(1)));
}

#[test]
fn nul_bytes_and_broken_utf8_are_named() {
    assert_eq!(survive(b"a = \"\0\""), "a NUL byte: this is not a text file");
    assert_eq!(survive(b"a = \"\xc3\""), "the byte 0xC3 is not UTF-8");
    assert_eq!(survive(&[0xff; 100]), "the byte 0xFF is not UTF-8");
}

#[test]
fn huge_numbers_are_refused() {
    let digits = "9".repeat(100_000);
    assert!(survive(format!("a = {digits}").as_bytes()).contains("is too large"));
    assert!(survive(format!("a = {digits}.0").as_bytes()).contains("is too large"));
    assert!(survive(b"a = 1e999").contains("is too large"));
    let base = "[scenario]\nname = \"a\"\nseed = ";
    assert!(survive(format!("{base}18446744073709551616").as_bytes()).contains("out of range"));
    assert!(survive(format!("{base}1e3").as_bytes()).contains("expected a whole number"));
}

#[test]
fn deep_nesting_is_refused_without_overflow() {
    for deep in [
        format!("a = {}", "[".repeat(100_000)),
        format!("a = {}1{}", "[".repeat(60), "]".repeat(60)),
        format!("a = {}", "{a=".repeat(100_000)),
        format!("{}a = 1", "a.".repeat(100_000)),
        format!("[{}a]", "a.".repeat(100_000)),
        format!("[{}a]\n{}a = {}1{}", "a.".repeat(70), "a.".repeat(70), "[".repeat(70), "]".repeat(70)),
    ] {
        let message = survive_in_time(deep.into_bytes());
        assert_ne!(message, "good");
    }
}

#[test]
fn ten_megabytes_of_garbage_are_refused_in_time() {
    const SIZE: usize = 10_000_000;
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let bytes: Vec<u8> = (0..SIZE).map(|_| random()).collect();
    let printable: Vec<u8> = bytes.iter().map(|b| b % 95 + 32).collect();
    let lines: Vec<u8> = bytes.iter().map(|b| b"a=[]{}\".\n1 #'"[usize::from(*b) % 13]).collect();
    for garbage in [bytes, printable, lines, vec![b'a'; SIZE], vec![b'='; SIZE], vec![b'\n'; SIZE]] {
        let message = survive_in_time(garbage);
        assert_ne!(message, "good");
    }
    let parents_last: String = (0..16_000).map(|i| format!("[k{i}.a]\n")).collect();
    let parents_last = (0..16_000).fold(parents_last, |text, i| text + &format!("[k{i}]\n"));
    assert_eq!(survive_in_time(parents_last.clone().into_bytes()), "unknown key `k0`");
    let more = survive_in_time(parents_last.repeat(20).into_bytes());
    assert_eq!(more, "more than 32768 lines that begin with `[`");
    let keys: String = (0..500_000).map(|i| format!("k{i} = {i}\n")).collect();
    assert_eq!(survive_in_time(keys.into_bytes()), "unknown key `k0`");
}

#[test]
fn a_very_long_line_is_shown_through_a_window() {
    let text =
        format!("[scenario]\nname = \"{}\"\nseed = [{}\"x\"]", "x".repeat(1_000_000), "1, ".repeat(100_000));
    let errors = read(&text).unwrap_err();
    assert!(errors.to_string().len() < 2000);
    let text = format!("x = {{ a = \"{}\", b = 10 ms }}", "\u{e9}".repeat(100_000));
    let errors = read(&text).unwrap_err();
    assert_eq!((errors.0[0].line, errors.0[0].column), (Some(1), Some(100_019)));
    let rendered = errors.to_string();
    assert!(rendered.contains("a.toml:1:100019") && rendered.len() < 2000, "{rendered}");
}

/// A configuration of any names and numbers.
fn any_spec() -> impl Strategy<Value = Spec> {
    let name = || prop_oneof!["[a-z]{1,4}", "[a-z]\\PC{0,12}"];
    let general =
        (name(), any::<u32>(), any::<u64>(), any::<Option<u8>>()).prop_map(|(name, ms, seed, runs)| {
            General { name, duration: Duration::from_millis(ms.into()), seed, runs }
        });
    let queue = prop_oneof![
        Just(Queue::Unlimited),
        any::<NonZeroU32>().prop_map(|packets| Queue::DropTail { packets }),
        any::<u32>().prop_map(|n| Queue::Sized(Bytes(n.into()))),
    ];
    let link = (name(), name(), any::<u32>(), queue).prop_map(|(a, b, rate, queue)| Link {
        between: [a, b],
        rate: Bitrate(rate.into()),
        queue,
        loss: Ratio(0.25),
    });
    let app = prop_oneof![
        Just(App::Bulk),
        any::<u32>().prop_map(|n| App::Cbr(Cbr { rate: Bitrate(n.into()), packet: Bytes(1) })),
    ];
    let flow = (name(), name(), app, any::<u16>()).prop_map(|(from, to, app, iw)| Flow {
        from,
        to,
        app,
        tcp: Tcp { iw, ..Tcp::default() },
    });
    let at = prop::collection::vec((name(), name()), 0..3)
        .prop_map(|set| At { t: Duration::ZERO, set: set.into_iter().collect() });
    let links = prop::collection::vec((name(), link), 0..4);
    let flows = prop::collection::vec((name(), flow), 0..4);
    (general, links, flows, prop::collection::vec(at, 0..3)).prop_map(|(scenario, links, flows, at)| Spec {
        scenario,
        link: links.into_iter().collect(),
        flow: flows.into_iter().collect(),
        at,
    })
}

/// The paths of all keys below `node` that are not names of the user's, nor `kind`.
fn known_keys(node: &Node, path: &[String], out: &mut Vec<String>) {
    let names_follow = match path {
        [only] => only == "link" || only == "flow",
        [.., set] => path[0] == "at" && set == "set",
        [] => false,
    };
    let inner = |name: &str| [path, &[name.to_owned()]].concat();
    for (key, value) in node.as_table().into_iter().flat_map(Table::iter) {
        if !names_follow && key != "kind" {
            out.push(dotted(inner(key)));
        }
        known_keys(value, &inner(key), out);
    }
    for (i, value) in node.as_array().into_iter().flatten().enumerate() {
        known_keys(value, &inner(&i.to_string()), out);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        survive(&bytes);
    }

    #[test]
    fn any_text_never_panics(text in any::<String>()) {
        survive(text.as_bytes());
        survive(format!("[flow.{text}]\n{text} = 1\nx = {text}").as_bytes());
        survive(format!("flow.\"{text}\".app = '{text}'").as_bytes());
    }

    #[test]
    fn any_text_of_toml_signs_never_panics(text in "([\\[\\]{}.,=\"'#a-c0-9 \n\r\t_+-]|\"\"\"|kind|\u{e9}|\u{feff}){0,80}") {
        survive(text.as_bytes());
        let mut doc = Document::parse(GOOD, "a.toml").unwrap();
        if let Err(errors) = doc.apply_set(&text) {
            prop_assert!(!errors.render(true).is_empty());
        }
        let _ = doc.error_at(&text, "m").render(false);
        let _ = doc.get(&text);
        let _ = doc.read::<Spec>().map_err(|e| e.to_string());
    }

    #[test]
    fn a_good_file_with_bytes_changed_never_panics(
        changes in prop::collection::vec((0..GOOD.len(), any::<u8>()), 1..6)
    ) {
        let mut bytes = GOOD.as_bytes().to_vec();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        survive(&bytes);
    }

    #[test]
    fn any_configuration_is_read_back_equal(spec in any_spec()) {
        let text = to_toml_string(&spec).unwrap();
        prop_assert_eq!(read(&text).map_err(|e| TestCaseError::fail(e.to_string()))?, spec);
    }

    #[test]
    fn one_misspelt_key_is_reported_at_its_line_and_column(
        spec in any_spec(), which in any::<prop::sample::Index>(), extra in "[a-z]{1,2}"
    ) {
        let mut text = to_toml_string(&spec).unwrap();
        let good = Document::parse(&text, "a.toml").unwrap();
        let mut keys = Vec::new();
        known_keys(good.root(), &[], &mut keys);
        let path = which.get(&keys);
        let at = good.error_at_key(path, "here");
        let span = at.span.clone().unwrap();
        // Every place with the key: `[flow.a]` and `[flow.a.tcp]` both write `flow`.
        prop_assume!(!["scenario", "link", "flow", "at"].contains(&path.as_str()));
        text.insert_str(span.end, &extra);
        let errors = read(&text).unwrap_err();
        let misspelt = format!("{path}{extra}");
        let name = misspelt.rsplit('.').next().unwrap_or_default();
        let found = errors.iter().find(|d| d.message == format!("unknown key `{name}`"));
        let found = found.ok_or_else(|| TestCaseError::fail(format!("{path} in\n{text}\n{errors}")))?;
        prop_assert_eq!((found.line, found.column), (at.line, at.column));
        prop_assert_eq!(found.key.as_deref(), Some(misspelt.as_str()));
    }
}
