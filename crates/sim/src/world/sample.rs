//! The rows of the tables, and when they are written. A flow writes its rows itself: this needs
//! only the probes, not the world.

use lasthop_units::{Duration, Instant};
use serde_json::Value;

use super::World;
use super::control::{Moment, Seen};
use super::flow::Flow;
use super::packet::Packet;
use crate::access::{Adapter, LostPdu};
use crate::error::Error;
use crate::event::{End, Event};
use crate::probe::{Probes, tables};
use crate::spec::{ControlSampling, TcpSampling};
use crate::transport::{ConnectionEvent, Report, receiver};

impl World {
    /// Takes all samples that are due and schedules the next.
    pub(super) fn on_sample(&mut self, now: Instant) {
        if self.probes.sampling.tcp == TcpSampling::Interval && self.probes.tcp.is_some() {
            for flow in self.flows.iter() {
                flow.note_tcp(&mut self.probes, now, "interval");
            }
        }
        if self.probes.sampling.control == ControlSampling::Interval {
            for flow in self.flows.iter_mut() {
                flow.note_control(&mut self.probes, now, Moment::Sample);
                if let Some(fault) = flow.transport.fault(flow.data_end).or_else(|| flow.app.fault()) {
                    self.fault.get_or_insert_with(|| Box::new(Error::Policy(fault)));
                }
            }
        }
        if self.probes.media.is_some() {
            for flow in self.flows.iter_mut() {
                flow.note_media(&mut self.probes, now);
            }
        }
        for id in self.accesses.ids() {
            self.accesses[id].sample(now, &mut self.probes, &mut self.output);
            self.settle(now, id);
        }
        let next = now + self.probes.sampling.interval;
        if next <= self.end {
            self.queue.schedule(next, Event::Sample.class(), Event::Sample);
        }
    }

    /// Returns `tcp_info` of the sender of the flow called `name`, under Linux's names.
    ///
    /// # Errors
    /// The flow does not exist or does not use TCP.
    pub fn tcp_info(&self, name: &str) -> Result<Value, Error> {
        let Some(f) = self.flows.iter().find(|f| &*f.name == name) else {
            let near = crate::config::suggest(name, self.flows.iter().map(|f| &*f.name));
            let hint = near.map_or(String::new(), |n| format!("; did you mean `{n}`?"));
            return Err(Error::input(format!("no flow is called `{name}`{hint}")));
        };
        let info = f.transport.tcp_info(f.data_end);
        info.ok_or_else(|| Error::input(format!("flow `{name}` has no TCP")))
    }
}

impl Flow {
    /// Called after a segment has reached the sender of the data: updates its statistics, and
    /// writes a row if the scenario has the table.
    #[inline]
    pub(super) fn watch_sender(&mut self, probes: &mut Probes, now: Instant) {
        let Some(sender) = self.transport.sender_state(self.data_end) else { return };
        self.window.set(now, sender.cwnd);
        let fresh = sender.rtt_samples > self.rtt.samples;
        if fresh && let Some(rtt) = sender.last_rtt {
            self.rtt.add(rtt);
        }
        self.fresh_sample = fresh;
        match probes.sampling.tcp {
            TcpSampling::Ack => self.note_tcp(probes, now, "ack"),
            TcpSampling::Change => {
                let Some(shown) = self.transport.shown(self.data_end) else { return };
                if self.window.shown != shown {
                    self.window.shown = shown;
                    self.note_tcp(probes, now, "change");
                }
            }
            TcpSampling::Off | TcpSampling::Interval => {}
        }
    }

    /// Writes a row of the `tcp` table.
    pub(super) fn note_tcp(&self, probes: &mut Probes, now: Instant, trigger: &str) {
        let (Some(table), Some(_)) = (&mut probes.tcp, self.started) else { return };
        let Some(row) = self.transport.sender_row(self.data_end) else { return };
        let sender = self.transport.sender_state(self.data_end);
        let sample = sender.and_then(|s| s.last_rtt).filter(|_| trigger != "interval" && self.fresh_sample);
        table.push(&tables::Tcp {
            time_s: now.as_secs_f64(),
            flow: &self.name,
            trigger,
            rtt_sample_us: sample.map(|s| s.0 as f64 / 1e3),
            ..row
        });
    }

    /// Called after the sender at `end` has sent all that it may: records what limits it from now
    /// on.
    #[cold]
    pub(super) fn watch_limit(&mut self, probes: &mut Probes, now: Instant, end: End) {
        if end != self.data_end || self.started.is_none() {
            return;
        }
        let Some(limit) = self.transport.sender_limit(now, end) else { return };
        self.limit.get_or_insert_default().note(now, limit);
        self.write_limits(probes, false);
    }

    /// Writes the complete rows of the `limits` table; all rows, if the run is over.
    pub(super) fn write_limits(&mut self, probes: &mut Probes, over: bool) {
        if let (Some(track), Some(table)) = (&mut self.limit, &mut probes.limits) {
            track.write(table, &self.name, over);
        }
    }

    /// Writes a row of the `media` table about the time since the last row.
    pub(super) fn note_media(&mut self, probes: &mut Probes, now: Instant) {
        let (Some(table), Some(_)) = (&mut probes.media, self.started) else { return };
        let Some(m) = self.app.media() else { return };
        let seconds = probes.sampling.interval.as_secs_f64();
        let rate = |octets: u64| octets as f64 * 8.0 / seconds;
        table.push(&tables::Media {
            time_s: now.as_secs_f64(),
            flow: &self.name,
            control: m.control.name(),
            target_bps: m.target,
            encoder_bps: rate(m.counts.encoded),
            sent_bps: rate(m.counts.sent),
            received_bps: rate(m.counts.received),
            lost: m.counts.lost,
            discarded: m.counts.discarded,
            delay_mean_s: m.counts.delays.mean_s(),
            delay_max_s: m.counts.delays.max_s(),
            rtt_s: m.rtt.map(Duration::as_secs_f64),
            queue_bytes: m.queued,
            in_flight_bytes: m.in_flight,
            frames: m.counts.frames.count,
            frame_delay_mean_s: m.counts.frames.mean_s(),
            frame_delay_max_s: m.counts.frames.max_s(),
        });
    }

    /// Writes rows of the `cc` table.
    #[cold]
    pub(super) fn note_control(&mut self, probes: &mut Probes, now: Instant, moment: Moment) {
        if self.started.is_some() {
            let seen =
                Seen { name: &self.name, transport: &self.transport, app: &self.app, end: self.data_end };
            self.control.get_or_insert_default().note(seen, probes, now, moment);
        }
    }

    /// Writes a row of the `packets` table about one of the flow's packets.
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
        let numbers = self.transport.numbers(receiver(packet), &packet.payload);
        let again = (numbers.is_some() && event == "sent").then_some(packet.content.is_again());
        table.push(&tables::Packets {
            time_s: now.as_secs_f64(),
            packet: packet.serial,
            flow: &self.name,
            node: place,
            event,
            size: u64::from(packet.size),
            seq: numbers.as_ref().map(|n| n.seq),
            ack: numbers.as_ref().and_then(|n| n.ack),
            len: u64::from(packet.payload.data()),
            flags: numbers.as_ref().map(|n| &*n.flags),
            retransmission: again,
            ecn: packet.ecn.name(),
        });
    }

    /// Writes a row of the `drops` table about one of the flow's packets.
    #[cold]
    pub(super) fn note_drop(
        &self,
        probes: &mut Probes,
        at: Instant,
        packet: &Packet,
        cause: &str,
        place: &str,
    ) {
        let again = packet.payload.has_numbers().then_some(packet.content.is_again());
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

    /// Writes a row of the `pdus` table: one of the flow's packets, which was in this PDU, is about
    /// to be dropped.
    #[cold]
    pub(super) fn note_pdu(
        &self,
        probes: &mut Probes,
        now: Instant,
        packet: &Packet,
        place: &str,
        pdu: &LostPdu,
    ) {
        let Some(table) = &mut probes.pdus else { return };
        table.push(&tables::Pdus {
            time_s: now.as_secs_f64(),
            packet: packet.serial,
            flow: &self.name,
            place,
            layer: pdu.layer,
            direction: pdu.direction,
            sn: pdu.sn.map(u64::from),
            first_octet: pdu.octets.map(|(first, _)| first.into()),
            end_octet: pdu.octets.map(|(_, end)| end.into()),
            sent_s: pdu.sent.map(Instant::as_secs_f64),
            sends: pdu.sends.into(),
            lost: pdu.lost,
        });
    }

    /// Writes a row of the `events` table.
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

    /// Writes a row about a report of the transport at an end.
    #[cold]
    pub(super) fn note_report(&mut self, probes: &mut Probes, now: Instant, end: End, report: &Report) {
        let side = if end == self.data_end { "sender" } else { "receiver" };
        self.note(probes, now, report.kind, report.value, side);
        if report.event == ConnectionEvent::Timeout
            && side == "sender"
            && probes.sampling.tcp == TcpSampling::Ack
        {
            self.fresh_sample = false;
            self.note_tcp(probes, now, "rto");
        }
    }
}
