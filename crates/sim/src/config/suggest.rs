//! Suggestions for misspelt words: "did you mean ...?"

/// Longer words are not compared: they are not misspelt names, and the comparison is quadratic.
const LONGEST: usize = 64;

/// The most likely intended candidate for `input`, if one is near: a typing error, another case,
/// `-` for `_`, the beginning of exactly one candidate, or the long form of a letter.
///
/// ```
/// # use lasthop_sim::config::suggest;
/// assert_eq!(suggest("sead", ["seed", "duration"]).as_deref(), Some("seed"));
/// assert_eq!(suggest("colour", ["seed", "duration"]), None);
/// ```
pub fn suggest<S: AsRef<str>>(input: &str, candidates: impl IntoIterator<Item = S>) -> Option<String> {
    let wanted = folded(input);
    let length = wanted.chars().count();
    if length == 0 || length > LONGEST {
        return None;
    }
    let mut best: Option<(usize, String)> = None;
    let mut begins: Vec<String> = Vec::new();
    for candidate in candidates {
        let candidate = candidate.as_ref();
        if candidate == input || candidate.len() > 4 * LONGEST {
            continue;
        }
        let name = folded(candidate);
        let distance = strsim::osa_distance(&wanted, &name);
        if best.as_ref().is_none_or(|(d, _)| distance < *d) {
            best = Some((distance, candidate.to_owned()));
        }
        if length >= 2 && (name.starts_with(&wanted) || stands_for(&name, &wanted)) {
            begins.push(candidate.to_owned());
        }
    }
    let allowed = if length < 3 { length - 1 } else { length.div_ceil(3) };
    match best {
        Some((distance, name)) if distance <= allowed => Some(name),
        _ if begins.len() == 1 => begins.pop(),
        _ => None,
    }
}

/// True for a key of one letter with which the word begins: `t` for `time`.
fn stands_for(short: &str, word: &str) -> bool {
    short.chars().count() == 1 && word.starts_with(short)
}

fn folded(word: &str) -> String {
    word.chars()
        .take(LONGEST + 1)
        .flat_map(char::to_lowercase)
        .map(|c| if c == '-' { '_' } else { c })
        .collect()
}

/// The help for an unknown word: the nearest known one, or all known ones.
pub(crate) fn near_or_all<S: AsRef<str>>(input: &str, what: &str, known: &[S]) -> String {
    if let Some(near) = suggest(input, known) {
        return format!("did you mean `{near}`?");
    }
    if known.is_empty() {
        return format!("no {what} are known here");
    }
    let list: Vec<String> = known.iter().map(|k| format!("`{}`", k.as_ref())).collect();
    format!("known {what}: {}", list.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let known = ["bandwidth", "tti", "tx_power", "bler"];
        assert_eq!(suggest("bandwith", known).as_deref(), Some("bandwidth"));
        assert_eq!(suggest("TTI", known).as_deref(), Some("tti"));
        assert_eq!(suggest("tx-power", known).as_deref(), Some("tx_power"));
        assert_eq!(suggest("band", known).as_deref(), Some("bandwidth"));
        assert_eq!(suggest("seed", known), None);
        assert_eq!(suggest("", known), None);
        assert_eq!(suggest("x", known), None);
        assert_eq!(suggest("time", ["t", "set", "start", "stop"]).as_deref(), Some("t"));
        assert_eq!(suggest("moment", ["t", "set", "start", "stop"]), None);
        assert_eq!(suggest(&"a".repeat(1 << 20), known), None);
    }
}
