# SPDX-License-Identifier: MIT
"""Prints, for each number of nanoseconds on the command line, how many items sum() adds in that time."""
import sys

from common import items_costing

print(*(items_costing(float(text)) for text in sys.argv[1:]))
