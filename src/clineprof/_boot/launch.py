# SPDX-License-Identifier: MIT
"""Starts clineprof in the interpreter for the launcher: python launch.py KIND PROGRAM [ARGUMENT ..].

The launcher does not use `python -c`, which puts the working directory on sys.path, and for which newer interpreters
import modules before any code runs. The package's folder is on sys.path only while the package is imported. The C main
removes the first entry of sys.path, the folder of this file.
"""
import sys

folder = __file__.rsplit("/", 3)[0]
sys.path.insert(0, folder)
import clineprof._boot as boot  # noqa: E402

core = boot.load(sys.argv[2].rsplit("/", 1)[-1], folder)  # removes the folder from sys.path
core.main(sys.argv[1], sys.argv[2:])
