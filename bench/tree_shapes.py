#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tree_shapes.py: what guesses with branches that go on could gain at most over those with branches of one token.

Computed, not measured. A guess after right ones is right with probability p; where it is wrong, the next best token in its
place is with q1, and the one after that with q2 (where both are wrong). A chain with branches of one token is what
core/engine/draft_tree.c chooses; the most probable guesses of a tree in which every branch goes on with the same
probabilities are the best that any shape could have, if guessing those tokens took no time. Both take the number of
rows that pays most, at most 15. The time of a row is a part of the time of a step."""
import heapq

MOST = 15


def chain(p, q, most):
    """Probabilities of the guesses of a chain with branches of one token, the most probable first."""
    out, n_other = [], []
    while len(out) < most:
        reach, best, at = 1.0, 0.0, -1
        for i, n in enumerate(n_other):
            if n < len(q):
                right = reach * (1 - p) * q[n]
                for k in range(n):
                    right *= 1 - q[k]
                if right > best:
                    best, at = right, i
            reach *= p
        if reach * p >= best:
            out.append(reach * p)
            n_other.append(0)
        else:
            out.append(best)
            n_other[at] += 1
    return out


def tree(p, q, most):
    """The same of the best tree."""
    after, miss = [p], 1 - p
    for x in q:
        after.append(miss * x)
        miss *= 1 - x
    heap = [-x for x in after]
    heapq.heapify(heap)
    out = []
    while len(out) < most:
        out.append(-heapq.heappop(heap))
        for x in after:
            heapq.heappush(heap, -out[-1] * x)
    return out


def gain(guesses, row):
    """How much faster the best number of guesses is than none, and that number."""
    best, n, tokens = 1.0, 0, 1.0
    for i, right in enumerate(guesses, 1):
        tokens += right
        if tokens / (1 + row * i) > best:
            best, n = tokens / (1 + row * i), i
    return best, n


print("| time of a row | p | q1, q2 | chain with branches (rows) | best tree (rows) | at most |")
print("|---|---|---|---|---|---|")
for row_time in (0.12, 0.05, 0.02, 0.01):
    for chance in (0.3, 0.5, 0.7, 0.9):
        for others in ((0.3, 0.2), (0.5, 0.3)):
            a, n_a = gain(chain(chance, others, MOST), row_time)
            b, n_b = gain(tree(chance, others, MOST), row_time)
            print(f"| {row_time * 100:.0f} % | {chance} | {others[0]}, {others[1]} | {a:.2f} ({n_a}) | {b:.2f} ({n_b}) | "
                  f"{(b / a - 1) * 100:+.1f} % |")
