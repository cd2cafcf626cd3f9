//! A timer that has fired is not due again: time advances in every state.

use lasthop_tcp::cc::ALGORITHMS;
use lasthop_tcp::{
    EcnMode, EcnOptions, Endpoint, Flags, Options, Profile, RecoveryFlavour, Segment, SynOptions, Timestamps,
    WindowOptions,
};
use lasthop_units::{Bytes, Instant, Seq};

const PEER_ISN: Seq = Seq(5000);

fn past(seq: Seq, by: u32) -> Seq {
    Seq(seq.0.wrapping_add(by))
}

fn send(e: &mut Endpoint, now: Instant) -> usize {
    let mut sent = 0;
    while e.poll_transmit(now).is_some() {
        sent += 1;
        assert!(sent < 100_000, "an endpoint that never stops sending");
    }
    sent
}

/// A connection whose peer falls silent right after the handshake is closed (twice, after a write
/// or at once); from then on only timers act, until the endpoint gives up.
#[test]
fn after_its_timers_have_acted_an_endpoint_waits_for_later_ones() {
    for profile in Profile::ALL {
        for algorithm in ALGORITHMS {
            for write in [0, 1, 50_000] {
                let options = Options {
                    profile: *profile,
                    cc: Some(algorithm.id),
                    recovery: algorithm.needs.delivery_rate.then_some(RecoveryFlavour::Rack),
                    ecn: EcnOptions { ecn: Some(EcnMode::Accurate), ..EcnOptions::default() },
                    window: WindowOptions { mss: Some(Bytes(1000)), ..WindowOptions::default() },
                    ..Options::default()
                };
                let mut e = Endpoint::new(options.resolve().unwrap(), Seq(7));
                let mut now = Instant::from_millis(3);
                e.connect(now);
                send(&mut e, now);
                let syn_ack = Segment {
                    seq: PEER_ISN,
                    ack: past(e.info().snd_una, 1),
                    flags: Flags::SYN | Flags::ACK,
                    window: 60_000,
                    syn: SynOptions::new(Some(1460), Some(7), true),
                    timestamps: Some(Timestamps { value: 1, echo: 0 }),
                    ..Segment::default()
                };
                e.handle_segment(now, &syn_ack);
                send(&mut e, now);
                e.write(now, write);
                send(&mut e, now);
                e.close(now);
                e.close(now);
                send(&mut e, now);
                for _ in 0..400 {
                    let Some(at) = e.poll_at() else { break };
                    now = now.max(at);
                    e.on_time(now);
                    send(&mut e, now);
                    while e.poll_event().is_some() {}
                    let next = e.poll_at();
                    assert!(
                        next.is_none_or(|next| next > now),
                        "{profile:?} {} {write}: {next:?} is due at {now:?} in {:?}",
                        algorithm.name,
                        e.state()
                    );
                }
            }
        }
    }
}
