# SPDX-License-Identifier: MIT
"""Measures the cost of clineprof beside its peers and the bare interpreter. See README.md.

Starts itself again inside an environment of the chosen interpreter, which is made if it does not exist.
"""
import argparse
import json
import sys

import environment


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", metavar="PATH", help="interpreter to measure with")
    parser.add_argument("--only", metavar="NAME", action="append", default=[],
                        help="only programs whose name contains NAME, or a part: programs, "
                             "floor, light, memory, counters, tensors, cuda, waits, truth, busy, threads, startup, viewer, "
                             "ranks, join; "
                             "repeatable")
    parser.add_argument("--variants", metavar="LIST",
                        help="comma-separated: monitoring, settrace+memory, line_profiler, ..")
    parser.add_argument("--rounds", type=int, help="how often each variant runs each program (5; with --quick 2)")
    parser.add_argument("--quick", action="store_true", help="a fifth of the work, rough numbers")
    parser.add_argument("--callgrind", action="store_true",
                        help="count instructions with valgrind, and nothing else")
    parser.add_argument("--markdown", action="store_true", help="print tables for a document")
    parser.add_argument("--json", metavar="FILE", help="also write every single measurement")
    options = parser.parse_args(argv)
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return completed(options)


def completed(options):
    quick = options.quick
    options.rounds = options.rounds or (2 if quick else 5)
    options.slow_rounds = min(options.rounds, 3)
    options.scale = 0.2 if quick else 1
    options.starts = 5 if quick else 30
    options.views = 2 if quick else 5
    parts = ("programs", "floor", "light", "memory", "counters", "tensors", "cuda", "waits", "truth", "busy", "threads", "startup",
             "viewer", "ranks", "join")
    named = [part for part in parts if part in options.only]
    texts = [text for text in options.only if text not in parts]
    options.parts = named + (["programs"] if texts else []) or list(parts)
    options.wanted = lambda name: not texts or any(text in name for text in texts)
    return options


def chosen(variants, text):
    """The variants that --variants names, and bare, with which all others are compared."""
    if text is None:
        return variants
    names = text.split(",")
    unknown = set(names) - {variant.name for variant in variants}
    if unknown:
        raise environment.Trouble(f"unknown variant: {', '.join(sorted(unknown))}; there are "
                                  + ", ".join(variant.name for variant in variants))
    return variants[:1] + [variant for variant in variants[1:] if variant.name in names]


def measure(base, variants, options, data):
    """Yields the tables of each chosen part when it is done, and puts the raw numbers into `data`."""
    import accuracy
    import busy
    import counters
    import cuda
    import floor
    import joining
    import light
    import memory
    import ranks
    import slowdown
    import startup
    import tensors
    import threads
    import viewing
    import waits
    if "programs" in options.parts:
        runs = slowdown.measure(base, variants, options, say)
        data["programs"] = slowdown.as_data(runs)
        yield from slowdown.tables(runs, variants, options)
    if "floor" in options.parts:
        runs, clocks = floor.measure(base, options, say)
        data["floor"] = {"clocks": clocks, "programs": slowdown.as_data(runs)}
        yield from floor.tables(runs, clocks, options)
    if "light" in options.parts:
        runs, notes = light.measure(base, options, say)
        data["light"] = slowdown.as_data(runs)
        yield from light.tables(runs, notes, options)
    if "memory" in options.parts:
        runs = memory.measure(base, options, say)
        data["memory"] = {size: slowdown.as_data(part) for size, part in runs.items()}
        yield from memory.tables(runs, options)
    if "counters" in options.parts:
        runs = counters.measure(base, options, say)
        data["counters"] = slowdown.as_data(runs)
        yield from counters.tables(runs, options)
    if "tensors" in options.parts:
        runs = tensors.measure(base, options, say)
        data["tensors"] = slowdown.as_data(runs)
        yield from tensors.tables(runs, options)
    if "cuda" in options.parts:
        data["cuda"] = cuda.measure(base, options, say)
        yield from cuda.tables(data["cuda"])
    if "waits" in options.parts:
        data["waits"] = waits.measure(options, say)
        yield from waits.tables(data["waits"])
    if "truth" in options.parts:
        shares, notes = accuracy.measure(base, variants, options, say)
        data["truth"] = shares
        yield from accuracy.tables(shares, notes)
    if "busy" in options.parts:
        data["busy"] = busy.measure(variants, options, say)
        yield from busy.tables(data["busy"])
    if "threads" in options.parts:
        data["threads"] = threads.measure(base, variants, options, say)
        yield from threads.tables(data["threads"])
    if "startup" in options.parts:
        data["startup"] = startup.measure(base, variants, options, say)
        yield from startup.tables(data["startup"])
    if "viewer" in options.parts:
        data["viewer"], failure = viewing.measure(options, say)
        yield from viewing.tables(data["viewer"], failure)
    if "ranks" in options.parts:
        sums = ranks.measure(options, say)
        data["ranks"] = ranks.as_data(sums)
        yield from ranks.tables(sums)
    if "join" in options.parts:
        data["join"] = joining.measure(options, say)
        yield from joining.tables(data["join"])


def count(variants, options, data):
    import counting
    data["callgrind"], notes = counting.measure(variants, options, say)
    yield from counting.tables(data["callgrind"], notes)


def say(text):
    """Shows progress on a terminal, in one line that is written over."""
    if sys.stderr.isatty():
        print(f"\r{text:<70}", end="", file=sys.stderr, flush=True)


def show_facts(facts, notes, markdown):
    for name, text in facts:
        print(f"- {name}: {text}" if markdown else f"{name + ':':<17}{text}")
    for note in notes:
        print(f"- {note}" if markdown else f"note: {note}")
    print(flush=True)


def run(argv):
    options = arguments(argv)
    base = environment.settle(options.python)
    import variants as ways
    variants, notes = ways.all_variants(base)
    variants = chosen(variants, options.variants)
    facts = environment.describe(base)
    show_facts(facts, notes, options.markdown)
    data = {"facts": dict(facts), "notes": notes}
    found = (count(variants, options, data) if options.callgrind
             else measure(base, variants, options, data))
    for table in found:
        say("")
        print(table.markdown() if options.markdown else table.text(), flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(data, file, indent=1)


def main():
    try:
        run(sys.argv[1:])
    except environment.Trouble as trouble:
        sys.exit(f"bench: {trouble}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
