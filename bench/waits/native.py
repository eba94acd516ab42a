# SPDX-License-Identifier: MIT
"""A matrix product, a relu and a loop in Python. The product is C code."""
import numpy as np


@profile
def main():
    random = np.random.default_rng(1)
    a = random.random((300, 300))
    b = random.random((300, 300))
    total = 0
    for _ in range(400):
        c = a @ b  # measured
        d = np.maximum(c, 0)
        for i in range(3000):
            total += i
    return total, d


main()
