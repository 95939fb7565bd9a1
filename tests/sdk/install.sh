#!/bin/sh
# usage: install.sh mcp|models|ripgrep|toolchains
# Installs what tests/e2e/ talks through, compares with or works on, where missing: pinned, every archive held against a
# hash of package-lock.json and, if there are such, requirements.txt and Cargo.lock. Prints the folder of each. $PYTHON is
# who is to use the second.
set -eu
cd "$(dirname "$0")/$1"
python=${PYTHON:-python3}
cache=${XDG_CACHE_HOME:-${HOME:-/dev/null}/.cache}/sandgate
mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ] || { cache=$PWD/../../../.deps && mkdir -p "$cache"; }
cache=$(cd "$cache" && pwd)

hash_of() { cat "$@" | sha256sum | cut -c1-16; }

# A folder gets its name when its installation succeeded; of two at once the first wins.
finish() { # made, name
    chmod -R a+rX "$1"
    mv -T "$1" "$2" 2>/dev/null || rm -rf "$1"
    [ -d "$2" ]
}

npm_dir=$cache/sdk-$1-npm-$(hash_of package.json package-lock.json)
if [ ! -d "$npm_dir" ]; then
    command -v npm >/dev/null || { echo "install.sh: no npm" >&2; exit 1; }
    made=$(mktemp -d "$cache/new.XXXXXX")
    cp package.json package-lock.json .npmrc "$made"
    npm ci --prefix "$made" --ignore-scripts --no-audit --no-fund --loglevel=error >&2
    finish "$made" "$npm_dir"
fi
echo "npm $npm_dir"

install_python() {
    python_tag=$("$python" -c 'import sys, platform; print("%d.%d-%s" % (*sys.version_info[:2], platform.machine()))')
    python_dir=$cache/sdk-$1-python-$python_tag-$(hash_of requirements.txt)
    if [ ! -d "$python_dir" ]; then
        "$python" -m pip --version >/dev/null 2>&1 || { echo "install.sh: $python has no pip" >&2; exit 1; }
        made=$(mktemp -d "$cache/new.XXXXXX")
        "$python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps \
            --only-binary :all: --require-hashes --target "$made" -r requirements.txt >&2
        finish "$made" "$python_dir"
    fi
    echo "python $python_dir"
}

# A cargo that is not to be used here may stand first in the path: one of rustup without a toolchain, for example.
run_cargo() {
    if cargo --version >/dev/null 2>&1; then cargo "$@"; else /usr/bin/cargo "$@"; fi
}

install_crates() {
    crates_dir=$cache/sdk-$1-crates-$(hash_of Cargo.toml Cargo.lock)
    if [ ! -d "$crates_dir" ]; then
        made=$(mktemp -d "$cache/new.XXXXXX")
        cargo_home=${CARGO_HOME:-${HOME:-/dev/null}/.cargo}
        mkdir -p "$cargo_home" 2>/dev/null && [ -w "$cargo_home" ] || cargo_home=$made/.home
        CARGO_HOME=$cargo_home run_cargo vendor --quiet --locked --versioned-dirs "$made" >/dev/null
        rm -rf "$made/.home"
        finish "$made" "$crates_dir"
    fi
    echo "crates $crates_dir"
}

[ ! -f requirements.txt ] || install_python "$1"
[ ! -f Cargo.lock ] || install_crates "$1"
