# SPDX-License-Identifier: MIT
"""A debugger has a body go on at another line: the line that was about to run has no hit, the one that runs
instead has one, with every tracer. (LINE of sys.monitoring tells of the first and not of the second.)"""

import sys

import pytest
from harness import run_ckernprof

PROGRAM = '''
import io, pdb, sys, warnings
warnings.simplefilter("ignore")

class Manager:
    def __enter__(self): pass
    def __exit__(self, *what): pass

@profile
def jumps(n):
    a = b = 1
@BODY
    return 5

start, end = jumps.__code__.co_firstlineno + 1 + @FROM, jumps.__code__.co_firstlineno + 1 + @TO
def run(): list(jumps(1)) if jumps.__code__.co_flags & 0x20 else jumps(1)
'''

WAYS = {
    "trace function": '''
left = []
def jump(frame, event, argument):
    if frame.f_code.co_name != "jumps": return None
    if event == "line" and frame.f_lineno == start and not left:
        left.append(start)
        frame.f_lineno = end
    return jump
sys.settrace(jump)
run()
sys.settrace(None)
''',
    "pdb": '''
commands = f"tbreak {start}\\nc\\njump {end}\\nc\\n"
debugger = pdb.Pdb(stdin=io.StringIO(commands), stdout=io.StringIO(), nosigint=True, readrc=False)
debugger.runcall(run)
''',
}

# The body from line 2 on; from which line it jumps to which; and the hits of each line that runs then.
JUMPS = {
    "forward": ("a = 2\na = 3\na = 4", 2, 4, {1: 1, 4: 1, 5: 1}),
    "onto the next line": ("a = 2\na = 3\na = 4", 2, 3, {1: 1, 3: 1, 4: 1, 5: 1}),
    "onto itself": ("a = 2\na = 3\na = 4", 2, 2, {1: 1, 2: 1, 3: 1, 4: 1, 5: 1}),
    "backward": ("a = 2\na = 3\na = 4", 4, 2, {1: 1, 2: 2, 3: 2, 4: 1, 5: 1}),
    "from the first line": ("a = 2\na = 3\na = 4", 1, 3, {3: 1, 4: 1, 5: 1}),
    "to the end": ("a = 2\na = 3\na = 4", 3, 5, {1: 1, 2: 1, 5: 1}),
    "in a loop": ("for a in 1, 2:\n    a = 3\n    a = 4", 4, 3, {1: 1, 2: 3, 3: 3, 4: 2, 5: 1}),
    "out of a loop": ("for a in 1, 2:\n    a = 3\na = 4", 3, 4, {1: 1, 2: 1, 4: 1, 5: 1}),
    "to the line of a loop": ("for a in 1, 2:\n    a = 3\n    a = 4", 4, 2, {1: 1, 2: 4, 3: 3, 4: 2, 5: 1}),
    "to a while": ("while b < 3:\n    b += 1\n    a = 4", 4, 2, {1: 1, 2: 3, 3: 2, 4: 1, 5: 1}),
    # 3.10 goes back to where the manager is made, newer versions to where it is left
    "out of a with": ("with Manager():\n    a = 3\na = 4", 3, 2,
                      {1: 1, 2: 3, 3: 1, 4: 1, 5: 1} if sys.version_info < (3, 11) else {1: 1, 2: 2, 4: 1, 5: 1}),
    "out of a try": ("try: a = 2\nexcept KeyError: a = 3\na = 4", 2, 4, {1: 1, 4: 1, 5: 1}),
    "to another branch": ("if b: a = 2\nelse: a = 3\na = 4", 4, 3, {1: 1, 2: 1, 3: 1, 4: 1, 5: 1}),
    "in a generator": ("yield 2\na = 3\nyield 4", 3, 5, {1: 1, 2: 1, 5: 1}),
}  # fmt: skip


def hits(text, folder):
    script = folder / "script.py"
    script.write_text(text, "utf-8")
    ended = run_ckernprof(["-l", script], folder)
    assert (ended.err, ended.code) == ("", 0)
    [(key, lines)] = [item for item in ended.profile().hits().items() if item[0][2] == "jumps"]
    return {line - key[1] - 1: number for line, number in lines.items() if number}


def program(body, start, end, way):
    text = PROGRAM.replace("@BODY", "\n".join("    " + line for line in body.split("\n")))
    return text.replace("@FROM", str(start)).replace("@TO", str(end)) + WAYS[way]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", JUMPS)
def test_jump(name, way, tmp_path):
    body, start, end, expected = JUMPS[name]
    assert hits(program(body, start, end, way), tmp_path) == expected
