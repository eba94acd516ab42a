# SPDX-License-Identifier: MIT
"""Runs a command in a terminal, as somebody at a keyboard would."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading

import pytest
from harness import clean_environment


def read_to_the_end(terminal):
    data = b""
    while True:
        try:
            block = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            block = b""
        if not block:
            return data
        data += block


def on_terminal(words, folder, columns=120, rows=60, beside=None, streams=("stdin", "stdout", "stderr"),
                typed=b"", **environment):
    """The bytes that a command writes to a terminal of this size, and its exit code. `streams` of its
    own are the terminal, the others nothing; `beside` is called while it runs; `typed` is waiting for
    whoever reads from the keyboard."""
    try:
        ours, its = pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminals here: {error}")
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    env = clean_environment({"VIRTUAL_ENV": sys.prefix, "TERM": "xterm-256color", **environment})
    ends = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL) | dict.fromkeys(streams, its)
    process = subprocess.Popen([str(word) for word in words], cwd=folder, env=env, **ends)
    os.close(its)
    os.write(ours, typed)
    other = threading.Thread(target=beside or (lambda: None))
    limit = threading.Timer(300, process.kill)
    other.start(), limit.start()
    data = read_to_the_end(ours)
    other.join(), limit.cancel()
    os.close(ours)
    return data, process.wait(timeout=60)
