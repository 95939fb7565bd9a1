#!/bin/sh
# `meson install` runs this in a build that is for tests alone.
echo "install: refused: this build has sanitizers and is for tests only" >&2
exit 1
