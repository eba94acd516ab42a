# SPDX-License-Identifier: MIT
"""A program under ckernprof beside itself alone and the reference counter."""

from harness import differences, line_of, own_messages_removed, reference, run_ckernprof, run_python


def hits_at(profile, path, mark):
    """Of the line that ends with this mark, whichever function it is in."""
    number = line_of(path, "# " + mark)
    return sum(lines.get(number, 0) for lines in profile.hits().values())


def check_sums(profile):
    """Self times are the total's parts, and no line has more than the whole."""
    for key, function in profile.functions.items():
        lines = function["lines"]
        assert sum(lines.get("self", [0])) <= function["total"] * 1.001 + 200_000, key
        assert max(lines.get("time", [0])) <= function["total"] * 1.001 + 200_000, key


def run_alone_and_profiled(text, folder, env, name):
    """They must do the same. The program's path, how it ended alone, and the profile."""
    path = folder / name
    path.write_text(text)
    bare = run_python([name], folder, env=env)
    ours = run_ckernprof(["-l", name], folder, env=env)
    assert (own_messages_removed(ours.out), ours.err, ours.code) == (bare.out, bare.err, bare.code)
    return path, bare, ours.profile()


def check_random_program(text, seed, folder, code=None):
    """It does what it does alone (and ends with this code), with the hits of the reference counter."""
    path = folder / f"p{seed}.py"
    path.write_text(text)
    expected, bare = reference(path, folder)
    ended = run_ckernprof(["-l", "-o", f"p{seed}.lprof", path], folder)
    assert (own_messages_removed(ended.out), ended.err, ended.code) == (
        bare.out, bare.err, bare.code if code is None else code), seed
    profile = ended.profile(f"p{seed}.lprof")
    assert differences(profile.hits(), expected) == [], seed
    check_sums(profile)
