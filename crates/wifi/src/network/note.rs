//! What is noted of the air for captures: each frame of each PPDU, when it ends.

use std::collections::BTreeMap;

use lasthop_units::{Id, Instant, Octets, PacketId, StationId};

use super::manage::Subject;
use super::medium::Frame;
use super::{End, NotedFrame, Wlan, WlanOutput};
use crate::mac::octets::{Body, MacFrame, ap_address, station_address};
use crate::mac::{Category, LLC, Mpdu};

/// Bodies of data frames, kept because a frame can be sent again when its packets are gone.
#[derive(Debug, Default)]
pub struct FrameNotes {
    bodies: BTreeMap<(StationId, End, usize, u16), Octets>,
    /// Packets so far.
    serial: u64,
    /// A-MPDUs so far.
    ampdus: u32,
    /// Numbers of management frames and beacons.
    sequence: u16,
}

/// User priority, which is the traffic identifier (table 10-1).
const fn tid(category: Category) -> u8 {
    match category {
        Category::BestEffort => 0,
        Category::Background => 1,
        Category::Video => 5,
        Category::Voice => 6,
    }
}

impl FrameNotes {
    /// From now on the output of `wlan` has the frames that were on the air.
    pub fn begin(wlan: &mut Wlan) {
        wlan.frames = Some(Box::default());
    }

    /// The PPDU at place `i` of the medium `m` has left the air.
    #[cold]
    pub fn note(
        &mut self,
        wlan: &Wlan,
        now: Instant,
        (m, i): (usize, usize),
        received: bool,
        out: &mut WlanOutput,
    ) {
        let notes = self;
        let t = &wlan.media[m].on_air[i];
        let sender = wlan.media[m].members[t.from];
        let to = t.to.map(|to| wlan.media[m].members[to]);
        let device = &wlan.devices[sender];
        let address = |d: usize| match wlan.devices[d].station {
            Some(station) => station_address(station),
            None => ap_address(wlan.devices[d].ap),
        };
        let from_ap = device.station.is_none();
        let network = || Box::new(wlan.aps[device.ap].announced());
        let frame = |body, retry| MacFrame {
            duration: t.nav.as_nanos().div_ceil(1000).min(0x7fff) as u16,
            receiver: to.map_or([0xff; 6], address),
            transmitter: address(sender),
            from_ap,
            retry,
            body,
        };
        let mut push = |frame: MacFrame, ampdu, received| {
            out.noted.push(NotedFrame {
                times: [t.start, now],
                ap: device.ap,
                from_ap,
                mode: t.mode,
                ampdu,
                received,
                retry: frame.retry,
                octets: frame.encode(),
            });
        };
        let body = match t.frame {
            Frame::Rts => Body::Rts,
            Frame::Cts => Body::Cts,
            Frame::Ack => Body::Ack,
            Frame::BlockAck | Frame::Request => {
                // A block ack answers what its receiver has sent; a request is its sender's.
                let asks = t.frame == Frame::Request;
                let Some(owner) = (if asks { Some(sender) } else { to }) else { return };
                let burst = &wlan.devices[owner].burst;
                let category = Category::ALL[burst.contender.min(3)];
                let end = wlan.devices[owner].end();
                let queue = burst
                    .station
                    .and_then(|s| wlan.links[s].tx_queues[end.index()][category.index()].as_ref());
                let Some(originator) = queue.map(|queue| &queue.originator) else { return };
                let start = originator.start();
                if asks {
                    Body::BlockAckRequest(tid(category), start)
                } else {
                    let has = |n: u16| originator.get((start + n) & 0xfff).is_some_and(Mpdu::arrived);
                    let bitmap = (0..64).filter(|n| has(*n)).fold(0, |all, n| all | 1 << n);
                    Body::BlockAck(tid(category), start, bitmap)
                }
            }
            Frame::Data => {
                let burst = &device.burst;
                let (Some(station), Some(category)) = (burst.station, Category::ALL.get(burst.contender))
                else {
                    return;
                };
                let end = device.end();
                let queue = wlan.links[station].tx_queues[end.index()][category.index()].as_ref();
                let qos = wlan.aps[device.ap].standard.qos();
                notes.ampdus += u32::from(burst.ampdu);
                for (n, sn) in burst.sns.iter().enumerate() {
                    let Some(mpdu) = queue.and_then(|queue| queue.originator.get(*sn)) else { continue };
                    let key = (station, end, category.index(), *sn);
                    // Without a chain its packets have arrived, and only the answer was lost: the
                    // body is that of before.
                    if let Some(chain) = mpdu.chain {
                        let packets: Vec<_> =
                            wlan.pool.items(chain).map(|item| (item.id, item.size)).collect();
                        let ends = [address(sender), to.map_or([0xff; 6], address)];
                        notes.bodies.insert(key, body(&packets, ends, &mut notes.serial));
                    }
                    let body = notes.bodies.get(&key).cloned().unwrap_or_default();
                    let body = Body::Data(*sn, qos.then_some(tid(*category)), mpdu.msdus > 1, body);
                    let last = n + 1 == burst.sns.len();
                    let read = received && burst.received.get(n).copied().unwrap_or(false);
                    push(frame(body, mpdu.aired), burst.ampdu.then_some((notes.ampdus, last)), Some(read));
                }
                return;
            }
            Frame::Management(management) => {
                notes.sequence = (notes.sequence + 1) & 0xfff;
                let (sn, id) = (notes.sequence, management.station.index() as u16 + 1);
                let body = match (management.subject, management.from) {
                    (Subject::Authentication, End::Station) => Body::Authentication(sn, 1),
                    (Subject::Authentication, End::Ap) => Body::Authentication(sn, 2),
                    (Subject::Association, End::Station) => Body::AssociationRequest(sn, network()),
                    (Subject::Association, End::Ap) => Body::AssociationResponse(sn, id & 0x3fff, network()),
                    (Subject::BlockAckAsked(category), end) => {
                        let queues = &wlan.links[management.station].tx_queues[end.index()];
                        let start = queues[category.index()].as_ref().map_or(0, |q| q.originator.start());
                        Body::AddbaRequest(sn, tid(category), start, network())
                    }
                    (Subject::BlockAckAnswered(category), _) => {
                        Body::AddbaResponse(sn, tid(category), network())
                    }
                };
                return push(frame(body, management.retries > 0), None, Some(received));
            }
            Frame::Beacon => {
                notes.sequence = (notes.sequence + 1) & 0xfff;
                let beacon = &wlan.aps[device.ap].beacon;
                let interval = (beacon.interval.as_micros() / 1024).min(0xffff) as u16;
                let (timestamp, size) = (t.start.as_nanos() / 1000, beacon.size.0 as u32);
                let body = Body::Beacon(notes.sequence, timestamp, interval, size, network());
                return push(frame(body, false), None, None);
            }
        };
        push(frame(body, false), None, Some(received));
    }
}

/// The frame body of packets: LLC and SNAP (clause 5.1.4 and IEEE Std 802) before each, and
/// subframes of an A-MSDU if there are several (clause 9.3.2.2.2).
fn body(packets: &[(PacketId, u32)], [from, to]: [[u8; 6]; 2], serial: &mut u64) -> Octets {
    let mut out = Octets::default();
    for (n, (id, size)) in packets.iter().enumerate() {
        if packets.len() > 1 {
            out.bytes.resize(out.bytes.len().next_multiple_of(4), 0);
            out.bytes.extend_from_slice(&to);
            out.bytes.extend_from_slice(&from);
            out.bytes.extend_from_slice(&((size + LLC) as u16).to_be_bytes());
        }
        // SNAP, of an Ethernet type: IPv4.
        out.bytes.extend_from_slice(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
        out.append_sdu(&[], (*id, *serial), 0, *size);
        *serial += 1;
        debug_assert!(n < 1000, "an MPDU has few packets");
    }
    out
}
