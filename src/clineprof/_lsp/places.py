# SPDX-License-Identifier: MIT
"""Says where in a document the lines of a profile are now."""
import collections
import re

from clineprof._lsp.align import Lines, align

FULL_ROUNDS = 4  # how many versions of a file are compared line by line; a file has more only if it was reloaded
NEAR = 50  # lines below a function's first line, in which its `def` stands: there may be decorators

# A line of a function in a document. number: its number when it ran; at: its place among the lines with measures, None
# for a line that never ran; is_changed: has its text changed since, or may it have?
Spot = collections.namedtuple("Spot", "function number at is_changed")
# A function in a document, at the line where it begins. is_changed: has any of its lines changed?
Start = collections.namedtuple("Start", "line function is_changed")


class Places:
    """What functions have to say of the lines of a document; lines are counted from 0.

    texts: the document's lines
    spots: {line: Spots}, those first that have not changed, and of these those with the most time
    starts: the Starts of functions

    is_same: has the file not changed since the run, by its date? This counts where the profile has no text.
    """

    def __init__(self, functions, texts, is_same):
        self.texts, self.spots, self.starts = texts, {}, []
        self._new = Lines(texts)
        known = [function for function in functions if function.source is not None]
        for number, (text, those) in enumerate(_versions(known)):
            placed = align(text, self._new, *([1] if number >= FULL_ROUNDS else []))
            for function in those:
                self._add(function, self._placed(function, placed))
        for function in functions:
            if function.source is None:
                self._add(function, self._placed_by_name(function, is_same and not function.source_changed))
        for spots in self.spots.values():
            spots.sort(key=lambda spot: (spot.is_changed, -_time(spot)))

    def _placed(self, function, placed):
        """Where the function's lines are. `placed` is where the rest of its file says; a function of which most is not
        there may have moved."""
        texts = function.texts()
        most = len(texts) // 2
        if _count_same(texts, placed) > most:
            return placed
        alone = align(texts, self._new, 1)
        return alone if _count_same(texts, alone) > most else placed

    def _placed_by_name(self, function, is_same):
        """Where the lines of a function without a text are: where they were, if that is still plausible."""
        name, first = function.name.rpartition(".")[2].split(" ")[0], max(function.line - 1, 0)
        if name.isidentifier():
            defines = re.compile(r"\s*(async\s+def|def|class)\s+%s\b" % re.escape(name)).match
            if not any(map(defines, self.texts[first : first + NEAR])):
                return {}
        elif not is_same:
            return {}
        numbers = {function.line, *function.numbers, *function.missed}
        return {number: (number - 1, not is_same) for number in numbers if 0 < number <= len(self.texts)}

    def _add(self, function, placed):
        for numbers in enumerate(function.numbers), ((None, number) for number in function.missed):
            for at, number in numbers:
                if number in placed:
                    line, is_changed = placed[number]
                    self.spots.setdefault(line, []).append(Spot(function, number, at, is_changed))
        if function.line in placed:
            of_it = function.texts() or function.numbers
            is_changed = any(placed.get(number, (0, True))[1] for number in of_it)
            self.starts.append(Start(placed[function.line][0], function, is_changed))


def _count_same(numbers, placed):
    return sum(number in placed and not placed[number][1] for number in numbers)


def _time(spot):
    return -1 if spot.at is None else spot.function["time"][spot.at]


def _versions(functions):
    """The texts of a file that these functions know: [({number: text}, functions)]. There are several if the file was
    edited and loaded again."""
    versions = []
    for function in functions:
        texts = function.texts()
        for text, those in versions[:FULL_ROUNDS]:
            if all(text.get(number, line) == line for number, line in texts.items()):
                text.update(texts)
                those.append(function)
                break
        else:
            versions.append((dict(texts), [function]))
    return [(dict(sorted(text.items())), those) for text, those in versions]
