# SPDX-License-Identifier: MIT
"""line_profiler's scoping policies, which decide which members of a class or module are profiled with it."""
import enum

DEFAULTS = {"func": "siblings", "class": "siblings", "module": "exact"}


class ScopingPolicy(str, enum.Enum):
    """How far from its namespace a member may be defined. The word may be in any case: ScopingPolicy("Children").

    EXACT: functions that are defined in the class or module itself, and nothing nested
    CHILDREN: functions and classes that are defined there, and modules right below it
    DESCENDANTS: also what is defined further inside
    SIBLINGS: also what is from the same module (for a class) or the same package (for a module)
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
        """Returns a function that tells whether a member is profiled. `obj_type` is the kind of the member: "func",
        "class" or "module"."""
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
        """Returns {"func": policy, "class": policy, "module": policy}. `policies` is one policy for all three, a
        mapping with these three keys, or None for line_profiler's defaults: siblings, siblings, exact. Raises
        ValueError for a word that is no policy, and KeyError if one of the three keys is missing."""
        if policies is None:
            policies = DEFAULTS
        elif isinstance(policies, str):
            policies = dict.fromkeys(DEFAULTS, policies)
        return {kind: cls(policies[kind]) for kind in DEFAULTS}


# The largest distance of a member from the namespace: 0 is a child, 1 a descendant, 2 a sibling, 3 anything else.
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


_DISTANCES = {  # {(is the namespace a class?, is the member a module?): a function that returns the distance}
    (True, False): _from_class, (False, False): _from_module, (False, True): _module_from_module,
}  # fmt: skip
