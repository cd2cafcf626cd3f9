//! Packet captures: frames with real header bytes at points of observation.
//!
//! An [`Observer`] exists only in a run with a capture. `world` passes it the packets at points of
//! observation; it decides whether that point, the flow and the moment are captured.

mod heads;
mod ip;

use std::path::{Path, PathBuf};

pub use lasthop_capture::pcapng::Direction;
use lasthop_capture::pcapng::{self, FinishedCapture, Interface, InterfaceId, Ring, Section, Writer};
use lasthop_units::{AccessId, FlowId, Hole, Id, IndexVec, Instant, NodeId, Octets, PacketId};

use crate::error::Error;
use crate::sink::Sink;
use crate::spec::{CAPTURE_DROPS, CaptureSpec};
use crate::transport::Payload;
use heads::{Heads, Recent};
use ip::RealHeads;
pub use ip::{address, address6};

/// An IP packet in a capture.
type Packet = lasthop_net::Packet<Payload>;

/// The link type of an interface: values of the LinkType registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum LinkType {
    /// LINKTYPE_RAW: the header of IP.
    Ip = 101,
    /// LINKTYPE_IEEE802_11_RADIOTAP: radiotap, then the MAC header.
    Radiotap = 127,
    /// LINKTYPE_WIRESHARK_UPPER_PDU: tags that name a dissector.
    UpperPdu = 252,
}

/// An interface of the capture, for adapters that pass frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    interface: InterfaceId,
    /// True if frames end after the last header in them, with little of the payload.
    headers_only: bool,
    /// True if the octets before an IP packet name its protocol: those of LLC and SNAP end with the
    /// Ethernet type.
    with_type: bool,
}

/// Opens an interface of this name and description. Returns `None` if it is not captured.
pub type Open<'a> = dyn FnMut(&str, String, LinkType) -> Option<Point> + 'a;

/// The octets of payload that are kept where only headers are captured: with fewer than 28 the
/// heuristic dissectors of Wireshark above TCP and UDP report of each frame that its size was
/// limited.
const PAYLOAD: u32 = 32;

/// A frame below IP, from an adapter.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The point of observation; `None`: the capture only registers its packets.
    pub point: Option<Point>,
    /// The time of the frame.
    pub at: Instant,
    /// Its direction, as seen from the network.
    pub direction: Direction,
    /// The octets before those of the protocol.
    pub prefix: Vec<u8>,
    /// The octets.
    pub octets: Octets,
    /// A text for the reader; none if empty.
    pub comment: String,
}

/// The possible points of observation of a world.
pub struct Points<'a> {
    /// The names of all nodes.
    pub nodes: &'a IndexVec<NodeId, Box<str>>,
    /// The flows by name and table, and the nodes of their ends.
    pub flows: Vec<Observed<'a>>,
    /// Nodes where real packets enter and leave.
    pub external: Vec<NodeId>,
    /// The names of the directions of links.
    pub links: Vec<(AccessId, &'a str)>,
}

/// A flow that can be observed.
pub struct Observed<'a> {
    /// Its name.
    pub name: &'a str,
    /// The scenario's table of the flow.
    pub table: &'a str,
    /// Its ends.
    pub nodes: [NodeId; 2],
}

/// The point at which a packet is observed.
#[derive(Clone, Copy, Debug)]
pub enum ObservationPoint {
    /// The source passes it to IP.
    Source(NodeId),
    /// It is complete at its destination.
    Destination(NodeId),
    /// It enters the queue of a link.
    Queue(AccessId),
    /// It arrives from a link.
    Exit(AccessId),
}

/// The capture of a run.
pub struct Observer {
    writer: Writer,
    span: [Instant; 2],
    /// For each flow, whether it is captured.
    flows: IndexVec<FlowId, bool>,
    nodes: IndexVec<NodeId, Option<InterfaceId>>,
    /// Queue and exit of links.
    links: IndexVec<AccessId, [Option<InterfaceId>; 2]>,
    drops: Option<InterfaceId>,
    wanted: CaptureSpec,
    heads: Heads,
    recent: Recent,
    real: RealHeads,
    /// Comment of drops; the memory is reused.
    comment: String,
}

/// The path of the capture.
fn path_of(spec: &CaptureSpec, path: Option<&Path>, sink: &Sink) -> Result<PathBuf, Error> {
    match (path, sink) {
        (Some(path), _) => Ok(path.to_owned()),
        (None, Sink::Folder(folder)) => Ok(folder.partial().join(&spec.file)),
        (None, Sink::Memory) => {
            let message = "the scenario has a packet capture, and this run has no result folder";
            let help = "give it a folder (`out`), name a file (`capture`), or remove `[output.capture]`";
            Err(crate::config::Diagnostic::error("", message).help(help).into())
        }
    }
}

impl Observer {
    /// Opens the capture of `spec`: in the result folder of `sink`, or at `path`.
    ///
    /// # Errors
    /// There is neither; or the file cannot be created.
    pub fn open(
        spec: &CaptureSpec,
        path: Option<&Path>,
        sink: &Sink,
        scenario: &str,
        points: &Points<'_>,
    ) -> Result<Observer, Error> {
        let path = path_of(spec, path, sink)?;
        let section = Section {
            application: concat!("Lasthop ", env!("CARGO_PKG_VERSION")).to_owned(),
            hardware: "simulated".to_owned(),
            comment: format!("scenario {scenario}; 0 s of the run is 1970-01-01 00:00:00 UTC"),
            start_ns: 0,
        };
        let ring = spec.ring.and_then(|ring| {
            Some(Ring { bytes: ring.size.0.try_into().ok()?, files: ring.files.try_into().ok()? })
        });
        let mut writer = Writer::create(&path, section, ring)?;
        let snaplen = spec.snaplen.map_or(0, |s| s.0 as u32);
        let mut add = |name: &str, what: String| {
            let link_type = LinkType::Ip as u16;
            let interface = Interface { link_type, snaplen, name: name.to_owned(), description: what };
            spec.selects(name).then(|| writer.interface(interface))
        };
        let mut nodes: IndexVec<NodeId, Option<InterfaceId>> = points.nodes.iter().map(|_| None).collect();
        for (id, name) in points.nodes.enumerate() {
            if points.flows.iter().any(|f| f.nodes.contains(&id)) || points.external.contains(&id) {
                nodes[id] = add(name, format!("IP of the node {name}, {}", address(id)));
            }
        }
        let mut links = IndexVec::new();
        for (id, name) in &points.links {
            while links.len() <= id.index() {
                let _none_yet = links.push([None; 2]);
            }
            links[*id] = [
                add(&format!("{name}.queue"), format!("what enters the queue of {name}")),
                add(&format!("{name}.exit"), format!("what comes out of {name}")),
            ];
        }
        let drops = add(CAPTURE_DROPS, "what is dropped, with place and cause as its comment".to_owned());
        Ok(Observer {
            span: spec.span(),
            flows: points.flows.iter().map(|f| spec.selects_flow(f.name, f.table)).collect(),
            nodes,
            links,
            drops,
            writer,
            wanted: spec.clone(),
            heads: Heads::default(),
            recent: Recent::default(),
            real: RealHeads::new(),
            comment: String::new(),
        })
    }

    /// Adds a flow of real packets, with the next id.
    pub fn add_flow(&mut self, name: &str) {
        let _next = self.flows.push(self.wanted.selects_flow(name, name));
    }

    /// Keeps the first octets of a real packet while it is inside.
    pub fn note_real(&mut self, serial: u64, head: &[u8]) {
        self.real.insert(serial, head[..head.len().min(ip::MAX_HEAD)].into());
    }

    /// Removes the octets of a real packet that has left.
    pub fn remove_real(&mut self, serial: u64) {
        self.real.remove(&serial);
    }

    /// Opens the interface of an adapter, if it is captured.
    pub fn point(&mut self, name: &str, description: String, link_type: LinkType) -> Option<Point> {
        let snaplen = self.wanted.snaplen.map_or(0, |s| s.0 as u32);
        let (name, link_type) = (name.to_owned(), link_type as u16);
        // PDUs of radios are not cut: readers reassemble the parts of packets.
        let with_type = link_type == LinkType::Radiotap as u16;
        let headers_only = self.wanted.snaplen.is_none() && with_type;
        if !self.wanted.selects(&name) {
            return None;
        }
        let interface = self.writer.interface(Interface { link_type, snaplen, name, description });
        Some(Point { interface, headers_only, with_type })
    }

    /// Writes a frame of an access. `packet` finds packets in the slab.
    pub fn frame<'a>(
        &mut self,
        access: AccessId,
        mut frame: Frame,
        packet: impl Fn(PacketId) -> Option<&'a Packet>,
    ) {
        let key = |hole: &Hole| (access, hole.entity, hole.serial);
        let Some(Point { interface, headers_only, with_type }) = frame.point else {
            for hole in &frame.octets.holes {
                self.heads.fill(key(hole), hole.offset, &mut [], &self.real, || packet(hole.packet));
            }
            return;
        };
        let bytes = &mut frame.octets.bytes;
        let mut end = bytes.len();
        for hole in &frame.octets.holes {
            let (before, place) = bytes.split_at_mut(hole.at as usize);
            let place = &mut place[..hole.len as usize];
            let filled = self.heads.fill(key(hole), hole.offset, place, &self.real, || packet(hole.packet));
            // Real packets may be of IPv6; those of the simulator are of IPv4.
            if with_type
                && hole.offset == 0
                && place.first().is_some_and(|octet| octet >> 4 == 6)
                && let Some(ethernet_type) = before.last_chunk_mut()
            {
                *ethernet_type = ip::TYPE_IPV6;
            }
            // The payload is cut only if the frame has one packet, because several packets follow
            // each other.
            if let (Some(len), true, [_]) = (filled, headers_only, &frame.octets.holes[..])
                && (hole.at + hole.len) as usize == end
            {
                end = end.min(hole.at as usize + len + PAYLOAD as usize);
            }
        }
        if frame.at < self.span[0] || frame.at > self.span[1] {
            return self.writer.passed_over(interface);
        }
        self.writer.frame(&pcapng::Frame {
            interface,
            time_ns: frame.at.0,
            direction: frame.direction,
            prefix: &frame.prefix,
            bytes: &bytes[..end],
            zeros: 0,
            length: (frame.prefix.len() + bytes.len()) as u32,
            packet: None,
            comment: &frame.comment,
        });
    }

    /// Writes a packet at a point of observation.
    pub fn packet(&mut self, now: Instant, place: ObservationPoint, packet: &Packet) {
        let (interface, direction) = match place {
            ObservationPoint::Source(node) => (self.nodes[node], Direction::Outbound),
            ObservationPoint::Destination(node) => (self.nodes[node], Direction::Inbound),
            ObservationPoint::Queue(link) => (self.link(link, 0), Direction::Outbound),
            ObservationPoint::Exit(link) => (self.link(link, 1), Direction::Inbound),
        };
        let comment = if packet.content.is_again() { "retransmission" } else { "" };
        self.write(now, interface, direction, packet, comment);
    }

    /// Writes a packet that was dropped at a place of this name.
    #[cold]
    pub fn dropped(&mut self, at: Instant, packet: &Packet, cause: &str, place: &str) {
        let mut comment = std::mem::take(&mut self.comment);
        comment.clear();
        comment.extend(["dropped at ", place, ": ", cause]);
        if packet.content.is_again() {
            comment.push_str(" (retransmission)");
        }
        self.write(at, self.drops, Direction::Unknown, packet, &comment);
        self.comment = comment;
    }

    fn link(&self, link: AccessId, end: usize) -> Option<InterfaceId> {
        if link.index() < self.links.len() { self.links[link][end] } else { None }
    }

    fn write(
        &mut self,
        now: Instant,
        interface: Option<InterfaceId>,
        direction: Direction,
        packet: &Packet,
        comment: &str,
    ) {
        let Some(interface) = interface else { return };
        if now < self.span[0] || now > self.span[1] || !self.flows[packet.flow] {
            return self.writer.passed_over(interface);
        }
        let bytes = self.recent.of(packet, &self.real);
        // Payload is cut off unless a length is given. Readers reassemble fragments.
        let whole = self.wanted.snaplen.is_some() || packet.fragment.is_some();
        let payload = packet.size.saturating_sub(bytes.len() as u32);
        let zeros = if whole { payload } else { payload.min(PAYLOAD) };
        self.writer.frame(&pcapng::Frame {
            interface,
            time_ns: now.0,
            direction,
            prefix: &[],
            bytes,
            zeros,
            length: packet.size,
            packet: Some(packet.serial),
            comment,
        });
    }

    /// The error that ended the capture early, if any.
    pub fn error(&self) -> Option<Error> {
        self.writer.error().map(|e| Error::input(e.to_string()))
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn finish(self, now: Instant) -> Result<FinishedCapture, Error> {
        Ok(self.writer.finish(now.0)?)
    }
}
