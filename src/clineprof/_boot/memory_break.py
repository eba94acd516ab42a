# SPDX-License-Identifier: MIT
"""pdb for --pdb-mmem: in the middle of an event of the profiler, so it cannot wait for the trace
function to be called, as pdb.set_trace() does: it prompts at once, and only then is the program traced,
if the user wants to step."""
import pdb
import sys


def stop(frame):
    """True when the user has quit."""
    before = sys.gettrace()
    debugger = pdb.Pdb()
    debugger.reset()
    outermost = frame
    while outermost.f_back is not None:
        outermost = outermost.f_back
    debugger.botframe = outermost
    try:
        debugger.interaction(frame, None)
    except KeyboardInterrupt:
        debugger.set_quit()
    if debugger.quitting:
        sys.settrace(before)
        return True
    goes_on = debugger.stopframe is debugger.botframe and debugger.stoplineno == -1
    if goes_on and not debugger.breaks:
        sys.settrace(before)
        return False
    while frame is not None:
        frame.f_trace = debugger.trace_dispatch
        frame = frame.f_back
    sys.settrace(debugger.trace_dispatch)
    return False
