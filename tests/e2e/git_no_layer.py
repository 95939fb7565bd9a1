#!/usr/bin/env python3
"""Where the state folder is on a file system that can hold no layer, a command with the grant is not run."""

import os

import lib
import ran
from lib import check, short
from repository import Repository

lib.own_mounts()


def no_overlay(form):
    """where no layer can be mounted nothing runs, and the answer says what to do"""
    place = Repository(form, "nolayer")
    layers = form.base / "nolayer-parts"
    for name in ("lower", "upper", "work"):
        form.folder(f"nolayer-parts/{name}")
    options = f"lowerdir={layers}/lower,upperdir={layers}/upper,workdir={layers}/work"
    place.home = form.folder("nolayer-on", 0o700)
    lib.kernel(lib.libc.mount(b"overlay", os.fsencode(place.home), b"overlay", 0, options.encode()), "overlay")
    place.home.chmod(0o700)
    form.own(place.home)
    try:
        with place.gate() as gate:
            error = gate.refused("SANDBOX_UNAVAILABLE", "run_command", command="touch ran; git tag x")
            check("XDG_STATE_HOME" in error["message"], short(error))
            check(not (place.workspace / "ran").exists(), "it ran")
    finally:
        lib.libc.umount2(os.fsencode(place.home), 2)


ran.main(no_overlay)
