//! A frame under interference: piecewise constant SINR, and the error probability of each part of
//! the frame.

use lasthop_units::Instant;

use super::mode::Mode;

/// Another signal that overlapped the frame at this receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// Its start.
    pub start: Instant,
    /// Its end, in the past or in the future.
    pub end: Instant,
    /// Power at this receiver [mW].
    pub power_mw: f64,
}

/// The SINR of a frame over time, in pieces. Reused: no allocation in steady state.
#[derive(Clone, Debug, Default)]
pub struct Segments {
    /// Start of each piece, and the linear SINR from there on.
    pieces: Vec<(Instant, f64)>,
    end: Instant,
}

impl Segments {
    /// Computes the pieces between `start` and `end` for a signal of `power_mw` over `noise_mw`
    /// [mW].
    pub fn set(&mut self, start: Instant, end: Instant, power_mw: f64, noise_mw: f64, others: &[Overlap]) {
        self.pieces.clear();
        self.end = end;
        self.pieces.push((start, 0.0));
        for o in others {
            for t in [o.start, o.end] {
                if t > start && t < end {
                    self.pieces.push((t, 0.0));
                }
            }
        }
        if self.pieces.len() > 1 {
            self.pieces.sort_unstable_by_key(|(t, _)| *t);
            self.pieces.dedup_by_key(|(t, _)| *t);
        }
        for (t, sinr) in &mut self.pieces {
            let at = |o: &&Overlap| o.start <= *t && *t < o.end;
            let interference_mw: f64 = others.iter().filter(at).map(|o| o.power_mw).sum();
            *sinr = power_mw / (noise_mw + interference_mw);
        }
    }

    /// The smallest SINR of all pieces.
    pub fn worst(&self) -> f64 {
        self.pieces.iter().map(|(_, sinr)| *sinr).fold(f64::INFINITY, f64::min)
    }

    /// Probability that `bits` bits, spread evenly from `from` to `to`, are correct.
    pub fn success(&self, mode: &Mode, from: Instant, to: Instant, bits: f64) -> f64 {
        let length = to.since(from).0 as f64;
        if let [(_, sinr)] = self.pieces[..] {
            return mode.success(sinr, bits);
        }
        let mut p = 1.0;
        for (i, (start, sinr)) in self.pieces.iter().enumerate() {
            let stop = self.pieces.get(i + 1).map_or(self.end, |(t, _)| *t);
            let (a, b) = ((*start).max(from), stop.min(to));
            if b > a {
                p *= mode.success(*sinr, bits * b.since(a).0 as f64 / length);
                if p == 0.0 {
                    break;
                }
            }
        }
        p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame from 0 to 100 with an interferer over its last quarter: for three quarters of its
    /// bits there is only noise.
    #[test]
    fn each_piece_counts_with_its_share_of_bits() {
        let mode = Mode::ofdm(24).unwrap();
        let t = Instant;
        let mut s = Segments::default();
        s.set(t(0), t(100), 20.0, 1.0, &[Overlap { start: t(75), end: t(300), power_mw: 0.5 }]);
        assert!((s.worst() - 20.0 / 1.5).abs() < 1e-12);
        let want = mode.success(20.0, 9_000.0) * mode.success(20.0 / 1.5, 3_000.0);
        assert!((s.success(&mode, t(0), t(100), 12_000.0) - want).abs() < 1e-12);
        // The interferer has no effect on a part that ends before it begins.
        assert_eq!(s.success(&mode, t(0), t(50), 6_000.0), mode.success(20.0, 6_000.0));
        s.set(t(0), t(100), 20.0, 1.0, &[]);
        assert_eq!(s.success(&mode, t(0), t(100), 12_000.0), mode.success(20.0, 12_000.0));
    }
}
