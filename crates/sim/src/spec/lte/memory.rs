//! The buffers of LTE that flows can fill.

use std::collections::BTreeMap;

use lasthop_bearer::Direction;
use lasthop_lte::rrc::BackhaulConfig;
use lasthop_units::{Bitrate, Duration};

use super::UeSpec;
use super::pitfalls::best;
use crate::config::dotted;
use crate::spec::buffers::{Buffering, Buffers, Room};
use crate::spec::crossing::data_ends;
use crate::spec::group::{names_one, node_of};
use crate::spec::lte_rlc::room;
use crate::spec::{FlowSpec, Spec};

pub(super) fn count<'a>(spec: &'a Spec, buffers: &mut Buffers<'a>) {
    ues(spec, buffers);
    sidelinks(spec, buffers);
    backhaul(spec, buffers);
}

/// Adds the buffers of the bearers of UEs, and IP buffers before them.
fn ues<'a>(spec: &'a Spec, buffers: &mut Buffers<'a>) {
    let flows = [0, 1].map(|end| flows_of_ues(spec, end));
    for (name, ue) in &spec.ue {
        for direction in Direction::BOTH {
            let down = direction == Direction::Downlink;
            let mut room = room(&ue.rlc);
            for dedicated in ue.dedicated.values() {
                room = room.and(crate::spec::lte_rlc::room(&dedicated.rlc));
            }
            if let Some(queue) = ue.ip_buffer.as_ref().filter(|_| down) {
                room = room.and(Room::queue(queue));
            }
            let best = spec.candidates(ue).map(|cell| best(spec, cell, direction));
            let rate = Bitrate(best.fold(0, u64::saturating_add));
            let buffering = Buffering { rate, delay: Duration::ZERO, room: room.times(ue.count.into()) };
            let key = format!("ue.{}.rlc.buffer", dotted([name]));
            let here = flows[usize::from(down)].get(name.as_str());
            buffers.add(key, &buffering, here.into_iter().flatten().copied());
        }
    }
}

/// The flows with an end at UEs, by the table of these, of the data's sender or receiver
/// ([`data_ends`]).
fn flows_of_ues(spec: &Spec, end: usize) -> BTreeMap<&str, Vec<&FlowSpec>> {
    let mut flows = BTreeMap::<_, Vec<_>>::new();
    for flow in spec.flow.values() {
        let end = data_ends(flow)[end];
        for name in [Some(end), node_of(end).map(|(group, _)| group)].into_iter().flatten() {
            if let Some((name, ue)) = spec.ue.get_key_value(name)
                && has(name, ue, end)
            {
                flows.entry(name.as_str()).or_default().push(flow);
            }
        }
    }
    flows
}

fn has(name: &str, ue: &UeSpec, end: &str) -> bool {
    names_one(name, ue.count, end)
}

/// Adds the buffers of bearers between UEs. The rate of a sidelink is not known before the run: all
/// packets may wait.
fn sidelinks<'a>(spec: &'a Spec, buffers: &mut Buffers<'a>) {
    let waits = |rlc| Buffering { rate: Bitrate(0), delay: Duration::ZERO, room: room(rlc) };
    for (name, sidelink) in &spec.sidelink {
        let flows = sidelink.flows.iter().filter_map(|flow| spec.flow.get(flow));
        buffers.add(format!("sidelink.{}.rlc.buffer", dotted([name])), &waits(&sidelink.rlc), flows);
    }
    for (name, group) in &spec.multicast {
        let flows = spec.flow.values().filter(|f| f.to == *name);
        buffers.add(format!("multicast.{}.rlc.buffer", dotted([name])), &waits(&group.rlc), flows);
    }
}

/// Adds the pipes of S1 and X2, through which all data of UEs may pass.
fn backhaul<'a>(spec: &'a Spec, buffers: &mut Buffers<'a>) {
    let Some(handover) = &spec.handover else { return };
    for (name, pipe) in [("s1", &handover.s1), ("x2", &handover.x2)] {
        let BackhaulConfig { delay, rate, buffer } = *pipe;
        let buffering = Buffering { rate, delay, room: Room::of(None, buffer.value().map(|b| b.0)) };
        let ends = |f: &&FlowSpec| spec.ue.iter().any(|(n, ue)| data_ends(f).iter().any(|e| has(n, ue, e)));
        buffers.add(format!("handover.{name}"), &buffering, spec.flow.values().filter(ends));
    }
}
