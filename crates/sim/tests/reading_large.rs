//! The work of reading and checking a scenario grows with its size, not with the square of it. The
//! measure is the memory requested, which is the same on every machine and in every run.

use std::path::Path;

use lasthop_sim::Scenario;

/// Returns links from a hub to `n` nodes.
fn star(n: usize) -> String {
    let link = |i| format!("[link.l{i}]\nbetween = ['hub', 'n{i}']\nrate = '10 Mbit/s'\n");
    format!("[scenario]\nname = 'star'\nduration = '1 s'\n{}", (0..n).map(link).collect::<String>())
}

/// Returns as many flows as links.
fn flows(n: usize, from: &str, more: &str) -> String {
    (0..n).map(|i| format!("[flow.f{i}]\nfrom = '{from}{i}'\nto = 'hub'\n{more}")).collect()
}

/// The limit of the ratio of memory for twice the scenario: twice, and the logarithmic part.
const MOST: f64 = 2.3;

fn grows_with_its_size(scenario: impl Fn(usize) -> String, good: bool) {
    let asked = |n: usize| {
        let text = scenario(n);
        let before = lasthop_counting::asked();
        let read = Scenario::parse(&text, "t.toml", Path::new(""), &[]);
        let after = lasthop_counting::asked();
        assert_eq!(read.is_ok(), good, "{:?}", read.err());
        [after[0] - before[0], after[1] - before[1]]
    };
    // Data that is created once is created here.
    asked(10);
    let (once, twice) = (asked(1000), asked(2000));
    for i in [0, 1] {
        let ratio = twice[i] as f64 / once[i] as f64;
        assert!(ratio < MOST, "{once:?}, {twice:?} allocations and bytes: {ratio:.2} times as much");
    }
}

#[test]
fn a_star_with_a_flow_on_each_link() {
    grows_with_its_size(|n| star(n) + &flows(n, "n", ""), true);
}

/// Half as many arms of two links.
#[test]
fn a_star_of_routers_with_a_flow_to_each_end() {
    let arm = |i| {
        format!(
            "[link.a{i}]\nbetween = ['hub', 'r{i}']\n[link.b{i}]\nbetween = ['r{i}', 'n{i}']\n\
             [flow.f{i}]\nfrom = 'hub'\nto = 'n{i}'\n"
        )
    };
    let text = |n: usize| {
        format!("[scenario]\nname = 'arms'\nduration = '1 s'\n{}", (0..n / 2).map(arm).collect::<String>())
    };
    grows_with_its_size(text, true);
}

#[test]
fn a_warning_for_each_flow() {
    grows_with_its_size(|n| star(n) + &flows(n, "n", "start = '2 s'\n"), true);
}

/// Each unknown name could be compared with all known names.
#[test]
fn a_mistake_in_each_flow() {
    grows_with_its_size(|n| star(n) + &flows(n, "m", ""), false);
}

#[test]
fn a_change_of_each_link_at_once() {
    let set = |i| format!("'link.l{i}.rate' = '1 Mbit/s'");
    let at =
        |n| format!("[[at]]\nt = '1 ms'\nset = {{ {} }}\n", (0..n).map(set).collect::<Vec<_>>().join(", "));
    grows_with_its_size(|n| star(n) + &at(n), true);
}

#[test]
fn a_change_of_each_link_one_after_the_other() {
    let at = |i| format!("[[at]]\nt = '{i} us'\nset = {{ 'link.l{i}.rate' = '1 Mbit/s' }}\n");
    grows_with_its_size(|n| star(n) + &(0..n).map(at).collect::<String>(), true);
}

#[test]
fn a_change_of_each_station_one_after_the_other() {
    let station = |i: usize| format!("[station.s{i}]\nradio.position = ['5 m', '0 m', '1.5 m']\n");
    let at = |i| format!("[[at]]\nt = '{i} us'\nset = {{ 'station.s{i}.packets' = 7 }}\n");
    let text = |n: usize| {
        let tables: String = (0..n).map(station).chain((0..n).map(at)).collect();
        format!("[scenario]\nname = 'wlan'\nduration = '1 s'\n[ap.a]\n{tables}")
    };
    grows_with_its_size(text, true);
}
