# SPDX-License-Identifier: MIT
"""Builds lists, dicts and bytes, keeps some and frees some, so that resident memory rises and falls."""
from common import profile, sized, timed


@profile
def build_list(count):
    items = []
    for i in range(count):
        items.append((i, str(i)))
    return items


@profile
def build_dict(items):
    table = {}
    for number, text in items:
        table[text] = [number]
    return table


@profile
def build_bytes(count):
    blocks = []
    for i in range(count):
        block = bytearray(100_000)
        block[::4096] = b"x" * len(block[::4096])
        blocks.append(bytes(block[:i * 1000]))
    return b"".join(blocks)


@profile
def allocate(rounds):
    kept = []
    for i in range(rounds):
        items = build_list(6_000)
        table = build_dict(items)
        blob = build_bytes(40)
        if i % 4 == 0:
            kept.append((table, blob))
        del items, table, blob
    return kept


timed(allocate, sized(40))
