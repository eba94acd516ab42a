# SPDX-License-Identifier: MIT
"""A loop that waits for its data, which another process sends."""
import subprocess
import sys

PRODUCER = """
import sys, time
for _ in sys.stdin:
    time.sleep(0.05)
    sys.stdout.write("x" * 1_000_000)
    sys.stdout.flush()
"""


def read(pipe, size):
    parts = b""
    while len(parts) < size:
        parts += pipe.read(size - len(parts))
    return parts


@profile
def main():
    producer = subprocess.Popen([sys.executable, "-c", PRODUCER], bufsize=0, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)
    total = 0
    for _ in range(20):
        producer.stdin.write(b"\n")
        batch = read(producer.stdout, 1_000_000)  # measured
        total += batch.count(b"x")
        for i in range(300_000):
            total += i
    producer.stdin.close()
    producer.wait()
    return total


main()
