//! The `flows` table and the summary: results of each flow.

use lasthop_capture::{FinishedTable, Record};
use lasthop_net::media::RateControlName;
use lasthop_units::{Duration, FlowId, IndexVec, Instant};
use serde_json::{Value, json};

use crate::error::Error;
use crate::probe::tables;
use crate::sink::{Sink, Table};
use crate::spec::Scenario;
use crate::world::{Ended, Flow};

/// IPv4 header without options.
const IP_HEADER: u64 = 20;

/// Every flow of the run.
type Flows = IndexVec<FlowId, Flow>;

/// Updates all statistics to the end of the run.
pub(super) fn settle_statistics(ended: &mut Ended) {
    let Ended { flows, monitor, now, .. } = ended;
    for id in flows.ids() {
        let f = &mut flows[id];
        f.window.settle(*now);
        let data_end = f.data_end;
        let f = &flows[id];
        // For a split flow: at the other application; for a connection behind a proxy: at its own
        // end.
        let behind = f.leg.as_deref().is_some_and(|leg| leg.previous.is_some());
        let connection = if behind { id } else { f.connection(id, data_end.other()) };
        let delivered = match flows[connection].transport.stream_octets(data_end) {
            Some(octets) => octets.read,
            None => f.app.stats().delivered[data_end.other() as usize] + f.real_octets,
        };
        let again = f.sent_again().unwrap_or(0);
        monitor.delivered(id, delivered);
        monitor.repeated(id, f.app.stats().copies);
        monitor.retransmitted(id, again);
    }
}

/// The tables that are written at the end: `flows` in every run, the others if a flow has a row.
///
/// # Errors
/// A table that could not be written.
pub(super) fn write_tables(ended: &Ended, sink: &Sink) -> Result<Vec<FinishedTable>, Error> {
    let flows = &ended.flows;
    let mut written = vec![finished(sink, |table| write_flows(ended, table))?];
    if flows.iter().any(has_times) {
        written.push(finished(sink, |table| write_applications(flows, ended.now, table))?);
    }
    if flows.iter().any(|f| f.app.stats().quality.is_some()) {
        written.push(finished(sink, |table| write_quality(flows, table))?);
    }
    Ok(written)
}

fn finished<R: Record>(sink: &Sink, write: impl FnOnce(&mut Table<R>)) -> Result<FinishedTable, Error> {
    let mut table = sink.table()?;
    write(&mut table);
    Ok(table.finish()?)
}

/// True if the flow's user waits for responses or for frames.
fn has_times(flow: &Flow) -> bool {
    flow.app.stats().requests_issued > 0 || flow.app.encoded() > Some(0)
}

fn write_flows(ended: &Ended, table: &mut Table<tables::Flows<'static>>) {
    let end = ended.now;
    for (id, f) in ended.flows.enumerate() {
        let m = ended.monitor.flow(id);
        let active = f.started.map(|s| end.since(s)).filter(|d| !d.is_zero());
        let sender = f.sender();
        let (src, dst) = (ended.node_name(f.node(f.data_end)), ended.node_name(f.node(f.data_end.other())));
        let rtt = f.rtt.min_mean_max_s();
        let app = f.app.stats();
        table.push(&tables::Flows {
            flow: &f.name,
            src,
            dst,
            transport: f.transport.name(),
            profile: sender.map(|s| s.profile),
            cc: sender.map(|s| s.cc).or_else(|| f.app.rate_control().map(RateControlName::name)),
            start_s: f.started.map(|s| s.as_secs_f64()),
            end_s: end.as_secs_f64(),
            first_tx_s: m.first_tx.map(|t| t.as_secs_f64()),
            last_rx_s: m.last_rx.map(|t| t.as_secs_f64()),
            tx_packets: m.tx_packets,
            tx_bytes: m.tx_bytes,
            rx_packets: m.rx_packets,
            rx_bytes: m.rx_bytes,
            rx_segment_bytes: m.rx_bytes - IP_HEADER * m.rx_packets,
            app_bytes: m.app_bytes,
            goodput_bps: active.map(|d| m.goodput_bps(d)),
            throughput_bps: active.map(|d| m.throughput_bps(d)),
            delay_mean_s: m.delay_mean_s(),
            delay_min_s: m.delay_min().map(Duration::as_secs_f64),
            delay_max_s: m.delay_max().map(Duration::as_secs_f64),
            delay_p95_s: m.delay_quantile_s(0.95),
            jitter_mean_s: m.jitter_mean_s(),
            lost_undelivered: m.lost_undelivered(),
            lost_dropped: m.lost_dropped(),
            lost_retransmitted: m.lost_retransmitted(),
            rx_marked: f.marked,
            retransmits: f.sent_again(),
            timeouts: sender.map(|s| s.timeouts),
            fast_retransmits: sender.map(|s| s.fast_retransmits),
            cwnd_mean: f.window.mean(),
            cwnd_max: f.window.max(),
            rtt_samples: sender.map(|_| f.rtt.samples),
            rtt_min_s: rtt.map(|r| r.0),
            rtt_mean_s: rtt.map(|r| r.1),
            rtt_max_s: rtt.map(|r| r.2),
            reverse_tx_packets: f.reverse.tx_packets,
            reverse_rx_packets: f.reverse.rx_packets,
            reverse_tx_bytes: f.reverse.tx_bytes,
            reverse_rx_bytes: f.reverse.rx_bytes,
            requests: (app.requests_issued > 0).then(|| app.requests_completed()),
            request_time_mean_s: (app.requests_issued > 0).then(|| app.completions.mean_s()).flatten(),
            completion_s: app.completion.map(|t| t.as_secs_f64()),
        });
    }
}

fn write_quality(flows: &Flows, table: &mut Table<tables::Quality<'static>>) {
    for f in flows.iter() {
        let app = f.app.stats();
        let Some(q) = &app.quality else { continue };
        let sent = app.datagrams_sent;
        table.push(&tables::Quality {
            flow: &f.name,
            app: f.app.name(),
            sent,
            received: q.received(),
            late: q.late(),
            deadline_s: q.deadline().as_secs_f64(),
            unusable: q.unusable(sent),
            delay_mean_s: q.delay_mean_s(),
            delay_p95_s: q.delay_quantile_s(0.95),
            delay_p99_s: q.delay_quantile_s(0.99),
            longest_gap_s: q.longest_gap().as_secs_f64(),
            r_factor: q.rating(sent),
            mos: q.opinion(sent),
        });
    }
}

fn write_applications(flows: &Flows, end: Instant, table: &mut Table<tables::Applications<'static>>) {
    for f in flows.iter().filter(|f| has_times(f)) {
        let (times, video) = (&f.app.stats().completions, f.app.video());
        let stalls = video.map(|v| v.stalls(end));
        let active = f.started.map(|s| end.since(s).as_secs_f64()).filter(|s| *s > 0.0);
        let encoded = f.app.encoded().zip(active).map(|(octets, s)| octets as f64 * 8.0 / s);
        table.push(&tables::Applications {
            flow: &f.name,
            app: f.app.name(),
            completed: times.count(),
            time_mean_s: times.mean_s(),
            time_median_s: times.quantile_s(0.5),
            time_p95_s: times.quantile_s(0.95),
            time_max_s: times.max().map(Duration::as_secs_f64),
            startup_s: video.and_then(|v| v.startup()).map(Duration::as_secs_f64),
            bitrate_mean_bps: video.and_then(|v| v.bitrate_bps()).or(encoded),
            switches: video.map(|v| v.switches()),
            stalls: stalls.map(|s| s.0),
            stalled_s: stalls.map(|s| s.1.as_secs_f64()),
        });
    }
}

/// The summary: flows in short, the account, the events.
pub(super) fn summary(ended: &mut Ended, scenario: &Scenario) -> Value {
    let end = ended.now;
    let flows: Vec<Value> = ended
        .flows
        .enumerate()
        .map(|(id, f)| {
            let m = ended.monitor.flow(id);
            let active = f.started.map(|s| end.since(s)).unwrap_or_default();
            let mut row = json!({
                "flow": &*f.name,
                "src": ended.node_name(f.node(f.data_end)),
                "dst": ended.node_name(f.node(f.data_end.other())),
                "transport": f.transport.name(),
                "cc": f.sender().map(|s| s.cc),
                "goodput_bps": m.goodput_bps(active),
                "delay_mean_s": m.delay_mean_s(),
                "rtt_mean_s": f.rtt.min_mean_max_s().map(|r| r.1),
                "lost_dropped": m.lost_dropped(),
                "retransmits": f.sent_again(),
                "timeouts": f.sender().map(|s| s.timeouts),
                "completion_s": f.app.stats().completion.map(|t| t.as_secs_f64()),
            });
            let data_end = f.data_end;
            let receiver = f.connection(id, data_end.other());
            let octets = ended.flows[receiver].transport.stream_octets(data_end);
            if let Some(octets) = octets.filter(|o| o.lead > 0) {
                row["skipped_bytes"] = octets.skipped.into();
            }
            row
        })
        .collect();
    let goodputs: Vec<f64> = flows.iter().filter_map(|f| f["goodput_bps"].as_f64()).collect();
    let a = &ended.account;
    let tally = |t: crate::world::Tally| json!({"packets": t.packets, "bytes": t.bytes.0});
    let mut summary = json!({
        "name": scenario.spec().scenario.name,
        "seed": scenario.spec().scenario.seed,
        "duration_s": end.as_secs_f64(),
        "events": ended.events,
    });
    // Moved: `json!` serializes its values, which copies every flow.
    summary["flows"] = Value::Array(flows);
    summary["jain_index"] = json!(lasthop_net::jain(goodputs.iter().copied()));
    summary["packets"] = json!({
        "sent": tally(a.sent),
        "delivered": tally(a.delivered),
        "dropped": tally(a.dropped),
        "inside": tally(a.inside()),
        "made": tally(a.made),
        "replaced": tally(a.replaced),
    });
    if !ended.snoops.is_empty() {
        summary["snoop"] = Value::Array(std::mem::take(&mut ended.snoops));
    }
    summary
}
