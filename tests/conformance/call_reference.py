# SPDX-License-Identifier: MIT
"""The independent reference for calls: who called which decorated function, from which line, in plain Python with
sys.setprofile and nothing of clineprof.

    python call_reference.py OUT.json SCRIPT [ARG..]

runs SCRIPT as reference.py does. The caller is the nearest frame below that runs selected code. Comprehensions
count as a part of their line. OUT.json holds [caller's first line or 0, line or 0, callee's first line, through,
calls] for each way in which a selected function was begun or resumed; `calls` counts beginnings. `through`: was there
a frame of other code between the two?
"""

import atexit
import builtins
import collections
import json
import opcode
import sys
import threading

from reference import Selection, is_part_of_line, run_as_main

RESUME = opcode.opmap.get("RESUME")


def begins(frame):
    """Does a body begin in the frame that is called? False: it resumes. None: it has not begun, and never will, because
    an exception is thrown into it."""
    if RESUME is None:
        return frame.f_lasti == -1
    code = frame.f_code.co_code
    first = next(at for at in range(0, len(code), 2) if code[at] == RESUME)
    return None if frame.f_lasti < first else frame.f_lasti == first


class Called(Selection):
    def __init__(self):
        super().__init__()
        self.calls = collections.Counter()
        self.lock = threading.Lock()

    def watch(self, code):
        pass

    def start(self):
        threading.setprofile(self.on_event)
        sys.setprofile(self.on_event)

    def on_event(self, frame, event, argument):
        never_ran = event == "return" and RESUME is None and frame.f_lasti == -1  # 3.10 told of a beginning
        if (event != "call" and not never_ran) or not self.find_copy(frame.f_code):
            return
        begun = -1 if never_ran else begins(frame)
        if begun is None:
            return
        through, back = False, frame.f_back
        while back is not None and not self.find_copy(back.f_code):
            through = through or not is_part_of_line(back.f_code)
            back = back.f_back
        caller = (back.f_code.co_firstlineno, back.f_lineno, through) if back else (0, 0, False)
        with self.lock:
            self.calls[(*caller[:2], frame.f_code.co_firstlineno, caller[2])] += begun


def write(selection, out):
    sys.setprofile(None)
    threading.setprofile(None)
    with open(out, "w", encoding="utf-8") as stream:
        json.dump([[*key, calls] for key, calls in selection.calls.items()], stream)


def main():
    out, script, *arguments = sys.argv[1:]
    selection = Called()
    builtins.profile = selection.profile
    atexit.register(write, selection, out)
    selection.start()
    run_as_main(script, arguments)


if __name__ == "__main__":
    main()
