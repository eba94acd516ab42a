# SPDX-License-Identifier: MIT
"""Ten lines of 3 to 40 ns."""
from spin import main, profile, shares_alone


@profile
def whole(count, numbers):
    for _ in range(count):
        a = 1  # measured
        b = a + 2  # measured
        c = (a, b)  # measured
        d = c[0]  # measured
        e = d * 3 + b - a  # measured
        f = [a, b, e]  # measured
        g = f[1] + f[2]  # measured
        h = len(f)  # measured
        i = a < b < e  # measured
        j = g, h, i  # measured
    return j


if __name__ == "__main__":
    main(lambda here, numbers, quick: shares_alone(__file__, here["whole"], numbers, quick), whole,
         lambda: 0)  # 0: there is no call into C
