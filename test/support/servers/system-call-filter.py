"""Runs a program under the SystemCallFilter= and RestrictAddressFamilies= of a unit, as systemd would."""

import ctypes
import os
import re
import socket
import subprocess
import sys

ALLOW, ERRNO_EPERM, EQUAL = 0x7FFF0000, 0x00050001, 4


class Comparison(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def members(group):
    line = ["systemd-analyze", "--no-pager", "syscall-filter", group]
    listed = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    names = [word.strip() for word in listed.splitlines()[1:]]
    return set().union(*[calls(name) for name in names if name and not name.startswith("#")])


def calls(name):
    return members(name) if name.startswith("@") else {name}


def allowed_by(unit):
    allowed = members("@default") | {"execve"}
    for words in re.findall(r"^SystemCallFilter=(.*)$", unit, re.M):
        named = set().union(*[calls(word) for word in words.lstrip("~").split()])
        allowed = allowed - named if words.startswith("~") else allowed | named
    return allowed


unit = open(sys.argv[1]).read()
library = ctypes.CDLL("libseccomp.so.2")
library.seccomp_init.restype = ctypes.c_void_p
context = ctypes.c_void_p(library.seccomp_init(ERRNO_EPERM))


def allow(name, *comparisons):
    number = library.seccomp_syscall_resolve_name(name.encode())
    array = (Comparison * len(comparisons))(*comparisons)
    if number >= 0:
        library.seccomp_rule_add_array(context, ALLOW, number, len(comparisons), array)


for name in allowed_by(unit) - {"socket"}:
    allow(name)
for family in re.search(r"^RestrictAddressFamilies=(.*)$", unit, re.M).group(1).split():
    allow("socket", Comparison(0, EQUAL, getattr(socket, family), 0))
if library.seccomp_load(context) != 0:
    sys.exit("the filter is not taken")
os.execv(sys.argv[2], sys.argv[2:])
