# SPDX-License-Identifier: MIT
"""Profiles a process that runs already: `clineprof attach`.

command.py is the side of the user. It puts a request and a script into a folder that only the target's user can read
(place.py), and opens a door: a way to have the target run the script (doors.py). The script calls window.py in the
target, which counts for some seconds, writes the profile, and leaves everything as it was.

The two sides talk over a socket in the folder, in lines of JSON. Each line of the target has one key:

    {"began": {"functions": number, "unmatched": [target, ..], "lacks": [sentence, ..]}}
    {"wrote": path}, the profile is complete
    {"failed": str}, nothing is profiled any more; the text says why
    {"stacks": [[thread's name, [[file, line, function], ..]], ..]}, the answer to `clineprof dump`

The user's side sends {"end": true} to end the window early. If it goes away instead, the window lasts as long as was
asked for.
"""

PREFIX = "clineprof-attach-"  # of the folder in the target's /tmp, before the target's number
MARK = "/memfd:clineprof-listens-"  # of a mapping in a process that listens, before the number of the signal
MEMORY = "off", "rss", "anon", "uss", "pss", "tree"  # what can be measured
SOURCES = "functions", "files", "none"  # whose text a profile can have
COUNTERS = "io", "faults", "switches"  # what can be counted besides
