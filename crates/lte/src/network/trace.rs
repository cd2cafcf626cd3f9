//! Trace of the radio, step by step: requests, grants, reports, blocks and their outcomes. Off by
//! default; a network without a trace makes one comparison for each possible record.

use lasthop_units::{CellId, Duration, PacketId, Tti, UeId};

use super::RadioNetwork;
pub use super::signals::c_rnti;
use super::signals::{Signal, SignalRecord, Signals};
use crate::mac::harq::{Parts, Process};
use crate::mac::pdu::Control;
use crate::phy::RbSet;
use lasthop_bearer::{End, Journeys};
use lasthop_lte_l2::rlc::Pdu;

/// Link of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceLink {
    /// From the eNB to the UE.
    Downlink,
    /// From the UE to the eNB.
    Uplink,
    /// From the UE to its peer.
    Sidelink,
}

impl TraceLink {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            TraceLink::Downlink => "downlink",
            TraceLink::Uplink => "uplink",
            TraceLink::Sidelink => "sidelink",
        }
    }
}

/// A kind of step in the exchange of requests, grants, reports and transport blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The UE requests a grant: a scheduling request or a RAC.
    Request,
    /// The eNB grants the UE blocks of the TTI `about`.
    Grant,
    /// The UE sends a buffer status report.
    Report,
    /// The eNB has decoded a buffer status report that was sent in the TTI `about`.
    ReportReceived,
    /// A new transport block is transmitted.
    Data,
    /// A transport block is retransmitted.
    Again,
    /// The receiver has decoded the block that was sent in the TTI `about`, and sends ACK.
    Decoded,
    /// The receiver could not decode the block that was sent in the TTI `about`, and sends NACK.
    Failed,
}

impl Step {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Step::Request => "request",
            Step::Grant => "grant",
            Step::Report => "report",
            Step::ReportReceived => "report-heard",
            Step::Data => "data",
            Step::Again => "retransmission",
            Step::Decoded => "ack",
            Step::Failed => "nack",
        }
    }
}

/// A step with its time, link and block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceRecord {
    /// The TTI of the step.
    pub tti: Tti,
    /// The kind of step.
    pub step: Step,
    /// The link.
    pub link: TraceLink,
    /// The UE: the transmitter, or the receiver in the downlink.
    pub ue: UeId,
    /// The receiver of a sidelink; None for a block to a group.
    pub peer: Option<UeId>,
    /// The destination, if it is a group.
    pub group: Option<u32>,
    /// The TTI to which the step refers.
    pub about: Tti,
    /// Resource blocks.
    pub blocks: u32,
    /// Size of the transport block, or the bytes of a report [B].
    pub bytes: u64,
    /// I_MCS.
    pub mcs: Option<u8>,
    /// Packets that the block carries, wholly or in part.
    pub packets: Vec<PacketId>,
    /// Contents of the block, if the trace keeps them: RLC PDUs of a block that is transmitted.
    pub parts: Parts,
    /// Control elements of the block, at its first transmission.
    pub controls: Vec<Control>,
    /// Transmissions of the block so far.
    pub transmissions: u8,
    /// The HARQ process of the block. Downlink: 0 to 7 of code word 0, 8 to 15 of code word 1.
    pub process: u8,
    /// Of a sidelink's block, if the trace keeps contents: the transmitting end of its bearer, and
    /// the size of SL-SCH's header [B].
    pub from: Option<(End, u32)>,
}

impl TraceRecord {
    /// A step of `ue` in `tti` without a transport block.
    pub const fn new(tti: Tti, step: Step, link: TraceLink, ue: UeId) -> TraceRecord {
        TraceRecord {
            tti,
            step,
            link,
            ue,
            peer: None,
            group: None,
            about: tti,
            blocks: 0,
            bytes: 0,
            mcs: None,
            packets: Vec::new(),
            parts: Vec::new(),
            controls: Vec::new(),
            transmissions: 0,
            process: 0,
            from: None,
        }
    }
    /// The record with the block of `process`.
    pub fn with(self, process: &Process) -> TraceRecord {
        TraceRecord {
            about: process.sent,
            blocks: process.rbs.len(),
            bytes: u64::from(process.bytes),
            mcs: Some(process.mcs),
            packets: packets(&process.parts),
            transmissions: process.transmissions,
            ..self
        }
    }
}

/// The steps that were not taken yet; None: no trace is kept.
#[derive(Debug, Default)]
pub struct Trace {
    steps: Option<Vec<TraceRecord>>,
    /// The records have the contents of blocks.
    parts: bool,
    /// The signals beside blocks, if they are recorded.
    pub(super) signals: Signals,
}

impl RadioNetwork {
    /// Begins to record the progress of the SDUs of all bearers.
    pub fn note_journeys(&mut self) {
        let timing = self.cells.iter().map(|cell| cell.config.timing).next().unwrap_or_default();
        let decode = [timing.decode, timing.decode_of_uplink()].map(Duration::from_millis);
        self.bearers.note_journeys(decode);
    }
    /// The recorded progress of SDUs; `None` unless it is recorded.
    pub fn journeys(&mut self) -> Option<&mut Journeys> {
        self.bearers.journeys()
    }
    /// The trace of the network.
    pub const fn trace(&mut self) -> &mut Trace {
        &mut self.trace
    }
}

impl Trace {
    /// Begins to keep a trace, or ends it. Of blocks whose reception was in progress in other
    /// threads then, a trace has the failure also where the UE missed the assignment.
    pub fn set(&mut self, on: bool) {
        self.steps = on.then(Vec::new);
        self.parts &= on;
    }

    /// Begins to keep a trace with the contents of blocks.
    pub fn keep_parts(&mut self) {
        self.steps.get_or_insert_default();
        self.parts = true;
    }

    /// Begins to keep a trace with the contents of blocks, and with the signals beside them.
    pub fn set_with_parts(&mut self) {
        (self.steps, self.parts) = (Some(Vec::new()), true);
        self.signals.switch_on();
    }

    /// The signals beside blocks since the last call, in order.
    pub fn drain_signals(&mut self) -> impl Iterator<Item = SignalRecord> + '_ {
        self.signals.drain()
    }

    /// Records `signal`, if signals are recorded.
    #[inline]
    pub(super) fn signal(&mut self, tti: Tti, cell: CellId, signal: impl FnOnce() -> Signal) {
        self.signals.note(tti, cell, signal);
    }

    /// True if the records have the contents of blocks.
    pub(super) const fn has_parts(&self) -> bool {
        self.parts
    }

    /// Adds the control elements of the last recorded block.
    #[inline(always)]
    pub fn controls(&mut self, controls: impl FnOnce() -> Vec<Control>) {
        if self.parts {
            self.write_controls(controls);
        }
    }

    #[cold]
    #[inline(never)]
    fn write_controls(&mut self, controls: impl FnOnce() -> Vec<Control>) {
        if let Some(record) = self.steps.as_mut().and_then(|steps| steps.last_mut()) {
            record.controls = controls();
        }
    }

    /// The steps since the last call, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = TraceRecord> + '_ {
        self.steps.iter_mut().flat_map(|t| t.drain(..))
    }

    /// True if a trace is kept.
    #[inline]
    pub const fn is_on(&self) -> bool {
        self.steps.is_some()
    }

    /// Records `record`, if a trace is kept. The record is built out of line: its 200 octets in a
    /// function of every TTI prevent that function from being inlined.
    #[inline(always)]
    pub fn note(&mut self, record: impl FnOnce() -> TraceRecord) {
        if self.is_on() {
            self.write(record);
        }
    }

    #[cold]
    #[inline(never)]
    fn write(&mut self, record: impl FnOnce() -> TraceRecord) {
        if let Some(trace) = &mut self.steps {
            trace.push(record());
        }
    }

    /// Records a step of a UE's uplink without a block.
    #[inline(always)]
    pub fn step(&mut self, tti: Tti, step: Step, ue: UeId, about: Tti, bytes: u64, rbs: RbSet) {
        self.note(|| {
            let record = TraceRecord::new(tti, step, TraceLink::Uplink, ue);
            TraceRecord { about, bytes, blocks: rbs.len(), ..record }
        });
    }

    /// Records a step of the block of a HARQ process of `ue`, with the number of this process.
    #[inline(always)]
    pub fn block(&mut self, tti: Tti, step: Step, link: TraceLink, ue: UeId, process: (u8, &Process)) {
        if self.is_on() {
            self.write_block(tti, step, link, ue, process);
        }
    }

    #[cold]
    #[inline(never)]
    fn write_block(&mut self, tti: Tti, step: Step, link: TraceLink, ue: UeId, block: (u8, &Process)) {
        let (number, process) = block;
        let parts = self.parts && matches!(step, Step::Data | Step::Again);
        let parts = if parts { process.parts.clone() } else { Vec::new() };
        self.write(|| {
            let record = TraceRecord::new(tti, step, link, ue).with(process);
            TraceRecord { parts, process: number, ..record }
        });
    }
}

/// The packets in `parts`, each once.
fn packets(parts: &Parts) -> Vec<PacketId> {
    let mut found = Vec::new();
    for (_, pdu) in parts {
        if let Pdu::Umd(d) | Pdu::Amd(d) = pdu {
            found.extend(d.elements.iter().map(|e| e.payload.sdu.id));
        }
    }
    found.dedup();
    found
}
