# SPDX-License-Identifier: MIT
"""Reads and checks profiles of the Firefox Profiler, in version 70 of its processed format."""
import json


def stacks(made):
    """{("function:line", ..): nanoseconds} of a processed profile."""
    shared, found = made["shared"], {}
    [thread] = made["threads"]
    for at, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
        stack = []
        while True:
            frame = shared["stackTable"]["frame"][at]
            name = shared["funcTable"]["name"][shared["frameTable"]["func"][frame]]
            stack.insert(0, "%s:%d" % (shared["stringArray"][name], shared["frameTable"]["line"][frame]))
            if not shared["stackTable"]["prefixOffset"][at]:
                break
            at -= shared["stackTable"]["prefixOffset"][at]
        found[tuple(stack)] = round(weight * 1e6)
    return found


def check(content):
    """Holds it against src/types/profile.ts of version 70: columns are equally long, places are in range. Returns it."""
    made = json.loads(content)
    assert made["meta"]["preprocessedProfileVersion"] == 70
    shared, [thread] = made["shared"], made["threads"]
    tables = [value for value in shared.values() if isinstance(value, dict)] + [thread["samples"], thread["markers"]]
    assert len(tables) == 9
    for table in tables:
        assert {len(column) for column in table.values() if isinstance(column, list)} == {table["length"]}
    for table, column, other in [
        ("stackTable", "frame", "frameTable"), ("frameTable", "func", "funcTable"), ("funcTable", "source", "sources"),
    ]:  # fmt: skip
        assert all(0 <= place < shared[other]["length"] for place in shared[table][column])
    assert all(0 <= offset <= place for place, offset in enumerate(shared["stackTable"]["prefixOffset"]))
    for place in shared["funcTable"]["name"] + shared["sources"]["filename"]:
        assert isinstance(shared["stringArray"][place], str)
    assert len(set(shared["stringArray"])) == len(shared["stringArray"])
    times = thread["samples"]["time"]
    assert times == sorted(times)
    return made
