# SPDX-License-Identifier: MIT
"""Clusters of points by numpy: lines from some nanoseconds to some hundred microseconds. It needs numpy."""
from common import profile, sized, timed

import numpy


@profile
def nearest(points, centers):
    best = numpy.zeros(len(points), dtype=int)
    least = numpy.full(len(points), numpy.inf)
    for i, center in enumerate(centers):
        away = points - center
        squares = (away * away).sum(axis=1)
        nearer = squares < least
        best[nearer] = i
        least = numpy.where(nearer, squares, least)
    return best


@profile
def moved(points, best, centers):
    found = []
    for i in range(len(centers)):
        mine = points[best == i]
        if len(mine) == 0:
            found.append(centers[i])
            continue
        x = float(mine[:, 0].mean())
        y = float(mine[:, 1].mean())
        found.append((x, y))
    return numpy.array(found)


@profile
def cluster(times):
    numbers = numpy.random.default_rng(1)
    for _ in range(times):
        points = numbers.random((40, 2))
        centers = points[:6]
        for _ in range(5):
            best = nearest(points, centers)
            centers = moved(points, best, centers)


timed(cluster, sized(2_000))
