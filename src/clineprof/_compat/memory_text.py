# SPDX-License-Identifier: MIT
"""Prints the tables of memory_profiler, character by character the same."""
import linecache
import sys

from clineprof import _boot

HEADER = "{0:>6} {1:>12} {2:>12}  {3:>10}   {4:<}"


def show_results(prof, stream=None, precision=1):
    """Writes the tables of a LineProfiler to a text stream, or to standard output."""
    stream = sys.stdout if stream is None else stream
    size = "{0:%d.%df} MiB" % (precision + 4, precision)
    header = HEADER.format("Line #", "Mem usage", "Increment", "Occurrences", "Line Contents")
    for filename, lines in prof.code_map.items():
        for text in "Filename: %s\n" % _boot.shown(filename), header, "=" * len(header):
            stream.write(text + "\n")  # in separate calls, because LogFile makes a log record of each call
        texts = linecache.getlines(filename)
        for number, measures in lines:
            text = texts[number - 1] if number <= len(texts) else "\n"
            cells = ("", "", "")
            if measures:
                increment, usage, occurrences = measures
                cells = size.format(usage), size.format(increment), occurrences
            stream.write(HEADER.format(number, *cells, _boot.shown(text.rstrip("\n")) + "\n"))
        stream.write("\n\n")
