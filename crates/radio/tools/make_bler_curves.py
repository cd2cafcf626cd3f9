"""Makes src/lte/bler_curves.rs: block error curves of the LTE turbo code, and the 256QAM row of the mutual information.

    python crates/radio/tools/make_bler_curves.py            writes the file
    python crates/radio/tools/make_bler_curves.py --check    says whether the file is what the script makes

A curve is BLER(s) = erfc((s - s50) / (sqrt(2) sigma)) / 2 with the effective SINR s in dB, one for each code
(modulation and code rate) and size class of the code block. Inputs: data/bler_thresholds.csv, the SINR at which blocks
of three sizes fail with 50, 10 and 1 % on an unfaded channel. What lies between and beyond follows from three laws:

1. Size. Between measured sizes s50 is a straight line over 1/K and log(sigma) one over log(K): the dispersion term of
   finite block length coding (Polyanskiy, Poor, Verdu, IEEE Trans. IT 56(5), 2010) makes sigma go as K^-1/2. Below the
   smallest measured size of QPSK at low rate s50 stays and sigma goes on as K^-1/2. Codes of which no short block was
   measured (from 512 bits at MCS 9 to 14, 1024 at MCS 15 to 23, 2560 above) use their smallest measured one.
2. Repetition. The mother code has rate 1/3, so a lower rate repeats bits: halving the rate gains 3.01 dB. It gives the
   curves below the lowest rate of each modulation, which HARQ needs.
3. 256QAM. The information that the turbo code loses against capacity at BLER 50 % depends on the code rate; the loss
   of 64QAM at the same rate is taken over (rates outside its range: the nearest), and so is sigma. Law 2 holds below
   rate 1/3.
"""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path

import numpy as np

RADIO = Path(__file__).resolve().parent.parent
TARGET = RADIO / "src/lte/bler_curves.rs"
CLASSES = (40, 104, 160, 256, 512, 1024, 2560, 4032, 6144)
Z10 = 1.2815515655446004  # Q(z) = 0.1
# Effective code rate of MCS 0 to 28, two decimals (src/lte/mcs.rs).
RATES = (
    *(0.08, 0.10, 0.11, 0.15, 0.19, 0.24, 0.30, 0.37, 0.44, 0.51),
    *(0.30, 0.33, 0.37, 0.42, 0.48, 0.54, 0.60),
    *(0.43, 0.45, 0.50, 0.55, 0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.89, 0.92),
)
# (Q_m, first MCS of the modulation, rates below its lowest).
LOWER = ((2, 0, (0.01, 0.026, 0.04)), (4, 10, (0.075, 0.10, 0.15)), (6, 17, (0.1075, 0.143, 0.215)))
# MCS 20 to 27 of the 256QAM table: code rate times 1024 (between the CQI of table 7.2.3-2), and lower ones for HARQ.
RATES_256 = tuple(r / 1024 for r in (682.5, 711, 754, 797, 841, 885, 916.5, 948))
LOWER_256 = tuple(RATES_256[0] * f for f in (1 / 4, 1 / 3, 1 / 2))

Curve = list[tuple[float, float]]  # (s50, sigma) for each of CLASSES


def ten_brink_j(x: np.ndarray) -> np.ndarray:
    """J(x) of S. ten Brink, IEEE Trans. Commun. 52(4), 2004, in two pieces."""
    low = np.maximum(((-0.04210661 * x + 0.209252) * x - 0.00640081) * x, 0.0)
    y = np.minimum(x, 50.0)
    high = 1.0 - np.exp(((0.00181491 * y - 0.142675) * y - 0.0822054) * y + 0.0549608)
    return np.where(x <= 1.6363, low, high)


def mi_64qam(snr_db: float) -> float:
    """Mutual information per bit of 64QAM."""
    root = np.array(math.sqrt(10 ** (snr_db / 10)))
    return float(np.mean([ten_brink_j(k * root) for k in (1.47, 0.529, 0.366)]))


def capacity_256qam(snr_db: np.ndarray) -> np.ndarray:
    """Bit-interleaved capacity per bit of Gray 256QAM: two 16-PAM of four bits each, Gauss-Hermite quadrature."""
    levels = np.arange(-15, 16, 2) / math.sqrt(170.0)  # E = (16^2 - 1) / 3 * 2 = 170 for both dimensions
    gray = np.arange(16) ^ (np.arange(16) >> 1)
    nodes, weights = np.polynomial.hermite.hermgauss(64)
    weights = weights / math.sqrt(math.pi)
    out = []
    for snr in 10 ** (snr_db / 10):
        noise = math.sqrt(0.5 / snr)  # per dimension
        y = levels[:, None] + math.sqrt(2.0) * noise * nodes[None, :]
        likelihood = np.exp(-((y[:, :, None] - levels) ** 2) / (2 * noise**2))
        total = likelihood.sum(axis=2)
        mi = 0.0
        for bit in range(4):
            ones = (gray >> bit) & 1
            same = np.where(
                ones[:, None] == 1, likelihood[:, :, ones == 1].sum(axis=2), likelihood[:, :, ones == 0].sum(axis=2)
            )
            mi += 1.0 - float(((np.log2(total / same)) @ weights).mean())
        out.append(mi / 4)
    return np.array(out)


def fit_256qam() -> tuple[list[tuple[float, float]], float]:
    """Weights and scales (w, k) of sum(w J(k sqrt(g))) nearest to the capacity from -10 to 40 dB; its largest error."""
    snr_db = np.arange(-10.0, 40.25, 0.5)
    wanted, root = capacity_256qam(snr_db), np.sqrt(10 ** (snr_db / 10))

    def model(p: np.ndarray) -> np.ndarray:
        weights = np.exp(p[4:]) / np.exp(p[4:]).sum()
        return np.sum([w * ten_brink_j(x * root) for w, x in zip(weights, np.exp(p[:4]), strict=True)], axis=0)

    p = np.concatenate([np.log([0.9, 0.4, 0.2, 0.15]), np.zeros(4)])
    damping = 1e-2
    for _ in range(2000):  # Levenberg-Marquardt
        residual = wanted - model(p)
        slopes = np.array([(model(p + 1e-5 * e) - model(p - 1e-5 * e)) / 2e-5 for e in np.eye(8)]).T
        step = np.linalg.solve(slopes.T @ slopes + damping * np.eye(8), slopes.T @ residual)
        better = np.sum((wanted - model(p + step)) ** 2) < np.sum(residual**2)
        p, damping = (p + step, damping / 3) if better else (p, damping * 3)
        if damping > 1e6:
            break
    weights = [round(float(w), 4) for w in np.exp(p[4:]) / np.exp(p[4:]).sum()]
    weights[0] += round(1 - sum(weights), 4)
    terms = sorted(
        ((round(w, 4), round(float(x), 4)) for w, x in zip(weights, np.exp(p[:4]), strict=True)), key=lambda t: -t[1]
    )
    fitted = np.sum([w * ten_brink_j(k * root) for w, k in terms], axis=0)
    return terms, float(np.max(np.abs(wanted - fitted)))


def thresholds() -> dict[int, dict[int, tuple[float, float]]]:
    """MCS -> code block size -> (s50, sigma)."""
    found: dict[int, dict[int, tuple[float, float]]] = {}
    with (RADIO / "data/bler_thresholds.csv").open() as f:
        for row in csv.DictReader(f):
            s50, s10 = float(row["snr50_db"]), float(row["snr10_db"])
            found.setdefault(int(row["mcs"]), {})[int(row["code_block_bits"])] = (s50, (s10 - s50) / Z10)
    return found


def all_sizes(measured: dict[int, tuple[float, float]], short_blocks: bool) -> Curve:
    """The curve of every size class from those measured (law 1)."""
    sizes = sorted(measured)
    curve = []
    for size in CLASSES:
        if size <= sizes[0]:
            s50, sigma = measured[sizes[0]]
            curve.append((s50, sigma * math.sqrt(sizes[0] / size) if short_blocks else sigma))
            continue
        above = next(s for s in sizes if s >= size)
        below = max(s for s in sizes if s < size)
        (s50_a, sigma_a), (s50_b, sigma_b) = measured[above], measured[below]
        t = (1 / below - 1 / size) / (1 / below - 1 / above)
        u = math.log(size / below) / math.log(above / below)
        curve.append((s50_b + t * (s50_a - s50_b), math.exp((1 - u) * math.log(sigma_b) + u * math.log(sigma_a))))
    return curve


def repeated(curve: Curve, rate: float, lower: float) -> Curve:
    """The curve at a lower rate by repetition (law 2)."""
    gain = 10 * math.log10(rate / lower)
    return [(s50 - gain, sigma) for s50, sigma in curve]


def curves_256qam(curves_64qam: list[Curve], terms: list[tuple[float, float]]) -> list[Curve]:
    """Law 3: the loss of information of 64QAM at the same rate."""
    rates = RATES[17:]
    grid = np.arange(-10.0, 45.0, 0.005)
    mi_256 = np.sum([w * ten_brink_j(k * np.sqrt(10 ** (grid / 10))) for w, k in terms], axis=0)
    out = []
    for rate in (LOWER_256[-1], *RATES_256):
        curve = []
        for i in range(len(CLASSES)):
            losses = [mi_64qam(c[i][0]) - r for c, r in zip(curves_64qam, rates, strict=True)]
            loss = float(np.interp(rate, rates, losses))
            sigma = float(np.interp(rate, rates, [c[i][1] for c in curves_64qam]))
            curve.append((float(np.interp(rate + loss, mi_256, grid)), sigma))
        out.append(curve)
    return out


def rust() -> str:
    """The text of the file."""
    measured = thresholds()
    by_mcs = [all_sizes(measured[mcs], short_blocks=mcs < 9) for mcs in range(29)]
    terms, error = fit_256qam()
    codes: list[tuple[int, float, Curve, str]] = []
    for q, first, rates in LOWER:
        last = next((f for _, f, _ in LOWER if f > first), 29)
        codes += [(q, r, repeated(by_mcs[first], RATES[first], r), "repetition") for r in rates]
        codes += [(q, RATES[m], by_mcs[m], f"MCS {m}") for m in range(first, last)]
    high = curves_256qam(by_mcs[17:], terms)
    codes += [(8, r, repeated(high[0], LOWER_256[-1], r), "repetition") for r in LOWER_256]
    codes += [
        (8, r, c, f"MCS {20 + i} of the 256QAM table") for i, (r, c) in enumerate(zip(RATES_256, high[1:], strict=True))
    ]
    lines = [
        "//! Made by `tools/make_bler_curves.py`, which says how. Do not edit.",
        "",
        "use super::curve::{BlerCurve, Code};",
        "",
        "/// Weights and scales (w, k) of 256QAM's mutual information: the sum of w J(k sqrt(g)). Largest difference to",
        f"/// the bit-interleaved capacity from -10 dB to 40 dB: {error:.4f}.",
        "pub(super) const QAM256: [(f64, f64); 4] =",
        f"    [{', '.join(f'({w:.4f}, {k:.4f})' for w, k in terms)}];",
        "",
        "/// Bits per symbol and code rate of each code, rising within a modulation; curves by size class.",
        "#[rustfmt::skip]",
        f"pub(super) static CODES: [Code; {len(codes)}] = [",
    ]
    for q, rate, curve, name in codes:
        cells = ", ".join(f"c({s50:.3f}, {sigma:.4f})" for s50, sigma in curve)
        lines += [f"    // {name}", f"    Code {{ bits: {q}, rate: {rate:.4f}, curves: [{cells}] }},"]
    lines += [
        "];",
        "",
        "const fn c(snr50_db: f64, sigma_db: f64) -> BlerCurve {",
        "    BlerCurve { snr50_db, sigma_db }",
        "}",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    text = rust()
    if "--check" in sys.argv[1:]:
        same = TARGET.read_text() == text
        print(f"{TARGET.name} is {'fresh' if same else 'stale: run ' + __file__}")
        sys.exit(not same)
    TARGET.write_text(text)
