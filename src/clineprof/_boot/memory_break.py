# SPDX-License-Identifier: MIT
"""Runs pdb for --pdb-mmem, in the middle of an event of the profiler. It cannot wait for a call of the trace function,
as pdb.set_trace() does. So it prompts at once, and sets a trace function afterwards only if the user wants to step."""
import pdb
import sys


def stop(frame):
    """Runs pdb in this frame. Returns True if the user has quit."""
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
