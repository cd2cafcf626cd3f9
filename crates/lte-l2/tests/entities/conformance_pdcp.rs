//! PDCP: the procedures of TS 36.523-1 clause 7.3, with both ends of a bearer of this crate.

use super::support::*;
use lasthop_bearer::{DropCause, End};
use lasthop_lte_l2::pdcp::*;
use lasthop_lte_l2::rlc::*;
use lasthop_units::{Bytes, Duration, Id, Instant, PacketId};

struct Link {
    bearer: LteBearer,
    out: LteBearerOutput,
    now: Instant,
    pushed: usize,
}

fn config(mode: Mode, sn_bits: u32) -> LteBearerConfig {
    let rlc = RlcConfig { mode, ..RlcConfig::default() };
    LteBearerConfig { pdcp: PdcpConfig { sn_bits, ..PdcpConfig::default() }, rlc }
}

impl Link {
    fn new(config: &LteBearerConfig) -> Link {
        config.validate().unwrap();
        Link { bearer: LteBearer::new(config), out: LteBearerOutput::default(), now: ms(0), pushed: 0 }
    }
    /// The network pushes `n` packets of 100 bytes.
    fn push(&mut self, n: usize) {
        for _ in 0..n {
            let id = PacketId::from_index(self.pushed);
            self.pushed += 1;
            self.bearer.push(self.now, End::Network, id, 100, &mut self.out);
        }
    }
    /// Gives `end` a grant; `lose` decides by the number of the PDU in the grant. Returns the bytes
    /// used.
    fn carry(&mut self, end: End, grant: u32, lose: impl Fn(usize) -> bool) -> u32 {
        let mut pdus = Vec::new();
        let used = self.bearer.pull(self.now, end, Grant::of(grant), &mut pdus, &mut self.out);
        for (i, pdu) in pdus.into_iter().enumerate() {
            if lose(i) {
                self.bearer.lost(end, &pdu, &mut self.out);
            } else {
                self.bearer.receive(self.now, end.peer(), &pdu, &mut self.out);
            }
            self.bearer.recycle(end, pdu);
        }
        used
    }
    fn wait(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += MS;
            self.bearer.on_time(self.now, &mut self.out);
        }
    }
    /// Both ends get ample grants for `ms` milliseconds.
    fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.wait(1);
            self.carry(End::Network, 5000, |_| false);
            self.carry(End::Ue, 5000, |_| false);
        }
    }
    fn delivered(&mut self) -> Vec<u64> {
        self.out.delivered.drain(..).map(|(_, s)| s.serial).collect()
    }
}

fn many(mode: Mode, sn_bits: u32, n: usize) {
    let mut l = Link::new(&config(mode, sn_bits));
    for _ in 0..n / 10 {
        l.push(10);
        l.run(1);
    }
    l.run(100);
    assert_eq!(l.delivered().len(), n, "no HFN desynchronisation over {n} packets");
    assert_eq!(l.out.dropped, []);
    let (sn, hfn) = l.bearer.pdcp_rx(End::Ue).next();
    assert_eq!((hfn as usize) << sn_bits | sn as usize, n, "COUNT continues over the wraps of SN");
    assert_eq!(l.bearer.pdcp_tx(End::Network).next_count() as usize, n);
}

#[test]
fn tc_7_3_1_1_maintenance_of_pdcp_sequence_numbers_rlc_am() {
    many(Mode::Am, 12, 10_000);
    many(Mode::Am, 15, 70_000);
    many(Mode::Am, 18, 1_000);
}

#[test]
fn tc_7_3_1_2_maintenance_of_pdcp_sequence_numbers_rlc_um_short_7_bits() {
    many(Mode::Um, 7, 1_000);
}

#[test]
fn tc_7_3_1_3_maintenance_of_pdcp_sequence_numbers_rlc_um_long_12_bits() {
    many(Mode::Um, 12, 10_000);
}

#[test]
fn tc_7_3_5_2_lossless_handover_pdcp_sn_maintenance() {
    let mut l = Link::new(&config(Mode::Am, 12));
    l.push(20);
    l.carry(End::Network, 1100, |_| false); // ten packets arrive, unconfirmed
    assert_eq!(l.delivered(), (0..10).collect::<Vec<_>>());
    l.bearer.re_establish(l.now, &mut l.out);
    l.run(100);
    assert_eq!(l.delivered(), (10..20).collect::<Vec<_>>(), "sent again, delivered once");
    assert_eq!(l.bearer.pdcp_tx(End::Network).next_count(), 20, "COUNT goes on");
    assert!(l.bearer.pdcp_tx(End::Network).is_empty());
    assert_eq!(l.bearer.pdcp_rx(End::Ue).duplicates, 10, "retransmitted before the status report came back");
}

#[test]
fn tc_7_3_5_3_non_lossless_handover_pdcp_sn_maintenance() {
    let mut l = Link::new(&config(Mode::Um, 12));
    l.push(10);
    l.carry(End::Network, 500, |_| false);
    let before = l.delivered().len();
    l.bearer.re_establish(l.now, &mut l.out);
    assert_eq!(l.bearer.pdcp_tx(End::Network).next_count(), 0, "COUNT starts again");
    assert_eq!(l.out.dropped.len(), 10 - before, "what was inside is lost and reported");
    l.push(3);
    l.run(5);
    assert_eq!(l.delivered(), [10, 11, 12]);
    assert_eq!(l.bearer.pdcp_rx(End::Ue).next(), (3, 0));
}

#[test]
fn tc_7_3_5_4_lossless_handover_pdcp_status_report() {
    let mut l = Link::new(&config(Mode::Am, 12));
    l.push(6);
    // One packet per PDU of 2 + 102 bytes; PDUs 1 and 3 are lost.
    for i in 0..6 {
        l.carry(End::Network, 104, |_| i == 1 || i == 3);
    }
    assert_eq!(l.delivered(), [0]);
    l.bearer.re_establish(l.now, &mut l.out);
    // Flushed by RLC: 2, 4, 5 are stored; FMS = 1, then 2:1 3:0 4:1 5:1.
    assert_eq!(l.bearer.pdcp_rx(End::Ue).stored(), 3);
    assert_eq!(l.bearer.pdcp_rx(End::Ue).status_report(), StatusReport { fms: 1, bitmap: vec![0b1011_0000] });
    // The terminal's report reaches the network before the network has retransmitted any packet.
    l.carry(End::Ue, 100, |_| false);
    let left = l.bearer.buffer_status(End::Network).new_data;
    assert_eq!(left, 2 * 102 + 2, "packets 1 and 3 and our own report (FMS, no bitmap)");
    l.run(100);
    assert_eq!(l.delivered(), [1, 2, 3, 4, 5]);
    assert_eq!(l.bearer.pdcp_rx(End::Ue).duplicates, 0);
}

#[test]
fn tc_7_3_5_5_in_order_delivery_and_duplicate_elimination() {
    let mut c = config(Mode::Am, 12);
    c.pdcp.status_report = false;
    let mut l = Link::new(&c);
    l.push(8);
    for i in 0..8 {
        l.carry(End::Network, 104, |_| i % 2 == 1);
    }
    l.bearer.re_establish(l.now, &mut l.out);
    l.run(100);
    assert_eq!(l.delivered(), (0..8).collect::<Vec<_>>());
    // Without a report all eight are sent again: 0 delivered before, 2, 4 and 6 stored.
    assert_eq!(l.bearer.pdcp_rx(End::Ue).duplicates, 4);
}

#[test]
fn tc_7_3_6_1_pdcp_discard() {
    let mut c = config(Mode::Am, 12);
    c.pdcp.discard_timer = OrInfinity::Value(Duration::from_millis(50));
    let mut l = Link::new(&c);
    l.push(5);
    l.carry(End::Network, 150, |_| false); // the first and a part of the second
    l.wait(30);
    l.push(5);
    assert_eq!(l.bearer.poll_at(), Some(ms(50)), "the first discardTimer");
    l.wait(21);
    let dropped: Vec<_> = l.out.dropped.iter().map(|d| (d.1.serial, d.2)).collect();
    // TS 36.322 5.3: packet 1 has a segment in a PDU and is not discarded.
    assert_eq!(dropped, [2, 3, 4].map(|i| (i, DropCause::DiscardTimer)));
    l.run(20);
    assert_eq!(l.delivered(), [0, 1, 5, 6, 7, 8, 9]);
    assert_eq!(l.bearer.inside(End::Network), 0);
}

/// TS 36.323 clause 5.1.1, note: at most half of the SN space is in flight; the rest waits in PDCP
/// and counts as data available for transmission.
#[test]
fn half_of_the_sequence_numbers_are_in_flight_at_most() {
    let mut l = Link::new(&config(Mode::Am, 12));
    l.push(3000);
    assert_eq!(l.bearer.pdcp_tx(End::Network).next_count(), 2048);
    assert_eq!(l.bearer.buffer_status(End::Network).new_data, 2048 * 102 + 952 * 100);
    l.run(600);
    assert_eq!(l.delivered(), (0..3000).collect::<Vec<_>>());
}

/// TS 36.323 clause 5.5: packets are smaller on the air interface; after a burst of losses has
/// invalidated the context, the packets up to the next whole header are lost.
#[test]
fn header_compression_shrinks_packets_and_can_lose_its_context() {
    let mut c = config(Mode::Um, 12);
    c.pdcp.compression = Compression { kind: CompressionKind::Ideal, ratio: 0.1, ..Compression::default() };
    let mut l = Link::new(&c);
    l.push(1);
    // 100 - 40 + 4 of IP, 2 of PDCP, 2 of RLC.
    assert_eq!(l.carry(End::Network, 1000, |_| false), 68);
    c.pdcp.compression = Compression {
        kind: CompressionKind::Context,
        header: Bytes(40),
        refresh: 10,
        robustness: 2,
        ..c.pdcp.compression
    };
    let mut l = Link::new(&c);
    for i in 0..12 {
        l.push(1);
        l.carry(End::Network, 1000, |_| (3..6).contains(&i));
        l.wait(100);
    }
    assert_eq!(l.delivered(), [0, 1, 2, 10, 11]);
    let count = |cause| l.out.dropped.iter().filter(|d| d.2 == cause).count();
    assert_eq!((count(DropCause::RadioLoss), count(DropCause::ContextLoss)), (3, 4));
}

/// More PDUs than the SN space are lost in a row: the receiver deciphers with an old HFN, and the
/// packets are dropped with that cause until the bearer is re-established.
#[test]
fn a_loss_of_the_whole_number_space_desynchronises_the_hfn() {
    let mut l = Link::new(&config(Mode::Um, 7));
    l.push(1);
    l.run(1);
    for _ in 0..13 {
        l.push(10);
        l.carry(End::Network, 5000, |_| true);
    }
    l.push(2);
    l.run(100);
    assert_eq!(l.delivered(), [0]);
    assert!(l.out.dropped.iter().rev().take(2).all(|d| d.2 == DropCause::HfnDesync));
    l.bearer.re_establish(l.now, &mut l.out);
    l.push(1);
    l.run(1);
    assert_eq!(l.delivered(), [133]);
}

#[test]
fn a_released_bearer_reports_every_packet_inside() {
    let mut l = Link::new(&config(Mode::Am, 12));
    l.push(2500);
    l.carry(End::Network, 1000, |_| false);
    let n = l.delivered().len();
    l.bearer.release(&mut l.out);
    assert_eq!((n + l.out.dropped.len(), l.bearer.inside(End::Network)), (2500, 0));
}

#[test]
fn a_bearer_is_configured_as_rrc_could() {
    assert!(config(Mode::Am, 12).validate().is_ok());
    assert_eq!(config(Mode::Am, 7).validate().unwrap_err().key, "pdcp.sn_bits");
    assert_eq!(config(Mode::Um, 18).validate().unwrap_err().key, "pdcp.sn_bits");
    assert_eq!(config(Mode::Tm, 12).validate().unwrap_err().key, "rlc.mode");
}

/// Packets 3, 4 and 5 are lost on the radio: one more than the context survives. Packets 6 to 9
/// have compressed headers and are dropped for it; packet 10 has a whole header (one in ten). A
/// drop is counted with its own cause also where the next packet of the same RLC PDU is delivered.
#[test]
fn a_packet_without_context_is_no_loss_of_the_radio() {
    let mut c = config(Mode::Um, 12);
    c.pdcp.compression = Compression {
        kind: CompressionKind::Context,
        ratio: 0.1,
        header: Bytes(40),
        refresh: 10,
        robustness: 2,
    };
    let mut l = Link::new(&c);
    for i in 0..9 {
        l.push(1);
        l.carry(End::Network, 1000, |_| (3..6).contains(&i));
        l.wait(100);
    }
    // Packets 9 (compressed) and 10 (whole header) in one RLC PDU.
    l.push(2);
    l.carry(End::Network, 1000, |_| false);
    l.wait(100);
    assert_eq!(l.delivered(), [0, 1, 2, 10]);
    let count = |cause| l.out.dropped.iter().filter(|d| d.2 == cause).count();
    assert_eq!((count(DropCause::RadioLoss), count(DropCause::ContextLoss)), (3, 4));
}
