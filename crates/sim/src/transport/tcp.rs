//! TCP as the transport of a flow.

use lasthop_engine::{Draw, EventQueue, Purpose};
use lasthop_tcp::cc::{CongestionControl, ControlContext, Fault, Observer};
use lasthop_tcp::{
    CaState, CloseReason, Endpoint, Event as TcpEvent, Flags, Guidance, Hint, Limit, Segment, State,
};
use lasthop_units::{Duration, Instant, Seq, StreamOffset};
use serde_json::{Value, json};

use super::{
    ConnectionEvent, Ends, Numbers, Report, Room, SenderLimit, SenderState, SenderTotals, Shown, StreamOctets,
};
use crate::event::{End, Event, Wake};
use crate::probe::tables;

/// An application is called for more data when fewer bytes than this are unsent, and may write up
/// to twice as much: after the stop of an application the backlog is bounded.
const LOW_WATER: u64 = 128 * 1024;

/// Both ends of a connection.
pub struct Connection([Socket; 2]);

/// A TCP endpoint in the world.
pub struct Socket {
    pub(super) endpoint: Endpoint,
    wake: Wake,
    /// In-order bytes that were passed to the application.
    delivered: u64,
    /// The application writes while fewer octets are unsent.
    low_water: u64,
    /// The room of which the application was informed last; `None`: it has used this room, or is
    /// to be informed again.
    known: Option<u64>,
    /// Initial sequence number.
    isn: Seq,
    /// The number after the highest that was sent.
    highest_sent: Seq,
}

impl Connection {
    pub fn new(ends: &Ends<'_>) -> Result<Connection, Fault> {
        let isn = Draw::new(ends.seed, Purpose::InitialSequence, ends.key);
        let socket = |end: End| Socket::new(ends, end, Seq(isn.bits(end as u64) as u32));
        Ok(Connection([socket(End::A)?, socket(End::B)?]))
    }
    #[inline(always)]
    pub const fn socket(&self, end: End) -> &Socket {
        &self.0[end as usize]
    }
    #[inline(always)]
    pub const fn socket_mut(&mut self, end: End) -> &mut Socket {
        &mut self.0[end as usize]
    }
    pub fn start(&mut self, now: Instant) {
        self.0[1].endpoint.listen();
        self.0[0].endpoint.connect(now);
    }

    pub fn sender_row(&self, end: End) -> tables::Tcp<'static> {
        let i = self.socket(end).endpoint.info();
        tables::Tcp {
            time_s: 0.0,
            flow: "",
            trigger: "",
            ca_state: ca_state_name(i.ca_state),
            snd_cwnd: i.snd_cwnd,
            snd_ssthresh: shown_ssthresh(i.snd_ssthresh),
            rtt_us: i.rtt.map_or(0.0, us),
            rttvar_us: us(i.rttvar),
            rtt_sample_us: None,
            min_rtt_us: i.min_rtt.map(us),
            rto_us: us(i.rto),
            unacked: u64::from(i.unacked),
            sacked: u64::from(i.sacked),
            lost: u64::from(i.lost),
            retrans: u64::from(i.retrans),
            total_retrans: i.total_retrans,
            bytes_acked: i.bytes_acked,
            bytes_arrived: self.socket(end.other()).endpoint.octets_received(),
            snd_una: i.una_offset,
            snd_nxt: i.nxt_offset,
            rwnd_bytes: i.snd_wnd,
            notsent_bytes: i.notsent_bytes,
            pacing_rate_bps: i.pacing_rate.map(|r| r.as_f64()),
        }
    }
    pub fn numbers(&self, to: End, segment: &Segment) -> Numbers {
        let (from, to) = (self.socket(to.other()), self.socket(to));
        let number =
            |seq: Seq, of: &Socket| seq.unwrap_near(of.isn, StreamOffset(of.endpoint.una_offset())).0;
        Numbers {
            seq: number(segment.seq, from),
            ack: segment.flags.has(Flags::ACK).then(|| number(segment.ack, to)),
            flags: segment.flags.to_string(),
        }
    }
    pub fn stream_octets(&self, end: End) -> StreamOctets {
        let (sender, receiver) = (&self.socket(end).endpoint, &self.socket(end.other()).endpoint);
        let (accepted, read) = (sender.octets_written(), receiver.in_order_received());
        StreamOctets {
            accepted,
            // A SYN that was not sent yet counts as one more unsent octet.
            sent: accepted.saturating_sub(sender.notsent()),
            acknowledged: accepted - sender.unacknowledged(),
            // With a proxy: the octets that it has not read from its socket.
            arrived: read + receiver.readable_by_hand(),
            read,
            skipped: receiver.octets_skipped(),
            lead: receiver.largest_lead(),
        }
    }
}

impl Socket {
    fn new(ends: &Ends<'_>, end: End, isn: Seq) -> Result<Socket, Fault> {
        let options = &ends.tcp[end as usize];
        let mut config =
            options.resolve_with(ends.controls).unwrap_or_else(|e| unreachable!("checked before: {e}"));
        config.host.up_before = ends.up[end as usize];
        let place = ControlContext { flow: ends.name, opener: end == End::A, observed: ends.observed };
        let cc = ends.controls.build(&config, &options.cc_parameters, place)?;
        let endpoint = Endpoint::with_control(config, cc, isn);
        let low_water = ends.low_water.unwrap_or(LOW_WATER);
        let wake = Wake::default();
        Ok(Socket { endpoint, wake, delivered: 0, low_water, known: None, isn, highest_sent: isn })
    }

    #[inline(always)]
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment) {
        self.endpoint.handle_segment(now, segment);
    }
    /// Takes the memory of the options of a segment that its peer has processed.
    pub fn recycle(&mut self, segment: &mut Segment) {
        self.endpoint.recycle(std::mem::take(&mut segment.rare));
    }
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        self.endpoint.poll_transmit(now)
    }
    /// Records that `segment` is sent; returns true if all of its sequence numbers were sent
    /// before.
    #[inline(always)]
    pub fn sends_again(&mut self, segment: &Segment) -> bool {
        let span = segment.sequence_len();
        if span == 0 {
            return false;
        }
        let behind = segment.seq.0.wrapping_add(span);
        if behind.wrapping_sub(self.highest_sent.0).cast_signed() <= 0 {
            return true;
        }
        self.highest_sent = Seq(behind);
        false
    }
    #[inline(always)]
    pub fn has_events(&self) -> bool {
        self.endpoint.has_events()
    }
    #[inline(always)]
    pub fn poll_event(&mut self) -> Option<Report> {
        self.endpoint.poll_event().map(report)
    }
    #[inline(always)]
    pub fn take_delivered(&mut self) -> u64 {
        let delivered = self.endpoint.in_order_received();
        delivered - std::mem::replace(&mut self.delivered, delivered)
    }
    #[inline(always)]
    pub fn room(&self) -> u64 {
        let endpoint = &self.endpoint;
        let waits = endpoint.notsent();
        if waits >= self.low_water {
            return 0;
        }
        let mss = u64::from(endpoint.mss());
        let room = endpoint.writable().min(2 * self.low_water - waits);
        if room >= mss { room / mss * mss } else { room }
    }
    /// As [`room`](Self::room); notes that the application is informed of it.
    #[inline(always)]
    pub fn inform(&mut self) -> Room {
        // A sender with a backlog, at each ACK: there is nothing of which to inform.
        if self.endpoint.notsent() >= self.low_water {
            return Room { octets: 0, known: true };
        }
        if !self.endpoint.take_room_moved()
            && let Some(octets) = self.known
        {
            debug_assert_eq!(octets, self.room(), "room that has changed unseen");
            return Room { octets, known: true };
        }
        let octets = self.room();
        self.known = Some(octets);
        Room { octets, known: false }
    }
    #[inline(always)]
    pub const fn inform_again(&mut self) {
        self.known = None;
    }
    pub fn write(&mut self, now: Instant, octets: u64) -> u64 {
        self.known = None;
        let endpoint = &mut self.endpoint;
        let rest = octets - endpoint.write(now, octets);
        let counts_packets = endpoint.send_memory().is_some();
        debug_assert!(rest == 0 || counts_packets || !endpoint.state().may_send());
        if counts_packets && endpoint.state() != State::Closed { rest } else { 0 }
    }
    pub fn close(&mut self, now: Instant) {
        self.known = None;
        self.endpoint.close(now);
    }
    pub fn abort(&mut self, now: Instant) {
        self.known = None;
        self.endpoint.abort(now);
    }

    #[inline]
    pub fn on_time(&mut self, now: Instant) -> bool {
        let due = self.wake.take(now);
        if due {
            self.endpoint.on_time(now);
        }
        due
    }
    #[inline(always)]
    pub fn set_clock(&mut self, queue: &mut EventQueue<Event>, event: Event) {
        let pending = self.wake.pending();
        self.wake.ensure(queue, self.endpoint.poll_at_before(pending), event);
    }
    #[inline(always)]
    pub fn fault(&mut self) -> Option<Fault> {
        self.endpoint.control_fault()
    }

    pub fn handle_hint(&mut self, hint: &Hint) {
        self.endpoint.handle_hint(hint);
    }
    pub fn set_guidance(&mut self, measured: Instant, guidance: Option<Guidance>) {
        self.endpoint.set_guidance(measured, guidance);
    }

    #[inline(always)]
    pub fn sender_state(&self) -> SenderState {
        SenderState {
            cwnd: self.endpoint.cwnd_segments(),
            rtt_samples: self.endpoint.counters().rtt_samples,
            last_rtt: self.endpoint.last_rtt_sample(),
        }
    }
    pub fn limit(&self, now: Instant) -> SenderLimit {
        let counters = self.endpoint.counters();
        SenderLimit {
            cause: limit_name(self.endpoint.limit(now)),
            segments: counters.segments_sent + counters.segments_received,
            timeouts: counters.timeouts,
        }
    }
    pub fn shown(&self) -> Shown {
        let ssthresh = self.endpoint.congestion_control().ssthresh();
        let ssthresh = ssthresh.min(f64::from(u32::MAX)) as u32;
        (self.endpoint.cwnd_segments() as u32, ssthresh, self.endpoint.ca_state() as u8)
    }
    pub fn totals(&self) -> SenderTotals<'_> {
        let (config, counters) = (self.endpoint.config(), self.endpoint.counters());
        SenderTotals {
            profile: config.profile.name(),
            cc: config.cc.name(),
            retransmits: counters.retransmitted_segments,
            timeouts: counters.timeouts,
            fast_retransmits: counters.fast_retransmits,
        }
    }
    pub fn observe(&self, o: &mut Observer<'_>) {
        lasthop_tcp::observe(&self.endpoint, o);
    }
    pub fn octets_sent(&self) -> [u64; 2] {
        let info = self.endpoint.info();
        [info.una_offset, info.nxt_offset]
    }
    pub fn waits_without_timer(&self) -> Option<String> {
        let e = &self.endpoint;
        let waits = e.notsent() > 0 || e.info().unacked > 0;
        let stuck = waits && e.state().is_synchronized() && e.poll_at().is_none();
        stuck.then(|| format!("{:?}", e.state()))
    }
    pub fn tcp_info(&self) -> Value {
        let i = self.endpoint.info();
        json!({
            "state": format!("{:?}", i.state).to_lowercase(),
            "ca_state": ca_state_name(i.ca_state),
            "snd_cwnd": i.snd_cwnd, "snd_ssthresh": shown_ssthresh(i.snd_ssthresh), "snd_mss": i.snd_mss,
            "rtt_us": i.rtt.map_or(0.0, us), "rttvar_us": us(i.rttvar), "min_rtt_us": i.min_rtt.map(us),
            "rto_us": us(i.rto), "backoff": i.backoff,
            "unacked": i.unacked, "sacked": i.sacked, "lost": i.lost, "retrans": i.retrans,
            "total_retrans": i.total_retrans, "bytes_acked": i.bytes_acked,
            "delivered": i.delivered, "delivered_ce": i.delivered_ce,
            "rwnd_bytes": i.snd_wnd, "notsent_bytes": i.notsent_bytes,
            "pacing_rate_bps": i.pacing_rate.map(|r| r.0),
        })
    }
}

#[cold]
fn report(event: TcpEvent) -> Report {
    use ConnectionEvent::{Closed, Established, Failed, Noted, PeerClosed, Timeout};
    let (event, kind, value) = match event {
        TcpEvent::Established => (Established, "established", None),
        TcpEvent::PeerClosed => (PeerClosed, "peer-closed", None),
        TcpEvent::RtoFired { count } => (Timeout, "rto", Some(f64::from(count))),
        TcpEvent::SpuriousRto => (Noted, "spurious-rto", None),
        TcpEvent::FastRetransmit => (Noted, "fast-retransmit", None),
        TcpEvent::RecoveryEntered => (Noted, "recovery-enter", None),
        TcpEvent::RecoveryExited => (Noted, "recovery-exit", None),
        TcpEvent::MarkReduction => (Noted, "ecn-reduction", None),
        TcpEvent::Skipped { octets } => (Noted, "skipped", Some(octets as f64)),
        TcpEvent::ZeroWindowProbe => (Noted, "zero-window-probe", None),
        TcpEvent::Closed(CloseReason::Finished) => (Closed, "closed", None),
        TcpEvent::Closed(CloseReason::Aborted) => (Failed, "aborted", None),
        TcpEvent::Closed(CloseReason::TimedOut) => (Failed, "timed-out", None),
        TcpEvent::Reset => (Failed, "reset", None),
    };
    Report { event, kind, value }
}

fn ca_state_name(state: CaState) -> &'static str {
    match state {
        CaState::Open => "open",
        CaState::Disorder => "disorder",
        CaState::Cwr => "cwr",
        CaState::Recovery => "recovery",
        CaState::Loss => "loss",
    }
}

const fn limit_name(limit: Limit) -> &'static str {
    match limit {
        Limit::Handshake => "handshake",
        Limit::Application => "application",
        Limit::SendBuffer => "send-buffer",
        Limit::ReceiveWindow => "receive-window",
        Limit::CongestionWindow => "congestion-window",
        Limit::Pacing => "pacing",
        Limit::SmallSegment => "small-segment",
        Limit::Acknowledgement => "acknowledgement",
        Limit::Recovery => "recovery",
        Limit::Other => "other",
        Limit::Nothing => "nothing",
    }
}

fn us(d: Duration) -> f64 {
    d.0 as f64 / 1e3
}

/// The threshold for tables: -1 while it is unknown.
fn shown_ssthresh(ssthresh: f64) -> f64 {
    if ssthresh.is_finite() { ssthresh } else { -1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::Options;
    use lasthop_tcp::Profile;
    use lasthop_tcp::cc::Controls;

    #[test]
    fn room_is_known_until_some_of_it_is_used() {
        let tcp = [(); 2].map(|()| Options { profile: Profile::Rfc, ..Options::default() });
        let (up, controls) = ([Duration::ZERO; 2], &Controls::default());
        let ends =
            Ends { name: "f", key: 1, seed: 1, up, tcp: &tcp, controls, observed: false, low_water: None };
        let mut connection = Connection::new(&ends).unwrap();
        let socket = connection.socket_mut(End::A);
        let first = socket.inform();
        assert!(!first.known && first.octets > 0);
        assert_eq!(socket.inform(), Room { known: true, ..first });
        socket.inform_again();
        assert_eq!(socket.inform(), first);
        assert_eq!(socket.write(Instant::ZERO, 2000), 0);
        let less = socket.inform();
        assert!(!less.known && less.octets < first.octets);
        socket.close(Instant::ZERO);
        assert_eq!(socket.inform(), Room { octets: 0, known: false });
    }
}
