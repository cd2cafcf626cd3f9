//! Changes of wireless LANs during a run.

use std::collections::BTreeMap;

use lasthop_radio::Mobility;
use lasthop_units::{ApId, Id, StationId};
use lasthop_wifi::network::{ApConfig, StationConfig, WlanConfig};

use super::StationSpec;
use crate::spec::Spec;
use crate::spec::access::{ChangeEvent, RuntimeKeys};

/// A change for the network of access points and stations.
#[derive(Clone, Debug, PartialEq)]
pub enum WlanChange {
    /// An access point gets this configuration.
    Ap(String, ApId, Box<ApConfig>),
    /// The station at a node gets this configuration.
    Station(String, StationId, Box<StationConfig>),
}

impl WlanChange {
    pub(in crate::spec) fn event(&self) -> Option<ChangeEvent> {
        match self {
            WlanChange::Ap(name, ..) => Some((format!("ap/{name}"), "change")),
            WlanChange::Station(node, ..) => Some((format!("station/{node}"), "change")),
        }
    }
}

pub(super) const RUNTIME_KEYS: RuntimeKeys = &[
    ("ap.*.radio.power", "transmit power of an access point"),
    ("ap.*.radio.position", "place of an access point that does not move"),
    (
        "ap.*.rate",
        "rate control of the stations of an access point without one of their own; it starts again",
    ),
    ("ap.*.rate.mcs", "the fixed MCS of an access point"),
    ("ap.*.control_rate", "rate of ACKs, CTS, block acks and RTS"),
    ("ap.*.rts_threshold", "length of PSDUs beyond which RTS and CTS are exchanged first"),
    ("ap.*.short_retry", "transmissions of a frame up to the RTS threshold"),
    ("ap.*.long_retry", "transmissions of a frame beyond the RTS threshold"),
    ("ap.*.lifetime", "how long a packet may be in the MAC"),
    ("ap.*.aggregation.*", "a limit of A-MPDUs and A-MSDUs, or whether there are any"),
    ("ap.*.edca.*", "how an access category contends"),
    ("ap.*.buffer.packets", "capacity of the queues of an access point; what is inside stays"),
    ("ap.*.buffer.airtime_fairness", "whether stations share the time on the air (`fq-codel`)"),
    ("station.*.radio.power", "transmit power of stations"),
    ("station.*.radio.position", "place of stations that do not move and have no `ring` or `drop`"),
    ("station.*.rate", "rate control from and to stations; it starts again"),
    ("station.*.rate.mcs", "the fixed MCS from and to stations"),
    ("station.*.packets", "capacity of the queues of stations; what is inside stays"),
];

/// Access points and stations in force; drawn places do not change.
pub(super) struct InForce {
    config: WlanConfig,
    aps: BTreeMap<String, ApId>,
    /// The first station of each table.
    stations: BTreeMap<String, StationId>,
}

impl InForce {
    /// The state at the start of a run.
    pub fn of(spec: &Spec) -> InForce {
        let config = spec.wireless().config;
        let aps = spec.ap.keys().cloned().zip(config.aps.ids()).collect();
        let mut next = 0;
        let mut first = |(name, group): (&String, &StationSpec)| {
            let first = StationId::from_index(next);
            next += group.count as usize;
            (name.clone(), first)
        };
        // Every table has its access point, which was checked.
        let stations = spec.station.iter().map(&mut first).collect();
        InForce { config, aps, stations }
    }

    /// Takes over access points and stations with differences; their set does not change during a
    /// run.
    pub fn take_over(&mut self, spec: &mut Spec, next: &mut Spec) -> Vec<WlanChange> {
        let mut changes = Vec::new();
        for (name, ap) in &next.ap {
            let id = self.aps[name];
            if self.config.aps[id] != *ap {
                self.config.aps[id] = ap.clone();
                changes.push(WlanChange::Ap(name.clone(), id, Box::new(ap.clone())));
            }
        }
        for (name, group) in &next.station {
            let drawn = group.ring.is_some() || group.drop.is_some();
            let first = self.stations[name].index();
            for (id, node) in (first..).map(StationId::from_index).zip(group.nodes(name)) {
                let StationSpec { rate, packets, mut radio, .. } = *group;
                let station = &mut self.config.stations[id];
                if drawn {
                    radio.position = station.radio.position;
                }
                let after = StationConfig { ap: station.ap, rate, packets, radio };
                if *station != after {
                    *station = after;
                    changes.push(WlanChange::Station(node, id, Box::new(after)));
                }
            }
        }
        spec.ap.extend(std::mem::take(&mut next.ap));
        spec.station.extend(std::mem::take(&mut next.station));
        changes
    }
}

/// The reason for which `key` must not set a place that another key determines: message and remedy.
pub(super) fn placed_otherwise(spec: &Spec, key: &str) -> Option<(String, String)> {
    let (radio, drawn) = match key.strip_suffix(".radio.position")?.split_once('.')? {
        ("ap", name) => (&spec.ap.get(name)?.radio, None),
        ("station", name) => {
            let group = spec.station.get(name)?;
            let drawn = group.ring.map(|_| "ring").or(group.drop.map(|_| "drop"));
            (&group.radio, drawn)
        }
        _ => return None,
    };
    let moves = (radio.mobility != Mobility::Static).then_some("radio.mobility");
    let by = drawn.or(moves)?;
    let help = format!("leave `{by}` out and give `radio.position` from the start");
    Some((format!("`{by}` gives its place"), help))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Scenario;

    /// The values in force after a change are the initial ones of the scenario with the same keys.
    #[test]
    fn a_change_leads_to_the_scenario_with_its_keys() {
        let text = "[scenario]\nname = 'c'\nduration = '1 s'\n[ap.a]\n[ap.b]\nchannel = 40\n\
                    [station.s]\nap = 'a'\ncount = 2\n[station.t]\nap = 'b'\n";
        let sets = ["ap.b.radio.power=3 dBm".to_owned(), "station.t.packets=7".to_owned()];
        let before = Scenario::parse(text, "t.toml", Path::new(""), &[]).unwrap();
        let after = before.with_set(&sets).unwrap();
        let mut in_force = InForce::of(before.spec());
        let changes = in_force.take_over(&mut before.spec().clone(), &mut after.spec().clone());
        assert_eq!(changes.len(), 2, "{changes:?}");
        assert_eq!(in_force.take_over(&mut before.spec().clone(), &mut after.spec().clone()), []);
        let expected = after.spec().wireless().config;
        assert_eq!((in_force.config.aps, in_force.config.stations), (expected.aps, expected.stations));
    }
}
