//! Checks that the tables of several kinds of access have in common.

use lasthop_units::{Bytes, Metres};

use crate::config::{Diagnostics, Document};

/// Checks that a drawn place has no written x and y: only the height of a written one counts. The
/// values of `default`, which an effective scenario contains, and zeros are accepted.
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

/// Checks the ends of a link or bearer, at the key `path`.
pub(super) fn check_ends(between: &[String; 2], path: &str, doc: &Document, found: &mut Diagnostics) {
    if between[0] == between[1] {
        found.push(doc.error_at(path, format!("both ends are `{}`", between[0])).help("name two nodes"));
    }
    for (i, end) in between.iter().enumerate() {
        check_node_name(end, &format!("{path}.{i}"), doc, found);
    }
}

/// Checks a node's name in a value; names in keys were checked when the file was read.
pub(super) fn check_node_name(name: &str, path: &str, doc: &Document, found: &mut Diagnostics) {
    if name.trim().is_empty() || name.contains(['\n', '\r', '\t']) {
        found.push(doc.error_at(path, "a node needs a name of one line").help("such as \"server\""));
    }
}

/// Smallest MTU in IPv4 (RFC 791: every module must forward 68 octets).
const MIN_MTU: Bytes = Bytes(68);
/// Largest MTU: the total length field of IPv4 has 16 bits.
const MAX_MTU: Bytes = Bytes(65_535);

pub(super) fn check_mtu(mtu: Bytes, path: &str, doc: &Document, found: &mut Diagnostics) {
    if mtu < MIN_MTU || mtu > MAX_MTU {
        found.push(doc.error_at(path, format!("an IPv4 link takes {MIN_MTU} to {MAX_MTU}, not {mtu}")));
    }
}
