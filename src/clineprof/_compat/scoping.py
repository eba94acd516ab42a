# SPDX-License-Identifier: MIT
"""Which members of a class or a module are profiled with it: line_profiler's scoping policies."""
import enum

DEFAULTS = {"func": "siblings", "class": "siblings", "module": "exact"}


class ScopingPolicy(str, enum.Enum):
    """How far from its namespace a member may come. Any case of the word makes one:
    ScopingPolicy("Children").

    EXACT: functions that are defined in the very class or module, and nothing nested
    CHILDREN: functions and classes that are defined there, modules right below it
    DESCENDANTS: and what is defined further inside
    SIBLINGS: and what comes from the same module (of a class), the same package (of a module)
    NONE: everything that is found there
    """

    EXACT = "exact"
    CHILDREN = "children"
    DESCENDANTS = "descendants"
    SIBLINGS = "siblings"
    NONE = "none"

    __str__ = str.__str__

    @classmethod
    def _missing_(cls, value):
        folded = value.casefold() if isinstance(value, str) else None
        return next((policy for policy in cls if policy.value == folded), None)

    def get_filter(self, namespace, obj_type):
        """A function that tells of a member whether it is taken. obj_type: "func", "class" or
        "module", what the member is."""
        if obj_type == "module" and isinstance(namespace, type):
            return lambda member: False
        if self is ScopingPolicy.NONE:
            return lambda member: True
        if self is ScopingPolicy.EXACT and obj_type != "func":
            return lambda member: False
        distance = _DISTANCES[isinstance(namespace, type), obj_type == "module"]
        return lambda member: distance(namespace, member) <= _FARTHEST[self]

    @classmethod
    def to_policies(cls, policies=None):
        """{"func": .., "class": .., "module": ..} of one policy for all three, of a mapping that has
        the three, or of None for line_profiler's own choice: siblings, siblings, exact. ValueError
        for a word that is no policy, KeyError when one of the three is not there."""
        if policies is None:
            policies = DEFAULTS
        elif isinstance(policies, str):
            policies = dict.fromkeys(DEFAULTS, policies)
        return {kind: cls(policies[kind]) for kind in DEFAULTS}


# How far a member is from the namespace: 0 a child, 1 a descendant, 2 a sibling, 3 neither.
_FARTHEST = {
    ScopingPolicy.EXACT: 0, ScopingPolicy.CHILDREN: 0, ScopingPolicy.DESCENDANTS: 1,
    ScopingPolicy.SIBLINGS: 2,
}  # fmt: skip


def _from_class(namespace, member):
    if member.__module__ != namespace.__module__:
        return 3
    if member.__qualname__ == "%s.%s" % (namespace.__qualname__, member.__name__):
        return 0
    return 1 if member.__qualname__.startswith(namespace.__qualname__ + ".") else 2


def _from_module(namespace, member):
    home, parent = member.__module__, namespace.__name__.rpartition(".")[0]
    if home == namespace.__name__:
        return 0
    if _within(home, namespace.__name__):
        return 1
    return 2 if parent and _within(home, parent) else 3


def _module_from_module(namespace, member):
    parent = namespace.__name__.rpartition(".")[0]
    if member.__name__.rpartition(".")[0] == namespace.__name__:
        return 0
    if member.__name__.startswith(namespace.__name__ + "."):
        return 1
    return 2 if parent and member.__name__.startswith(parent + ".") else 3


def _within(name, package):
    return name == package or isinstance(name, str) and name.startswith(package + ".")


_DISTANCES = {  # (is the namespace a class, is the member a module)
    (True, False): _from_class, (False, False): _from_module, (False, True): _module_from_module,
}  # fmt: skip
