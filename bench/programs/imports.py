# SPDX-License-Identifier: MIT
"""Imports three large packages, for the cost of selecting all their functions."""
import numpy
import pandas
import sklearn.ensemble
