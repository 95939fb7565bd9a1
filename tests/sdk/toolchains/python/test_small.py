import getpass
import multiprocessing
import os
import pathlib
import pwd
import sqlite3
import subprocess
import sys
from multiprocessing import shared_memory


def square(number):
    return number * number


def test_a_venv():
    assert sys.prefix != sys.base_prefix


def test_who_it_is():
    assert getpass.getuser() == pwd.getpwuid(os.getuid()).pw_name == "agent"
    assert pathlib.Path.home() == pathlib.Path(pwd.getpwuid(os.getuid()).pw_dir)


def test_processes():
    with multiprocessing.Pool(3) as pool:
        assert pool.map(square, range(4)) == [0, 1, 4, 9]
    memory = shared_memory.SharedMemory(create=True, size=100)
    memory.close()
    memory.unlink()


def test_a_child():
    assert subprocess.check_output(["echo", "hi"], text=True) == "hi\n"


def test_a_terminal():
    here, there = os.openpty()
    os.write(there, b"hi\n")
    assert os.read(here, 16) == b"hi\r\n"


def test_a_database(tmp_path):
    with sqlite3.connect(tmp_path / "db") as base:
        base.execute("pragma journal_mode=wal")
        base.execute("create table words (word)")
