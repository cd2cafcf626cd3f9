//! Any bytes through the decoders of RLC and PDCP of LTE.
#![no_main]

use lasthop_lte_l2::pdcp::PdcpPdu;
use lasthop_lte_l2::rlc::Format;
use lasthop_lte_l2::rlc::codec::decode;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let formats = [
        Format::um(5),
        Format::um(10),
        Format::am(10, 11),
        Format::am(10, 15),
        Format::am(16, 11),
        Format::am(16, 15),
    ];
    for format in formats {
        let _ = decode(input, Some(format));
    }
    for bits in [7, 12, 15, 18] {
        if let Ok(pdu) = PdcpPdu::decode(input, bits) {
            assert_eq!(PdcpPdu::decode(&pdu.encode(bits), bits), Ok(pdu));
        }
    }
});
