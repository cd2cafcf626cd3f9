//! Costs of RLC AM (`make bench`): ns per SDU of 1500 B through transmitter and receiver, status
//! reports included, and allocations in steady state. The output is a table, and
//! `target/bench-rlc-am.json` with one object a case. The bench fails if a case allocates in steady
//! state: allocations are counted, so this verdict does not depend on timing.

use std::path::Path;
use std::process::ExitCode;

use lasthop_bearer::End;
use lasthop_engine::{Draw, Purpose};
use lasthop_lte_l2::pdcp::{LteBearer, LteBearerConfig, LteBearerOutput};
use lasthop_lte_l2::rlc::{Grant, Mode, Pdu, Rlc, RlcConfig, RlcOutput, Sdu};
use lasthop_units::{Id, Instant, PacketId};

struct Case {
    name: &'static str,
    mode: Mode,
    size: u32,
    /// Bytes of a transmission opportunity; there is one each millisecond.
    grant: u32,
    loss: f64,
}

/// Allocations per thousand SDUs that still count as none: a buffer that grows once more after the
/// warm-up.
const NONE: f64 = 1.0;

/// The measurements of a case.
struct Figures {
    name: &'static str,
    ns_per_sdu: f64,
    allocations_per_1000_sdus: f64,
    pdus_per_sdu: f64,
}

fn main() -> ExitCode {
    let case = |name, mode, size, grant, loss| Case { name, mode, size, grant, loss };
    let mut found = Vec::new();
    for c in [
        case("am 1500 B, one SDU per grant", Mode::Am, 1500, 1502, 0.0),
        case("am 1500 B, 75 kbit per grant", Mode::Am, 1500, 9422, 0.0),
        case("am 1500 B, 75 kbit per grant, 1 % loss", Mode::Am, 1500, 9422, 0.01),
        case("am 1500 B, 75 kbit per grant, 10 % loss", Mode::Am, 1500, 9422, 0.10),
        case("am 1500 B, 500 B per grant", Mode::Am, 1500, 500, 0.0),
        case("am 40 B, 75 kbit per grant", Mode::Am, 40, 9422, 0.0),
        case("um 1500 B, 75 kbit per grant, 1 % loss", Mode::Um, 1500, 9422, 0.01),
    ] {
        found.push(run(&c));
    }
    found.push(run_bearer());
    report(&found)
}

/// Prints the table, writes the file, and fails if any case allocated.
fn report(found: &[Figures]) -> ExitCode {
    println!("{:<44} {:>8} {:>18} {:>8}", "rlc-am", "ns/SDU", "allocations/1k SDU", "PDU/SDU");
    let mut rows = Vec::new();
    for f in found {
        let (ns, allocations, pdus) = (f.ns_per_sdu, f.allocations_per_1000_sdus, f.pdus_per_sdu);
        println!("{:<44} {ns:>8.1} {allocations:>18.3} {pdus:>8.2}", f.name);
        rows.push(format!(
            "{{\"name\": \"{}\", \"ns_per_sdu\": {ns:.1}, \"allocations_per_1000_sdus\": {allocations:.3}, \
             \"pdus_per_sdu\": {pdus:.2}}}",
            f.name
        ));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/bench-rlc-am.json");
    if let Err(e) = std::fs::write(&path, format!("[{}]\n", rows.join(",\n "))) {
        eprintln!("target/bench-rlc-am.json: {e}");
        return ExitCode::FAILURE;
    }
    println!("target/bench-rlc-am.json");
    match found.iter().find(|f| f.allocations_per_1000_sdus > NONE) {
        Some(f) => {
            eprintln!("{}: allocates in steady state", f.name);
            ExitCode::FAILURE
        }
        None => ExitCode::SUCCESS,
    }
}

/// PDCP and RLC AM of a bearer, 1500 B packets, 75 kbit per grant, without loss.
fn run_bearer() -> Figures {
    let mut bearer = LteBearer::new(&LteBearerConfig::default());
    let (mut out, mut pdus) = (LteBearerOutput::default(), Vec::new());
    let (mut n, mut pulled) = (0, 0);
    let mut step = |t: u64| {
        let now = Instant::from_millis(t);
        while bearer.buffer_status(End::Network).new_data < 20_000 {
            bearer.push(now, End::Network, PacketId::from_index(n % 1024), 1500, &mut out);
            n += 1;
        }
        for (end, grant) in [(End::Network, 9422), (End::Ue, 100)] {
            bearer.pull(now, end, Grant::of(grant), &mut pdus, &mut out);
            pulled += if end == End::Network { pdus.len() } else { 0 };
            for pdu in pdus.drain(..) {
                bearer.receive(now, end.peer(), &pdu, &mut out);
                bearer.recycle(end, pdu);
            }
        }
        bearer.on_time(now, &mut out);
        let delivered = out.delivered.len();
        out.clear();
        delivered
    };
    let warm: usize = (0..50_000).map(&mut step).sum();
    let allocations = lasthop_counting::allocations();
    #[allow(clippy::disallowed_types)]
    let start = std::time::Instant::now();
    let sdus: usize = (50_000..450_000).map(&mut step).sum();
    let elapsed = start.elapsed().as_nanos() as f64;
    let allocations = lasthop_counting::allocations() - allocations;
    Figures {
        name: "pdcp + am 1500 B, 75 kbit per grant",
        ns_per_sdu: elapsed / sdus as f64,
        allocations_per_1000_sdus: allocations as f64 * 1e3 / sdus as f64,
        pdus_per_sdu: pulled as f64 / (sdus + warm) as f64,
    }
}

fn run(c: &Case) -> Figures {
    let config = RlcConfig { mode: c.mode, ..RlcConfig::default() };
    let mut ends: [Rlc; 2] = [Rlc::new(&config, End::Network), Rlc::new(&config, End::Ue)];
    let mut outs: [RlcOutput; 2] = Default::default();
    let mut air: [Vec<Pdu>; 8] = Default::default();
    let draw = Draw::new(1, Purpose::Test, 0);
    let (mut serial, mut delivered, mut drawn, mut pdus_sent) = (0u64, 0u64, 0u64, 0u64);
    let mut fresh: Vec<Pdu> = Vec::new();
    let mut steps = |from: u64, n: u64| {
        let mut done = 0;
        for t in from..from + n {
            let now = Instant::from_millis(t);
            while ends[0].backlog().bytes < u64::from(c.grant) * 2 {
                let id = PacketId::from_index((serial % 1024) as usize);
                ends[0].push(now, Sdu { serial, ..Sdu::new(id, c.size) }, &mut outs[0]);
                serial += 1;
            }
            // PDUs sent 4 ms ago arrive; only PDUs of the data direction are lost.
            let slot = (t % 4) as usize;
            for (way, to) in [(slot, 1), (4 + slot, 0)] {
                for pdu in air[way].drain(..) {
                    drawn += 1;
                    if to == 0 || !draw.happens(drawn, c.loss) {
                        ends[to].receive(now, &pdu, &mut outs[to]);
                    }
                    ends[1 - to].recycle(pdu);
                }
            }
            for (end, grant, way) in [(0, c.grant, slot), (1, 100, 4 + slot)] {
                if ends[end].buffer_status().total() > 0 {
                    ends[end].pull(now, Grant::of(grant), &mut fresh, &mut outs[end]);
                    pdus_sent += fresh.len() as u64;
                    air[way].append(&mut fresh);
                }
                ends[end].on_time(now, &mut outs[end]);
            }
            done += outs[1].delivered.len() as u64;
            outs.iter_mut().for_each(RlcOutput::clear);
        }
        delivered += done;
        done
    };
    // About three million SDUs, 200000 opportunities at least.
    let n = (3_000_000 * u64::from(c.size) / u64::from(c.grant)).max(200_000);
    steps(0, n / 4);
    let allocations = lasthop_counting::allocations();
    #[allow(clippy::disallowed_types)]
    let start = std::time::Instant::now();
    let sdus = steps(n / 4, n);
    let elapsed = start.elapsed().as_nanos() as f64;
    let allocations = lasthop_counting::allocations() - allocations;
    Figures {
        name: c.name,
        ns_per_sdu: elapsed / sdus as f64,
        allocations_per_1000_sdus: allocations as f64 * 1000.0 / sdus as f64,
        pdus_per_sdu: pdus_sent as f64 / delivered as f64,
    }
}
