"""The rows of a table by flow, found in one pass: a run of short flows has thousands of flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from lasthop.judging._recording import Floats, Whole


def flow_codes(table: pa.Table) -> tuple[list[str], Whole]:
    """The names of a table's flows, and for each row the index of its flow's name.

    A name may have no rows.
    """
    column = table.column("flow").combine_chunks()
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    return column.dictionary.to_pylist(), column.indices.to_numpy().astype(np.int64)


def columns_by_flow(table: pa.Table, columns: list[str]) -> dict[str, list[Floats]]:
    """The columns of each flow that has rows, in alphabetical order; rows keep their order."""
    names, codes = flow_codes(table)
    order = np.argsort(codes, kind="stable")
    edges = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(names)))])
    values = [table.column(name).to_numpy().astype(float)[order] for name in columns]
    return {
        names[k]: [of[edges[k] : edges[k + 1]] for of in values]
        for k in sorted(range(len(names)), key=names.__getitem__)
        if edges[k] < edges[k + 1]
    }
