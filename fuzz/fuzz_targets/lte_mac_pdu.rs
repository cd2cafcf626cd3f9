//! MAC PDUs and random access responses out of any bytes: no panic, and what is read goes round.
#![no_main]

use lasthop_lte::mac::pdu::{Channel, Control, Part, RarPdu, decode, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for channel in [Channel::Downlink, Channel::Uplink] {
        let Ok(mut parts) = decode(bytes, channel) else { continue };
        // A sender puts control elements first, has no SDU without a byte, and one that is not
        // longer than L can say.
        parts.sort_by_key(|p| matches!(p, Part::Sdu { .. }));
        parts.retain(|p| !matches!(p, Part::Sdu { sdu, .. } if sdu.is_empty() || sdu.len() > 32_767));
        let room: usize = parts
            .iter()
            .map(|p| match p {
                Part::Control(c) => 1 + Control::size(*c) as usize,
                Part::Sdu { sdu, .. } => 3 + sdu.len(),
            })
            .sum();
        let again = encode(room as u32 + 3, &parts, channel).expect("there is room");
        assert_eq!(decode(&again, channel).expect("it was encoded"), parts);
    }
    if let Ok(pdu) = RarPdu::decode(bytes) {
        assert_eq!(RarPdu::decode(&pdu.encode()), Ok(pdu));
    }
});
