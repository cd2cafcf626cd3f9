//! Reassembly at the destination: all fragments or nothing, within a time (RFC 791 §3.2).

use std::collections::BTreeMap;

use lasthop_units::{Duration, Id, Instant, NodeId, PacketId};

use super::{Fragment, HEADER_SIZE};
use crate::{DropCause, Dropped, Ecn, Item};

/// The destination's reassembly buffers.
///
/// Contract: `handle_fragment` for each fragment that arrives; `poll_at`, `on_time` for the
/// timeout. A fragment without new octets (a duplicate, or a part of received data) is ignored and
/// reported as such. The time runs from the first fragment and is not restarted (RFC 1122 §3.3.2).
#[derive(Clone, Debug)]
pub struct Reassembler {
    timeout: Duration,
    /// By source and serial number of the original.
    packets: BTreeMap<(usize, u64), Partial>,
    /// The earliest deadline, or a moment before it.
    next: Option<Instant>,
}

#[derive(Clone, Debug)]
struct Partial {
    deadline: Instant,
    /// Payload length, once the last fragment is here.
    total: Option<u32>,
    held: u32,
    /// Disjoint, by offset.
    parts: Vec<(Fragment, Item)>,
}

/// A packet that is complete again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// Its total length with one header [bytes].
    pub size: u32,
    /// Congestion experienced if any fragment was marked (RFC 3168 §5.3), else as the first
    /// fragment.
    pub ecn: Ecn,
}

/// The results of reassembly.
#[derive(Clone, Debug, Default)]
pub struct ReassemblyOut {
    /// The fragments of a packet that became complete, by offset: make the whole packet of the
    /// first one and free the others.
    pub complete: Vec<PacketId>,
    /// Fragments without new octets: the caller frees them.
    pub ignored: Vec<PacketId>,
    /// Fragments of packets that were discarded.
    pub dropped: Vec<Dropped>,
}

impl Reassembler {
    /// The default of RFC 791 would be 15 s, RFC 1122 recommends 60 to 120 s; Linux and ns-3 use 30
    /// s.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

    /// Buffers that are discarded `timeout` after a packet's first fragment, kept within 15 s to
    /// 120 s.
    pub fn new(timeout: Duration) -> Reassembler {
        let timeout = timeout.clamp(Duration::from_secs(15), Duration::from_secs(120));
        Reassembler { timeout, packets: BTreeMap::new(), next: None }
    }

    /// A fragment of the packet `serial` of `src` arrives. When it completes the packet, the packet
    /// is returned and `out.complete` names all its fragments.
    pub fn handle_fragment(
        &mut self,
        now: Instant,
        src: NodeId,
        serial: u64,
        fragment: Fragment,
        item: Item,
        out: &mut ReassemblyOut,
    ) -> Option<Whole> {
        self.on_time(now, out);
        let key = (src.index(), serial);
        let deadline = now.saturating_add(self.timeout);
        let partial = self.packets.entry(key).or_insert_with(|| Partial {
            deadline,
            total: None,
            held: 0,
            parts: Vec::new(),
        });
        self.next = Some(self.next.map_or(partial.deadline, |n| n.min(partial.deadline)));
        if !partial.add(fragment, item) {
            out.ignored.push(item.id);
            return None;
        }
        if !partial.is_complete() {
            return None;
        }
        let whole = partial.whole();
        out.complete.extend(partial.parts.iter().map(|(_, item)| item.id));
        self.packets.remove(&key);
        Some(whole)
    }

    /// When the oldest packet is discarded. May name a moment at which nothing is due any more.
    pub fn poll_at(&self) -> Option<Instant> {
        if self.packets.is_empty() { None } else { self.next }
    }

    /// Gives up packets whose reassembly time has expired.
    pub fn on_time(&mut self, now: Instant, out: &mut ReassemblyOut) {
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        self.packets.retain(|_, partial| {
            if partial.deadline > now {
                return true;
            }
            let (at, cause) = (partial.deadline, DropCause::ReassemblyTimeout);
            out.dropped.extend(partial.parts.iter().map(|(_, item)| Dropped { at, item: *item, cause }));
            false
        });
        self.next = self.packets.values().map(|p| p.deadline).min();
    }

    /// Packets that wait for fragments.
    pub fn packets(&self) -> usize {
        self.packets.len()
    }
    /// Fragments that are held.
    pub fn fragments(&self) -> usize {
        self.packets.values().map(|p| p.parts.len()).sum()
    }
}

impl Partial {
    /// Returns false if the fragment is ignored. Fragments overlap only if a packet was cut twice
    /// in different sizes on different paths; overlapping parts are not needed, as the rest of the
    /// same copy will come.
    fn add(&mut self, fragment: Fragment, item: Item) -> bool {
        let place = self.parts.partition_point(|(f, _)| f.offset < fragment.offset);
        let overlaps_next = self.parts.get(place).is_some_and(|(f, _)| f.offset < fragment.end());
        let overlaps_before = place > 0 && self.parts[place - 1].0.end() > fragment.offset;
        if fragment.len == 0 || overlaps_next || overlaps_before {
            return false;
        }
        if !fragment.more {
            self.total = Some(fragment.end());
        }
        self.held += fragment.len;
        self.parts.insert(place, (fragment, item));
        true
    }

    fn whole(&self) -> Whole {
        let marked = self.parts.iter().any(|(_, item)| item.ecn == Ecn::Ce);
        Whole { size: HEADER_SIZE + self.held, ecn: if marked { Ecn::Ce } else { self.parts[0].1.ecn } }
    }

    fn is_complete(&self) -> bool {
        debug_assert!(self.total.is_none_or(|t| self.held <= t), "more than the packet has");
        self.total == Some(self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ipv4::fragment;
    use crate::testing::item;
    use proptest::prelude::*;

    fn parts(size: u32, mtu: u32) -> Vec<Fragment> {
        fragment(size, None, false, mtu).unwrap().unwrap().collect()
    }

    fn feed(
        r: &mut Reassembler,
        now: Instant,
        serial: u64,
        n: usize,
        f: Fragment,
        out: &mut ReassemblyOut,
    ) -> Option<Whole> {
        r.handle_fragment(now, NodeId::from_index(0), serial, f, item(n, f.size()), out)
    }

    #[test]
    fn nothing_is_delivered_before_the_last_missing_fragment() {
        let (mut r, mut out) = (Reassembler::new(Reassembler::DEFAULT_TIMEOUT), ReassemblyOut::default());
        let f = parts(3000, 1500);
        for n in [2, 0] {
            assert_eq!(feed(&mut r, Instant(n as u64), 7, n, f[n], &mut out), None);
        }
        let marked = Item { ecn: Ecn::Ce, ..item(1, f[1].size()) };
        let whole = r.handle_fragment(Instant(5), NodeId::from_index(0), 7, f[1], marked, &mut out);
        assert_eq!(whole, Some(Whole { size: 3000, ecn: Ecn::Ce }));
        assert_eq!(out.complete.iter().map(|id| id.index()).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!((r.packets(), r.poll_at()), (0, None));
    }

    #[test]
    fn an_incomplete_packet_is_given_up_thirty_seconds_after_its_first_fragment() {
        let (mut r, mut out) = (Reassembler::new(Reassembler::DEFAULT_TIMEOUT), ReassemblyOut::default());
        let f = parts(3000, 1500);
        feed(&mut r, Instant::from_secs(1), 7, 0, f[0], &mut out);
        feed(&mut r, Instant::from_secs(20), 7, 1, f[1], &mut out);
        assert_eq!(r.poll_at(), Some(Instant::from_secs(31)));
        r.on_time(Instant(30_999_999_999), &mut out);
        assert!(out.dropped.is_empty());
        // The last fragment arrives when the time is over: too late, it begins a new packet.
        feed(&mut r, Instant::from_secs(31), 7, 2, f[2], &mut out);
        assert_eq!(out.dropped.len(), 2);
        assert!(out.dropped.iter().all(|d| d.cause == DropCause::ReassemblyTimeout));
        assert_eq!((r.fragments(), r.poll_at()), (1, Some(Instant::from_secs(61))));
    }

    proptest! {
        /// Every fragment given is completed, ignored, dropped or held; a packet is complete
        /// exactly when each of its fragments has come once.
        #[test]
        fn any_order_with_duplicates_and_losses(
            sizes in proptest::collection::vec(1_501u32..9_000, 1..5),
            order in proptest::collection::vec((any::<u16>(), any::<u16>()), 0..80),
        ) {
            let (mut r, mut out) = (Reassembler::new(Duration::ZERO), ReassemblyOut::default());
            let all: Vec<Vec<Fragment>> = sizes.iter().map(|s| parts(*s, 1500)).collect();
            let mut seen: Vec<Vec<bool>> = all.iter().map(|p| vec![false; p.len()]).collect();
            let (mut given, mut complete) = (0, 0);
            for (packet, part) in order {
                let p = usize::from(packet) % all.len();
                let f = usize::from(part) % all[p].len();
                let whole = feed(&mut r, Instant(given as u64), p as u64, given, all[p][f], &mut out);
                given += 1;
                seen[p][f] = true;
                if seen[p].iter().all(|s| *s) {
                    complete += all[p].len();
                    seen[p].fill(false);
                    prop_assert_eq!(whole.map(|w| w.size), Some(sizes[p]));
                }
                prop_assert_eq!(out.complete.len(), complete);
            }
            prop_assert_eq!(given, out.complete.len() + out.ignored.len() + out.dropped.len() + r.fragments());
            r.on_time(Instant::from_secs(1_000), &mut out);
            prop_assert_eq!(r.packets(), 0);
            prop_assert_eq!(given, out.complete.len() + out.ignored.len() + out.dropped.len());
        }
    }
}
