# SPDX-License-Identifier: LGPL-2.1-or-later
"""Decides which of two footprints on the ground is in front, and sorts by such decisions."""
import heapq


def in_front(one, other, eye):
    """Return 1 if the second footprint is in front of the first, -1 if behind, 0 if unknown."""
    found = side_of(one, other, eye)
    if found or len(other) < 3:
        return found
    return -side_of(other, one, eye)


def side_of(one, other, eye):
    """Return 1 if an edge of a footprint has the other one and the eye on its outside, -1 if it
    has only the other one there, 0 if no edge has."""
    one, other = one.tolist(), other.tolist()
    for i in range(4):
        (x1, y1), (x2, y2), (x3, y3) = one[i], one[(i + 1) % 4], one[(i + 2) % 4]
        nx, ny = y2 - y1, x1 - x2
        if nx * (x3 - x1) + ny * (y3 - y1) > 0:
            nx, ny = -nx, -ny
        if all(nx * (x - x1) + ny * (y - y1) > 0 for x, y in other):
            return 1 if nx * (eye[0] - x1) + ny * (eye[1] - y1) > 0 else -1
    return 0


def sorted_by(depth, first, waits):
    """Return indices from far to near, each after those that are listed as before it."""
    waits, ready = list(waits), [(-d, i) for i, d in enumerate(depth) if waits[i] == 0]
    heapq.heapify(ready)
    out, left = [], set(range(len(depth)))
    while left:
        if not ready:    # a cycle: begin anywhere
            worst = max(left, key=lambda i: depth[i])
            heapq.heappush(ready, (-depth[worst], worst))
            waits[worst] = 0
        _, i = heapq.heappop(ready)
        if i not in left:
            continue
        left.discard(i)
        out.append(i)
        for j in first[i]:
            waits[j] -= 1
            if waits[j] == 0 and j in left:
                heapq.heappush(ready, (-depth[j], j))
    return out
