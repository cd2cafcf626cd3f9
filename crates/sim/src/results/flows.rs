//! The `flows` table and the summary: what can be said of each flow at the end.

use lasthop_tcp::Endpoint;
use lasthop_units::Duration;
use serde_json::{Value, json};

use crate::probe::{Probes, Table};
use crate::spec::Scenario;
use crate::world::{Flow, FlowTransport, World};

/// IPv4 header without options.
const IP_HEADER: u64 = 20;

impl World {
    /// Counts everything up to the end of the run.
    pub(super) fn settle_statistics(&mut self) {
        let now = self.now();
        for id in self.flows.ids() {
            let f = &mut self.flows[id];
            f.window.settle(now);
            let data_end = f.data_end;
            let f = &self.flows[id];
            // Of a flow that is split: to the other application; of a connection behind a proxy: to
            // its own end.
            let behind = f.leg.as_deref().is_some_and(|leg| leg.previous.is_some());
            let seat = if behind { id } else { f.seat(id, data_end.other()) };
            let delivered = match self.flows[seat].endpoint(data_end.other()) {
                Some(receiver) => receiver.in_order_received(),
                None => f.app.stats().delivered[data_end.other() as usize],
            };
            let again = f.sender().map_or(0, |s| s.counters().retransmitted_segments);
            self.monitor.delivered(id, delivered);
            self.monitor.retransmitted(id, again);
        }
    }

    pub(super) fn write_flows(&self, table: &mut Table) {
        let end = self.now();
        for (id, f) in self.flows.enumerate() {
            let m = self.monitor.flow(id);
            let active = f.started.map(|s| end.since(s)).filter(|d| !d.is_zero());
            let sender = f.sender();
            let counter = |get: fn(&Endpoint) -> u64| sender.map(get);
            let (src, dst) = (self.node_name(f.node(f.data_end)), self.node_name(f.node(f.data_end.other())));
            let rtt = f.rtt.min_mean_max_s();
            let app = f.app.stats();
            table
                .row()
                .name(&f.name)
                .name(&src)
                .name(&dst)
                .name(transport_name(f))
                .opt_name(sender.map(|s| s.config().profile.name()))
                .opt_name(sender.map(|s| s.config().cc.name()))
                .opt_f64(f.started.map(|s| s.as_secs_f64()))
                .f64(end.as_secs_f64())
                .opt_f64(m.first_tx.map(|t| t.as_secs_f64()))
                .opt_f64(m.last_rx.map(|t| t.as_secs_f64()))
                .u64(m.tx_packets)
                .u64(m.tx_bytes)
                .u64(m.rx_packets)
                .u64(m.rx_bytes)
                .u64(m.rx_bytes - IP_HEADER * m.rx_packets)
                .u64(m.app_bytes)
                .opt_f64(active.map(|d| m.goodput_bps(d)))
                .opt_f64(active.map(|d| m.throughput_bps(d)))
                .opt_f64(m.delay_mean_s())
                .opt_f64(m.delay_min().map(Duration::as_secs_f64))
                .opt_f64(m.delay_max().map(Duration::as_secs_f64))
                .opt_f64(m.delay_quantile_s(0.95))
                .opt_f64(m.jitter_mean_s())
                .u64(m.lost_undelivered())
                .u64(m.lost_dropped())
                .u64(m.lost_retransmitted())
                .u64(f.marked)
                .opt_u64(counter(|s| s.counters().retransmitted_segments))
                .opt_u64(counter(|s| s.counters().timeouts))
                .opt_u64(counter(|s| s.counters().fast_retransmits))
                .opt_f64(f.window.mean())
                .opt_f64(f.window.max())
                .opt_u64(sender.map(|_| f.rtt.samples))
                .opt_f64(rtt.map(|r| r.0))
                .opt_f64(rtt.map(|r| r.1))
                .opt_f64(rtt.map(|r| r.2))
                .u64(f.reverse.tx_packets)
                .u64(f.reverse.rx_packets)
                .u64(f.reverse.tx_bytes)
                .u64(f.reverse.rx_bytes)
                .opt_u64((app.requests_issued > 0).then(|| app.requests_completed()))
                .opt_f64(app.completions.mean_s())
                .opt_f64(app.completion.map(|t| t.as_secs_f64()))
                .end();
        }
    }

    /// True if a flow's user minds late packets.
    pub(super) fn judges_quality(&self) -> bool {
        self.flows.iter().any(|f| f.app.stats().quality.is_some())
    }

    pub(super) fn write_quality(&self, table: &mut Table) {
        for f in self.flows.iter() {
            let app = f.app.stats();
            let Some(q) = &app.quality else { continue };
            let sent = app.datagrams_sent;
            let call = f.app.name() == "voip";
            table
                .row()
                .name(&f.name)
                .name(f.app.name())
                .u64(sent)
                .u64(q.received())
                .u64(q.late())
                .f64(q.deadline().as_secs_f64())
                .opt_f64(q.unusable(sent))
                .opt_f64(q.delay_mean_s())
                .opt_f64(q.delay_quantile_s(0.95))
                .opt_f64(q.delay_quantile_s(0.99))
                .f64(q.longest_gap().as_secs_f64())
                .opt_f64(q.rating(sent).filter(|_| call))
                .opt_f64(q.opinion(sent).filter(|_| call))
                .end();
        }
    }

    /// True if a flow's user waits for answers.
    pub(super) fn has_requests(&self) -> bool {
        self.flows.iter().any(|f| f.app.stats().requests_issued > 0)
    }

    pub(super) fn write_applications(&self, table: &mut Table) {
        let end = self.now();
        for f in self.flows.iter().filter(|f| f.app.stats().requests_issued > 0) {
            let (times, video) = (&f.app.stats().completions, f.app.video());
            let stalls = video.map(|v| v.stalls(end));
            table
                .row()
                .name(&f.name)
                .name(f.app.name())
                .u64(times.count())
                .opt_f64(times.mean_s())
                .opt_f64(times.quantile_s(0.5))
                .opt_f64(times.quantile_s(0.95))
                .opt_f64(times.max().map(Duration::as_secs_f64))
                .opt_f64(video.and_then(|v| v.startup()).map(Duration::as_secs_f64))
                .opt_f64(video.and_then(|v| v.bitrate_bps()))
                .opt_u64(video.map(|v| v.switches()))
                .opt_u64(stalls.map(|s| s.0))
                .opt_f64(stalls.map(|s| s.1.as_secs_f64()))
                .end();
        }
    }

    /// The summary: flows in short, the books, the events.
    pub(super) fn summary(&self, scenario: &Scenario) -> Value {
        let end = self.now();
        let flows: Vec<Value> = self
            .flows
            .enumerate()
            .map(|(id, f)| {
                let m = self.monitor.flow(id);
                let active = f.started.map(|s| end.since(s)).unwrap_or_default();
                json!({
                    "flow": &*f.name,
                    "src": &*self.node_name(f.node(f.data_end)),
                    "dst": &*self.node_name(f.node(f.data_end.other())),
                    "transport": transport_name(f),
                    "cc": f.sender().map(|s| s.config().cc.name()),
                    "goodput_bps": m.goodput_bps(active),
                    "delay_mean_s": m.delay_mean_s(),
                    "rtt_mean_s": f.rtt.min_mean_max_s().map(|r| r.1),
                    "lost_dropped": m.lost_dropped(),
                    "retransmits": f.sender().map(|s| s.counters().retransmitted_segments),
                    "timeouts": f.sender().map(|s| s.counters().timeouts),
                    "completion_s": f.app.stats().completion.map(|t| t.as_secs_f64()),
                })
            })
            .collect();
        let goodputs: Vec<f64> = flows.iter().filter_map(|f| f["goodput_bps"].as_f64()).collect();
        let a = self.account();
        let tally = |t: crate::world::Tally| json!({"packets": t.packets, "bytes": t.bytes.0});
        let mut summary = json!({
            "name": scenario.spec().scenario.name,
            "seed": scenario.spec().scenario.seed,
            "duration_s": end.as_secs_f64(),
            "events": self.events(),
            "flows": flows,
            "jain_index": lasthop_net::jain(goodputs.iter().copied()),
            "packets": {
                "sent": tally(a.sent),
                "delivered": tally(a.delivered),
                "dropped": tally(a.dropped),
                "inside": tally(a.inside()),
                "made": tally(a.made),
                "replaced": tally(a.replaced),
            },
        });
        let agents = self.snoop_summary();
        if !agents.is_empty() {
            summary["snoop"] = Value::Array(agents);
        }
        summary
    }

    pub(super) fn into_probes(self) -> Probes {
        debug_assert_eq!(
            self.held_by_entities() as u64,
            self.account().inside().packets,
            "every packet inside is held by exactly one entity"
        );
        self.probes
    }
}

fn transport_name(flow: &Flow) -> &'static str {
    match flow.transport {
        FlowTransport::Tcp(_) => "tcp",
        FlowTransport::Udp => "udp",
    }
}
