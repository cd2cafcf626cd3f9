//! Capacity hints from the radio network to the senders of flows. `lte` and `tcp` are independent
//! of each other.

use std::collections::VecDeque;

use lasthop_engine::{Draw, EventQueue, Purpose, math};
use lasthop_tcp::{Guidance, Hint, Notice};
use lasthop_units::{AccessId, Bitrate, Duration, FlowId, IndexVec, Instant};

use super::World;
use super::flow::Flow;
use crate::access::{Access, Adapter, LinkReading};
use crate::event::{End, Event};
use crate::probe::{Probes, tables};
use crate::route::Entry;
use crate::spec::{HintCarrier, HintSpec};

/// The state of a `[hint]` table.
pub(super) struct Hinter {
    /// Its number among all.
    number: u32,
    name: Box<str>,
    spec: HintSpec,
    recipients: Vec<Recipient>,
    /// Direct hints in transit, oldest first: arrival time, recipient, hint.
    under_way: VecDeque<(Instant, usize, Hint)>,
    draw: Draw,
    reports: u64,
}

/// The access and entry of packets to a mobile.
pub(super) type Link = (AccessId, Entry);

/// A flow whose sender receives the hints.
struct Recipient {
    flow: FlowId,
    /// The entry of packets to its receiver at the radio access.
    link: Link,
    /// The number of its reading in the access.
    watch: u32,
    /// With the TCP option: the guidance in its ACKs, and the time of measurement.
    guidance: (Instant, Option<Guidance>),
    /// The newest notice, and the number of notices.
    notice: (Option<Notice>, u8),
}

impl Recipient {
    /// Sets the guidance in the ACKs of `flow`, which is that of this entry.
    fn set_guidance(&mut self, flow: &mut Flow, measured: Instant, guidance: Option<Guidance>) {
        self.guidance = (measured, guidance);
        flow.transport.set_guidance(flow.data_end.other(), measured, guidance);
    }
}

impl Hinter {
    /// Creates the table of this number with its recipients: the flow, the entry of packets to its
    /// mobile, and the number of that link's reading.
    pub fn new(
        number: u32,
        name: &str,
        spec: &HintSpec,
        seed: u64,
        recipients: Vec<(FlowId, Link, u32)>,
    ) -> Hinter {
        let recipients = recipients.into_iter().map(|(flow, link, watch)| Recipient {
            flow,
            link,
            watch,
            guidance: (Instant::ZERO, None),
            notice: (None, 0),
        });
        Hinter {
            number,
            name: name.into(),
            spec: spec.clone(),
            recipients: recipients.collect(),
            under_way: VecDeque::new(),
            draw: Draw::new(seed, Purpose::Hint, crate::names::name_key(&format!("hint/{name}"))),
            reports: 0,
        }
    }

    /// True if reports and notices are sent at `now`, between `start` and `stop`.
    fn sends_at(&self, now: Instant) -> bool {
        let after = |d: Duration| now >= Instant::ZERO + d;
        after(self.spec.start) && !self.spec.stop.is_some_and(after)
    }

    /// When the first report is due.
    pub fn first_report(&self) -> Option<Instant> {
        let comes = !self.recipients.is_empty() && self.spec.stop.is_none_or(|stop| stop > self.spec.start);
        comes.then_some(Instant::ZERO + self.spec.start)
    }

    /// True if the next report or notice is lost.
    fn loses_report(&mut self) -> bool {
        self.reports += 1;
        self.draw.happens(2 * self.reports, self.spec.loss.0)
    }

    /// The hint from a reading of a link.
    fn hint(&self, now: Instant, link: &LinkReading) -> Hint {
        let spec = &self.spec;
        let factor = match spec.error > 0.0 {
            true => math::exp(spec.error * self.draw.stream(2 * self.reports + 1).normal()),
            false => 1.0,
        };
        let rate = in_steps((link.rate_bps * spec.bias * factor).clamp(0.0, 1e12) as u64, spec.rate_step.0);
        Hint {
            measured: Some(now),
            rate: Some(Bitrate(rate)),
            queue: spec.queue.then(|| in_steps(link.queue, spec.queue_step.0)),
            grant: Some(link.uplink),
            period: Some(spec.period),
            ..Hint::at(now)
        }
    }

    /// Writes a row of the table `hints`.
    fn record(&self, probes: &mut Probes, flow: &str, link: &LinkReading, hint: &Hint) {
        let (Some(table), Some(rate)) = (&mut probes.hints, hint.rate) else { return };
        table.push(&tables::Hints {
            time_s: hint.now.as_secs_f64(),
            hint: &self.name,
            flow,
            rate_bps: rate.0,
            queue_bytes: hint.queue,
            real_queue_bytes: link.queue,
            carrier_bps: link.carrier.as_f64(),
            users: link.users.into(),
        });
    }
}

/// The parts of the world that hint tables read and change.
pub(super) struct HintContext<'a> {
    accesses: &'a mut IndexVec<AccessId, Access>,
    flows: &'a mut IndexVec<FlowId, Flow>,
    probes: &'a mut Probes,
    queue: &'a mut EventQueue<Event>,
    /// End of the run.
    end: Instant,
}

impl Hinter {
    /// Reads the links of the table and sends reports.
    pub fn report(&mut self, now: Instant, x: &mut HintContext<'_>) {
        for i in 0..self.recipients.len() {
            let lost = self.loses_report();
            let Recipient { flow, link: (access, entry), watch, .. } = self.recipients[i];
            let access = &mut x.accesses[access];
            let Some(link) = access.read_link(now, watch) else { continue };
            let hint = self.hint(now, &link);
            // A UE without a cell sends no report.
            let arrives = !lost && !access.is_interrupted(entry);
            if self.spec.record {
                self.record(x.probes, &x.flows[flow].name, &link, &hint);
            }
            if arrives {
                self.send(now, i, hint, x);
            }
        }
        let next = now + self.spec.period;
        let stop = self.spec.stop.map_or(Instant::MAX, |d| Instant::ZERO + d);
        if next < stop {
            if next <= x.end {
                let event = Event::HintReport(self.number);
                x.queue.schedule(next, event.class(), event);
            }
        } else if self.spec.carrier == HintCarrier::Option {
            for recipient in &mut self.recipients {
                recipient.set_guidance(&mut x.flows[recipient.flow], now, None);
            }
        }
    }

    fn send(&mut self, now: Instant, i: usize, hint: Hint, x: &mut HintContext<'_>) {
        match self.spec.carrier {
            HintCarrier::Option => {
                let recipient = &mut self.recipients[i];
                if let Some(notice) = hint.notice {
                    recipient.notice = (Some(notice), recipient.notice.1.wrapping_add(1));
                }
                // A notice is sent with the present readings.
                let (measured, before) = recipient.guidance;
                let (measured, rate, queue) = match (hint.rate, before) {
                    (None, Some(g)) => (measured, g.rate(), g.queue()),
                    _ => (now, hint.rate, hint.queue),
                };
                let guidance = Guidance::new(rate, queue, recipient.notice.0).numbered(recipient.notice.1);
                recipient.set_guidance(&mut x.flows[recipient.flow], measured, Some(guidance));
            }
            HintCarrier::Direct => {
                let at = now + self.spec.delay;
                self.under_way.push_back((at, i, hint));
                let event = Event::HintArrival(self.number);
                x.queue.schedule(at, event.class(), event);
            }
        }
    }

    /// Takes a direct hint that reaches the sender of this flow.
    fn arrive(&mut self) -> Option<(FlowId, Hint)> {
        let (_, i, hint) = self.under_way.pop_front()?;
        Some((self.recipients[i].flow, hint))
    }

    /// Notifies the recipients of hints of a change of a mobile's link, by the same transport as
    /// readings.
    pub fn notify(&mut self, now: Instant, link: Link, notice: Notice, x: &mut HintContext<'_>) {
        if !self.sends_at(now) {
            return;
        }
        if self.recipients.iter().any(|r| r.link == link) {
            let source = format!("hint/{}", self.name);
            x.probes.event(now, &source, notice.name(), None, "");
        }
        for i in 0..self.recipients.len() {
            if self.recipients[i].link == link && !self.loses_report() {
                let hint = Hint { notice: Some(notice), measured: Some(now), ..Hint::at(now) };
                self.send(now, i, hint, x);
            }
        }
    }
}

impl World {
    /// The hint tables, and the parts of the world that they read and change.
    pub(super) fn hints(&mut self) -> (&mut [Hinter], HintContext<'_>) {
        let World { hinters, accesses, flows, probes, queue, end, .. } = self;
        (hinters, HintContext { accesses, flows, probes, queue, end: *end })
    }

    /// Delivers a direct hint to its sender.
    pub(super) fn on_hint_arrival(&mut self, now: Instant, n: u32) {
        let Some((flow, hint)) = self.hinters[n as usize].arrive() else { return };
        let end: End = self.flows[flow].data_end;
        if self.flows[flow].transport.handle_hint(end, &Hint { now, ..hint }) {
            self.service(now, flow, end);
        }
    }
}

/// `value` rounded to a multiple of `step`; 0: unchanged.
fn in_steps(value: u64, step: u64) -> u64 {
    (value + step / 2).checked_div(step).map_or(value, |n| n * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_round_to_nearest() {
        assert_eq!(
            [in_steps(19_499, 1000), in_steps(19_500, 1000), in_steps(31, 64), in_steps(5, 0)],
            [19_000, 20_000, 0, 5]
        );
    }
}
