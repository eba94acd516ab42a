# SPDX-License-Identifier: MIT
"""What the launcher has the interpreter run: python launch.py KIND PROGRAM [ARGUMENT ..].

A file and not `python -c`: that would put the working directory on sys.path, and newer interpreters
import modules for it before any code runs. The package's folder is on sys.path only while the
package is imported; the first entry, the folder of this file, the C main takes away.
"""
import sys

folder = __file__.rsplit("/", 3)[0]
sys.path.insert(0, folder)
import clineprof._boot as boot  # noqa: E402

core = boot.load(sys.argv[2].rsplit("/", 1)[-1], folder)  # takes the folder away again
core.main(sys.argv[1], sys.argv[2:])
