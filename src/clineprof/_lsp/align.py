# SPDX-License-Identifier: MIT
"""Finds the lines of a text that ran in the text that is in the editor now.

Lines that both texts have once are pairs, as long as they come in the same order in both ("patience diff"). From each
pair on, the lines before and behind it are compared. What lies between is then treated in the same way, as a text of
its own, a few times. All of this takes time in proportion to the length of the texts, whatever they are.
"""
import bisect

ROUNDS = 8


class Lines:
    """The lines of the text in the editor. Blanks at their ends do not count."""

    def __init__(self, lines):
        self.texts = [line.rstrip() for line in lines]
        self.single = _single(self.texts, 0, len(self.texts))

    def single_in(self, start, end):
        """{text: its place} of the texts that stand only once between these places."""
        return self.single if end - start == len(self.texts) else _single(self.texts, start, end)


def align(old, new, rounds=ROUNDS):
    """Returns {number: (place in `new`, is the line changed?)} of those lines of the old text that have a place in the
    new one. A changed line has one if the lines around it are as far apart as before.

    old: {number: text} of the lines that are known, ascending
    new: the Lines of the new text
    """
    numbers = [number for number in old if number > 0]
    texts = [old[number].rstrip() for number in numbers]
    count = len(new.texts)
    if all(number <= count and new.texts[number - 1] == text for number, text in zip(numbers, texts)):
        return {number: (number - 1, False) for number in numbers}
    return _placed(numbers, texts, new, _Pairs(numbers, texts, new).find(rounds))


class _Pairs:
    """Finds which lines are the same: pairs of a place in the old text and one in the new one."""

    def __init__(self, numbers, texts, new):
        self.numbers, self.texts, self.new = numbers, texts, new
        self.found = {}

    def find(self, rounds):
        """Returns the pairs as {place in the old text: place in the new one}, ascending."""
        parts = [(-1, -1, len(self.texts), len(self.new.texts))]
        for _ in range(rounds):
            parts = [gap for part in parts for gap in self._fill(*part)]
        return dict(sorted(self.found.items()))

    def _fill(self, i, j, last, end):
        """Finds pairs in a part: the lines behind the pair (i, j) and before the pair (last, end). Returns the parts
        that remain between the pairs."""
        whole, gaps = (i, j, last, end), []
        pairs = self._single_pairs(*whole)
        self.found.update(pairs)
        for below, above in [*pairs, (last, end)]:
            i, j = self._forward(i, j, below, above)
            upper, top = self._backward(i, j, below, above)
            if upper - i > 1 and top - j > 1:
                gaps.append((i, j, upper, top))
            i, j = below, above
        return gaps if gaps != [whole] else []

    def _single_pairs(self, i, j, last, end):
        old, new = _single(self.texts, i + 1, last), self.new.single_in(j + 1, end)
        return _ascending([(place, new[text]) for text, place in old.items() if text in new])

    def _step(self, i):
        """How many lines further the line behind place i is. Before the first line known the text begins."""
        return self.numbers[i + 1] - (self.numbers[i] if i >= 0 else 0)

    def _forward(self, i, j, last, end):
        """Follows equal lines downwards from the pair (i, j). Returns the last pair."""
        while i + 1 < last and j + self._step(i) < end and self.texts[i + 1] == self.new.texts[j + self._step(i)]:
            i, j = i + 1, j + self._step(i)
            self.found[i] = j
        return i, j

    def _backward(self, first, start, i, j):
        """Follows equal lines upwards from the pair (i, j), which may be the end of both texts. Returns the last
        pair."""
        while i < len(self.texts) and first < i - 1 and start < j - self._step(i - 1) and (
                self.texts[i - 1] == self.new.texts[j - self._step(i - 1)]):  # fmt: skip
            i, j = i - 1, j - self._step(i - 1)
            self.found[i] = j
        return i, j


def _single(texts, start, end):
    """{text: its place} of the texts, other than blank ones, that stand only once between these places; ascending."""
    places = {}
    for place in range(start, end):
        text = texts[place]
        places[text] = None if text in places else place
    return {text: place for text, place in places.items() if place is not None and text}


def _ascending(pairs):
    """The longest part of the pairs, which ascend in their first number, that also ascends in the second."""
    lowest, at, before = [], [], []
    for index, (_, j) in enumerate(pairs):
        place = bisect.bisect_left(lowest, j)
        lowest[place : place + 1], at[place : place + 1] = [j], [index]
        before.append(at[place - 1] if place else None)
    chosen, index = [], at[-1] if at else None
    while index is not None:
        chosen.append(pairs[index])
        index = before[index]
    return chosen[::-1]


def _placed(numbers, texts, new, pairs):
    """Adds the changed lines to the pairs: {number: (place in the new text, is it changed?)}."""
    placed = {numbers[i]: (j, False) for i, j in pairs.items()}
    if not pairs:
        return placed
    ends = [(-1, 0, -1), *((i, numbers[i], j) for i, j in pairs.items()),
            (len(numbers), numbers[-1] + 1, _length(new.texts))]  # fmt: skip
    for (first, number, place), (last, its_number, its_place) in zip(ends, ends[1:]):
        if its_number - number == its_place - place:
            for i in range(first + 1, last):
                at = place + numbers[i] - number
                placed[numbers[i]] = (at, new.texts[at] != texts[i])
    return placed


def _length(texts):
    """The number of lines without blank ones at the end."""
    count = len(texts)
    while count and not texts[count - 1]:
        count -= 1
    return count
