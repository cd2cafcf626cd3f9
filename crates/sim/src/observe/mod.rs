//! Packet captures: what is seen where, as frames with their real header bytes.
//!
//! An [`Observer`] is there only in a run with a capture. `world` shows it packets where they pass
//! a point of observation; whether that point, the flow and the moment are wanted is decided here.

mod ip;

use std::path::{Path, PathBuf};

use lasthop_capture::pcapng::{
    Direction, FinishedCapture, Frame, Interface, InterfaceId, Ring, Section, Writer,
};
use lasthop_units::{AccessId, FlowId, IndexVec, Instant, NodeId};

use crate::error::Error;
use crate::sink::Sink;
use crate::spec::{CAPTURE_DROPS, CaptureSpec};
use crate::transport::Payload;

/// An IP packet, as a capture sees it.
type Packet = lasthop_net::Packet<Payload>;

/// LINKTYPE_RAW: a frame begins with the header of IP.
const LINKTYPE_RAW: u16 = 101;

/// What there is to observe in a world.
pub struct Points<'a> {
    /// The names of all nodes.
    pub nodes: &'a IndexVec<NodeId, Box<str>>,
    /// The flows by name and table, and the nodes of their ends.
    pub flows: Vec<Observed<'a>>,
    /// The names of the directions of links.
    pub links: Vec<(AccessId, &'a str)>,
}

/// A flow that can be observed.
pub struct Observed<'a> {
    /// Its name.
    pub name: &'a str,
    /// The table that it is from.
    pub table: &'a str,
    /// Its ends.
    pub nodes: [NodeId; 2],
}

/// Where a packet is seen.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// Its source hands it to IP.
    Source(NodeId),
    /// It is whole at the node that it is for.
    Destination(NodeId),
    /// It enters the queue of a link.
    Queue(AccessId),
    /// It comes out of a link.
    Exit(AccessId),
}

/// The capture of a run.
pub struct Observer {
    writer: Writer,
    span: [Instant; 2],
    /// Which flows are wanted.
    flows: IndexVec<FlowId, bool>,
    nodes: IndexVec<NodeId, Option<InterfaceId>>,
    /// Queue and exit of links.
    links: IndexVec<AccessId, [Option<InterfaceId>; 2]>,
    drops: Option<InterfaceId>,
    /// Reused for each frame.
    head: Vec<u8>,
    comment: String,
}

impl Observer {
    /// Opens the capture that `spec` asks for: in the result folder of `sink`, or at `path`.
    ///
    /// # Errors
    /// There is neither; the file cannot be created.
    pub fn open(
        spec: &CaptureSpec,
        path: Option<&Path>,
        sink: &Sink,
        scenario: &str,
        points: &Points<'_>,
    ) -> Result<Observer, Error> {
        let path: PathBuf = match (path, sink) {
            (Some(path), _) => path.to_owned(),
            (None, Sink::Folder(folder)) => folder.partial().join(&spec.file),
            (None, Sink::Memory) => {
                let message = "the scenario asks for a packet capture, and this run has no result folder";
                return Err(crate::config::Diagnostic::error("", message)
                    .help("give it a folder (`out`), name a file (`capture`), or remove `[output.capture]`")
                    .into());
            }
        };
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
            let interface =
                Interface { link_type: LINKTYPE_RAW, snaplen, name: name.to_owned(), description: what };
            spec.wants(name).then(|| writer.interface(interface))
        };
        let mut nodes: IndexVec<NodeId, Option<InterfaceId>> = points.nodes.iter().map(|_| None).collect();
        for (id, name) in points.nodes.enumerate() {
            if points.flows.iter().any(|f| f.nodes.contains(&id)) {
                nodes[id] = add(name, format!("IP of the node {name}, {}", ip::address(id)));
            }
        }
        let mut links = IndexVec::new();
        for (id, name) in &points.links {
            while links.len() <= lasthop_units::Id::index(*id) {
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
            flows: points.flows.iter().map(|f| spec.wants_flow(f.name, f.table)).collect(),
            nodes,
            links,
            drops,
            writer,
            head: Vec::new(),
            comment: String::new(),
        })
    }

    /// A packet is seen.
    pub fn packet(&mut self, now: Instant, place: Place, packet: &Packet) {
        let (interface, direction) = match place {
            Place::Source(node) => (self.nodes[node], Direction::Outbound),
            Place::Destination(node) => (self.nodes[node], Direction::Inbound),
            Place::Queue(link) => (self.link(link, 0), Direction::Outbound),
            Place::Exit(link) => (self.link(link, 1), Direction::Inbound),
        };
        let comment = if packet.again { "retransmission" } else { "" };
        self.write(now, interface, direction, packet, comment);
    }

    /// A packet was dropped at a place of this name.
    #[cold]
    pub fn dropped(&mut self, at: Instant, packet: &Packet, cause: &str, place: &str) {
        let mut comment = std::mem::take(&mut self.comment);
        comment.clear();
        comment.extend(["dropped at ", place, ": ", cause]);
        if packet.again {
            comment.push_str(" (retransmission)");
        }
        self.write(at, self.drops, Direction::Unknown, packet, &comment);
        self.comment = comment;
    }

    fn link(&self, link: AccessId, end: usize) -> Option<InterfaceId> {
        let index = lasthop_units::Id::index(link);
        if index < self.links.len() { self.links[link][end] } else { None }
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
        self.head.clear();
        ip::head(&mut self.head, packet);
        let frame = Frame {
            interface,
            time_ns: now.0,
            direction,
            bytes: &self.head,
            zeros: packet.size.saturating_sub(self.head.len() as u32),
            length: packet.size,
            packet: Some(packet.serial),
            comment,
        };
        let _in_order = self.writer.frame(&frame);
        debug_assert!(_in_order.is_ok(), "{_in_order:?}");
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
