//! The frames of each PPDU, at its end, for captures.

use std::collections::BTreeMap;

use lasthop_units::{ApId, Id, IndexVec, Instant, Octets, PacketId, StationId};

use crate::mac::elements::Network;
use crate::mac::octets::{Address, Body, MacFrame, ap_address, station_address};
use crate::mac::{Category, LLC, Mpdu, Originator, Pool};
use crate::network::ap::AccessPoint;
use crate::network::manage::{Management, Subject};
use crate::network::medium::{Frame, Transmission};
use crate::network::tx_queue::TxQueue;
use crate::network::{ApConfig, Device, End, Link, NotedFrame};

/// Bodies of data frames, kept because a frame can be sent again when its packets are gone.
#[derive(Debug, Default)]
pub struct FrameRecorder {
    bodies: BTreeMap<(StationId, End, usize, u16), Octets>,
    /// Number of packets so far.
    serial: u64,
    /// Number of A-MPDUs so far.
    ampdus: u32,
    /// The last number of each device's management frames and beacons (clause 10.3.2.11).
    sequences: BTreeMap<Address, u16>,
    /// The numbers of management frames, by transmitter, station and subject: one that is sent
    /// again keeps its number (clause 9.2.4.4.2).
    management: BTreeMap<(Address, StationId, Subject), u16>,
}

/// A PPDU that has ended, and the sources of its frames.
pub struct Sent<'a> {
    /// The present, which is its end.
    pub now: Instant,
    pub ppdu: &'a Transmission,
    /// Devices of its medium, by their number there.
    pub members: &'a [usize],
    pub devices: &'a [Device],
    pub links: &'a IndexVec<StationId, Link>,
    pub aps: &'a IndexVec<ApId, AccessPoint>,
    pub pool: &'a Pool,
    /// True if the addressee decoded any of it.
    pub received: bool,
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

impl Sent<'_> {
    fn sender(&self) -> &Device {
        &self.devices[self.members[self.ppdu.from]]
    }
    fn recipient(&self) -> Option<&Device> {
        self.ppdu.to.map(|to| &self.devices[self.members[to]])
    }
    fn ap(&self) -> &ApConfig {
        &self.aps[self.sender().ap].config
    }
    /// Receiver and transmitter.
    fn addresses(&self) -> [Address; 2] {
        [self.recipient().map_or([0xff; 6], address), address(self.sender())]
    }
    fn announced(&self) -> Box<Network> {
        Box::new(self.ap().announced())
    }
    fn queue_of_burst(&self, owner: &Device) -> Option<&TxQueue> {
        let queues = &self.links[owner.burst.station?].tx_queues[owner.end().index()];
        queues.get(owner.burst.contender)?.as_deref()
    }
    /// The block ack agreement of the burst of `owner`.
    fn agreement(&self, owner: &Device) -> Option<(u8, &Originator)> {
        let category = *Category::ALL.get(owner.burst.contender)?;
        Some((tid(category), &self.queue_of_burst(owner)?.originator))
    }
    /// The block ack request of its sender.
    fn block_ack_request(&self) -> Option<Body> {
        let (tid, originator) = self.agreement(self.sender())?;
        Some(Body::BlockAckRequest(tid, originator.start()))
    }
    /// The block ack, which responds to the PPDU of its receiver.
    fn block_ack(&self) -> Option<Body> {
        let (tid, originator) = self.agreement(self.recipient()?)?;
        let start = originator.start();
        let has = |n: u16| originator.get((start + n) & 0xfff).is_some_and(Mpdu::arrived);
        let bitmap = (0..64).filter(|n| has(*n)).fold(0, |all, n| all | 1 << n);
        Some(Body::BlockAck(tid, start, bitmap))
    }
    /// A frame of the PPDU. `ampdu`: the number of its A-MPDU, and whether the frame is the last in
    /// it.
    fn frame(
        &self,
        body: Body,
        retry: bool,
        ampdu: Option<(u32, bool)>,
        received: Option<bool>,
    ) -> NotedFrame {
        let [receiver, transmitter] = self.addresses();
        let from_ap = self.sender().station.is_none();
        let duration = self.ppdu.nav.as_nanos().div_ceil(1000).min(0x7fff) as u16;
        NotedFrame {
            times: [self.ppdu.start, self.now],
            ap: self.sender().ap,
            from_ap,
            mode: self.ppdu.mode,
            ampdu,
            received,
            retry,
            octets: MacFrame { duration, receiver, transmitter, from_ap, retry, body }.encode(),
        }
    }
}

fn address(device: &Device) -> Address {
    device.station.map_or_else(|| ap_address(device.ap), station_address)
}

impl FrameRecorder {
    /// Records the frames of a PPDU.
    #[cold]
    pub fn record(&mut self, sent: &Sent<'_>, out: &mut Vec<NotedFrame>) {
        let (body, retry, received) = match sent.ppdu.frame {
            Frame::Data => return self.data(sent, out),
            Frame::Management(frame) => {
                (Some(self.management(sent, &frame)), frame.retries > 0, Some(sent.received))
            }
            Frame::Beacon => (Some(self.beacon(sent)), false, None),
            Frame::Rts => (Some(Body::Rts), false, Some(sent.received)),
            Frame::Cts => (Some(Body::Cts), false, Some(sent.received)),
            Frame::Ack => (Some(Body::Ack), false, Some(sent.received)),
            Frame::Request => (sent.block_ack_request(), false, Some(sent.received)),
            Frame::BlockAck => (sent.block_ack(), false, Some(sent.received)),
        };
        out.extend(body.map(|body| sent.frame(body, retry, None, received)));
    }

    /// Records the MPDUs of a burst of data.
    fn data(&mut self, sent: &Sent<'_>, out: &mut Vec<NotedFrame>) {
        let (device, burst) = (sent.sender(), &sent.sender().burst);
        let (Some(station), Some(category)) = (burst.station, Category::ALL.get(burst.contender)) else {
            return;
        };
        let queue = sent.queue_of_burst(device);
        let qos = sent.ap().standard.qos();
        let [receiver, transmitter] = sent.addresses();
        self.ampdus += u32::from(burst.ampdu);
        for (n, sn) in burst.sns.iter().enumerate() {
            let Some(mpdu) = queue.and_then(|queue| queue.originator.get(*sn)) else { continue };
            let key = (station, device.end(), category.index(), *sn);
            // Without a chain the packets have arrived, and only the response was lost: the body is
            // that of the earlier transmission.
            if let Some(chain) = mpdu.chain {
                let packets: Vec<_> = sent.pool.items(chain).map(|item| (item.id, item.size)).collect();
                self.bodies.insert(key, body(&packets, [transmitter, receiver], &mut self.serial));
            }
            let body = self.bodies.get(&key).cloned().unwrap_or_default();
            let body = Body::Data(*sn, qos.then_some(tid(*category)), mpdu.msdus > 1, body);
            let ampdu = burst.ampdu.then_some((self.ampdus, n + 1 == burst.sns.len()));
            let read = sent.received && burst.received.get(n).copied().unwrap_or(false);
            out.push(sent.frame(body, mpdu.aired, ampdu, Some(read)));
        }
    }

    fn management(&mut self, sent: &Sent<'_>, frame: &Management) -> Body {
        let (from, id) = (address(sent.sender()), frame.station.index() as u16 + 1);
        let key = (from, frame.station, frame.subject);
        let earlier = self.management.get(&key).copied().filter(|_| frame.retries > 0);
        let sn = earlier.unwrap_or_else(|| self.next_sequence(from));
        self.management.insert(key, sn);
        match (frame.subject, frame.from) {
            (Subject::Authentication, End::Station) => Body::Authentication(sn, 1),
            (Subject::Authentication, End::Ap) => Body::Authentication(sn, 2),
            (Subject::Association, End::Station) => Body::AssociationRequest(sn, sent.announced()),
            (Subject::Association, End::Ap) => Body::AssociationResponse(sn, id & 0x3fff, sent.announced()),
            (Subject::BlockAckAsked(category), end) => {
                let queues = &sent.links[frame.station].tx_queues[end.index()];
                let start = queues[category.index()].as_ref().map_or(0, |q| q.originator.start());
                Body::AddbaRequest(sn, tid(category), start, sent.announced())
            }
            (Subject::BlockAckAnswered(category), _) => {
                Body::AddbaResponse(sn, tid(category), sent.announced())
            }
        }
    }

    fn beacon(&mut self, sent: &Sent<'_>) -> Body {
        let beacon = &sent.ap().beacon;
        let interval = (beacon.interval.as_micros() / 1024).min(0xffff) as u16;
        let (timestamp, size) = (sent.ppdu.start.as_nanos() / 1000, beacon.size.0 as u32);
        let sn = self.next_sequence(address(sent.sender()));
        Body::Beacon(sn, timestamp, interval, size, sent.announced())
    }

    fn next_sequence(&mut self, from: Address) -> u16 {
        let sequence = self.sequences.entry(from).or_insert(0xfff);
        *sequence = (*sequence + 1) & 0xfff;
        *sequence
    }
}

/// The frame body of packets: LLC and SNAP (clause 5.1.4 and IEEE Std 802) before each, and
/// subframes of an A-MSDU if there are several (clause 9.3.2.2.2).
fn body(packets: &[(PacketId, u32)], [from, to]: [Address; 2], serial: &mut u64) -> Octets {
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
