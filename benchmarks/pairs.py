"""Costs in pairs: ours and a peer's measured in turn, summed up and printed."""

import statistics


def summarise(pairs):
    """Medians and ratios of pairs of microseconds, ours first."""
    ratios = sorted(ours / theirs for ours, theirs in pairs)
    return {
        "proofload_us": statistics.median(ours for ours, _ in pairs),
        "peer_us": statistics.median(theirs for _, theirs in pairs),
        "ratio_median": statistics.median(ratios),
        "ratio_min": ratios[0],
        "ratio_max": ratios[-1],
        "pairs": len(pairs),
    }


def table(what, ours, theirs, found):
    """A row for each of these summaries, below the names of its columns."""
    return [f"| {what} | {ours} µs | {theirs} µs | ratio median | ratio min – max | pairs |", "|---|---|---|---|---|---|",
            *(f"| {name} | {row['proofload_us']:.2f} | {row['peer_us']:.2f} | {row['ratio_median']:.3f} | "
              f"{row['ratio_min']:.3f} – {row['ratio_max']:.3f} | {row['pairs']} |" for name, row in found.items())]
