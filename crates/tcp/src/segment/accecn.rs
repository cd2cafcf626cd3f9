//! The AccECN option (RFC 9768 section 3.2.3): how many octets of data arrived with each codepoint
//! of ECN.

use lasthop_units::Ecn;

/// One of the two AccECN options: up to three counters of octets, 24 bits each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AccEcn {
    shape: Shape,
    /// The counters in the order of the wire; those beyond `fields` are zero.
    counters: [[u8; 3]; 3],
}

/// Order and number of the counters, in one octet with room for "no option".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[rustfmt::skip]
enum Shape {
    #[default]
    Order0None, Order0One, Order0Two, Order0Three,
    Order1None, Order1One, Order1Two, Order1Three,
}

impl Shape {
    const ALL: [Shape; 8] = {
        use Shape::*;
        [Order0None, Order0One, Order0Two, Order0Three, Order1None, Order1One, Order1Two, Order1Three]
    };
    fn new(order1: bool, fields: usize) -> Shape {
        Shape::ALL[usize::from(order1) * 4 + fields.min(3)]
    }
}

impl AccEcn {
    /// Kind of order 0: ECT(0), CE, ECT(1).
    pub const KIND_ORDER0: u8 = 172;
    /// Kind of order 1: ECT(1), CE, ECT(0).
    pub const KIND_ORDER1: u8 = 174;
    /// Counters of a complete option.
    pub const FIELDS: u8 = 3;

    /// The option of order 1 with the first `fields` (0 to 3) of ECT(1), CE and ECT(0); `count`
    /// gives the counter of a codepoint, of which the 24 least significant bits are sent.
    pub fn order1(fields: u8, count: impl Fn(Ecn) -> u64) -> AccEcn {
        let mut option = AccEcn { shape: Shape::new(true, usize::from(fields)), counters: [[0; 3]; 3] };
        for i in 0..usize::from(option.fields()) {
            let [.., a, b, c] = count(option.codepoint(i)).to_be_bytes();
            option.counters[i] = [a, b, c];
        }
        option
    }

    /// The option with these counters, at most three, in the order of the kind.
    pub fn of(order1: bool, counters: &[u32]) -> AccEcn {
        let mut option = AccEcn { shape: Shape::new(order1, counters.len()), ..AccEcn::default() };
        for (field, n) in option.counters.iter_mut().zip(counters) {
            let [_, a, b, c] = n.to_be_bytes();
            *field = [a, b, c];
        }
        option
    }

    /// Octets of an option with `fields` counters, without padding.
    pub const fn len_of(fields: u8) -> u32 {
        2 + 3 * fields as u32
    }
    /// Counters that are present, 0 to 3.
    pub const fn fields(&self) -> u8 {
        self.shape as u8 % 4
    }
    /// The order of the counters is that of kind 174.
    pub const fn is_order1(&self) -> bool {
        self.shape as u8 >= 4
    }

    /// The codepoint that field `i` counts (RFC 9768 table 5).
    const fn codepoint(&self, i: usize) -> Ecn {
        match (i, self.is_order1()) {
            (1, _) => Ecn::Ce,
            (0, true) | (2, false) => Ecn::Ect1,
            _ => Ecn::Ect0,
        }
    }

    /// Codepoint and counter of each field, in the order of the wire.
    pub fn iter(&self) -> impl Iterator<Item = (Ecn, u32)> {
        (0..usize::from(self.fields())).map(|i| {
            let [a, b, c] = self.counters[i];
            (self.codepoint(i), u32::from_be_bytes([0, a, b, c]))
        })
    }

    /// The counter of `codepoint`, where it is present.
    pub fn get(&self, codepoint: Ecn) -> Option<u32> {
        self.iter().find(|f| f.0 == codepoint).map(|f| f.1)
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let kind = if self.is_order1() { Self::KIND_ORDER1 } else { Self::KIND_ORDER0 };
        out.extend_from_slice(&[kind, Self::len_of(self.fields()) as u8]);
        for counter in &self.counters[..usize::from(self.fields())] {
            out.extend_from_slice(counter);
        }
    }

    /// From the octets after the length. Whole fields count, up to three; what remains is padding
    /// (section 3.2.3).
    pub(super) fn decode(kind: u8, body: &[u8]) -> AccEcn {
        let shape = Shape::new(kind == Self::KIND_ORDER1, body.len() / 3);
        let mut option = AccEcn { shape, ..AccEcn::default() };
        for (field, octets) in option.counters.iter_mut().zip(body.chunks_exact(3)) {
            field.copy_from_slice(octets);
        }
        option
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9768 section 3.2.3, figure 4 and table 5: kinds, lengths and the order of the fields.
    #[test]
    fn the_fields_have_the_order_of_their_kind() {
        let count = |e: Ecn| match e {
            Ecn::Ect1 => 0x0a_0b0c,
            Ecn::Ce => 2,
            _ => 0x0100_0003,
        };
        let mut out = vec![];
        AccEcn::order1(3, count).encode(&mut out);
        assert_eq!(out, [174, 11, 0x0a, 0x0b, 0x0c, 0, 0, 2, 0, 0, 3], "24 bits of ECT(1), CE, ECT(0)");
        let order0 = AccEcn::decode(172, &[0, 0, 9, 0, 0, 8]);
        assert_eq!(order0.iter().collect::<Vec<_>>(), [(Ecn::Ect0, 9), (Ecn::Ce, 8)]);
        assert_eq!((order0.get(Ecn::Ce), order0.get(Ecn::Ect1)), (Some(8), None));
        for (fields, len) in [(3, 11), (2, 8), (1, 5), (0, 2)] {
            assert_eq!(AccEcn::len_of(fields), len, "table 5");
        }
    }

    /// Section 3.2.3: of an option of any other length the whole fields count, the remainder is
    /// padding.
    #[test]
    fn an_option_of_another_length_gives_its_whole_fields() {
        for (octets, fields) in [(0, 0), (1, 0), (4, 1), (7, 2), (9, 3), (13, 3)] {
            assert_eq!(AccEcn::decode(174, &vec![1; octets]).fields(), fields, "{octets} octets");
        }
    }
}
