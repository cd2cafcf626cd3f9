//! The default RLC buffer of a UE: about one bandwidth-delay product at the peak rate of its cell.

use lasthop_lte::network::CellConfig;
use lasthop_lte_l2::rlc::BufferConfig;

use crate::config::{Document, Node, Value, dotted};

/// Resource blocks of the carrier for which [`BufferConfig`]'s default is made: 20 MHz with one
/// layer. Its 2 MiB are 223 ms at the 75.376 Mbit/s of TS 36.213 table 7.1.7.2.1-1 (I_TBS 26, 100
/// blocks). Other cells have as much for each block and layer: the peak of a smaller carrier is
/// near its share of blocks (6 blocks: 4.392 Mbit/s, 229 ms), two layers carry twice as much.
const BLOCKS: i128 = 100;

/// Sets the buffer of each UE and dedicated bearer for which the scenario has no value.
pub(super) fn fill(document: &mut Document) {
    let (Some(ues), Some(bytes)) =
        (document.get("ue").and_then(Node::as_table), BufferConfig::default().bytes.value())
    else {
        return;
    };
    let mut tables = Vec::new();
    for (name, ue) in ues.iter() {
        let cell = ue.as_table().and_then(|t| t.get("cell")).and_then(Node::as_str);
        let Some(blocks) =
            peak_blocks(document, cell).filter(|n| (1..=2 * BLOCKS).contains(n) && *n != BLOCKS)
        else {
            continue;
        };
        let bytes = bytes.0 * blocks as u64 / BLOCKS as u64;
        tables.push((dotted(["ue", name]), bytes));
        let dedicated = ue.as_table().and_then(|t| t.get("dedicated")).and_then(Node::as_table);
        let bearers = dedicated.into_iter().flat_map(|t| t.keys());
        tables.extend(bearers.map(|bearer| (dotted(["ue", name, "dedicated", bearer]), bytes)));
    }
    let standard = Document::empty("default");
    for (path, bytes) in tables {
        let mut layer = Document::empty("default");
        if layer.insert("rlc.buffer.bytes", format!("{bytes} B").as_str()).is_ok() {
            document.fill_from(&path, &layer, &standard);
        }
    }
}

/// Resource blocks times layers of the fastest cell that may serve a UE of `cell`.
fn peak_blocks(document: &Document, cell: Option<&str>) -> Option<i128> {
    let cells = document.get("cell")?.as_table()?;
    let named = cells.iter().filter(|(name, _)| cell.is_none_or(|cell| cell == *name));
    let blocks = |c: &Node| match c.as_table().and_then(|t| t.get("resource_blocks")).map(|n| &n.value) {
        Some(Value::Integer(n)) => *n,
        _ => i128::from(CellConfig::default().resource_blocks),
    };
    // Transmission modes 3 and 4 use two layers, the most of two antennas (TS 36.213 clause 7.1).
    let layers = |name: &str| match document.get(&format!("cell.{}.downlink.mimo.mode", dotted([name]))) {
        Some(Node { value: Value::Integer(mode), .. }) if *mode >= 3 => 2,
        _ => 1,
    };
    named.map(|(name, c)| blocks(c) * layers(name)).max()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lasthop_lte_l2::rlc::{BufferConfig, Mode};
    use lasthop_units::Bytes;

    use crate::Scenario;

    fn scenario(keys: &str) -> Scenario {
        let text = format!(
            "[scenario]\nname = 'c'\nduration = '1 s'\n[link.core]\nbetween = ['server', 'enb']\n{keys}\
             [flow.f]\nfrom = 'server'\nto = 'phone'\n"
        );
        let scenario = Scenario::parse(&text, "c.toml", Path::new(""), &[]).unwrap();
        // The effective scenario is read back as the same UE.
        let again = Scenario::parse(&scenario.to_toml(), "c.toml", Path::new(""), &[]).unwrap();
        assert_eq!(again.spec().ue, scenario.spec().ue);
        scenario
    }

    fn buffer(keys: &str) -> Option<Bytes> {
        scenario(keys).spec().ue["phone"].rlc.buffer.bytes.value()
    }

    /// Peak rates [bit/s] by TS 36.213 table 7.1.7.2.1-1, I_TBS 26, over 6 to 100 blocks: the
    /// default buffer is 220 to 230 ms of each, a bandwidth-delay product for typical round trips
    /// of LTE.
    #[test]
    fn the_default_buffer_is_a_bandwidth_delay_product_of_the_cell() {
        let peaks =
            [(6, 4.392e6), (15, 11.064e6), (25, 18.336e6), (50, 36.696e6), (75, 55.056e6), (100, 75.376e6)];
        for (blocks, peak) in peaks {
            let bytes = buffer(&format!("[cell.enb]\nresource_blocks = {blocks}\n[ue.phone]\n")).unwrap();
            let seconds = bytes.0 as f64 * 8.0 / peak;
            assert!((0.22..0.23).contains(&seconds), "{blocks} blocks: {bytes} are {seconds} s");
        }
    }

    /// Two layers carry twice as much (2 * 75.376 Mbit/s): 4 MiB at 20 MHz are 223 ms again, and 10
    /// MHz with two layers has 2 MiB.
    #[test]
    fn layers_count() {
        let two = |keys: &str| {
            let mimo = "[cell.enb.downlink.mimo]\nmode = 3\n";
            buffer(&format!("[cell.enb]\n{keys}{mimo}[ue.phone]\n")).unwrap().0
        };
        assert_eq!((two(""), two("resource_blocks = 50\n")), (4 << 20, 2 << 20));
        let single = buffer("[cell.enb.downlink.mimo]\nmode = 2\n[ue.phone]\n").unwrap().0;
        assert_eq!(single, 2 << 20);
    }

    #[test]
    fn written_values_stay_and_the_largest_cell_counts() {
        let usual = BufferConfig::default().bytes.value();
        let small = "[cell.enb]\nresource_blocks = 25\n";
        assert_eq!(buffer("[cell.enb]\n[ue.phone]\n"), usual);
        assert_eq!(buffer(&format!("{small}[ue.phone]\nrlc = {{ mode = 'um' }}\n")), Some(Bytes(524_288)));
        assert_eq!(buffer(&format!("{small}[ue.phone]\nrlc.buffer.bytes = '2 MiB'\n")), usual);
        assert_eq!(buffer(&format!("{small}[ue.phone]\nrlc.buffer.bytes = 'infinity'\n")), None);
        let two = format!("{small}[cell.big]\nenb = 'enb'\n[ue.phone]\n");
        assert_eq!(buffer(&two), usual, "either cell may serve it");
        assert_eq!(buffer(&two.replace("[ue.phone]", "[ue.phone]\ncell = 'enb'")), Some(Bytes(524_288)));
        let bearer =
            format!("{small}[ue.phone]\n[ue.phone.dedicated.voice]\nflows = ['f']\nrlc.mode = 'um'\n");
        let bearer = scenario(&bearer).spec().ue["phone"].dedicated["voice"].rlc.clone();
        assert_eq!((bearer.mode, bearer.buffer.bytes.value()), (Mode::Um, Some(Bytes(524_288))));
    }
}
