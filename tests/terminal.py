# SPDX-License-Identifier: MIT
"""Runs a command in a terminal, as somebody at a keyboard would."""

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import threading

import pytest
from harness import clean_environment, viewer_command


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
    return data, process.wait(timeout=300)


class Top:
    """`clineprof top` in a terminal whose size can be changed while it runs."""

    def __init__(self, word, folder, columns, rows, **environment):
        pyte = pytest.importorskip("pyte")
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.data = b""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            command = [*map(str, viewer_command()), "top", str(word)]
            os.execve(command[0], command, clean_environment({"VIRTUAL_ENV": sys.prefix, "TERM": "xterm-256color",
                                                              **environment}))  # fmt: skip

    def until(self, seen):
        """Reads until `seen(rows)` is true. Returns the rows."""
        while not (self.data.count(b"\x1b[H") and seen(self.rows())):
            ready = select.select([self.terminal], [], [], 300)[0]
            assert ready, self.screen.display
            block = os.read(self.terminal, 65536)
            self.data += block
            self.stream.feed(block)
        return self.rows()

    def rows(self):
        return [row.rstrip() for row in self.screen.display]

    def press(self, key):
        os.write(self.terminal, key)

    def resize(self, columns, rows):
        self.screen.resize(rows, columns)
        self.screen.erase_in_display(2)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def end(self):
        self.press(b"q")
        with contextlib.suppress(OSError):
            while os.read(self.terminal, 65536):
                pass
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
