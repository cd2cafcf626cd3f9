//! HighSpeed TCP: RFC 3649, with the table of its appendix B.

use lasthop_engine::math;

use super::window::{Window, has_window};
use super::{AckSample, Congestion, CongestionControl, Established, Needs, Observer, Parameter, Row};
use crate::config::Config;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter { name: "Low_Window", default: "38", unit: "segments", source: "RFC 3649 section 5" },
    Parameter { name: "High_Window", default: "83000", unit: "segments", source: "RFC 3649 section 5" },
    Parameter { name: "High_Decrease", default: "0.1", unit: "of cwnd", source: "RFC 3649 section 5" },
];
pub(super) const DIFFERS: &str = "A row counts up to and with its window, as in Linux (the RFC's program: from its \
     window on). a(w)/cwnd is added per ACK, as RFC 3649 section 5 and Linux have it, so a delayed ACK halves the \
     growth. b(w) is cut to 1/256. ns-3 adds per segment acknowledged; INET has none.";

pub(super) const ROW: Row = Row {
    summary: "grows faster and cuts less the larger the window",
    source: "RFC 3649; Linux 6.1 tcp_highspeed.c",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs::NOTHING,
};

/// Windows of RFC 3649 appendix B: with row i, counted from 0, the window grows by i + 1 segments
/// per round.
const ROWS: [u32; 73] = [
    38,
    118,
    221,
    347,
    495,
    663,
    851,
    1058,
    1284,
    1529,
    1793,
    2076,
    2378,
    2699,
    3039,
    3399,
    3778,
    4177,
    4596,
    5036,
    5497,
    5979,
    6483,
    7009,
    7558,
    8130,
    8726,
    9346,
    9991,
    10661,
    11358,
    12082,
    12834,
    13614,
    14424,
    15265,
    16137,
    17042,
    17981,
    18955,
    19965,
    21013,
    22101,
    23230,
    24402,
    25618,
    26881,
    28193,
    29557,
    30975,
    32450,
    33986,
    35586,
    37253,
    38992,
    40808,
    42707,
    44694,
    46776,
    48961,
    51258,
    53677,
    56230,
    58932,
    61799,
    64851,
    68113,
    71617,
    75401,
    79517,
    84035,
    89053,
    u32::MAX,
];
const LAST: usize = ROWS.len() - 2;

/// b(w) of RFC 3649 section 5 in 256ths, cut: from 1/2 at 38 segments to 1/10 at 83000, linear in
/// log w.
fn decrease_256ths(w: f64) -> f64 {
    let share = (math::ln(w) - math::ln(38.0)) / (math::ln(83_000.0) - math::ln(38.0));
    (256.0 * (0.5 + (0.1 - 0.5) * share)).floor()
}

/// HighSpeed's window and its row in the table.
#[derive(Clone, Debug)]
pub struct HighSpeed {
    w: Window,
    row: usize,
    /// Increments of a(w) accumulated since the last whole segment.
    gathered: f64,
}

impl HighSpeed {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> HighSpeed {
        HighSpeed { w: Window::new(config), row: 0, gathered: 0.0 }
    }

    fn find_row(&mut self) {
        while self.row < LAST && self.w.cwnd > f64::from(ROWS[self.row]) {
            self.row += 1;
        }
        while self.row > 0 && self.w.cwnd <= f64::from(ROWS[self.row - 1]) {
            self.row -= 1;
        }
    }

    fn after_cut(&self, window: f64) -> f64 {
        window - (window * decrease_256ths(f64::from(ROWS[self.row])) / 256.0).floor()
    }
}

impl CongestionControl for HighSpeed {
    has_window!();
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        if !self.w.may_grow(ack) {
            return;
        }
        if self.w.in_slow_start() {
            self.w.slow_start(ack);
            return;
        }
        self.find_row();
        // RFC 3649 section 5: "w <- w + a(w)/w" in response to a single ACK.
        self.gathered += self.row as f64 + 1.0;
        if self.gathered >= self.w.cwnd {
            self.gathered -= self.w.cwnd;
            self.w.add(1.0);
        }
    }
    fn on_congestion(&mut self, c: &Congestion) {
        self.w.cut(self.after_cut(c.flight));
        self.gathered = 0.0;
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.w.timeout(self.after_cut(c.flight), c.repeated);
        self.gathered = 0.0;
    }
    fn observe(&self, o: &mut Observer<'_>) {
        let w = f64::from(ROWS[self.row]);
        o.count("highspeed.a", "segments", "a(w): growth of the window in a round trip", self.row as u64 + 1);
        o.number(
            "highspeed.b",
            "",
            "b(w): the share of the window that a loss costs",
            decrease_256ths(w) / 256.0,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn the_decrease_follows_from_the_formula_at_every_row_that_is_known() {
        // RFC 3649 appendix B, times 256 and cut; w = 118: 0.5 - 0.4 * ln(118/38) / ln(83000/38) =
        // 0.4411 = 112.9/256.
        for (w, md) in [
            (38, 128),
            (118, 112),
            (221, 104),
            (347, 98),
            (495, 93),
            (663, 89),
            (851, 86),
            (1058, 83),
            (84_035, 25),
            (89_053, 24),
        ] {
            assert!(ROWS.contains(&w));
            assert_eq!(decrease_256ths(f64::from(w)), f64::from(md), "w = {w}");
        }
        assert_eq!(LAST, 71, "72 rows");
    }

    #[test]
    fn the_rows_follow_from_the_response_function() {
        // RFC 3649 section 5: a(w) = w^2 * p(w) * 2 b(w) / (2 - b(w)), p(w) = 0.078 / w^1.2; row i
        // is where a passes i.
        for (i, &w) in ROWS[1..=LAST].iter().enumerate() {
            let w = f64::from(w);
            let share = (math::ln(w) - math::ln(38.0)) / (math::ln(83_000.0) - math::ln(38.0));
            let b = 0.5 - 0.4 * share;
            let a = w * w * 0.078 / math::pow(w, 1.2) * 2.0 * b / (2.0 - b);
            assert!((a - (i as f64 + 2.0)).abs() < 0.06, "row {i}: w = {w}, a = {a}");
        }
    }

    #[test]
    fn a_window_of_300_grows_by_four_per_round_and_falls_by_98_256ths() {
        let mut h = HighSpeed::new(&linux_like());
        h.w.ssthresh = 2.0;
        h.set_cwnd(300.0);
        // 221 < 300 <= 347: row 3. 300 ACKs * 4 / 300 = 4, less what the window's own growth costs:
        // 1200 gathered, 300 + 301 + 302 spent, 297 left of the 303 that the fourth segment costs.
        (0..300).for_each(|_| h.on_ack(&ack(1)));
        assert_eq!((h.cwnd(), h.gathered), (303.0, 297.0));
        h.on_congestion(&congestion(303.0));
        assert_eq!(h.ssthresh(), 188.0, "303 - floor(303 * 98 / 256) = 303 - 115");
    }
}
