//! An omitted key has its default, independent of the other keys of its table: the scenario that
//! `to_toml` writes and the same with one key removed are equal, unless that key is mandatory.

use crate::common::folder;
use lasthop_sim::{Error, Scenario};

const TABLES: &str = r#"
[scenario]
name = "partial"
duration = "2 s"
[link.wire]
between = ["server", "left"]
[bearer.dch]
kind = "umts"
between = ["left", "phone"]
[bearer.pipe]
kind = "lte-rlc"
between = ["server", "tablet"]
[link.gate]
between = ["server", "gateway"]
[handover]
[cell.one]
radio.power = "43 dBm"
[ue.u]
[ap.hot]
node = "server"
[station.laptop]
[flow.down]
from = "server"
to = "phone"
[flow.call]
from = "server"
to = "laptop"
transport = "udp"
app = { kind = "cbr", rate = "64 kbit/s" }
[flow.radio]
from = "server"
to = "u"
"#;

fn read(text: &str) -> Result<String, Error> {
    Scenario::parse(text, "partial.toml", &folder("partial"), &[]).map(|s| s.to_toml())
}

/// Returns `doc` without the key at `path`.
fn without(doc: &toml::Table, path: &[String]) -> toml::Table {
    let mut copy = doc.clone();
    let (last, parents) = path.split_last().expect("a key");
    let mut table = &mut copy;
    for key in parents {
        table = table.get_mut(key).and_then(toml::Value::as_table_mut).expect("a table");
    }
    table.remove(last);
    copy
}

/// Collects the paths of all keys that are not tables.
fn leaves(table: &toml::Table, path: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
    for (key, value) in table {
        path.push(key.clone());
        match value {
            toml::Value::Table(inner) if !inner.is_empty() => leaves(inner, path, out),
            _ => out.push(path.clone()),
        }
        path.pop();
    }
}

#[test]
fn a_key_left_out_is_its_default() {
    let whole = read(TABLES).unwrap_or_else(|e| panic!("{e}"));
    let doc: toml::Table = whole.parse().unwrap();
    let mut keys = Vec::new();
    leaves(&doc, &mut Vec::new(), &mut keys);
    let given: toml::Table = TABLES.parse().unwrap();
    let mut written = Vec::new();
    leaves(&given, &mut Vec::new(), &mut written);
    let mut left_out = 0;
    for key in keys.iter().filter(|key| !written.contains(key)) {
        let text = without(&doc, key).to_string();
        // A missing mandatory key is refused: the `kind` of a table that has one.
        let Ok(again) = read(&text) else { continue };
        assert_eq!(again, whole, "without {}", key.join("."));
        left_out += 1;
    }
    assert!(left_out * 10 > keys.len() * 9, "{left_out} of {} keys could be left out", keys.len());
}

#[test]
fn an_access_point_that_gives_its_power_stays_where_it_is() {
    let text = TABLES.replace("node = \"server\"", "node = \"server\"\nradio.power = \"15 dBm\"");
    let doc: toml::Table = read(&text).unwrap_or_else(|e| panic!("{e}")).parse().unwrap();
    let radio = &doc["ap"]["hot"]["radio"];
    assert_eq!(radio["power"].as_str(), Some("15 dBm"));
    assert_eq!(radio["position"].as_array().unwrap()[2].as_str(), Some("2.5 m"));
}

/// The same by a change during the run, which must give the same run as that power written from the
/// start.
#[test]
fn an_access_point_whose_power_changes_stays_where_it_is() {
    let base = folder("partial-at");
    let end_of = |text: &str| {
        let scenario = Scenario::parse(text, "partial.toml", &base, &[]).unwrap_or_else(|e| panic!("{e}"));
        let output = lasthop_sim::run(&scenario, None, &mut |_| true).unwrap_or_else(|e| panic!("{e}"));
        output.digest()
    };
    let [before, after] = [
        "radio.power = \"15 dBm\"",
        "radio = { power = \"15 dBm\", position = [\"0 m\", \"0 m\", \"2.5 m\"] }",
    ]
    .map(|radio| end_of(&TABLES.replace("node = \"server\"", &format!("node = \"server\"\n{radio}"))));
    assert_eq!(before, after);
    let changed = |at: &str| format!("{TABLES}[[at]]\nt = \"0 s\"\nset = {{ {at} }}\n");
    let both =
        "\"ap.hot.radio.power\" = \"15 dBm\", \"ap.hot.radio.position\" = [\"0 m\", \"0 m\", \"2.5 m\"]";
    assert_eq!(end_of(&changed("\"ap.hot.radio.power\" = \"15 dBm\"")), end_of(&changed(both)));
}
