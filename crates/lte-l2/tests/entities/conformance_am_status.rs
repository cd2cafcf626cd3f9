//! AM RLC: polling, status reports and their acknowledgements (TS 36.523-1 clauses 7.2.3.9 and
//! 7.2.3.10, TS 36.322 clauses 5.2.1 to 5.2.3).

use super::support::*;
use lasthop_lte_l2::rlc::*;
use lasthop_units::{Bytes, Duration};

#[test]
fn tc_7_2_3_9_polling_for_status() {
    let mut c = config();
    c.am.poll_pdu = OrInfinity::Value(4);
    let polls = |c: &RlcConfig, n: u64, size: u32| {
        let mut u = Uut::new(c);
        u.push(ms(0), n, size);
        let sent: Vec<_> = std::iter::from_fn(|| u.pull(ms(0), size + 2).pop()).collect();
        let poll = |p: &Pdu| matches!(p, Pdu::Amd(d) if d.poll);
        sent.iter().enumerate().filter(|(_, p)| poll(p)).map(|(i, _)| i).collect::<Vec<_>>()
    };
    // Every fourth PDU, and the last, with which the buffer is empty.
    assert_eq!(polls(&c, 10, 100), [3, 7, 9]);
    c.am.poll_pdu = OrInfinity::INFINITY;
    c.am.poll_byte = OrInfinity::Value(Bytes(25_000));
    // 25 PDUs of 1000 B.
    assert_eq!(polls(&c, 60, 1000), [24, 49, 59]);

    // t-PollRetransmit: there is no other data, so the last PDU is sent again with a poll.
    let mut u = uut();
    u.push(ms(0), 2, 100);
    u.pull(ms(0), 102);
    assert!(u.pull_data(ms(0), 102).poll);
    assert_eq!(u.am.poll_at(), Some(ms(45)));
    assert!(u.pull(ms(44), 200).is_empty());
    let again = u.pull_data(ms(45), 102);
    assert_eq!((again.sn, again.poll), (1, true));
    // Only a status report that covers POLL_SN stops the timer.
    u.status(ms(50), status(1, &[]));
    assert_eq!(u.am.timers().t_poll_retransmit, Some(ms(90)));
    u.status(ms(51), status(2, &[]));
    assert_eq!(u.am.timers().t_poll_retransmit, None);

    // With data waiting the next new PDU carries the poll instead, unless the window is stalled:
    // then the last PDU is sent again, or if that is acknowledged another that is not.
    let mut u = uut();
    u.push(ms(0), 600, 10);
    while !u.pull(ms(0), 12).is_empty() {}
    let again = u.pull_data(ms(45), 12);
    assert_eq!((again.sn, again.poll), (511, true));
    u.status(ms(50), status(512, &[0]));
    u.pull_data(ms(50), 12);
    let again = u.pull_data(ms(95), 12);
    assert_eq!((again.sn, again.poll), (0, true));
    let mut u = uut();
    u.push(ms(0), 1, 100);
    u.pull(ms(0), 102);
    u.push(ms(10), 2, 100);
    let next = u.pull_data(ms(46), 102);
    assert_eq!((next.sn, next.poll), (1, true));
}

#[test]
fn tc_7_2_3_10_receiver_status_triggers() {
    // A poll in sequence is answered at the next opportunity.
    let mut u = uut();
    u.data(ms(0), polled(amd(0)));
    assert_eq!(u.pull_status(ms(0), 100), Some(status(1, &[])));
    assert_eq!(u.pull_status(ms(0), 100), None);
    // The answer to a poll behind a gap waits until t-Reordering (35 ms) expires, which triggers a
    // report itself.
    u.data(ms(1), polled(amd(2)));
    assert_eq!(u.pull_status(ms(1), 100), None);
    assert_eq!(u.am.poll_at(), Some(ms(36)));
    assert_eq!(u.pull_status(ms(36), 100), Some(status(3, &[1])));
    // t-StatusProhibit delays the next report; triggers meanwhile make one report.
    let mut c = config();
    c.am.t_status_prohibit = Duration::from_millis(60);
    let mut u = Uut::new(&c);
    u.data(ms(0), polled(amd(0)));
    assert!(u.pull_status(ms(0), 100).is_some());
    u.data(ms(1), polled(amd(1)));
    u.data(ms(2), polled(amd(2)));
    assert_eq!((u.pull_status(ms(59), 100), u.am.buffer_status().total()), (None, 0));
    assert_eq!(u.am.poll_at(), Some(ms(60)));
    assert_eq!(u.pull_status(ms(60), 100), Some(status(3, &[])));
    assert_eq!(u.pull_status(ms(200), 100), None);
    // A polled duplicate is answered too: the report may have been lost.
    u.data(ms(300), polled(amd(1)));
    assert_eq!(u.pull_status(ms(300), 100), Some(status(3, &[])));
}

/// TS 36.322 clause 5.2.3: NACKs that do not fit are left out, and ACK_SN is lowered accordingly.
#[test]
fn status_pdus_are_built_to_fit_the_grant() {
    let mut u = uut();
    for sn in [10, 11] {
        u.data(ms(0), amd(sn));
    }
    u.data(ms(0), segment(12, 0, 10));
    u.data(ms(0), segment(12, 20, 30));
    u.data(ms(0), amd(13));
    // The first expiry takes VR(MS) to 12, the highest when the timer was started; the second to
    // 14.
    u.am.on_time(ms(35), &mut u.out);
    assert_eq!(u.am.state().vr_ms, 12);
    u.am.on_time(ms(70), &mut u.out);
    // 15 bits + 10 NACKs of 12 bits + 2 with SO of 42 bits = 219 bits = 28 B.
    assert_eq!(u.am.buffer_status().status, 28);
    for grant in 2..=30u32 {
        u.data(ms(80), polled(amd(13))); // requests a report again
        let s = u.pull_status(ms(80), grant).unwrap();
        assert!(Format::am(10, 11).status(&s) <= grant);
        let whole = (((grant * 8 - 15) / 12) as usize).min(10);
        match grant {
            28.. => assert_eq!((s.ack_sn, s.nacks.len()), (14, 12)),
            // Both portions of SN 12 or none.
            _ if whole == 10 => assert_eq!((s.ack_sn, s.nacks.len()), (12, 10)),
            _ => assert_eq!((s.ack_sn as usize, s.nacks.len()), (whole, whole)),
        }
        assert!(s.nacks.iter().zip(0..10).all(|(n, sn)| n.sn == sn));
    }
    u.data(ms(90), polled(amd(13)));
    assert!(u.pull(ms(90), 1).is_empty());
    assert!(u.pull_status(ms(90), 100).is_some(), "a grant too small does not lose the report");
}

/// A report that a newer one has overtaken, or an invalid one, changes nothing.
#[test]
fn stale_and_malformed_status_pdus_are_ignored() {
    let mut u = uut();
    u.push(ms(0), 20, 100);
    (0..20).for_each(|_| drop(u.pull(ms(0), 102)));
    u.status(ms(1), status(20, &[15]));
    assert_eq!(u.am.state().vt_a, 15);
    for s in [status(10, &[3]), status(21, &[]), status(600, &[1, 2])] {
        u.status(ms(2), s);
    }
    // NACK_SN at or above ACK_SN, below VT(A), or already acknowledged.
    u.status(ms(2), status(16, &[17, 3, 15]));
    // 10 is below VT(A): a newer report has overtaken it. 21 was never sent, 600 neither.
    let s = u.am.stats();
    assert_eq!((u.am.state().vt_a, s.status_overtaken, s.invalid_received), (15, 1, 2));
    u.pull_data(ms(2), 102);
    assert!(u.pull(ms(2), 1000).is_empty(), "15 only was pending");
}

/// MAC's subheaders are part of the same grant: three PDUs and three subheaders of 3 B fill the
/// grant exactly.
#[test]
fn mac_subheaders_are_charged_to_the_grant() {
    let mut u = uut();
    u.push(ms(0), 3, 100);
    (0..2).for_each(|_| drop(u.pull(ms(0), 102)));
    u.status(ms(1), status(2, &[0, 1]));
    let mut pdus = Vec::new();
    let grant = Grant { bytes: 3 * (3 + 102) - 1, per_pdu: 3 };
    let used = u.am.pull(ms(1), grant, &mut pdus, &mut u.out);
    assert_eq!((used, pdus.len()), (grant.bytes, 3));
    let sizes: Vec<u32> = pdus.iter().map(|p| p.size(Format::am(10, 11))).collect();
    assert_eq!(sizes, [102, 102, 101], "the new PDU is one byte short and polls later with its rest");
}
