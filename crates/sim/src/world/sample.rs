//! What goes into the tables, and when. A flow writes its rows itself: it needs the probes for it,
//! not the world.

use lasthop_tcp::cc::CongestionControl;
use lasthop_tcp::{CaState, CloseReason, Event as TcpEvent, Info};
use lasthop_units::{Instant, StreamOffset};
use serde_json::{Value, json};

use super::World;
use super::flow::Flow;
use super::packet::Packet;
use crate::access::Adapter;
use crate::error::Error;
use crate::event::{End, Event};
use crate::probe::{Probes, tables};
use crate::sink::Table;
use crate::spec::TcpSampling;
use crate::transport::Payload;

fn ca_state_name(state: CaState) -> &'static str {
    match state {
        CaState::Open => "open",
        CaState::Disorder => "disorder",
        CaState::Cwr => "cwr",
        CaState::Recovery => "recovery",
        CaState::Loss => "loss",
    }
}

impl World {
    /// The sampling probe looks at everything it watches, and comes again.
    pub(super) fn on_sample(&mut self, now: Instant) {
        if self.probes.sampling == TcpSampling::Interval && self.probes.tcp.is_some() {
            for flow in self.flows.iter() {
                flow.note_tcp(&mut self.probes, now, "interval");
            }
        }
        for id in self.accesses.ids() {
            self.accesses[id].sample(now, &mut self.probes, &mut self.output);
            self.settle(now, id);
        }
        let next = now + self.probes.interval;
        if next <= self.end {
            self.queue.schedule(next, Event::Sample.class(), Event::Sample);
        }
    }

    /// `tcp_info` of the sender of the flow called `name`, under Linux's names.
    ///
    /// # Errors
    /// No such flow, or one without TCP.
    pub fn tcp_info(&self, name: &str) -> Result<Value, Error> {
        let Some(flow) = self.flow_by_name(name) else {
            let near = crate::config::suggest(name, self.flows.iter().map(|f| &*f.name));
            let hint = near.map_or(String::new(), |n| format!("; did you mean `{n}`?"));
            return Err(Error::input(format!("no flow is called `{name}`{hint}")));
        };
        let Some(endpoint) = self.flows[flow].sender() else {
            return Err(Error::input(format!("flow `{name}` has no TCP")));
        };
        Ok(tcp_info(&endpoint.info()))
    }
}

impl Flow {
    /// After a segment reached the sender of the data: its statistics, and a row if the scenario
    /// wants one.
    #[inline]
    pub(super) fn watch_sender(&mut self, probes: &mut Probes, now: Instant) {
        let Some(endpoint) = self.sender() else { return };
        let (cwnd, samples) = (endpoint.cwnd_segments(), endpoint.counters().rtt_samples);
        let sample = endpoint.last_rtt_sample();
        let ca_state = endpoint.ca_state() as u8;
        self.window.set(now, cwnd);
        let fresh = samples > self.rtt.samples;
        if fresh && let Some(rtt) = sample {
            self.rtt.add(rtt);
        }
        self.fresh_sample = fresh;
        match probes.sampling {
            TcpSampling::Ack => self.note_tcp(probes, now, "ack"),
            TcpSampling::Change => {
                let Some(endpoint) = self.sender() else { return };
                let ssthresh = endpoint.congestion_control().ssthresh();
                let shown = (cwnd as u32, ssthresh.min(f64::from(u32::MAX)) as u32, ca_state);
                if self.window.shown != shown {
                    self.window.shown = shown;
                    self.note_tcp(probes, now, "change");
                }
            }
            TcpSampling::Off | TcpSampling::Interval => {}
        }
    }

    /// A row of the `tcp` table.
    pub(super) fn note_tcp(&self, probes: &mut Probes, now: Instant, trigger: &str) {
        let (Some(table), Some(endpoint), Some(_)) = (&mut probes.tcp, self.sender(), self.started) else {
            return;
        };
        let sample =
            (trigger != "interval" && self.fresh_sample).then(|| endpoint.last_rtt_sample()).flatten();
        let arrived = self.endpoint(self.data_end.other()).map_or(0, lasthop_tcp::Endpoint::octets_received);
        let sample_us = sample.map(|s| s.0 as f64 / 1e3);
        tcp_row(table, now, &self.name, trigger, &endpoint.info(), arrived, sample_us);
    }

    /// A row of the `packets` table about one of its packets.
    #[cold]
    pub(super) fn note_packet(
        &self,
        probes: &mut Probes,
        now: Instant,
        packet: &Packet,
        place: &str,
        event: &str,
    ) {
        let Some(table) = &mut probes.packets else { return };
        let (mut seq, mut ack, mut flags, mut again, len) = (None, None, None, None, packet.payload.data());
        if let Payload::Tcp(to, segment) = &packet.payload {
            let from = to.other();
            let [isn, peer_isn] = [self.isn[from as usize], self.isn[*to as usize]];
            let near = |end: End| self.endpoint(end).map_or(0, |e| e.una_offset());
            let start = segment.seq.unwrap_near(isn, StreamOffset(near(from))).0;
            seq = Some(start);
            if segment.flags.has(lasthop_tcp::Flags::ACK) {
                ack = Some(segment.ack.unwrap_near(peer_isn, StreamOffset(near(*to))).0);
            }
            flags = Some(segment.flags.to_string());
            again = (event == "sent").then_some(packet.again);
        }
        table.push(&tables::Packets {
            time_s: now.as_secs_f64(),
            packet: packet.serial,
            flow: &self.name,
            node: place,
            event,
            size: u64::from(packet.size),
            seq,
            ack,
            len: u64::from(len),
            flags: flags.as_deref(),
            retransmission: again,
        });
    }

    /// A row of the `drops` table about one of its packets.
    #[cold]
    pub(super) fn note_drop(
        &self,
        probes: &mut Probes,
        at: Instant,
        packet: &Packet,
        cause: &str,
        place: &str,
    ) {
        let again = matches!(packet.payload, Payload::Tcp(..)).then_some(packet.again);
        let Some(table) = &mut probes.drops else { return };
        table.push(&tables::Drops {
            time_s: at.as_secs_f64(),
            packet: packet.serial,
            flow: &self.name,
            place,
            cause,
            size: u64::from(packet.size),
            retransmission: again,
        });
    }

    /// A row of the `events` table.
    #[cold]
    pub(super) fn note(
        &self,
        probes: &mut Probes,
        now: Instant,
        kind: &str,
        value: Option<f64>,
        detail: &str,
    ) {
        probes.event(now, &format!("flow/{}", self.name), kind, value, detail);
    }

    /// What an endpoint reported.
    #[cold]
    pub(super) fn note_tcp_event(&mut self, probes: &mut Probes, now: Instant, end: End, event: &TcpEvent) {
        let side = if end == self.data_end { "sender" } else { "receiver" };
        let (kind, value) = match event {
            TcpEvent::Established => ("established", None),
            TcpEvent::PeerClosed => ("peer-closed", None),
            TcpEvent::RtoFired { count } => ("rto", Some(f64::from(*count))),
            TcpEvent::SpuriousRto => ("spurious-rto", None),
            TcpEvent::FastRetransmit => ("fast-retransmit", None),
            TcpEvent::RecoveryEntered => ("recovery-enter", None),
            TcpEvent::RecoveryExited => ("recovery-exit", None),
            TcpEvent::MarkReduction => ("ecn-reduction", None),
            TcpEvent::ZeroWindowProbe => ("zero-window-probe", None),
            TcpEvent::Closed(CloseReason::Finished) => ("closed", None),
            TcpEvent::Closed(CloseReason::Aborted) => ("aborted", None),
            TcpEvent::Closed(CloseReason::TimedOut) => ("timed-out", None),
            TcpEvent::Reset => ("reset", None),
        };
        self.note(probes, now, kind, value, side);
        if matches!(event, TcpEvent::RtoFired { .. })
            && side == "sender"
            && probes.sampling == TcpSampling::Ack
        {
            self.fresh_sample = false;
            self.note_tcp(probes, now, "rto");
        }
    }
}

/// `tcp_info` under Linux's names.
fn tcp_info(i: &Info) -> Value {
    let us = |d: lasthop_units::Duration| d.0 as f64 / 1e3;
    let ssthresh = if i.snd_ssthresh.is_finite() { i.snd_ssthresh } else { -1.0 };
    json!({
        "state": format!("{:?}", i.state).to_lowercase(),
        "ca_state": ca_state_name(i.ca_state),
        "snd_cwnd": i.snd_cwnd, "snd_ssthresh": ssthresh, "snd_mss": i.snd_mss,
        "rtt_us": i.rtt.map_or(0.0, us), "rttvar_us": us(i.rttvar), "min_rtt_us": i.min_rtt.map(us),
        "rto_us": us(i.rto), "backoff": i.backoff,
        "unacked": i.unacked, "sacked": i.sacked, "lost": i.lost, "retrans": i.retrans,
        "total_retrans": i.total_retrans, "bytes_acked": i.bytes_acked, "delivered": i.delivered, "delivered_ce": i.delivered_ce,
        "rwnd_bytes": i.snd_wnd, "notsent_bytes": i.notsent_bytes,
        "pacing_rate_bps": i.pacing_rate.map(|r| r.0),
    })
}

fn tcp_row(
    table: &mut Table<tables::Tcp<'static>>,
    now: Instant,
    flow: &str,
    trigger: &str,
    i: &Info,
    arrived: u64,
    sample_us: Option<f64>,
) {
    let us = |d: lasthop_units::Duration| d.0 as f64 / 1e3;
    table.push(&tables::Tcp {
        time_s: now.as_secs_f64(),
        flow,
        trigger,
        ca_state: ca_state_name(i.ca_state),
        snd_cwnd: i.snd_cwnd,
        snd_ssthresh: if i.snd_ssthresh.is_finite() { i.snd_ssthresh } else { -1.0 },
        rtt_us: i.rtt.map_or(0.0, us),
        rttvar_us: us(i.rttvar),
        rtt_sample_us: sample_us,
        min_rtt_us: i.min_rtt.map(us),
        rto_us: us(i.rto),
        unacked: u64::from(i.unacked),
        sacked: u64::from(i.sacked),
        lost: u64::from(i.lost),
        retrans: u64::from(i.retrans),
        total_retrans: i.total_retrans,
        bytes_acked: i.bytes_acked,
        bytes_arrived: arrived,
        snd_una: i.una_offset,
        snd_nxt: i.nxt_offset,
        rwnd_bytes: i.snd_wnd,
        notsent_bytes: i.notsent_bytes,
        pacing_rate_bps: i.pacing_rate.map(|r| r.as_f64()),
    });
}
