# SPDX-License-Identifier: MIT
"""Lines as slices of a Chrome trace. They stand on a row of their own below their thread's: slices of one row must lie
within each other, and a range of torch may begin in one line and end in another."""
import json

from clineprof._torch.log import CONTINUES, DEPTH_SHIFT, FUNCTION, KEY

ROW = 10**9  # added to the number of the thread


def of_log(log, process, base, first, last, text_of):
    """Yields the events, as JSON, for what the log has between two times. text_of(file, name, first line, line) is the
    source text of a line."""
    heads = {}
    for number, thread in log.threads.items():
        row = {"ph": "M", "pid": process, "tid": ROW + number}
        yield json.dumps({**row, "name": "thread_name", "args": {"name": "lines of thread %d" % number}})
        yield json.dumps({**row, "name": "thread_sort_index", "args": {"sort_index": number}})
        for key, start, end in spans(thread.between(first, last), first, last):
            if key not in heads:
                heads[key] = _head(log.line(key), text_of)
            yield '{"ph": "X", "cat": "line", "pid": %d, "tid": %d, "ts": %s, "dur": %s, %s}' % (
                process, ROW + number, _micros(start - base), _micros(end - start), heads[key])  # fmt: skip


def spans(events, first, last):
    """Yields (key, start, end) of the stays on lines, each behind those within it."""
    stack = []  # (depth, key, start), the innermost last
    for time, word in events:
        time = min(max(time, first), last)
        depth, key = word >> DEPTH_SHIFT & 255, word & KEY
        if not word & FUNCTION and word:
            continue  # of a function that is not in the profile
        while stack and stack[-1][0] > depth:
            yield stack[-1][1], stack.pop()[2], time
        if stack and stack[-1][0] == depth:
            if word & CONTINUES and stack[-1][1] == key:
                continue
            yield stack[-1][1], stack.pop()[2], time
        if word & FUNCTION:
            stack.append((depth, key, time))
    while stack:
        yield stack[-1][1], stack.pop()[2], last


def _head(line, text_of):
    file, name, first_line, number = line
    args = {"file": file, "line": number, "text": text_of(*line)}
    return '"name": %s, "args": %s' % (json.dumps("%s:%d" % (name, number)), json.dumps(args))


def _micros(nanos):
    return "%d.%03d" % divmod(nanos, 1000) if nanos >= 0 else "0"
