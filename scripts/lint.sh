#!/bin/sh
# Everything that judges the source without running it. `--format` rewrites it in the project's style instead.
set -eu
cd "$(dirname "$0")/.."

files() { # name pattern
    for folder in src include examples tests bench scripts clients; do
        [ ! -d "$folder" ] || find "$folder" -type f -name "$1"
    done | sort
}

# Runs its arguments and remembers failure, so that one run shows all that is wrong.
failed=
step() {
    printf '== %s\n' "$1"
    name=$1
    shift
    "$@" || failed="$failed $name"
}

check_format() { files '*.[ch]' | xargs -r clang-format --style=file --dry-run -Werror; }

build_with() { # compiler, folder
    [ -f "$2/build.ninja" ] || CC=$1 meson setup "$2" --buildtype=release --werror >/dev/null || return 1
    ninja -C "$2" --quiet
}

check_tidy() { # folder with a compilation database
    log=$(mktemp)
    if run-clang-tidy -quiet -p "$1" "$PWD/src/.*\.c\$" >"$log" 2>&1; then
        rm -f "$log"
        return 0
    fi
    escape=$(printf '\033')
    sed "s/$escape\[[0-9;]*m//g; /^clang-tidy/d; /^[0-9]* warnings\{0,1\} generated/d" "$log"
    rm -f "$log"
    return 1
}

check_python() {
    cache=$(mktemp -d)
    status=0
    files '*.py' | PYTHONPYCACHEPREFIX=$cache xargs -r "${PYTHON:-python3}" -m py_compile || status=1
    rm -rf "$cache"
    return $status
}

# PYTHON is the one that scripts/setup.sh fetched mypy for.
check_client_types() {
    status=0
    cache=$(mktemp -d)
    (cd clients/python && PYTHONPATH=$OLDPWD/.deps/mypy "${PYTHON:-python3}" -m mypy --cache-dir "$cache") || status=1
    rm -rf "$cache"
    .deps/node/node_modules/.bin/pyright --warnings -p clients/python || status=1
    return $status
}

check_shell() {
    if ! command -v shellcheck >/dev/null; then
        echo 'shellcheck is not installed: left out'
        return 0
    fi
    files '*.sh' | xargs -r shellcheck --severity=warning .ci/run
}

if [ "${1-}" = --format ]; then
    files '*.[ch]' | xargs -r clang-format --style=file -i
    exit
fi

step format check_format
step gcc build_with gcc build-lint-gcc
step clang build_with clang build-lint-clang
step clang-tidy check_tidy build-lint-clang
step python check_python
step shell check_shell
step types check_client_types

if [ -n "$failed" ]; then
    printf 'lint: failed:%s\n' "$failed" >&2
    exit 1
fi
echo 'lint: clean'
