//! What goes into the tables, and when.

use crate::access::TraceRow;
use lasthop_tcp::cc::CongestionControl;
use lasthop_tcp::{CaState, CloseReason, Event as TcpEvent, Info};
use lasthop_units::{FlowId, Instant, NodeId, PacketId, StreamOffset};

use super::World;
use super::packet::{Packet, Payload, Place};
use crate::error::Error;
use crate::event::{End, Event};
use crate::probe::tables;
use crate::sink::Table;
use crate::spec::{Action, TcpSampling};

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
            for flow in self.flows.ids() {
                self.note_tcp(now, flow, "interval");
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

    /// After a segment reached the sender of the data: its statistics, and a row if the scenario
    /// wants one.
    #[inline]
    pub(super) fn watch_sender(&mut self, now: Instant, flow: FlowId) {
        let f = &mut self.flows[flow];
        let Some(endpoint) = f.sender() else { return };
        let (cwnd, samples) = (endpoint.cwnd_segments(), endpoint.counters().rtt_samples);
        let sample = endpoint.last_rtt_sample();
        let ca_state = endpoint.ca_state() as u8;
        f.window.set(now, cwnd);
        let fresh = samples > f.rtt.samples;
        if fresh && let Some(rtt) = sample {
            f.rtt.add(rtt);
        }
        f.fresh_sample = fresh;
        match self.probes.sampling {
            TcpSampling::Ack => self.note_tcp(now, flow, "ack"),
            TcpSampling::Change => {
                let Some(endpoint) = self.flows[flow].sender() else { return };
                let ssthresh = endpoint.congestion_control().ssthresh();
                let shown = (cwnd as u32, ssthresh.min(f64::from(u32::MAX)) as u32, ca_state);
                if self.flows[flow].window.shown != shown {
                    self.flows[flow].window.shown = shown;
                    self.note_tcp(now, flow, "change");
                }
            }
            TcpSampling::Off | TcpSampling::Interval => {}
        }
    }

    /// A row of the `tcp` table.
    pub(super) fn note_tcp(&mut self, now: Instant, flow: FlowId, trigger: &str) {
        let f = &self.flows[flow];
        let (Some(table), Some(endpoint), Some(_)) = (&mut self.probes.tcp, f.sender(), f.started) else {
            return;
        };
        let sample = (trigger != "interval" && f.fresh_sample).then(|| endpoint.last_rtt_sample()).flatten();
        let arrived = f.endpoint(f.data_end.other()).map_or(0, lasthop_tcp::Endpoint::octets_received);
        let sample_us = sample.map(|s| s.0 as f64 / 1e3);
        tcp_row(table, now, &f.name, trigger, &endpoint.info(), arrived, sample_us);
    }

    /// `tcp_info` of the sender of the flow called `name`, under Linux's names.
    ///
    /// # Errors
    /// No such flow, or one without TCP.
    pub fn tcp_info(&self, name: &str) -> Result<serde_json::Value, Error> {
        let Some(flow) = self.flow_by_name(name) else {
            let near = crate::config::suggest(name, self.flows.iter().map(|f| &*f.name));
            let hint = near.map_or(String::new(), |n| format!("; did you mean `{n}`?"));
            return Err(Error::input(format!("no flow is called `{name}`{hint}")));
        };
        let Some(endpoint) = self.flows[flow].sender() else {
            return Err(Error::input(format!("flow `{name}` has no TCP")));
        };
        let i = endpoint.info();
        let us = |d: lasthop_units::Duration| d.0 as f64 / 1e3;
        let ssthresh = if i.snd_ssthresh.is_finite() { i.snd_ssthresh } else { -1.0 };
        Ok(serde_json::json!({
            "state": format!("{:?}", i.state).to_lowercase(),
            "ca_state": ca_state_name(i.ca_state),
            "snd_cwnd": i.snd_cwnd, "snd_ssthresh": ssthresh, "snd_mss": i.snd_mss,
            "rtt_us": i.rtt.map_or(0.0, us), "rttvar_us": us(i.rttvar), "min_rtt_us": i.min_rtt.map(us),
            "rto_us": us(i.rto), "backoff": i.backoff,
            "unacked": i.unacked, "sacked": i.sacked, "lost": i.lost, "retrans": i.retrans,
            "total_retrans": i.total_retrans, "bytes_acked": i.bytes_acked, "delivered": i.delivered, "delivered_ce": i.delivered_ce,
            "rwnd_bytes": i.snd_wnd, "notsent_bytes": i.notsent_bytes,
            "pacing_rate_bps": i.pacing_rate.map(|r| r.0),
        }))
    }

    /// A row of the `packets` table.
    #[cold]
    pub(super) fn note_packet(&mut self, now: Instant, id: PacketId, place: &str, event: &str) {
        let packet = &self.packets[id];
        let f = &self.flows[packet.flow];
        let (mut seq, mut ack, mut flags, mut again, len) =
            (None, None, None, None, payload_len(&packet.payload));
        if let Payload::Tcp(to, segment) = &packet.payload {
            let from = to.other();
            let [isn, peer_isn] = [f.isn[from as usize], f.isn[*to as usize]];
            let near = |end: End| f.endpoint(end).map_or(0, |e| e.una_offset());
            let start = segment.seq.unwrap_near(isn, StreamOffset(near(from))).0;
            seq = Some(start);
            if segment.flags.has(lasthop_tcp::Flags::ACK) {
                ack = Some(segment.ack.unwrap_near(peer_isn, StreamOffset(near(*to))).0);
            }
            flags = Some(segment.flags.to_string());
            again = (event == "sent").then_some(packet.again);
        }
        let Some(table) = &mut self.probes.packets else { return };
        table.push(&tables::Packets {
            time_s: now.as_secs_f64(),
            packet: packet.serial,
            flow: &f.name,
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

    /// The name of a place for the tables.
    pub(super) fn place_name(&self, place: Place) -> &str {
        match place {
            Place::Node(n) => &self.nodes[n].name,
            Place::Access(id, place) => self.accesses[id].place(place),
        }
    }

    pub(crate) fn node_name(&self, node: NodeId) -> Box<str> {
        self.nodes[node].name.clone()
    }

    /// A drop: the flow's counter and a row of the `drops` table.
    #[cold]
    pub(super) fn note_drop(&mut self, at: Instant, packet: &Packet, cause: &str, place: Place) {
        let place: Box<str> = self.place_name(place).into();
        let again = matches!(packet.payload, Payload::Tcp(..)).then_some(packet.again);
        let Some(table) = &mut self.probes.drops else { return };
        table.push(&tables::Drops {
            time_s: at.as_secs_f64(),
            packet: packet.serial,
            flow: &self.flows[packet.flow].name,
            place: &place,
            cause,
            size: u64::from(packet.size),
            retransmission: again,
        });
    }

    /// A row of the `steps` table.
    #[cold]
    pub(super) fn note_step(&mut self, row: &TraceRow) {
        let Some(table) = &mut self.probes.steps else { return };
        table.push(&tables::Steps {
            time_s: row.time_s,
            node: &row.node,
            to: &row.to,
            step: row.step,
            link: row.link,
            about_s: row.about_s,
            blocks: row.blocks,
            bytes: row.bytes,
            mcs: row.mcs,
            packet: row.packet.and_then(|id| self.packets.get(id)).map(|p| p.serial),
        });
    }

    /// A row of the `events` table about a flow.
    #[cold]
    pub(super) fn note_flow(
        &mut self,
        now: Instant,
        flow: FlowId,
        kind: &str,
        value: Option<f64>,
        detail: &str,
    ) {
        let source = format!("flow/{}", self.flows[flow].name);
        self.note_event(now, &source, kind, value, detail);
    }

    #[cold]
    pub(super) fn note_event(
        &mut self,
        now: Instant,
        source: &str,
        kind: &str,
        value: Option<f64>,
        detail: &str,
    ) {
        let Some(table) = &mut self.probes.events else { return };
        table.push(&tables::Events {
            time_s: now.as_secs_f64(),
            source,
            kind,
            value,
            detail: (!detail.is_empty()).then_some(detail),
        });
    }

    /// What an endpoint reported.
    #[cold]
    pub(super) fn note_tcp_event(&mut self, now: Instant, flow: FlowId, end: End, event: &TcpEvent) {
        let side = if end == self.flows[flow].data_end { "sender" } else { "receiver" };
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
            TcpEvent::RttSample(_) => return,
            TcpEvent::Closed(CloseReason::Finished) => ("closed", None),
            TcpEvent::Closed(CloseReason::Aborted) => ("aborted", None),
            TcpEvent::Closed(CloseReason::TimedOut) => ("timed-out", None),
            TcpEvent::Reset => ("reset", None),
        };
        self.note_flow(now, flow, kind, value, side);
        if matches!(event, TcpEvent::RtoFired { .. })
            && side == "sender"
            && self.probes.sampling == TcpSampling::Ack
        {
            self.flows[flow].fresh_sample = false;
            self.note_tcp(now, flow, "rto");
        }
    }

    /// A change of the scenario.
    pub(super) fn note_change(&mut self, now: Instant, action: &Action) {
        match action {
            Action::Link(name, _) => self.note_event(now, &format!("link/{name}"), "change", None, ""),
            Action::Bearer(name, _) => self.note_event(now, &format!("bearer/{name}"), "change", None, ""),
            Action::Cell(name, down) => {
                let kind = if *down { "cell-down" } else { "cell-up" };
                self.note_event(now, &format!("cell/{name}"), kind, None, "");
            }
            Action::Ap(name, ..) => self.note_event(now, &format!("ap/{name}"), "change", None, ""),
            Action::Station(name, ..) => {
                self.note_event(now, &format!("station/{name}"), "change", None, "");
            }
            // They note it themselves.
            Action::Sidelink(..) => {}
            Action::StartFlow(_) | Action::StopFlow(_) | Action::StartNode(_) | Action::StopNode(_) => {}
        }
    }

    /// The first error of a table that could not be written.
    pub fn take_write_error(&mut self) -> Option<Error> {
        self.probes.take_error()
    }
}

fn payload_len(payload: &Payload) -> u32 {
    match payload {
        Payload::Tcp(_, segment) => segment.len,
        Payload::Udp(_, bytes) => *bytes,
    }
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
