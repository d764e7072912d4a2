#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints what each thread of a box's programs waits for in the kernel.

usage: box-tasks.py JOB

JOB is the directory that scripts/box made. The kernel is asked through its management console
(Documentation/virt/uml, struct mconsole_request of mconsole.h) for SysRq t, whose answer goes to its log.
"""
import re
import socket
import struct
import sys
import tempfile

MAGIC, VERSION, MOST = 0xCAFEBABE, 2, 512
# in every trace of a thread that sleeps
SLEEP = {"uml_curr_cpu", "__switch_to", "__schedule", "schedule", "schedule_timeout", "to_kthread"}


def ask(console, command):
    """Returns when the kernel has answered: SysRq leaves the end of its answer unmarked."""
    with tempfile.TemporaryDirectory() as own, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asker:
        asker.bind(own + "/answer")
        asker.settimeout(10)
        asker.sendto(struct.pack("<III", MAGIC, VERSION, len(command)) + command.ljust(MOST, b"\0"), console)
        asker.recv(4096)
        asker.settimeout(1)
        try:
            while True:
                asker.recv(4096)
        except TimeoutError:
            pass


def user_tasks(log):
    """The blocks of the log that are about threads of programs, without addresses."""
    for block in re.split(r"^(?=task:)", log.rpartition("sysrq: Show State")[2], flags=re.M)[1:]:
        head = re.match(r"task:(.+?) +state:(\S) .*?\bpid:(\d+) +tgid:(\d+) +ppid:(\d+)", block)
        if not head or head[5] in ("0", "2"):  # the first two tasks, and kernel threads
            continue
        calls = [call for call in re.findall(r"\] (?:\? )?([\w.]+)\+0x", block) if call not in SLEEP]
        yield f"  {head[3]} {head[1]} (of {head[4]}), {head[2]}: " + " < ".join(calls)


def main():
    job = sys.argv[1]
    try:
        ask(job + "/uml/box/mconsole", b"sysrq t")
    except OSError as problem:  # a kernel that hangs answers nothing, or not to the end
        print(f"box: the kernel does not say what its threads wait for: {problem}")
    with open(job + "/log", encoding="utf-8", errors="replace") as log:
        print("\n".join(user_tasks(log.read())))


main()
