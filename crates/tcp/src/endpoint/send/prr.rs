//! The reduction of the window to ssthresh: by proportional rate reduction (RFC 9937, as Linux 6.1
//! counts it, in segments), or by the rate halving of older kernels.

/// A reduction in progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reduction {
    pub prr: Prr,
    /// Rate halving: the next ACK takes a segment from the window.
    pub halving: bool,
}

/// How much may be sent while the window is reduced to ssthresh.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    /// RecoverFS: the window when recovery began.
    recover_window: f64,
    delivered: f64,
    out: f64,
}

impl Prr {
    /// Recovery begins with this window.
    pub fn begin(window: f64) -> Prr {
        Prr { recover_window: window.max(1.0), delivered: 0.0, out: 0.0 }
    }
    /// Something was sent.
    pub fn sent(&mut self, segments: f64) {
        self.out += segments;
    }
    /// Processes an ACK that delivered a number of segments; `safe` is SafeACK: SND.UNA moved, and
    /// no further loss was detected. Returns the window: the data in flight and what may be sent on
    /// this ACK.
    pub fn window(&mut self, delivered: f64, in_flight: f64, ssthresh: f64, safe: bool) -> f64 {
        self.delivered += delivered;
        let mut may_send = if in_flight > ssthresh {
            // sndcnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out.
            (self.delivered * ssthresh / self.recover_window - 1e-9).ceil() - self.out
        } else {
            // sndcnt = MAX(prr_delivered - prr_out, DeliveredData); if (SafeACK) sndcnt += SMSS;
            // MIN(ssthresh - inflight).
            let n = (self.delivered - self.out).max(delivered) + if safe { 1.0 } else { 0.0 };
            n.min(ssthresh - in_flight)
        };
        if self.out == 0.0 {
            // Force a fast retransmit upon entering recovery.
            may_send = may_send.max(1.0);
        }
        in_flight + may_send.max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_loss_of_twenty_sends_as_in_rfc_6937() {
        // RFC 6937 section 3.1: 20 in flight, the first is lost, two sent by limited transmit;
        // ssthresh 10. From the third duplicate on: R . N . N . N ..., one per two ACKs: 22
        // outstanding, 3 SACKed, 1 lost: 18 in flight.
        let mut p = Prr::begin(20.0);
        let mut in_flight: f64 = 18.0;
        let mut sent = vec![];
        for n in 0..17 {
            let w = p.window(1.0, in_flight, 10.0, false);
            let count = (w - in_flight).max(0.0).floor();
            p.sent(count);
            sent.push(count as u32);
            in_flight += count;
            if n < 16 {
                in_flight -= 1.0;
            }
        }
        // CEIL(n * 10 / 20) - out: 1, 0, 1, 0, ...
        assert_eq!(sent[..8], [1, 0, 1, 0, 1, 0, 1, 0]);
        assert!(sent.iter().all(|&n| n <= 1));
        assert!((9.0..=10.0).contains(&in_flight), "{in_flight}");
    }

    #[test]
    fn fifteen_lost_of_twenty_slow_start_while_the_acks_are_safe() {
        // RFC 6937 section 3.1: pipe 4 at the third duplicate, ssthresh 10. Linux (and RFC 9937)
        // add the segment of slow start only with SafeACK; without it, conservative: one per ACK.
        let mut p = Prr::begin(20.0);
        assert_eq!(p.window(1.0, 4.0, 10.0, false), 5.0);
        p.sent(1.0);
        assert_eq!(p.window(1.0, 4.0, 10.0, true), 6.0, "SSRB: two on a safe ACK");
    }

    #[test]
    fn the_examples_of_quiche_and_ns_3_hold() {
        // quiche prr.rs: 10 MSS in flight, ssthresh 5: each ACK of one lets half a segment out,
        // i.e. 1 then 0.
        let mut p = Prr::begin(10.0);
        assert_eq!(p.window(1.0, 9.0, 5.0, false) - 9.0, 1.0);
        p.sent(1.0);
        assert_eq!(p.window(1.0, 9.0, 5.0, false) - 9.0, 0.0);
        // ns-3: RecoverFS 200, ssthresh 100 segments, 50 delivered and 1: in flight 200 > 100:
        // ceil(51 * 100 / 200) = 26; in flight 50 and 50 out: max(51 - 50, 1) = 1.
        let mut p = Prr { recover_window: 200.0, delivered: 50.0, out: 0.0 };
        assert_eq!(p.window(1.0, 200.0, 100.0, false), 226.0);
        let mut p = Prr { recover_window: 200.0, delivered: 50.0, out: 50.0 };
        assert_eq!(p.window(1.0, 50.0, 100.0, false), 51.0);
    }
}
