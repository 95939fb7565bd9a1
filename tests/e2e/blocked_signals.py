#!/usr/bin/python3
"""Whoever starts a gate with signals blocked can still end it by them."""

import os
import signal
import subprocess
import sys

import lib
from lib import Gate, check

BLOCK = "import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()); os.execv(sys.argv[1], sys.argv[1:])"
UNDER = (sys.executable, "-c", BLOCK)
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Place:
    def __init__(self, form):
        self.form = form
        self.home = form.folder("blocked-home", 0o700)
        self.workspace = form.folder("blocked-ws", 0o777)


def gates(place):
    for number in ENDING:
        with Gate(place.form, workspace=place.workspace, state=place.home, under=UNDER) as gate:
            gate.ok("run_command", command="true")
            gate.kill(number)
            check(gate.drain() == [], "nothing was asked")
            gate.wait_exit()


def commands(place):
    for number in ENDING:
        argv = [*UNDER, str(place.form.binary), "run", "--workspace", str(place.workspace), "--", "sh", "-c", "echo runs; sleep 1000"]
        run = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd="/",
            env=lib.environment(place.home), **place.form.identity(),
        )  # fmt: skip
        with run:
            check(run.stdout.readline() == b"runs\n", "it began")
            os.kill(run.pid, number)
            try:
                check(run.wait(lib.SECONDS) == 128 + signal.SIGTERM, f"status {run.returncode}")
            finally:
                run.kill()


CASES = [
    ("a gate", gates),
    ("a command", commands),
]

lib.run_cases(CASES, Place)
