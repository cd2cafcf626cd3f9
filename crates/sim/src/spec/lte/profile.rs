//! `cell.<name>.profile`: a layer of values below those of a scenario.

use lasthop_lte::network::config::CellProfile;
use serde_json::{Value, json};

use crate::config::{Difference, Document, Node, dotted};

/// Inserts the values of each cell's profile where the scenario has none. Names that are no profile
/// are skipped here; the deserializer refuses them at their place.
pub(super) fn fill(document: &mut Document) {
    let Some(cells) = document.get("cell").and_then(Node::as_table) else { return };
    let named = cells.iter().filter_map(|(name, cell)| {
        let profile = cell.as_table()?.get("profile")?.as_str()?;
        let profile = CellProfile::ALL.into_iter().find(|p| p.name() == profile)?;
        (profile != CellProfile::Lasthop).then(|| (format!("cell.{}", dotted([name])), profile))
    });
    let named: Vec<_> = named.collect();
    for (path, profile) in named {
        if let (Some(layer), Some(standard)) = (values(profile), values(CellProfile::Lasthop)) {
            document.fill_from(&path, &layer, &standard);
        }
    }
}

/// A cell of `profile`, with every key.
fn values(profile: CellProfile) -> Option<Document> {
    Document::from_value(&profile.cell(), profile.name()).ok()
}

/// The differences of `profile` from the default cell.
fn differences(profile: CellProfile) -> Vec<Difference> {
    let (layer, standard) = (values(profile), values(CellProfile::Lasthop));
    let found = layer.zip(standard).map(|(layer, standard)| layer.differences(&standard));
    found.unwrap_or_default().into_iter().filter(|d| d.key != "profile").collect()
}

/// Key, value and source of every difference of the cell profile `name` from the default; none for
/// other names.
pub(in crate::spec) fn settings(name: &str) -> Vec<(String, String, &'static str)> {
    let Some(profile) = CellProfile::ALL.into_iter().find(|p| p.name() == name) else { return Vec::new() };
    let source = |key: &str| profile.sources().iter().find(|s| s.key == key).map_or("", |s| s.source);
    let all = differences(profile).into_iter();
    all.map(|d| (d.key.clone(), d.value.to_string(), source(&d.key))).collect()
}

/// Cell profiles with every value in which they differ from the default, as JSON.
pub fn describe_cell_profiles() -> Value {
    let setting =
        |(key, value, source): (String, String, &str)| json!({"key": key, "value": value, "source": source});
    CellProfile::ALL
        .into_iter()
        .map(|p| {
            let settings: Vec<Value> = settings(p.name()).into_iter().map(setting).collect();
            json!({"name": p.name(), "summary": p.summary(), "settings": settings})
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Scenario;

    const CELL: &str =
        "[scenario]\nname = 'c'\nduration = '1 s'\n[link.core]\nbetween = ['server', 'enb']\n[ue.phone]\n";

    fn cell(keys: &str, sets: &[&str]) -> lasthop_lte::network::CellConfig {
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        let text = format!("{CELL}[cell.enb]\n{keys}");
        let scenario = Scenario::parse(&text, "c.toml", Path::new(""), &sets).unwrap();
        // The effective scenario is read back as the same cell.
        let again = Scenario::parse(&scenario.to_toml(), "c.toml", Path::new(""), &[]).unwrap();
        assert_eq!(again.spec().cell["enb"], scenario.spec().cell["enb"]);
        scenario.spec().cell["enb"].clone()
    }

    #[test]
    fn every_value_of_a_profile_has_a_source_and_no_source_is_left_over() {
        for profile in CellProfile::ALL {
            let keys: Vec<String> = differences(profile).into_iter().map(|d| d.key).collect();
            let mut sources: Vec<&str> = profile.sources().iter().map(|s| s.key).collect();
            for key in &keys {
                assert!(sources.contains(&key.as_str()), "{}: no source of `{key}`", profile.name());
            }
            sources.retain(|key| !keys.iter().any(|k| k == key));
            assert!(sources.is_empty(), "{}: equal to ours: {sources:?}", profile.name());
        }
    }

    #[test]
    fn a_profile_sets_all_its_keys_at_once() {
        for profile in CellProfile::ALL {
            let keys = format!("profile = \"{}\"", profile.name());
            assert_eq!(cell(&keys, &[]), profile.cell(), "{keys}");
            assert_eq!(serde_json::to_value(profile).unwrap(), profile.name());
        }
    }

    /// Single keys override, whole sub-tables too, wherever they are written.
    #[test]
    fn single_keys_override_the_profile() {
        let found = cell(
            "profile = 'ns3-3.28'\ndownlink.window = 50.0\ndownlink.amc = { kind = 'bler-target', target = '1 %' }\nuplink.amc = 'bler-target'\n\
             uplink.random_access = { response_window = '5 ms' }",
            &["cell.enb.downlink.cqi.period=5"],
        );
        let mut expected = CellProfile::Ns3Release28.cell();
        let lasthop_lte::mac::downlink::AmcConfig::BlerTarget(amc) = &mut expected.downlink.amc else {
            panic!("ns-3 aims at a block error rate");
        };
        amc.target = lasthop_units::Ratio(0.01);
        expected.downlink.window = 50.0;
        expected.downlink.cqi.period = 5;
        expected.uplink.amc = Default::default();
        expected.uplink.random_access.response_window = lasthop_units::Duration::from_millis(5);
        assert_eq!(found, expected);
    }

    #[test]
    fn a_set_may_name_another_profile_and_the_first_ones_values_are_gone() {
        let base = "profile = 'ns3-3.28'\nresource_blocks = 50";
        let mut expected = CellProfile::Simulte.cell();
        expected.resource_blocks = 50;
        assert_eq!(cell(base, &["cell.enb.profile=simulte"]), expected);
        expected = CellProfile::Lasthop.cell();
        expected.resource_blocks = 50;
        assert_eq!(cell(base, &["cell.enb.profile=lasthop"]), expected);
        let text = format!("{CELL}[cell.enb]\n{base}");
        let scenario = Scenario::parse(&text, "c.toml", Path::new(""), &[]).unwrap();
        let changed = scenario.with_set(&["cell.enb.profile=lasthop".to_owned()]).unwrap();
        assert_eq!(changed.spec().cell["enb"], expected);
    }

    #[test]
    fn an_unknown_profile_and_a_clash_with_one_are_reported_at_their_place() {
        let refused = |keys: &str| {
            let text = format!("{CELL}[cell.enb]\n{keys}");
            Scenario::parse(&text, "c.toml", Path::new(""), &[]).unwrap_err().to_string()
        };
        let message = refused("profile = 'ns3-3.43'");
        assert!(message.contains("ns3-3.44") && message.contains("c.toml:8:11"), "{message}");
        let message = refused("profile = 'simulte'\ntiming.decode = 7\ntiming.feedback = 7");
        assert!(
            message.contains("repeats a block 8 TTIs after") && message.contains("c.toml:9"),
            "{message}"
        );
        assert!(refused("profile = 3").contains("profile"), "a number");
    }
}
