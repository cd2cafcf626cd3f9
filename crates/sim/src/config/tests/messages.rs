//! What the user reads.

use super::*;

#[test]
fn a_good_scenario_is_read() {
    let spec = read(GOOD).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(spec.scenario.seed, u64::MAX);
    assert_eq!(spec.link.keys().collect::<Vec<_>>(), ["wired", "radio"]);
}

#[test]
fn show() {
    for text in [
        "[scenario]\nname = \"a\"\nsead = 3\n",
        "[scenario]\nname = \"a\"\nduration = 10\n",
        "[scenario]\nname = \"a\"\nduration = 10 ms\nname = 3\n",
        "[scenario]\nname = \"a\"\nduration = true\nseed = -1\nruns = 300\n[flow.x]\nfrom = \"a\"\napp = \"cbr\"\n[flow.y.tcp]\ncc = \"renoo\"\nzzz = 3",
        "[scenario]\nname = \"a\"\nname = 3\n[scenario]\n[",
        "",
    ] {
        println!("-----\n{}", complaints(text));
    }
    for set in [
        "flow.ftp.tcp.cc=renoo",
        "flow.ftp.tcp.ccc = reno",
        "a",
        "at.3.t=3",
        "scenario.name.x=3",
        "scenario.seed.x=3",
        "x={",
    ] {
        let mut doc = Document::parse(GOOD, "a.toml").unwrap();
        let r = doc.apply_set(set).and_then(|()| doc.read::<Spec>());
        println!("-----\n{}", r.unwrap_err().render(false));
    }
}
#[test]
fn raw_schema() {
    println!("{}", serde_json::to_string_pretty(&schema::<Spec>()).unwrap());
    for k in reference::<Spec>() {
        println!("{}", serde_json::to_string(&k).unwrap());
    }
    println!("{}", to_toml_string(&read(GOOD).unwrap()).unwrap());
    println!("{}", Document::parse(GOOD, "a").unwrap().to_toml());
}
