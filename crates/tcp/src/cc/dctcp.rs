//! DCTCP: RFC 8257. The window falls by half of the share of octets that were marked.

use super::marks::MarkedShare;
use super::window::{Round, Window, has_window};
use super::{
    AckSample, Congestion, CongestionControl, EcnEcho, Established, Needs, Observer, Parameter, Row,
};
use crate::config::{Config, EcnMode};

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "g",
        default: "1/16",
        unit: "",
        source: "Linux dctcp_shift_g 4; the g of RFC 8257 section 3.3",
    },
    Parameter {
        name: "alpha at the start",
        default: "1",
        unit: "",
        source: "RFC 8257 section 3.3; Linux dctcp_alpha_on_init 1024",
    },
];
pub(super) const DIFFERS: &str = "Without marks it is Reno, as Linux falls back to Reno without ECN. Linux keeps alpha in \
     1024ths and drops it to 0 below 1/64; ns-3 starts alpha at 0 or 1 by an attribute. INET 4 has it too (DcTcp). It requests ECN by \
     itself, and its receiver echoes marks as RFC 8257 section 3.2 says; with `ecn = \"accurate\"` the peer counts them \
     instead, and with `l4s = true` the data is ECT(1), as an L4S sender's.";

pub(super) const ROW: Row = Row {
    summary: "cuts by the share of marked octets",
    source: "RFC 8257; M. Alizadeh and others, SIGCOMM 2010",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs {
        // TCP_CONG_NEEDS_ECN, whatever tcp_ecn says.
        ecn: Some(EcnMode::On),
        marks: Some("losses alone govern it, as Reno does"),
        echo: EcnEcho::EachMark,
        ..Needs::NOTHING
    },
};

/// DCTCP's window and its estimate.
#[derive(Clone, Debug)]
pub struct Dctcp {
    w: Window,
    share: MarkedShare,
    round: Round,
}

impl Dctcp {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Dctcp {
        Dctcp { w: Window::new(config), share: MarkedShare::new(), round: Round::default() }
    }
    /// DCTCP.Alpha.
    pub fn alpha(&self) -> f64 {
        self.share.alpha
    }
}

impl CongestionControl for Dctcp {
    has_window!();
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
        self.round.begin(e.nxt);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.share.count(ack);
        if self.round.ended(ack) {
            self.share.settle();
        }
        if self.w.may_grow(ack) {
            self.w.reno(ack);
        }
    }
    fn on_congestion(&mut self, c: &Congestion) {
        self.w.cut(self.share.after(c));
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.w.timeout(c.flight / 2.0, c.repeated);
    }
    /// RFC 8257 section 3.5; Linux' dctcp_state answers the entry into Recovery from CWR, too
    /// (dctcp_react_to_loss).
    fn answers_loss_in_cwr(&self) -> bool {
        true
    }
    fn observe(&self, o: &mut Observer<'_>) {
        self.share.observe(o, "dctcp.alpha");
    }
}

#[cfg(test)]
mod tests {
    use super::super::Signal;
    use super::super::testing::*;
    use super::*;

    #[test]
    fn alpha_moves_a_sixteenth_towards_the_share_of_marks() {
        let mut d = Dctcp::new(&linux_like());
        assert_eq!(d.alpha(), 1.0);
        // 4 of 10 segments marked: 1 + (0.4 - 1) / 16 = 0.9625.
        let mut a = AckSample { marked: 4 * MSS, una: 1, nxt: 100, ..ack(10) };
        d.on_ack(&a);
        assert!((d.alpha() - 0.9625).abs() < 1e-12);
        // The round lasts to 100.
        a.una = 100;
        d.on_ack(&a);
        assert!((d.alpha() - 0.9625).abs() < 1e-12);
    }

    #[test]
    fn a_mark_cuts_by_half_of_alpha_and_a_loss_by_half() {
        let mut d = Dctcp::new(&linux_like());
        d.share.alpha = 0.25;
        d.on_congestion(&Congestion { signal: Signal::Ecn, ..congestion(80.0) });
        assert_eq!(d.cwnd(), 70.0, "80 * (1 - 0.125)");
        d.w.set(12.0);
        d.share.alpha = 0.04;
        d.on_congestion(&Congestion { signal: Signal::Ecn, ..congestion(12.0) });
        assert_eq!(d.cwnd(), 12.0, "12 - floor(0.24)");
        d.on_congestion(&congestion(80.0));
        assert_eq!(d.cwnd(), 40.0);
    }

    #[test]
    fn without_marks_it_grows_like_reno() {
        let mut p = Path::new(super::super::CcName::Dctcp, linux_like(), 100, 1e9);
        assert_eq!(p.rounds(3), [20.0, 40.0, 80.0]);
        p.lose();
        assert_eq!(p.rounds(3), [41.0, 42.0, 43.0]);
    }
}
