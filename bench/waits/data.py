# SPDX-License-Identifier: MIT
"""A loop that waits for its data, which another process sends."""
import subprocess
import sys

PRODUCER = """
import sys, time
for _ in range(20):
    time.sleep(0.05)
    sys.stdout.write("x" * 1_000_000)
    sys.stdout.flush()
"""


@profile
def main():
    producer = subprocess.Popen([sys.executable, "-c", PRODUCER], stdout=subprocess.PIPE)
    total = 0
    for _ in range(20):
        batch = producer.stdout.read(1_000_000)  # measured
        total += batch.count(b"x")
        for i in range(300_000):
            total += i
    producer.wait()
    return total


main()
