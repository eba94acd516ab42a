# SPDX-License-Identifier: MIT
"""Runs a command to which the kernel refuses system calls, as sandboxes and container runtimes do.

    refusing.py ERROR CALL[,CALL..] COMMAND..     ERROR is EPERM, ENOSYS ..; exits 77 where there is no seccomp

libseccomp, which apt needs, knows the numbers of the calls. A call that this kind of machine does not have is left out.
"""

import ctypes
import errno
import os
import sys

ALLOW, ERRNO = 0x7FFF0000, 0x00050000
MISSING = 77


def give_up(text):
    print(text)
    sys.exit(MISSING)


def library():
    try:
        found = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    except OSError as error:
        give_up(f"libseccomp is missing: {error}")
    found.seccomp_init.restype = ctypes.c_void_p
    return found


def refuse(calls, error):
    seccomp = library()
    rules = ctypes.c_void_p(seccomp.seccomp_init(ALLOW))
    for call in calls:
        number = seccomp.seccomp_syscall_resolve_name(call.encode())
        if number >= 0:
            seccomp.seccomp_rule_add(rules, ctypes.c_uint32(ERRNO | error), number, 0)
    failed = seccomp.seccomp_load(rules)
    if failed:
        give_up(f"the kernel takes no filter: {os.strerror(-failed)}")


if __name__ == "__main__":
    refuse(sys.argv[2].split(","), getattr(errno, sys.argv[1]))
    os.execvp(sys.argv[3], sys.argv[3:])
