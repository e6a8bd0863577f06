#!/usr/bin/env python3
"""Other libraries' HNSW on the vectors of a folder; runs in an environment that has them.

  search_peers.py hnswlib|usearch FOLDER DIMENSION M EF_CONSTRUCTION

Writes lines of JSON as the example `vectors` does; rates a core are by processor time.
"""

import json
import os
import pathlib
import sys
import time

import numpy

K = 10
WIDTHS = (10, 20, 40, 64, 100, 200, 400)


class Hnswlib:
    def __init__(self, dimension, m, ef_construction, rows):
        import hnswlib

        self.index = hnswlib.Index("ip", dimension)
        self.index.init_index(rows, ef_construction=ef_construction, M=m)

    def add(self, rows, threads):
        self.index.add_items(rows, numpy.arange(len(rows)), num_threads=threads)

    def search(self, queries, ef):
        self.index.set_ef(ef)
        return self.index.knn_query(queries, K, num_threads=1)[0]


class Usearch:
    def __init__(self, dimension, m, ef_construction, rows):
        from usearch.index import Index

        self.index = Index(ndim=dimension, metric="ip", dtype="f32", connectivity=m, expansion_add=ef_construction)

    def add(self, rows, threads):
        self.index.add(numpy.arange(len(rows)), rows, threads=threads)

    def search(self, queries, ef):
        self.index.expansion_search = ef
        return self.index.search(queries, K, threads=1).keys


def timed(work):
    wall, cpu = time.monotonic(), time.process_time()
    done = work()
    return done, time.monotonic() - wall, time.process_time() - cpu


def tell(**line):
    print(json.dumps(line), flush=True)


def main():
    name, folder, dimension, m, ef_construction = sys.argv[1], pathlib.Path(sys.argv[2]), *map(int, sys.argv[3:6])
    rows, queries = (numpy.fromfile(folder / f"{what}.f32", dtype="<f4").reshape(-1, dimension)
                     for what in ("rows", "queries"))
    scores = queries @ rows.T
    least = numpy.partition(scores, -K, axis=1)[:, -K]
    index = {"hnswlib": Hnswlib, "usearch": Usearch}[name](dimension, m, ef_construction, len(rows))
    _, wall, cpu = timed(lambda: index.add(rows, len(os.sched_getaffinity(0))))
    tell(part="build", rows_per_s=len(rows) / wall, rows_per_s_a_core=len(rows) / cpu)
    for ef in WIDTHS:
        found, wall, cpu = timed(lambda: index.search(queries, ef))
        hits = numpy.take_along_axis(scores, found.astype(int), 1) >= least[:, None] - 1e-6
        tell(part="search", ef=ef, recall=float(hits.mean()), queries_per_s=len(queries) / wall,
             queries_per_s_a_core=len(queries) / cpu)


if __name__ == "__main__":
    main()
