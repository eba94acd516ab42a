# SPDX-License-Identifier: MIT
"""Reads pprof's files with the package protobuf. The message is described here by hand, as profile.proto of
github.com/google/pprof does."""
import gzip

import pytest

KINDS = {"int64": 3, "uint64": 4, "bool": 8, "string": 9}
MESSAGES = {
    "ValueType": "1 type int64, 2 unit int64",
    "Label": "1 key int64, 2 str int64, 3 num int64, 4 num_unit int64",
    "Sample": "1 location_id uint64*, 2 value int64*, 3 label Label*",
    "Mapping": "1 id uint64, 2 memory_start uint64, 3 memory_limit uint64, 4 file_offset uint64, 5 filename int64",
    "Line": "1 function_id uint64, 2 line int64",
    "Location": "1 id uint64, 2 mapping_id uint64, 3 address uint64, 4 line Line*, 5 is_folded bool",
    "Function": "1 id uint64, 2 name int64, 3 system_name int64, 4 filename int64, 5 start_line int64",
    "Profile": "1 sample_type ValueType*, 2 sample Sample*, 3 mapping Mapping*, 4 location Location*, "
               "5 function Function*, 6 string_table string*, 7 drop_frames int64, 8 keep_frames int64, "
               "9 time_nanos int64, 10 duration_nanos int64, 11 period_type ValueType, 12 period int64, "
               "13 comment int64*, 14 default_sample_type int64",
}  # fmt: skip


def read(content):
    """The message Profile; fails if it has a field that profile.proto does not have."""
    pytest.importorskip("google.protobuf", reason="protobuf is not installed")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, unknown_fields

    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="pprof", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field in fields.split(", "):
            number, name, kind = field.split()
            made = message.field.add(name=name, number=int(number), label=3 if kind.endswith("*") else 1)
            kind = kind.rstrip("*")
            made.type = KINDS.get(kind, 11)
            if kind not in KINDS:
                made.type_name = ".pprof." + kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    profile = message_factory.GetMessageClass(pool.FindMessageTypeByName("pprof.Profile"))()
    profile.ParseFromString(gzip.decompress(content))
    assert len(unknown_fields.UnknownFieldSet(profile)) == 0
    return profile


def stacks(profile):
    """{(sample type, ((function, file, line), ..)): sum of its values}, callers first."""
    texts, found = profile.string_table, {}
    functions = {f.id: (texts[f.name], texts[f.filename]) for f in profile.function}
    lines = {at.id: (*functions[at.line[0].function_id], at.line[0].line) for at in profile.location}
    for sample in profile.sample:
        stack = tuple(lines[at] for at in reversed(sample.location_id))
        for kind, value in zip(profile.sample_type, sample.value):
            if value:
                key = texts[kind.type], stack
                found[key] = found.get(key, 0) + value
    return found
