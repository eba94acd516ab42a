# SPDX-License-Identifier: MIT
"""clineprof's own file (docs/format.md), which keeps all that a profile has. The options have no effect."""


def render(profile, options):
    return profile.content
