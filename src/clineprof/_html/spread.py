# SPDX-License-Identifier: MIT
"""The part of the page that tells which lines took one process longer than another, where the profile is the sum of
several processes."""
from clineprof._html import texts


def section(profile, file):
    """Markup: a table that can be unfolded; empty for a profile of one process. file: returns how a file is shown."""
    found = profile.spread()
    if not found:
        return texts.Markup()
    rows = "".join(map(_row, found, (file(spread.function.file) for spread in found), [profile] * len(found)))
    return texts.Markup(
        '<details class="spread"><summary>Lines whose self time differs most between %d processes</summary>'
        '<table class="list"><thead><tr><th scope="col">Line</th><th scope="col" class="num">Spread</th>'
        '<th scope="col" class="num">Least</th><th scope="col">In</th><th scope="col" class="num">Most</th>'
        '<th scope="col">In</th><th scope="col">Place</th></tr></thead><tbody>%s</tbody></table></details>'
        % (len(profile.processes), rows))


def _row(spread, file, profile):
    cells = (
        ('th scope="row" class="text"', spread.function.texts().get(spread.line, "").strip()),
        ('td class="num"', texts.time(spread.most - spread.least)),
        ('td class="num"', texts.time(spread.least)),
        ('td class="text"', _label(profile, spread.least_in)),
        ('td class="num"', texts.time(spread.most)),
        ('td class="text"', _label(profile, spread.most_in)),
        ('td class="text"', "%s, %s:%d" % (spread.function.name, file, spread.line)),
    )  # fmt: skip
    return "<tr>%s</tr>" % "".join("<%s>%s</%s>" % (tag, texts.shown(text), tag[:2]) for tag, text in cells)


def _label(profile, process):
    """A name for a process, as short as it can be; report/process_table.c makes the same for the terminal."""
    if process is None:
        return "those that did not run it"
    label = str(process["pid"])
    if "rank" in process:
        restart = process.get("restart")
        rank = "rank %s%s" % (process["rank"], " restart %d" % restart if restart else "")
        alone = sum(other.get("rank") == process["rank"] for other in profile.processes) == 1
        return rank if alone else "%s: %s" % (rank, label)
    if "host" in process and len({other.get("host") for other in profile.processes}) > 1:
        return "%s on %s" % (label, process["host"])
    return label
