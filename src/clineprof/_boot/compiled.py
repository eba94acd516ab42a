# SPDX-License-Identifier: MIT
"""What numba, torch and jax tell of the functions that they compile, and the counters in code of torch. C code calls
these functions (src/cpython/windows/compilers.h, jax_compiler.h)."""
import opcode
import sys
import threading
import time


def listen_to_numba(event, compiled):
    """Calls compiled(function, nanoseconds) for each compilation. `event` is the module numba.core.event."""
    here = threading.local()  # .begun: a list, because numba compiles what a function calls within that function

    class Compilations(event.Listener):
        def on_start(self, told):
            vars(here).setdefault("begun", []).append((_codes(told), time.perf_counter_ns()))

        def on_end(self, told):
            end, begun = time.perf_counter_ns(), vars(here).get("begun")
            if not begun:  # it began before anybody listened
                return
            codes, begin = begun.pop()
            if _codes(told) > codes:  # not told.is_failed: in numba 0.68 that is True where it did not fail
                compiled(getattr(told.data["dispatcher"], "py_func", None), end - begin)

    event.register("numba:compile", Compilations())


def traced_by_torch(function):
    """The code of what torch.jit.trace compiles when it compiles this function: also all parts of a model whose method
    the function is."""
    model = getattr(function, "__self__", None)
    parts = model.modules() if isinstance(model, sys.modules["torch"].nn.Module) else ()
    return [getattr(each, "__code__", None) for each in [function, *(part.forward for part in parts)]]


def listen_to_jax(compiled):
    """Calls compiled(name, nanoseconds, times) when jax has traced, lowered or compiled a function of this name; times
    is 1 when it has compiled it, else 0."""

    def spent(event, seconds, fun_name="", **_):
        if event.startswith("/jax/core/compile/") and event.endswith("_duration"):
            # "jit(f)" or, when f was traced, "f"
            name = fun_name[fun_name.index("(") + 1 : -1] if fun_name.endswith(")") else fun_name
            compiled(name, round(seconds * 1e9), int(event.endswith("/backend_compile_duration")))

    sys.modules["jax._src.monitoring"].register_event_duration_secs_listener(spent)


def _codes(told):
    return len(getattr(told.data["dispatcher"], "overloads", ()))


def counting(code, made, counter):
    """`made`, which torch has made of this code, as a copy that takes the negative of the counter when it begins.
    Raises an exception where that cannot be, and where there is code already that has no counter."""
    # not imported: torch is loaded already
    eval_frame = sys.modules["torch._C._dynamo.eval_frame"]
    if any(not _counts(entry.code, counter) for entry in eval_frame._debug_get_cache_entry_list(code)):
        raise ValueError("nothing counts the calls of code that was made before")
    return _begun_with(made, counter)


def _counts(code, counter):
    return any(type(constant) is type(counter) for constant in code.co_consts)


def _begun_with(code, counter):
    """The code, with the negative of the constant `counter` taken behind its RESUME. All jumps are relative, so only
    tables that hold places change (Objects/exception_handling_notes.txt and Objects/locations.md of CPython 3.11)."""
    place = code.co_code[::2].index(opcode.opmap["RESUME"]) + 1
    number = len(code.co_consts)
    words = [("EXTENDED_ARG", number >> 8)] if number > 255 else []
    words += [("LOAD_CONST", number & 255), ("UNARY_NEGATIVE", 0), ("POP_TOP", 0)]
    begin = b"".join(bytes((opcode.opmap[name], argument)) for name, argument in words)
    return code.replace(
        co_code=code.co_code[: 2 * place] + begin + code.co_code[2 * place :],
        co_consts=(*code.co_consts, counter),
        co_stacksize=max(code.co_stacksize, 1),
        co_linetable=_with_no_line(code.co_linetable, place, len(words)),
        co_exceptiontable=b"".join(_moved(code.co_exceptiontable, place, len(words))),
    )


def _with_no_line(table, place, count):
    """The table of lines, in which `count` instructions at this place have no line. An entry begins with a byte that
    has the highest bit, and ends before the next one; in the three lowest bits is its length, less 1. An entry over
    this place becomes two, if it does not go to another line (kinds 0 to 9, and 15: no line)."""
    at, begins = 0, [start for start, byte in enumerate(table) if byte & 128]
    for start, end in zip(begins, [*begins[1:], len(table)]):
        kind, length, before = table[start] >> 3 & 15, (table[start] & 7) + 1, place - at
        if before < length and (not before or kind < 10 or kind == 15):
            first, last = (bytes((128 | kind << 3 | size - 1,)) + table[start + 1 : end] if size else b""
                           for size in (before, length - before))  # fmt: skip
            return table[:start] + first + bytes((128 | 15 << 3 | count - 1,)) + last + table[end:]
        at += length
    raise ValueError("no entry of the table of lines can be divided there")


def _moved(table, place, count):
    """The table of exceptions, for `count` more instructions at this place."""
    numbers, number = [], 0
    for byte in table:
        number = number << 6 | byte & 63
        if not byte & 64:
            numbers.append(number)
            number = 0
    for start, size, target, rest in zip(*[iter(numbers)] * 4):
        if start < place < start + size:
            size += count
        yield _packed(start + count * (start >= place), 128)
        yield _packed(size) + _packed(target + count * (target >= place)) + _packed(rest)


def _packed(number, mark=0):
    """Six bits in each byte, the highest first; 64 says that more follow, 128 that an entry begins."""
    digits = [number & 63]
    while number := number >> 6:
        digits.insert(0, 64 | number & 63)
    return bytes((digits[0] | mark, *digits[1:]))


def origin(code):
    """The code of the function that torch split at a break of the graph, where `code` is the second part of it or a
    later one; else None."""
    resuming = sys.modules.get("torch._dynamo.resume_execution")
    known = resuming.ContinueExecutionCache.generated_code_metadata
    return known[code].code if code in known else None
