# SPDX-License-Identifier: MIT
"""Gathers the profiles of all ranks of a torch.distributed or mpi4py program into one file, while the program runs."""
import os
import sys

from clineprof import _boot


def gather(path, group=None):
    """Adds up what `profile` has counted so far in all ranks, and writes the sum to `path` in rank 0. Returns the sum as
    a clineprof.Profile in rank 0, None in the others. Nothing is reset.

    This is a collective operation: all ranks of the group must call it, at the same point of the program. Do not call
    it when the program ends, as a rank that has died would leave the others waiting: each rank writes its own profile
    at the end (docs/processes.md).

    group: a process group of torch.distributed, or a communicator of mpi4py. None: the default group of
        torch.distributed if that is initialised, else mpi4py's COMM_WORLD if mpi4py is loaded; else this process is
        alone. Rank 0 is that of the group.

    Raises OSError in rank 0 if the file cannot be written. A rank in which `profile` is off adds nothing.

    >>> import clineprof, clineprof.distributed
    >>> clineprof.profile.enable()
    >>> @clineprof.profile
    ... def step():
    ...     return 1
    >>> step()
    1
    >>> clineprof.distributed.gather("all.lprof").functions[-1].name
    'step'
    """
    from clineprof._boot import files
    from clineprof._profile import loads

    contents = _all(_own(), group)
    if contents is None:
        return None
    content = _boot.core().merge(*(one for one in contents if one is not None))
    files.replace(os.fspath(path), content)
    return loads(content)


def _own():
    """What this process has counted, as the content of a .lprof file. None while `profile` is off."""
    from clineprof._global import ending, profile

    return ending.content(profile._profile) if profile._has_profile() else None


def _all(own, group):
    """The contents of all ranks in rank 0, None in the others."""
    torch = sys.modules.get("torch.distributed")
    if group is None and torch is not None and torch.is_available() and torch.is_initialized():
        return _of_torch(torch, own, None)
    if group is None and "mpi4py.MPI" in sys.modules:
        group = sys.modules["mpi4py.MPI"].COMM_WORLD
    if group is None:
        return [own]
    return group.gather(own, root=0) if hasattr(group, "Get_rank") else _of_torch(torch, own, group)


def _of_torch(torch, own, group):
    is_first = torch.get_rank(group) == 0
    contents = [None] * torch.get_world_size(group) if is_first else None
    torch.gather_object(own, contents, dst=0 if group is None else torch.get_global_rank(group, 0), group=group)
    return contents
