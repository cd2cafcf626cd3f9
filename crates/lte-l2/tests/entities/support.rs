//! A pair of entities, grants at fixed intervals, and a channel that loses PDUs by keyed draws.

use lasthop_engine::{Draw, Purpose};
use lasthop_lte_l2::rlc::*;
use lasthop_units::{Duration, Id, Instant, PacketId};

pub const MS: Duration = Duration::from_millis(1);

pub fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

pub fn sdu(serial: u64, size: u32) -> Sdu {
    Sdu { serial, ..Sdu::new(PacketId::from_index(serial as usize), size) }
}

/// One direction of the test channel.
pub struct Way {
    /// Bytes of an opportunity.
    pub grant: u32,
    /// Time between opportunities.
    pub every: Duration,
    /// Probability that a PDU is lost.
    pub loss: f64,
}

/// Two entities; entity 0 sends SDUs to entity 1.
pub struct Pair {
    pub ends: [Rlc; 2],
    pub ways: [Way; 2],
    pub delay: Duration,
    pub out: [RlcOutput; 2],
    air: Vec<(Instant, usize, Pdu)>,
    draws: [Draw; 2],
    drawn: [u64; 2],
}

impl Pair {
    pub fn new(config: &RlcConfig, ways: [Way; 2], seed: u64) -> Pair {
        Pair {
            ends: [Rlc::new(config, End::Network), Rlc::new(config, End::Ue)],
            ways,
            delay: Duration::from_millis(4),
            out: Default::default(),
            air: Vec::new(),
            draws: [0, 1].map(|i| Draw::new(seed, Purpose::Test, i)),
            drawn: [0; 2],
        }
    }

    /// Runs one millisecond: PDUs in transmission arrive, timers expire, opportunities are used.
    pub fn tick(&mut self, now: Instant) {
        let mut i = 0;
        while i < self.air.len() {
            if self.air[i].0 > now {
                i += 1;
                continue;
            }
            let (_, to, pdu) = self.air.remove(i);
            self.ends[to].receive(now, &pdu, &mut self.out[to]);
            self.ends[1 - to].recycle(pdu);
        }
        for end in 0..2 {
            self.ends[end].on_time(now, &mut self.out[end]);
            if !now.0.is_multiple_of(self.ways[end].every.0) {
                continue;
            }
            let mut pdus = Vec::new();
            let grant = Grant::of(self.ways[end].grant);
            let used = self.ends[end].pull(now, grant, &mut pdus, &mut self.out[end]);
            let format = self.ends[end].format();
            let size = |p: &Pdu| format.map_or_else(|| p.size(Format::um(5)), |f| p.size(f));
            assert_eq!(used, pdus.iter().map(size).sum::<u32>(), "pull accounts for every byte");
            assert!(used <= grant.bytes);
            for pdu in pdus {
                self.drawn[end] += 1;
                if !self.draws[end].happens(self.drawn[end], self.ways[end].loss) {
                    self.air.push((now + self.delay, 1 - end, pdu));
                }
            }
        }
    }

    /// Ticks until entity 1 has delivered `n` SDUs or `until` is reached; returns the time.
    pub fn run_until(&mut self, from: Instant, until: Instant, n: usize) -> Instant {
        let mut now = from;
        while now < until && self.out[1].delivered.len() < n {
            self.tick(now);
            now += MS;
        }
        now
    }
}

/// Builds a PDU from `(serial, size, offset, len)` of its elements.
pub fn data(sn: u32, elements: &[(u64, u32, u32, u32)]) -> DataPdu<Span> {
    let element = |&(serial, size, offset, len): &(u64, u32, u32, u32)| Element {
        payload: Span { sdu: sdu(serial, size), offset },
        len,
    };
    let elements: Vec<_> = elements.iter().map(element).collect();
    let (first, last) = (&elements[0], &elements[elements.len() - 1]);
    DataPdu {
        sn,
        poll: false,
        starts: first.payload.offset == 0,
        ends: last.payload.offset + last.len == last.payload.sdu.size(),
        segment: None,
        elements,
    }
}

/// An AMD PDU that holds SDU `sn` of 100 bytes.
pub fn amd(sn: u32) -> DataPdu<Span> {
    data(sn, &[(u64::from(sn), 100, 0, 100)])
}

pub fn polled(pdu: DataPdu<Span>) -> DataPdu<Span> {
    DataPdu { poll: true, ..pdu }
}

/// Bytes `[from, to)` of AMD PDU `sn`, which holds SDU `sn` of 100 bytes.
pub fn segment(sn: u32, from: u32, to: u32) -> DataPdu<Span> {
    let segment = Some(Segment { so: from, last: to == 100 });
    DataPdu { segment, ..data(sn, &[(u64::from(sn), 100, from, to - from)]) }
}

pub fn status(ack_sn: u32, nacks: &[u32]) -> StatusPdu {
    StatusPdu { ack_sn, nacks: nacks.iter().map(|&sn| Nack { sn, portion: None }).collect() }
}

/// One entity under test; the test acts as its peer.
pub struct Uut {
    pub am: Am,
    pub out: RlcOutput,
    pushed: u64,
}

impl Uut {
    pub fn new(config: &RlcConfig) -> Uut {
        Uut { am: Am::new(config, End::Ue), out: RlcOutput::default(), pushed: 0 }
    }
    /// Pushes `n` SDUs of `size` bytes.
    pub fn push(&mut self, now: Instant, n: u64, size: u32) {
        for _ in 0..n {
            self.am.push(now, sdu(self.pushed, size), &mut self.out);
            self.pushed += 1;
        }
    }
    pub fn pull(&mut self, now: Instant, grant: u32) -> Vec<Pdu> {
        let mut pdus = Vec::new();
        self.am.pull(now, Grant::of(grant), &mut pdus, &mut self.out);
        pdus
    }
    /// The only PDU of a grant, which must be data.
    pub fn pull_data(&mut self, now: Instant, grant: u32) -> DataPdu<Span> {
        match &self.pull(now, grant)[..] {
            [Pdu::Amd(d)] => d.clone(),
            other => panic!("one AMD PDU, not {other:?}"),
        }
    }
    /// The STATUS PDU of a grant, if there is one.
    pub fn pull_status(&mut self, now: Instant, grant: u32) -> Option<StatusPdu> {
        self.pull(now, grant).into_iter().find_map(|p| if let Pdu::Status(s) = p { Some(s) } else { None })
    }
    pub fn data(&mut self, now: Instant, pdu: DataPdu<Span>) {
        self.am.receive(now, &Pdu::Amd(pdu), &mut self.out);
    }
    pub fn status(&mut self, now: Instant, status: StatusPdu) {
        self.am.receive(now, &Pdu::Status(status), &mut self.out);
    }
    /// Serial numbers delivered since the last call.
    pub fn delivered(&mut self) -> Vec<u64> {
        self.out.delivered.drain(..).map(|s| s.serial).collect()
    }
}

/// Polls only at empty buffers and stalled windows; no t-StatusProhibit.
pub fn config() -> RlcConfig {
    let am = AmConfig {
        poll_pdu: OrInfinity::INFINITY,
        poll_byte: OrInfinity::INFINITY,
        t_status_prohibit: Duration::ZERO,
        max_retx_threshold: 4,
        ..AmConfig::default()
    };
    RlcConfig { am, ..RlcConfig::default() }
}

pub fn uut() -> Uut {
    Uut::new(&config())
}
