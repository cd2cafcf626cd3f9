//! The endpoint: one end of a connection.
//!
//! Split along RFC 9293 section 3.10: `app` holds the user calls (3.10.1 to 3.10.6), `input` the
//! arrival of a segment with its numbered checks (3.10.7), `handshake` its LISTEN and SYN-SENT
//! parts, `ack` its fifth check, `receive` the seventh and eighth, `timers` the timeouts (3.10.8),
//! `output` what leaves.

mod accecn;
mod ack;
mod app;
mod chrono;
mod ecn;
mod frto;
mod handshake;
mod info;
mod input;
mod offload;
mod output;
mod rack;
mod receive;
mod send_memory;
mod timers;

pub use info::{Counters, Info};
pub use offload::WriteHint;

use ack::timestamp;

use std::collections::VecDeque;

use lasthop_units::{Duration, Instant, Seq, StreamOffset};

use crate::ack_linux::LinuxAcks;
use crate::ack_policy::AckPolicy;
use crate::cc::{Cc, CongestionControl};
use crate::config::Config;
use crate::flight::Flight;
use crate::hint::{Guidance, Hint};
use crate::jiffies::Timers;
use crate::reassembly::Reassembly;
use crate::recovery::{Rack, Recovery, Sender};
use crate::right_sizing::RightSizing;
use crate::rto::Rto;
use crate::segment::Segment;
use crate::state::{Input, State};

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// Both sides closed and all data was acknowledged.
    Finished,
    /// The application aborted.
    Aborted,
    /// A timer gave up: too many retransmissions in a row (RFC 9293 section 3.8.3).
    TimedOut,
}

/// Something that happened, for probes and applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is done.
    Established,
    /// The peer has no more to send: everything it sent has been received.
    PeerClosed,
    /// The retransmission timer expired.
    RtoFired {
        /// How many times in a row, from 1.
        count: u32,
    },
    /// The last timeout was spurious: the original was acknowledged, not the retransmission (as by
    /// RFC 3522's timestamps, or sooner than the smallest round trip allows). Nothing is
    /// undone.
    SpuriousRto,
    /// A segment was sent again without a timeout.
    FastRetransmit,
    /// Fast recovery began.
    RecoveryEntered,
    /// Recovery, fast or after a timeout, ended.
    RecoveryExited,
    /// The window was reduced because of congestion marks (ECN), without a loss.
    MarkReduction,
    /// A zero window was probed.
    ZeroWindowProbe,
    /// A round-trip sample; only after [`Endpoint::report_rtt_samples`].
    RttSample(Duration),
    /// The connection is over.
    Closed(CloseReason),
    /// The peer reset the connection.
    Reset,
}

/// One end of a TCP connection.
///
/// Contract. Input: [`handle_segment`](Self::handle_segment), [`on_time`](Self::on_time), and the
/// application's [`connect`](Self::connect), [`listen`](Self::listen), [`write`](Self::write),
/// [`read`](Self::read), [`close`](Self::close), [`abort`](Self::abort). After any of them, call
/// [`poll_transmit`](Self::poll_transmit) until `None`, then [`poll_event`](Self::poll_event) until
/// `None`, then ask [`poll_at`](Self::poll_at) when to call `on_time`. Being called early or for
/// nothing is harmless. Time never moves back.
///
/// Octets are counted by offsets into the two streams: 0 is the SYN, data begins at 1, the FIN
/// comes last.
#[derive(Clone, Debug)]
pub struct Endpoint {
    config: Config,
    state: State,

    // Send sequence variables (RFC 9293 section 3.3.1).
    isn: Seq,
    una: u64,
    /// SND.NXT; behind `max` only while going back after a timeout without SACK.
    nxt: u64,
    /// After the highest octet ever sent.
    max: u64,
    /// After the last octet the application wrote.
    written: u64,
    close_requested: bool,
    wnd: u64,
    max_wnd: u64,
    /// SND.WL1 (offset in the peer's stream) and SND.WL2.
    wl1: i64,
    wl2: u64,
    /// Octets of data in a full segment.
    mss: u32,
    snd_scale: u8,

    // Receive sequence variables.
    irs: Seq,
    rcv_nxt: u64,
    /// The right edge of the window we advertised: never moves left (RFC 9293 section 3.8.6).
    rcv_edge: u64,
    /// What the application has taken.
    read_to: u64,
    /// The offset of the peer's FIN, once known.
    peer_fin: Option<u64>,
    rcv_scale: u8,
    last_ack_sent: u64,
    reassembly: Reassembly,
    ack: AckPolicy,
    /// The size of the receive buffer, where it is no fixed one.
    sizing: Option<Box<RightSizing>>,
    /// A duplicate to report (RFC 2883).
    duplicate: Option<(u64, u64)>,

    ecn: ecn::EcnState,

    // Options negotiated.
    timestamps: bool,
    sack: bool,
    /// The peer's SYN carried the window scale option.
    peer_scales: bool,
    ts_recent: u32,
    ts_recent_at: Instant,

    // Exchangeable parts.
    cc: Cc,
    /// A sending rate may be set, by the configuration or by `cc`.
    paces: bool,
    recovery: Recovery,
    /// RACK's memory; empty in the other flavours.
    rack: Box<Rack>,
    rto: Rto,
    flight: Flight,

    /// The write queue in packets, with segmentation offload.
    offload: Option<Box<offload::WriteQueue>>,
    usage: offload::Usage,
    /// The send buffer, where it grows by itself.
    memory: Option<send_memory::SendMemory>,
    corked: bool,
    notsent_limit: u64,
    user_timeout: Option<Duration>,
    /// When the oldest outstanding data was sent again for the first time, or a closed window first
    /// waited for.
    unanswered_since: Instant,
    chrono: chrono::Chrono,
    /// When a segment with data arrived last.
    last_data_at: Instant,
    reader_gone: bool,
    /// Octets of data that the peer's SYN carried, until the connection is established.
    syn_text: u32,
    /// The peer opened: until the handshake is done only the window of the SYN-ACK exists.
    passive: bool,
    /// Our FIN goes again with the ACK that is due.
    fin_again: bool,

    // The SYN, and a reset that waits to leave.
    syn_due: bool,
    syn_sent_at: Instant,
    syn_transmissions: u32,
    reset: Option<Segment>,
    probe_due: bool,

    /// When a wait ends.
    timers: Timers,
    // Timers: Instant::MAX when off.
    rto_at: Instant,
    /// RACK's reordering timer, or the tail loss probe.
    loss_at: Instant,
    loss_is_probe: bool,
    persist_at: Instant,
    persist_backoff: u32,
    /// The override timeout of RFC 9293 section 3.8.6.2.1 has passed: small segments may leave.
    override_sws: bool,
    time_wait_at: Instant,
    pace_at: Instant,
    /// The departure time after the last segment paced as Linux does.
    paced_to: Instant,

    // Measurements.
    timed: Option<(u64, Instant)>,
    timeouts_in_a_row: u32,
    /// Octets delivered since the start: acknowledged or SACKed.
    delivered: u64,
    /// Without SACK: octets that duplicate ACKs have told of, above SND.UNA.
    delivered_by_dups: u64,
    /// When the last timeout resent the octet at this offset, until that is acknowledged.
    resent_by_timeout: Option<(u64, Instant)>,
    last_sent: Instant,
    min_rtt: Option<Duration>,
    last_rtt: Option<Duration>,
    counters: Counters,
    events: VecDeque<Event>,
    report_rtt: bool,
    /// What our bare ACKs tell the peer about our last hop.
    /// What ACKs tell the peer of its last hop, and since when that is known.
    guidance: Option<(Instant, Guidance)>,
    /// The newest notice that the peer's ACKs brought.
    heard_notice: u8,
}

fn ack_policy(config: &Config) -> AckPolicy {
    match config.host.acks {
        rule if rule.is_linux() => {
            let linux = LinuxAcks::new(config.ack_delay, config.quick_acks, rule, config.timers());
            AckPolicy::linux(config.ack_delay, linux, config.timers())
        }
        _ => AckPolicy::new(config.ack_every, config.ack_delay, config.quick_acks, config.timers()),
    }
}

/// Events kept for a caller that does not ask; the oldest are dropped beyond.
const EVENTS_MAX: usize = 1024;

impl Endpoint {
    /// A closed endpoint whose first sequence number will be `isn`.
    pub fn new(config: Config, isn: Seq) -> Endpoint {
        Endpoint::with_control(config, Cc::new(&config), isn)
    }

    /// As [`Endpoint::new`], with this congestion control at work.
    pub fn with_control(config: Config, cc: Cc, isn: Seq) -> Endpoint {
        Endpoint {
            state: State::Closed,
            paces: config.pacing
                || config.max_pacing_rate.is_some()
                || config.control_at_work().needs().paces,
            isn,
            una: 0,
            nxt: 0,
            max: 0,
            written: 1,
            close_requested: false,
            wnd: 0,
            max_wnd: 0,
            wl1: 0,
            wl2: 0,
            mss: u32::from(config.mss),
            snd_scale: 0,
            irs: Seq(0),
            rcv_nxt: 0,
            rcv_edge: 0,
            read_to: 1,
            peer_fin: None,
            rcv_scale: 0,
            last_ack_sent: 0,
            reassembly: Reassembly::default(),
            ack: ack_policy(&config),
            sizing: None,
            duplicate: None,
            ecn: ecn::EcnState::default(),
            timestamps: config.timestamps,
            sack: config.sack,
            peer_scales: false,
            ts_recent: 0,
            ts_recent_at: Instant::ZERO,
            cc,
            recovery: Recovery::new(&config, false, u32::from(config.mss)),
            rack: Box::default(),
            rto: Rto::new(&config),
            flight: Flight::default(),
            offload: offload::is_wanted(&config).then(Box::default),
            corked: false,
            notsent_limit: u64::MAX,
            user_timeout: None,
            unanswered_since: Instant::ZERO,
            chrono: chrono::Chrono::default(),
            last_data_at: Instant::ZERO,
            reader_gone: false,
            syn_text: 0,
            passive: false,
            fin_again: false,
            usage: offload::Usage::default(),
            memory: send_memory::SendMemory::new(&config),
            syn_due: false,
            syn_sent_at: Instant::ZERO,
            syn_transmissions: 0,
            reset: None,
            probe_due: false,
            timers: config.timers(),
            rto_at: Instant::MAX,
            loss_at: Instant::MAX,
            loss_is_probe: false,
            persist_at: Instant::MAX,
            persist_backoff: 0,
            override_sws: false,
            time_wait_at: Instant::MAX,
            pace_at: Instant::ZERO,
            paced_to: Instant::ZERO,
            timed: None,
            timeouts_in_a_row: 0,
            delivered: 0,
            delivered_by_dups: 0,
            resent_by_timeout: None,
            last_sent: Instant::ZERO,
            min_rtt: None,
            last_rtt: None,
            counters: Counters::default(),
            events: VecDeque::new(),
            report_rtt: false,
            guidance: None,
            heard_notice: 0,
            config,
        }
    }

    /// The next thing that happened, oldest first.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// A hint about the last hop has reached this end by another way than an ACK's option.
    pub fn handle_hint(&mut self, hint: &Hint) {
        if self.state.may_send() {
            self.cc.on_hint(hint);
        }
    }

    /// From now on bare ACKs carry this hint to the peer, with the age that its readings of
    /// `measured` have by then, until it is set anew; `None`: none.
    pub fn set_guidance(&mut self, measured: Instant, guidance: Option<Guidance>) {
        self.guidance = guidance.map(|g| (measured, g));
    }

    /// An ACK's option: its notice is news once, its readings each time.
    fn take_guidance(&mut self, now: Instant, guidance: &Guidance) {
        let mut hint = guidance.hint(now);
        let number = guidance.notice_number();
        if std::mem::replace(&mut self.heard_notice, number) == number {
            hint.notice = None;
        }
        self.handle_hint(&hint);
    }

    /// When to call [`on_time`](Self::on_time); `None` when nothing will happen without input.
    #[inline]
    pub fn poll_at(&self) -> Option<Instant> {
        let pace = if self.pace_holds_something() { self.pace_at } else { Instant::MAX };
        let at = self
            .rto_at
            .min(self.loss_at)
            .min(self.persist_at)
            .min(self.time_wait_at)
            .min(self.ack.deadline())
            .min(pace);
        (at != Instant::MAX).then_some(at)
    }

    fn emit(&mut self, event: Event) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// Takes the transition for `input`, if the table has one.
    fn step(&mut self, input: Input) {
        if let Some(next) = self.state.after(input) {
            self.state = next;
        }
    }

    fn finish(&mut self, event: Event) {
        self.step(Input::Abort);
        self.stop_timers();
        self.reset = None;
        self.syn_due = false;
        self.emit(event);
    }

    fn stop_timers(&mut self) {
        self.rto_at = Instant::MAX;
        self.loss_at = Instant::MAX;
        self.persist_at = Instant::MAX;
        self.time_wait_at = Instant::MAX;
        self.probe_due = false;
        self.ack.sent();
    }

    /// After the last octet to send, FIN included once the application has closed.
    #[inline]
    fn stream_end(&self) -> u64 {
        self.written + u64::from(self.close_requested)
    }

    #[inline]
    fn seq_of(&self, offset: u64) -> Seq {
        StreamOffset(offset).wrap(self.isn)
    }
    #[inline]
    fn rcv_seq_of(&self, offset: u64) -> Seq {
        StreamOffset(offset).wrap(self.irs)
    }
    /// The offset in our stream of a number near SND.UNA; negative before its start.
    #[inline]
    fn offset_of(&self, seq: Seq) -> i64 {
        self.una as i64 + i64::from(seq.distance_from(self.seq_of(self.una)))
    }
    /// The offset in the peer's stream of a number near RCV.NXT.
    #[inline]
    fn rcv_offset_of(&self, seq: Seq) -> i64 {
        self.rcv_nxt as i64 + i64::from(seq.distance_from(self.rcv_seq_of(self.rcv_nxt)))
    }

    /// Recovery, and the view of the sender it works on.
    #[inline]
    fn recovery_and_sender(&mut self, now: Instant) -> (&mut Recovery, Sender<'_>) {
        let sender = Sender {
            config: &self.config,
            cc: &mut self.cc,
            flight: &self.flight,
            now,
            una: self.una,
            max: self.max,
            mss: self.mss,
            wnd: self.wnd,
        };
        (&mut self.recovery, sender)
    }

    /// What must hold between calls.
    fn check(&self) {
        debug_assert!(
            self.una <= self.nxt && self.nxt <= self.max,
            "una {} nxt {} max {}",
            self.una,
            self.nxt,
            self.max
        );
        debug_assert!(self.max <= self.stream_end().max(1), "nothing is sent that was not written");
        debug_assert!(self.read_to <= self.rcv_nxt.max(1) && self.rcv_nxt <= self.rcv_edge.max(self.rcv_nxt));
        debug_assert!(self.flight.front().is_none_or(|s| s.start == self.una));
        debug_assert!(self.recovery.board().sacked() <= self.max - self.una);
        debug_assert!(
            !self.recovery.is_rack() || self.rack.marks.len() == self.flight.len(),
            "a mark per record"
        );
    }
}
