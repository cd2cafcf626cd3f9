//! The queues of access points and stations, of each access category.

use lasthop_units::{Bitrate, Duration};

use crate::config::dotted;
use crate::spec::buffers::{Buffering, Buffers, Room};
use crate::spec::crossing::data_ends;
use crate::spec::group::names_one;
use crate::spec::{FlowSpec, Spec};

pub(super) fn count<'a>(spec: &'a Spec, buffers: &mut Buffers<'a>) {
    for (name, group) in &spec.station {
        let Some((ap_name, ap)) = spec.ap_of(group).and_then(|ap| spec.ap.get_key_value(ap)) else {
            continue;
        };
        let categories = if ap.standard.qos() { 4 } else { 1 };
        let below = ap.buffer.driver_packets();
        let down = match ap.buffer.packets_of_a_station() {
            Some(packets) => u64::from(packets).saturating_mul(group.count.into()),
            None => ap.buffer.packets().into(),
        };
        let up = u64::from(group.packets).saturating_mul(group.count.into());
        let rate = ap.modes().last().map_or(Bitrate(0), |m| m.rate());
        for (packets, key, i) in [
            (down.saturating_add(below), format!("ap.{}.buffer", dotted([ap_name])), 1),
            (up, format!("station.{}.packets", dotted([name])), 0),
        ] {
            let here = |f: &&FlowSpec| names_one(name, group.count, data_ends(f)[i]);
            let room = Room::of(Some(packets.saturating_mul(categories)), None);
            let buffering = Buffering { rate, delay: Duration::ZERO, room };
            buffers.add(key, &buffering, spec.flow.values().filter(here));
        }
    }
}
