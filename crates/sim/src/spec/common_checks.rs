//! Checks that the tables of several kinds of access have in common.

use lasthop_units::{Bytes, Metres};

use crate::config::{Diagnostics, Document};

/// A drawn place has its own x and y; of a written one only the height counts. What `default` has,
/// which an effective scenario writes out, and zeros claim no other place.
pub(super) fn one_place(
    doc: &Document,
    path: &str,
    drawn: &[(&str, bool)],
    [position, default]: [[Metres; 3]; 2],
    found: &mut Diagnostics,
) {
    let ground = |p: [Metres; 3]| [p[0], p[1]];
    let claims = ![ground(default), [Metres(0.0); 2]].contains(&ground(position));
    if let Some((word, _)) = drawn.iter().find(|(_, given)| *given && claims) {
        let message = format!("`{word}` and `radio.position` both set where it is");
        let help = "keep one; beside a drawn place x and y are \"0 m\" and the third is the height";
        found.push(doc.error_at(&format!("{path}.radio.position"), message).help(help));
    }
}

/// The ends of a link or bearer, as the key `path` names them.
pub(super) fn check_ends(between: &[String; 2], path: &str, doc: &Document, found: &mut Diagnostics) {
    if between[0] == between[1] {
        found.push(doc.error_at(path, format!("both ends are `{}`", between[0])).help("name two nodes"));
    }
    for (i, end) in between.iter().enumerate() {
        check_node_name(end, &format!("{path}.{i}"), doc, found);
    }
}

/// A name that a value gives to a node; those that are keys were looked at when the file was read.
pub(super) fn check_node_name(name: &str, path: &str, doc: &Document, found: &mut Diagnostics) {
    if name.trim().is_empty() || name.contains(['\n', '\r', '\t']) {
        found.push(doc.error_at(path, "a node needs a name of one line").help("such as \"server\""));
    }
}

/// IPv4 lets no link have less (RFC 791: every module must forward 68 octets).
const MIN_MTU: Bytes = Bytes(68);
/// The total length field of IPv4 has 16 bits.
const MAX_MTU: Bytes = Bytes(65_535);

pub(super) fn check_mtu(mtu: Bytes, path: &str, doc: &Document, found: &mut Diagnostics) {
    if mtu < MIN_MTU || mtu > MAX_MTU {
        found.push(doc.error_at(path, format!("an IPv4 link takes {MIN_MTU} to {MAX_MTU}, not {mtu}")));
    }
}
