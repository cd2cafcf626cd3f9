//! The engine by a clock and ports of the test: virtual time, exact expectations.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::rc::Rc;

use arrow::array::AsArray;
use arrow::datatypes::{DataType, Float64Type};
use lasthop_live::engine::{Clock, Engine, MTU, Port, Received, Report, Wish, device_mtu};
use lasthop_net::ip;
use lasthop_net::ipv4::{Ipv4Header, checksum};
use lasthop_sim::{Files, RunOutput, Scenario, open_external};
use lasthop_units::{Duration, Ecn, Instant};

/// Packets that wait at a port from a time on.
type Waiting = VecDeque<(Instant, Vec<u8>)>;

/// The world outside: its clock, the packets waiting to enter, and those that have left.
#[derive(Default)]
struct Outside {
    now: Instant,
    waiting: [Waiting; 2],
    left: Vec<(usize, Instant, Vec<u8>)>,
    /// The clock has moved on this much further when a wait ends.
    oversleep: Duration,
    /// From then on the second port is no more.
    gone: Option<Instant>,
}

#[derive(Clone)]
struct Shared(Rc<RefCell<Outside>>);

impl Clock for Shared {
    fn now(&mut self) -> Instant {
        self.0.borrow().now
    }
    fn wait(&mut self, until: Instant) -> Option<Instant> {
        let mut outside = self.0.borrow_mut();
        let next =
            outside.waiting.iter().filter_map(|w| w.front().map(|(t, _)| *t)).chain(outside.gone).min();
        let over = next.map_or(until, |t| t.min(until));
        let sleeps = over > outside.now;
        outside.now = outside.now.max(over + outside.oversleep);
        sleeps.then_some(over)
    }
}

struct Side(Shared, usize);

impl Port for Side {
    fn receive(&mut self, buffer: &mut [u8]) -> Received {
        let mut outside = self.0.0.borrow_mut();
        let now = outside.now;
        if self.1 == 1 && outside.gone.is_some_and(|gone| gone <= now) {
            return Received::Gone;
        }
        if outside.waiting[self.1].front().is_none_or(|(t, _)| *t > now) {
            return Received::Nothing;
        }
        let Some((_, packet)) = outside.waiting[self.1].pop_front() else {
            return Received::Nothing;
        };
        buffer[..packet.len()].copy_from_slice(&packet);
        Received::Packet(packet.len())
    }
    fn send(&mut self, packet: &[u8]) -> bool {
        let mut outside = self.0.0.borrow_mut();
        let now = outside.now;
        outside.left.push((self.1, now, packet.to_vec()));
        true
    }
}

/// A packet of IPv4 of so many octets between the two hosts, which are the first and the last node
/// that the scenario names.
fn packet(to_second: bool, size: u16, ttl: u8, dont_fragment: bool, ecn: Ecn) -> Vec<u8> {
    let ends = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 3)];
    let [src, dst] = if to_second { ends } else { [ends[1], ends[0]] };
    let header = Ipv4Header {
        dscp: 0,
        ecn,
        total_length: size,
        identification: 7,
        dont_fragment,
        more_fragments: false,
        fragment_offset: 0,
        ttl,
        protocol: 17,
        src,
        dst,
    };
    let mut p = header.encode().to_vec();
    p.extend_from_slice(&[0x12, 0x34, 0, 53]);
    p.extend_from_slice(&(size - 20).to_be_bytes());
    p.extend((26..size).map(|i| i as u8));
    p
}

struct Run {
    end: Instant,
    left: Vec<(usize, Instant, Vec<u8>)>,
    report: Report,
    output: RunOutput,
    kept: usize,
}

/// a --- r --- b: 8 Mbit/s and 5 ms each, so 1000 octets need 2 (1 ms + 5 ms) = 12 ms.
fn run(more: &str, packets: [Vec<(Instant, Vec<u8>)>; 2], oversleep: Duration) -> Run {
    run_until(more, packets, oversleep, [None, None])
}

fn scenario(more: &str) -> Scenario {
    let text = format!(
        "[scenario]\nname = \"live\"\nduration = \"2 s\"\n\
         [node.a]\nkind = \"external\"\n[node.b]\nkind = \"external\"\n[output]\npackets = true\n\
         [link.l1]\nbetween = [\"a\", \"r\"]\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\n\
         [link.l2]\nbetween = [\"r\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\n{more}"
    );
    Scenario::parse(&text, "live.toml", Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// The same: from the first time on the second port is no more, at the second the run is stopped.
fn run_until(
    more: &str,
    packets: [Vec<(Instant, Vec<u8>)>; 2],
    oversleep: Duration,
    [gone, stop]: [Option<Instant>; 2],
) -> Run {
    let mut simulation = open_external(&scenario(more), Files::default()).unwrap();
    let nodes = simulation.outside().nodes().to_vec();
    let shared = Shared(Rc::default());
    {
        let mut outside = shared.0.borrow_mut();
        outside.waiting = packets.map(VecDeque::from);
        outside.oversleep = oversleep;
        outside.gone = gone;
    }
    let ends = nodes.iter().filter(|n| n.external);
    let ports = ends.zip(0..).map(|(n, i)| (n.id, Side(shared.clone(), i))).collect();
    let mut engine = Engine::new(simulation, shared.clone(), ports);
    engine.report.late_limit = Duration::from_millis(1);
    let over = |now| stop.is_some_and(|stop| now >= stop);
    let end = engine.run(&mut |now| if over(now) { Wish::End } else { Wish::GoOn }).unwrap();
    let kept = engine.packets_inside();
    let (output, report) = engine.finish(Report::to_json).unwrap();
    let left = std::mem::take(&mut shared.0.borrow_mut().left);
    Run { end, left, report, output, kept }
}

fn ms(n: u64) -> Instant {
    Instant(n * 1_000_000)
}

/// The times are those of the links, the octets those that came in but for the hop limit.
#[test]
fn a_packet_comes_out_unchanged_at_the_time_of_the_links() {
    let sent = packet(true, 1000, 64, true, Ecn::Ect0);
    let back = packet(false, 1000, 64, true, Ecn::NotEct);
    let r = run("", [vec![(ms(100), sent.clone())], vec![(ms(200), back)]], Duration::ZERO);
    let [(side, at, got), (other, later, _)] = &r.left[..] else { panic!("{:?}", r.left) };
    // Events that are due at an instant are processed before a packet of that instant enters, so
    // the packet enters 1 ns later.
    let behind = |n| ms(n) + Duration(1);
    assert_eq!((*side, *at, *other, *later), (1, behind(112), 0, behind(212)));
    let mut expected = sent;
    ip::lower_hop_limit(&mut expected, 1);
    assert_eq!((got, got[8], checksum(&got[..20])), (&expected, 63, 0));
    assert_eq!((r.report.entered[0], r.report.left[0], r.kept), (2, 2, 0));
    assert_eq!(r.end, Instant::from_secs(2));
    assert_eq!(r.report.p99(), Duration::ZERO);
    let flows: Vec<&str> =
        r.output.summary()["flows"].as_array().unwrap().iter().map(|f| f["flow"].as_str().unwrap()).collect();
    assert_eq!(flows, ["udp/10.0.0.1:4660>10.0.0.3:53", "udp/10.0.0.3:4660>10.0.0.1:53"]);
}

/// The clock moves 3 ms too far at each wait: nothing is hidden.
#[test]
fn late_packets_are_measured() {
    let r = run(
        "",
        [vec![(ms(100), packet(true, 1000, 64, true, Ecn::NotEct))], vec![]],
        Duration::from_millis(3),
    );
    let [(_, at, _)] = r.left[..] else { panic!("{:?}", r.left) };
    assert!(at > ms(112) && at <= ms(118) + Duration(1), "{at}");
    assert!(r.report.departures.max() > Duration::ZERO, "{:?}", r.report.departures.max());
    assert!(r.report.departures.max() <= Duration::from_millis(3));
    // The packet came at 100 ms, and the process ran 3 ms later: no more, no less.
    assert_eq!(r.report.entries.max(), Duration::from_millis(3));
    // An event waits for 3 ms, of which the limit allows 1. Some wait at the same time.
    let most = Duration::from_millis(2 * r.report.events.count());
    assert!(r.report.behind > most / 2 && r.report.behind <= most, "{} of {most}", r.report.behind);
}

/// The caller is asked at 120 ms, when the packet is at its destination. Where the clock sleeps too
/// long, the run ends late, and everything up to then has happened.
#[test]
fn a_run_that_is_stopped_contains_everything_up_to_then() {
    let run = |oversleep| {
        let sent = vec![(ms(100), packet(true, 1000, 64, true, Ecn::NotEct))];
        run_until("", [sent, vec![]], Duration::from_millis(oversleep), [None, Some(ms(110))])
    };
    let r = run(0);
    assert_eq!((r.end, r.left.len(), r.kept), (ms(120) + Duration(1), 1, 0));
    for oversleep in 1..30 {
        let r = run(oversleep);
        let (batches, _) = r.output.table("packets").unwrap();
        let times = batches.iter().flat_map(|b| {
            b.column_by_name("time_s").unwrap().as_primitive::<Float64Type>().values().to_vec()
        });
        // The run may end before the packet has entered.
        let expected = times.min_by(f64::total_cmp).map_or((0, 0), |entered| {
            let arrival = Instant((entered * 1e9).round() as u64) + Duration::from_millis(12);
            if arrival < r.end { (1, 0) } else { (0, 1) }
        });
        assert_eq!((r.left.len(), r.kept), expected, "{oversleep} ms: {}", r.end);
    }
}

/// The device of a node has the MTU that all of its links take, and Ethernet's at most.
#[test]
fn a_device_has_the_mtu_of_its_links() {
    for (more, expected) in [("", [MTU, MTU]), ("mtu = \"1400 B\"\n", [MTU, 1400])] {
        let mut simulation = open_external(&scenario(more), Files::default()).unwrap();
        let world = simulation.outside();
        let found = world.nodes().iter().filter(|n| n.external).map(|n| device_mtu(&world, n.id));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{more}");
    }
}

/// A device that is removed ends the run there; the results contain everything up to then.
#[test]
fn a_port_that_is_gone_ends_the_run() {
    let sent = vec![(ms(100), packet(true, 1000, 64, true, Ecn::NotEct))];
    let r = run_until("", [sent, vec![]], Duration::ZERO, [Some(ms(500)), None]);
    assert!(r.end >= ms(500) && r.end <= ms(520), "{}", r.end);
    assert!(r.report.gone.is_some());
    assert_eq!((r.left.len(), r.output.summary()["flows"].as_array().unwrap().len()), (1, 1));
}

/// The sender's own link is narrower than its device: the message about it comes back at once, from
/// an address that is not the sender's (Linux drops a packet from an address of its own as
/// martian).
#[test]
fn a_packet_too_large_for_its_own_link_is_answered_from_another_address() {
    let sent = packet(false, 1000, 64, true, Ecn::NotEct);
    let r = run("mtu = \"900 B\"\n", [vec![], vec![(ms(100), sent.clone())]], Duration::ZERO);
    let [(1, at, answer)] = &r.left[..] else { panic!("{:?}", r.left) };
    let header = ip::read(answer).unwrap();
    assert_eq!((header.src.to_string(), header.dst.to_string()), ("10.0.0.1".into(), "10.0.0.3".into()));
    assert_eq!((&answer[20..22], &answer[26..28]), (&[3, 4][..], &900_u16.to_be_bytes()[..]));
    assert_eq!((&answer[40..56], *at, r.kept), (&sent[12..28], ms(100), 0));
}

/// RFC 1812 section 5.2.7.1: a packet to an address of no node is answered by the first router, so
/// that a program which asks a name server outside does not wait.
#[test]
fn a_packet_to_no_node_is_answered_at_once() {
    // Port unreachable for UDP, network unreachable for TCP.
    for (protocol, code) in [(17, 3), (6, 0)] {
        let mut sent = packet(true, 100, 64, true, Ecn::NotEct);
        sent[9] = protocol;
        sent[16..20].copy_from_slice(&[10, 255, 255, 53]);
        let r = run("", [vec![(ms(100), sent.clone())], vec![]], Duration::ZERO);
        let [(0, at, answer)] = &r.left[..] else { panic!("{:?}", r.left) };
        let header = ip::read(answer).unwrap();
        assert_eq!((header.src.to_string(), header.dst.to_string()), ("10.0.0.2".into(), "10.0.0.1".into()));
        // The message has the header of the packet and at least eight octets of what follows.
        assert_eq!((&answer[20..22], &answer[28..56], *at), (&[3, code][..], &sent[..28], ms(100)));
        assert_eq!((r.report.elsewhere, r.report.entered[0], r.report.answers, r.kept), (1, 0, 1, 0));
    }
}

/// A node with a snoop agent is a router as any other.
#[test]
fn a_snoop_agent_lowers_the_hop_limit_too() {
    let sent = vec![(ms(100), packet(true, 1000, 64, true, Ecn::NotEct))];
    let r = run("[node.r]\nkind = \"snoop\"\ntowards = \"l2\"\n", [sent, vec![]], Duration::ZERO);
    let [(1, _, got)] = &r.left[..] else { panic!("{:?}", r.left) };
    assert_eq!(got[8], 63);
}

/// RFC 1191: the router before the narrow link reports its MTU, from its own address.
#[test]
fn a_packet_too_large_for_a_link_is_answered_by_the_router_before_it() {
    let r = run(
        "mtu = \"900 B\"\n",
        [vec![(ms(100), packet(true, 1000, 64, true, Ecn::NotEct))], vec![]],
        Duration::ZERO,
    );
    let [(0, _, answer)] = &r.left[..] else { panic!("{:?}", r.left) };
    let header = ip::read(answer).unwrap();
    assert_eq!(header.src, IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)));
    assert_eq!((&answer[20..22], &answer[26..28]), (&[3, 4][..], &900_u16.to_be_bytes()[..]));
    let drops = r.output.table("drops").unwrap().0;
    assert_eq!(drops.iter().map(|b| b.num_rows()).sum::<usize>(), 1);
    assert_eq!(r.kept, 0);
}

/// Without "don't fragment" the same packet is cut, put together at its destination, and is whole.
#[test]
fn a_packet_that_may_be_cut_comes_out_whole() {
    let sent = packet(true, 1000, 64, false, Ecn::NotEct);
    let r = run("mtu = \"900 B\"\n", [vec![(ms(100), sent.clone())], vec![]], Duration::ZERO);
    let [(1, _, got)] = &r.left[..] else { panic!("{:?}", r.left) };
    assert_eq!((&got[20..], r.kept), (&sent[20..], 0));
}

/// RFC 1812 section 5.3.1: a packet without a hop left is answered by the router there
/// (traceroute).
#[test]
fn a_hop_limit_of_one_ends_at_the_first_router() {
    let sent = packet(true, 100, 1, true, Ecn::NotEct);
    let r = run("", [vec![(ms(100), sent)], vec![]], Duration::ZERO);
    let [(0, _, answer)] = &r.left[..] else { panic!("{:?}", r.left) };
    assert_eq!(
        (ip::read(answer).unwrap().src.to_string(), &answer[20..22]),
        ("10.0.0.2".to_owned(), &[11, 0][..])
    );
}

/// Five packets that come 1 ms apart and take 8 ms each: RED with both thresholds at one packet
/// marks those that find a queue. The first finds none, the last does. RFC 3168 section 5.
#[test]
fn a_mark_is_written_into_the_packet() {
    let sent = (0..5).map(|_| (ms(100), packet(true, 1000, 64, true, Ecn::Ect0))).collect();
    let queue = "{ kind = \"red\", min_packets = 1, max_packets = 1, queue_weight = 1, ecn = true }";
    let forward = format!("forward = {{ rate = \"1 Mbit/s\", queue = {queue} }}\n");
    let r = run(&forward, [sent, vec![]], Duration::ZERO);
    let marks: Vec<Ecn> = r.left.iter().map(|(_, _, p)| ip::read(p).unwrap().ecn).collect();
    assert_eq!((marks.len(), marks[0], marks[4]), (5, Ecn::Ect0, Ecn::Ce), "{marks:?}");
    assert!(r.left.iter().all(|(_, _, p)| checksum(&p[..20]) == 0));
}

/// A link that duplicates: both copies have the octets, and the handle is free afterwards.
#[test]
fn a_copy_has_the_octets_of_the_packet() {
    let sent = packet(true, 500, 64, true, Ecn::NotEct);
    let r = run("duplication = \"100 %\"\n", [vec![(ms(100), sent)], vec![]], Duration::ZERO);
    let [(1, _, a), (1, _, b)] = &r.left[..] else { panic!("{:?}", r.left) };
    assert_eq!((a, r.kept), (b, 0));
}

/// A text column of a table.
fn words(output: &RunOutput, table: &str, column: &str) -> Vec<String> {
    let (batches, _) = output.table(table).unwrap();
    let all = batches.iter().flat_map(|b| {
        let column = arrow::compute::cast(b.column_by_name(column).unwrap(), &DataType::Utf8).unwrap();
        let column = column.as_string::<i32>();
        column.iter().map(|word| word.unwrap_or_default().to_owned()).collect::<Vec<_>>()
    });
    all.collect()
}

/// 70 000 packets at once into a link whose queue has no limit. At that instant none leaves: those
/// beyond 65 536 are dropped, all of them by this name.
#[test]
fn a_flood_is_bounded_by_a_named_cause() {
    let p = packet(false, 100, 64, true, Ecn::NotEct);
    let flood = (0..70_000).map(|_| (ms(1999), p.clone())).collect();
    let r = run("queue = \"infinite\"\n", [vec![], flood], Duration::ZERO);
    let causes = words(&r.output, "drops", "cause");
    assert_eq!(causes.len(), 70_000 - 65_536);
    assert!(causes.iter().all(|cause| cause == "flood"), "{:?}", causes.iter().find(|c| *c != "flood"));
    assert_eq!(r.report.entered[0], 70_000);
}

/// Real TCP: the first and the third segment are the same octets, a pure ACK is no segment sent
/// again.
#[test]
fn segments_that_are_sent_again_are_counted() {
    let segment = |seq: u8, octets: u16| {
        let mut p = packet(true, 40 + octets, 64, true, Ecn::NotEct);
        p[9] = 6;
        // Ports, sequence number, acknowledgement number, length 5 and ACK, window (RFC 9293
        // section 3.1).
        p[20..36].copy_from_slice(&[0x12, 0x34, 0, 80, 0, 0, 0, seq, 0, 0, 0, 1, 0x50, 0x10, 1, 0]);
        p
    };
    let sent = [(1, 100), (101, 100), (1, 100), (201, 0), (201, 0)];
    let sent = sent.iter().zip(100..).map(|((seq, octets), at)| (ms(at), segment(*seq, *octets)));
    let r = run(
        "",
        [
            sent.collect(),
            vec![packet(false, 100, 64, true, Ecn::NotEct)].into_iter().map(|p| (ms(100), p)).collect(),
        ],
        Duration::ZERO,
    );
    let again: Vec<_> =
        r.output.summary()["flows"].as_array().unwrap().iter().map(|f| f["retransmits"].clone()).collect();
    assert_eq!(again, [serde_json::json!(1), serde_json::Value::Null], "UDP has none");
}

/// A plain run has no real packets, and reports the remedy.
#[test]
fn a_plain_run_refuses_external_nodes() {
    let text = "[scenario]\nname = \"x\"\nduration = \"1 s\"\n[node.a]\nkind = \"external\"\n\
                [link.l]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\n";
    let scenario = Scenario::parse(text, "x.toml", Path::new(""), &[]).unwrap();
    let error = lasthop_sim::run(&scenario, None, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("x.toml:4") && error.contains("lasthop live"), "{error}");
}
