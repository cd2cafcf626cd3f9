//! A scenario's profile is a layer below the values of the scenario.

use std::path::Path;

use super::*;
use crate::Scenario;

const ALL: &str = "[scenario]\nname = 'p'\nduration = '1 s'\nprofile = 'ns3-3.44'\n\
    [link.core]\nbetween = ['server', 'gateway']\n[link.lan]\nbetween = ['server', 'home']\n\
    [handover]\nx2 = { rate = '1 Gbit/s' }\n[cell.enb]\n[cell.west]\nenb = 'enb'\n\
    [ue.phone]\n[ue.phone.dedicated.voice]\nflows = ['call']\n\
    [bearer.pipe]\nkind = 'lte-rlc'\nbetween = ['server', 'modem']\n\
    [ap.home]\n[station.laptop]\n\
    [flow.web]\nfrom = 'server'\nto = 'phone'\n[flow.call]\nfrom = 'server'\nto = 'phone'\n";

fn parsed(text: &str, sets: &[&str]) -> Scenario {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    Scenario::parse(text, "p.toml", Path::new(""), &sets).unwrap()
}

/// Every row of every profile has an effect in its table: the effective scenario has its value.
#[test]
fn every_row_of_a_profile_takes_effect_in_every_table() {
    for peer in PEERS {
        let scenario = parsed(ALL, &[&format!("scenario.profile={}", peer.name)]);
        let effective = Document::parse(&scenario.to_toml(), "e").unwrap();
        let mut document = Document::parse(ALL, "p.toml").unwrap();
        document.insert("scenario.profile", peer.name).unwrap();
        for row in peer.rows {
            let wanted = Document::parse(&format!("v = {}", row.value), "v").unwrap();
            let tables: Vec<String> =
                tables(&document).into_iter().filter(|(_, p)| *p == row.place).map(|(t, _)| t).collect();
            assert!(!tables.is_empty(), "{}: no table for {row:?}", peer.name);
            for table in tables {
                let key = format!("{table}.{}", row.key);
                let found = effective.get(&key).map(|n| n.value.to_string());
                assert_eq!(found, wanted.get("v").map(|n| n.value.to_string()), "{}: {key}", peer.name);
            }
        }
        let again = parsed(&scenario.to_toml(), &[]);
        assert_eq!(again.spec(), scenario.spec(), "{}", peer.name);
    }
}

#[test]
fn keys_beside_the_profile_take_precedence_and_are_not_listed_as_its_own() {
    let written = "cell.enb.timing.decode=4";
    let text = ALL.replace("[ue.phone]\n", "[ue.phone]\nrlc = { am = { poll_pdu = 8 } }\n");
    let scenario = parsed(&text, &[written, "cell.west.profile=lasthop"]);
    let (enb, west) = (&scenario.spec().cell["enb"], &scenario.spec().cell["west"]);
    assert_eq!((enb.timing.decode, west.timing.decode), (4, 3));
    assert_eq!((enb.downlink.cqi.period, west.downlink.cqi.period), (1, 5));
    let am = &scenario.spec().ue["phone"].rlc.am;
    assert_eq!((am.poll_pdu.value(), am.t_poll_retransmit.as_millis()), (Some(8), 20));
    let settings = scenario.profile_settings();
    let has = |key: &str| settings.iter().any(|s| s.key == key);
    assert!(!has("cell.enb.timing.decode") && has("cell.west.timing.decode"));
    assert!(has("cell.enb.downlink.cqi.period") && !has("cell.west.downlink.cqi.period"));
    assert!(!has("ue.phone.rlc.am.poll_pdu") && has("ue.phone.dedicated.voice.rlc.am.poll_pdu"));
    assert!(settings.iter().all(|s| !s.source.is_empty()), "{settings:?}");
    // After a change back to the default profile no value of the former remains.
    let plain = scenario.with_set(&["scenario.profile=lasthop".to_owned()]).unwrap();
    assert!(plain.profile_settings().is_empty() && plain.profile_limits().is_none());
    assert_eq!(plain.spec().cell["enb"].downlink.cqi.period, 5);
}

#[test]
fn an_unknown_profile_is_refused_with_a_suggestion() {
    let text = ALL.replace("ns3-3.44", "ns3-3.43");
    let message = Scenario::parse(&text, "p.toml", Path::new(""), &[]).unwrap_err().to_string();
    assert!(message.contains("ns3-3.44") && message.contains("p.toml:4:11"), "{message}");
}

/// A profile of the stack and the cell only is refused by name, with the keys to use instead.
#[test]
fn half_a_profile_is_refused_with_the_keys_that_do_it() {
    for (name, stack, cell) in PARTS {
        let text = ALL.replace("ns3-3.44", name);
        let message = Scenario::parse(&text, "p.toml", Path::new(""), &[]).unwrap_err().to_string();
        let keys = [format!("tcp.profile = \"{stack}\""), format!("profile = \"{cell}\"")];
        assert!(message.contains("p.toml:4:11") && keys.iter().all(|k| message.contains(k)), "{message}");
        // The remedy gives a scenario that runs.
        let sets = [
            "scenario.profile=lasthop".to_owned(),
            format!("flow.web.tcp.profile={stack}"),
            format!("flow.call.tcp.profile={stack}"),
            format!("cell.enb.profile={cell}"),
            format!("cell.west.profile={cell}"),
        ];
        Scenario::parse(&text, "p.toml", Path::new(""), &sets).unwrap();
    }
}

/// A warning about a value of the profile is at the line of the profile and names the key.
#[test]
fn warnings_of_the_profiles_values_name_its_line_and_the_key() {
    let all = ALL.replace("[bearer.pipe]\nkind = 'lte-rlc'\nbetween = ['server', 'modem']\n", "");
    let scenario = parsed(&all, &[]);
    let about = "a buffer below the bandwidth-delay product";
    let found = scenario.warnings().iter().find(|d| d.message.contains(about)).unwrap();
    assert_eq!((found.line, found.column), (Some(4), Some(11)), "{found:?}");
    assert!(found.message.contains("`scenario.profile` sets `ue.phone.rlc.buffer"), "{}", found.message);
    // A written value has its own line, and no such remark.
    let written = all.replace("[ue.phone]\n", "[ue.phone]\nrlc = { buffer = { bytes = '10 kB' } }\n");
    let scenario = parsed(&written, &[]);
    let found = scenario.warnings().iter().find(|d| d.message.contains(about)).unwrap();
    assert!(!found.message.contains("`scenario.profile` sets"), "{}", found.message);
    let line = written.lines().nth(found.line.unwrap() - 1).unwrap();
    assert!(line.starts_with("rlc = "), "{found:?}");
}
