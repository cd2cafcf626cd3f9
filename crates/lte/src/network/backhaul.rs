//! The backhaul: a link each way between the gateway and each eNB (S1), and between two eNBs (X2).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use lasthop_units::{BearerId, Bitrate, Bytes, Duration, IndexVec, Instant, UeId};

use crate::rrc::mobility::Enb;
use crate::rrc::{BackhaulConfig, HandoverConfig};
use lasthop_bearer::Sdu;
use lasthop_lte_l2::pdcp::ForwardedSdu;

/// A message in the tunnels of S1 and X2 (GTP-U, TS 29.281).
#[derive(Clone, Copy, Debug)]
pub enum GtpMessage {
    /// From the gateway to an eNB.
    Down(BearerId, Sdu),
    /// From an eNB to the gateway.
    Up(BearerId, Sdu),
    /// From the source to the target of a handover.
    Forward(BearerId, ForwardedSdu),
    /// The last packet on the old path of this UE's data (TS 36.300 clause 10.1.2.2, GTP-U end
    /// marker).
    EndMarker(UeId),
}

/// Bytes of an end marker on a link: GTP-U, UDP and IPv4 (TS 29.281 clause 7.3.2).
const MARKER: u32 = 8 + 8 + 20;
/// Bytes of the headers of GTP-U, UDP and IPv4, with the PDCP PDU number of forwarded packets.
const TUNNEL: u32 = 12 + 8 + 20;

/// A link: packets queue, are sent at the rate and arrive after the delay.
///
/// Not a `lasthop_net::Pipe`, which delivers every packet at its time: a recall removes packets,
/// queued or propagating, after which the transmitter is free earlier. The limit counts the unsent
/// rest of the packet in transmission, which a `net::Queue` does not contain.
#[derive(Debug)]
struct BackhaulLink {
    rate: Bitrate,
    delay: Duration,
    limit: Option<u64>,
    /// When the transmission of the last packet ends.
    free: Instant,
    inside: VecDeque<(Instant, GtpMessage)>,
}

impl BackhaulLink {
    fn new(config: &BackhaulConfig) -> BackhaulLink {
        BackhaulLink {
            rate: config.rate,
            delay: config.delay,
            limit: config.buffer.value().map(|b| b.0),
            free: Instant::ZERO,
            inside: VecDeque::new(),
        }
    }

    /// Takes `packet` of `size` bytes; false if there is no room.
    fn send(&mut self, now: Instant, size: u32, packet: GtpMessage) -> bool {
        let start = self.free.max(now);
        if let Some(limit) = self.limit {
            let waiting = u128::from(start.since(now).0) * u128::from(self.rate.0) / 8_000_000_000;
            if waiting + u128::from(size) > u128::from(limit) && start > now {
                return false;
            }
        }
        self.free = start + self.rate.time_for(Bytes(u64::from(size)));
        self.inside.push_back((self.free + self.delay, packet));
        true
    }
}

/// Ends of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// From the gateway to this eNB.
    S1Down(Enb),
    /// From this eNB to the gateway.
    S1Up(Enb),
    /// From the first eNB to the second.
    X2(Enb, Enb),
}

/// All links.
#[derive(Debug)]
pub struct Backhaul {
    config: HandoverConfig,
    links: BTreeMap<Way, BackhaulLink>,
    /// The arrival of the head of each link that is not empty.
    heads: BinaryHeap<Reverse<(Instant, Way)>>,
    /// Packets inside by bearer, except those that have a COUNT: downlink, uplink.
    inside: IndexVec<BearerId, [usize; 2]>,
}

impl Backhaul {
    /// Empty links, for so many bearers.
    pub fn new(config: &HandoverConfig, bearers: usize) -> Backhaul {
        Backhaul {
            config: *config,
            links: BTreeMap::new(),
            heads: BinaryHeap::new(),
            inside: (0..bearers).map(|_| [0; 2]).collect(),
        }
    }

    /// Packets of `bearer` inside: downlink 0, uplink 1.
    pub fn inside(&self, bearer: BearerId, direction: usize) -> usize {
        self.inside[bearer][direction]
    }

    /// When the next packet arrives.
    pub fn next(&self) -> Option<Instant> {
        self.heads.peek().map(|Reverse((t, _))| *t)
    }

    /// The next packet that has arrived by `now`, and its link, in order.
    #[inline]
    pub fn arrived(&mut self, now: Instant) -> Option<(Way, GtpMessage)> {
        while let Some(Reverse((at, way))) = self.heads.peek().copied().filter(|Reverse((t, _))| *t <= now) {
            self.heads.pop();
            let Some(link) = self.links.get_mut(&way) else { continue };
            // The head that was recorded for a link is void if a recall has emptied the link.
            if link.inside.front().is_none_or(|(t, _)| *t != at) {
                continue;
            }
            let Some((_, packet)) = link.inside.pop_front() else { continue };
            if let Some((next, _)) = link.inside.front() {
                self.heads.push(Reverse((*next, way)));
            }
            self.count(&packet, false);
            return Some((way, packet));
        }
        None
    }

    /// Sends `packet` over a link; false: the link is full, and the caller keeps the packet.
    pub fn send(&mut self, now: Instant, way: Way, packet: GtpMessage) -> bool {
        let config = match way {
            Way::S1Down(_) | Way::S1Up(_) => &self.config.s1,
            Way::X2(..) => &self.config.x2,
        };
        let size = match &packet {
            GtpMessage::Down(_, sdu) | GtpMessage::Up(_, sdu) => sdu.size() + TUNNEL,
            GtpMessage::Forward(_, forwarded_sdu) => forwarded_sdu.sdu.size() + TUNNEL,
            GtpMessage::EndMarker(_) => MARKER,
        };
        let link = self.links.entry(way).or_insert_with(|| BackhaulLink::new(config));
        let empty = link.inside.is_empty();
        if !link.send(now, size, packet) {
            return false;
        }
        if empty && let Some((at, _)) = link.inside.front() {
            self.heads.push(Reverse((*at, way)));
        }
        self.count(&packet, true);
        true
    }

    /// Removes the forwarded packets of the bearers for which `mine` is true from all links, and
    /// the end markers of `ue`.
    pub fn release(&mut self, ue: UeId, mine: impl Fn(BearerId) -> bool) -> Vec<(BearerId, ForwardedSdu)> {
        let ways: Vec<Way> = self.links.keys().copied().collect();
        ways.into_iter().flat_map(|way| self.take_out(way, Some(ue), &mine)).collect()
    }

    /// Removes the forwarded packets of the bearers for which `mine` is true from a link; the
    /// source still has them.
    pub fn recall(&mut self, way: Way, mine: impl Fn(BearerId) -> bool) -> Vec<(BearerId, ForwardedSdu)> {
        self.take_out(way, None, &mine)
    }

    /// Removes the forwarded packets of the bearers for which `mine` is true, and the end markers
    /// of `marked`, from a link.
    fn take_out(
        &mut self,
        way: Way,
        marked: Option<UeId>,
        mine: &impl Fn(BearerId) -> bool,
    ) -> Vec<(BearerId, ForwardedSdu)> {
        let mut back = Vec::new();
        let Some(link) = self.links.get_mut(&way) else { return back };
        let head = link.inside.front().map(|(t, _)| *t);
        link.inside.retain(|(_, packet)| match packet {
            GtpMessage::Forward(bearer, forwarded_sdu) if mine(*bearer) => {
                back.push((*bearer, *forwarded_sdu));
                false
            }
            GtpMessage::EndMarker(ue) => Some(*ue) != marked,
            _ => true,
        });
        // The transmitter does not send packets that were removed.
        let last = link.inside.back().map_or(Instant::ZERO, |(at, _)| Instant(at.0 - link.delay.0));
        link.free = link.free.min(last);
        if let Some((at, _)) = link.inside.front().filter(|(t, _)| Some(*t) != head) {
            self.heads.push(Reverse((*at, way)));
        }
        for (bearer, forwarded_sdu) in &back {
            self.count(&GtpMessage::Forward(*bearer, *forwarded_sdu), false);
        }
        back
    }

    /// Counts a packet of `bearer` that has arrived and waits at its eNB.
    pub fn hold(&mut self, bearer: BearerId) {
        self.inside[bearer][0] += 1;
    }

    /// Ends the count of a packet that waited.
    pub fn let_go(&mut self, bearer: BearerId) {
        self.inside[bearer][0] -= 1;
    }

    fn count(&mut self, packet: &GtpMessage, enters: bool) {
        let (bearer, direction) = match packet {
            GtpMessage::Down(bearer, _) => (*bearer, 0),
            GtpMessage::Up(bearer, _) => (*bearer, 1),
            GtpMessage::Forward(bearer, forwarded_sdu) if forwarded_sdu.count.is_none() => (*bearer, 0),
            GtpMessage::Forward(..) | GtpMessage::EndMarker(_) => return,
        };
        let n = &mut self.inside[bearer][direction];
        *n = if enters { *n + 1 } else { *n - 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::{Id, PacketId};

    fn backhaul(rate: u64, buffer: Option<u64>) -> Backhaul {
        let x2 = BackhaulConfig {
            delay: Duration::from_millis(6),
            rate: Bitrate(rate),
            buffer: buffer.map_or(lasthop_bearer::OrInfinity::INFINITY, |b| {
                lasthop_bearer::OrInfinity::Value(Bytes(b))
            }),
        };
        let config = HandoverConfig { x2, ..HandoverConfig::default() };
        Backhaul::new(&config, 2)
    }

    fn forwarded_sdu(serial: u64, size: u32) -> ForwardedSdu {
        ForwardedSdu::fresh(Sdu { serial, ..Sdu::new(PacketId::from_index(serial as usize), size) })
    }

    const BEARER: fn(usize) -> BearerId = BearerId::from_index;

    /// 960 B and 40 B of tunnel at 8 Mbit/s take 1 ms each, the delay is 6 ms: 7 ms, 8 ms; the end
    /// marker's 36 B 36 us later.
    #[test]
    fn a_pipe_serialises_delays_and_keeps_order() {
        let mut b = backhaul(8_000_000, None);
        let way = Way::X2(0, 1);
        for i in 0..2 {
            assert!(b.send(Instant::ZERO, way, GtpMessage::Forward(BEARER(0), forwarded_sdu(i, 960))));
        }
        assert!(b.send(Instant::ZERO, way, GtpMessage::EndMarker(UeId::from_index(0))));
        assert_eq!((b.next(), b.inside(BEARER(0), 0)), (Some(Instant::from_millis(7)), 2));
        assert!(b.arrived(Instant::from_millis(6)).is_none());
        let serial = |c: Option<(Way, GtpMessage)>| match c {
            Some((_, GtpMessage::Forward(_, p))) => Some(p.sdu.serial),
            _ => None,
        };
        assert_eq!(serial(b.arrived(Instant::from_millis(8))), Some(0));
        assert_eq!(serial(b.arrived(Instant::from_millis(8))), Some(1));
        assert!(b.arrived(Instant::from_millis(8)).is_none());
        assert_eq!(b.next(), Some(Instant(8_036_000)));
        assert!(matches!(b.arrived(Instant(8_036_000)), Some((_, GtpMessage::EndMarker(_)))));
        assert_eq!((b.next(), b.inside(BEARER(0), 0)), (None, 0));
    }

    /// One packet is in transmission for 1 ms, 1000 B may wait behind it: the second fits, the
    /// third does not.
    #[test]
    fn a_full_pipe_refuses() {
        let mut b = backhaul(8_000_000, Some(2000));
        let sent = [0, 1, 2].map(|i| {
            b.send(Instant::ZERO, Way::X2(0, 1), GtpMessage::Forward(BEARER(0), forwarded_sdu(i, 960)))
        });
        assert_eq!(sent, [true, true, false]);
    }

    #[test]
    fn a_recall_takes_a_bearers_forwarded_sdus_and_leaves_the_others() {
        let mut b = backhaul(8_000_000, None);
        for i in 0..4 {
            b.send(
                Instant::ZERO,
                Way::X2(0, 1),
                GtpMessage::Forward(BEARER(i as usize % 2), forwarded_sdu(i, 960)),
            );
        }
        let back = b.recall(Way::X2(0, 1), |bearer| bearer == BEARER(0));
        assert_eq!(back.iter().map(|(_, p)| p.sdu.serial).collect::<Vec<_>>(), [0, 2]);
        assert_eq!((b.inside(BEARER(0), 0), b.inside(BEARER(1), 0)), (0, 2));
        let mut left = 0;
        while b.arrived(Instant::from_millis(20)).is_some() {
            left += 1;
        }
        assert_eq!((left, b.next()), (2, None));
    }
}
