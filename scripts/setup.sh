#!/bin/sh
# Brings in what Sandgate is built, tested and linted with. Safe to run again: does only what is missing.
#
#   scripts/setup.sh [build|test|lint|fuzz|bench|all]...    default: build
#   scripts/setup.sh --list                                 the pinned parts, as a Markdown table
# shellcheck disable=SC2046,SC2086 # package names and flags are lists of plain words
set -eu

cd "$(dirname "$0")/.."

# Debian packages: group, name, lowest version accepted. apt pins their content: each archive's hash stands in an
# index that the release's signed file vouches for. A floor is therefore enough, and security updates still come in.
packages() {
    cat <<'EOF'
build gcc 4:12.2
build libc6-dev 2.36
build make 4.3
build meson 1.0.1
build ninja-build 1.11
build pkg-config 1.8
build libuv1-dev 1.44.2
build libseccomp-dev 2.5.4
build libfyaml-dev 0.7.12
build libssl-dev 3.0.9
build libcmocka-dev 1.1.5
build python3 3.11.2
build python3-pip 23.0.1
build ca-certificates 20230311
test g++ 4:12.2
test git 1:2.39
test python3-jsonschema 4.10.3
test python3-venv 3.11.2
test nodejs 18.20
test npm 9.2
lint nodejs 18.20
lint npm 9.2
lint clang 1:14.0
lint clang-format 1:14.0
lint clang-tidy 1:14.0
fuzz clang 1:14.0
fuzz libclang-rt-14-dev 1:14.0.6
bench bubblewrap 0.8.0
EOF
}

requirements=scripts/requirements-yyjson.txt
mypy_requirements=scripts/requirements-mypy.txt
yyjson_version=$(sed -n 's/^yyjson==\([^ ]*\).*/\1/p' "$requirements")
yyjson_sha256=$(sed -n 's/^yyjson==.*--hash=sha256:\([0-9a-f]*\).*/\1/p' "$requirements")
yyjson_flags="-O2 -fPIC"
yyjson_floor=0.9 # a system yyjson from here on is used instead; meson.build names the same number
yyjson_line="yyjson $yyjson_version sha256:$yyjson_sha256 $yyjson_flags"

# Libraries that the tests talk through.
sdks="tests/sdk/mcp tests/sdk/models"

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

now_ms() { echo $(($(date +%s%N) / 1000000)); }
seconds_since() {
    spent=$(($(now_ms) - $1))
    printf '%d.%03d s' $((spent / 1000)) $((spent % 1000))
}

list() {
    echo '| part | version | for | pinned by |'
    echo '|---|---|---|---|'
    packages | while read -r group name floor; do
        echo "| $name | >= $floor | $group | Debian's signed release |"
    done
    echo "| yyjson (C source in PyPI's \`yyjson\`) | $yyjson_version | build | sha256 \`$yyjson_sha256\` |"
    for sdk in $sdks; do
        sed -n "s#^\([a-z0-9-]*\)==\([^ ]*\) .*#| \1 (PyPI) | \2 | test | sha256 in \`$sdk/requirements.txt\` |#p" \
            "$sdk/requirements.txt"
        sed -n "s#.*\"\(@*[a-z/-]*\)\": \"\([0-9][0-9.]*\)\".*#| \1 (npm) | \2 | test | sha512 in \`$sdk/package-lock.json\` |#p" \
            "$sdk/package.json"
    done
    echo '| TypeScript, Pyright and what they need | as in the lock file | test, lint | `clients/typescript/package-lock.json` |'
    echo "| mypy and what it needs | as in the file | lint | \`$mypy_requirements\` |"
}

# The wanted packages that are absent or too old, one a line.
missing_packages() {
    installed=$(dpkg-query -W -f='${db:Status-Status} ${Package} ${Version}\n' $(wanted_names) 2>/dev/null || true)
    wanted | while read -r name floor; do
        version=$(printf '%s\n' "$installed" | sed -n "s/^installed $name //p" | head -n 1)
        if [ -z "$version" ] || ! dpkg --compare-versions "$version" ge "$floor"; then
            echo "$name"
        fi
    done
}

# Node often comes from elsewhere than Debian.
has_npm() { command -v node >/dev/null && command -v npm >/dev/null; }

wanted() {
    packages | while read -r group name floor; do
        case $name in nodejs | npm) ! has_npm || continue ;; esac
        case " $groups " in
        *" $group "* | *" all "*) echo "$name $floor" ;;
        esac
    done | sort -u
}

wanted_names() { wanted | cut -d' ' -f1; }

install_packages() {
    if ! command -v dpkg-query >/dev/null; then
        say "no dpkg here: needs, from your own package manager:" $(wanted_names)
        return
    fi
    missing=$(missing_packages)
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" = 0 ]; then
        as_root="env"
    elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
        as_root="sudo env"
    else
        die "missing packages; as root, run: apt-get update && apt-get install -y --no-install-recommends" $missing
    fi
    say "installing" $missing
    $as_root DEBIAN_FRONTEND=noninteractive apt-get update -q
    $as_root DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
    missing=$(missing_packages)
    [ -z "$missing" ] || die "this release is too old, or lacks:" $missing
    write_stamp
}

sdist_is_good() {
    [ -f "$1" ] && [ "$(sha256sum <"$1" | cut -d' ' -f1)" = "$yyjson_sha256" ]
}

# pip asks an sdist's build backend for its metadata even when only told to download. This one answers without
# running anything out of the archive, and without fetching the real backend.
write_metadata_stub() {
    mkdir -p "$1/setuptools"
    : >"$1/setuptools/__init__.py"
    cat >"$1/setuptools/build_meta.py" <<EOF
import pathlib


def prepare_metadata_for_build_wheel(directory, config_settings=None):
    info = pathlib.Path(directory, "yyjson-$yyjson_version.dist-info")
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: yyjson\nVersion: $yyjson_version\n")
    return info.name
EOF
}

python_with_pip() {
    for python in python3 /usr/bin/python3; do
        if "$python" -m pip --version >/dev/null 2>&1; then
            echo "$python"
            return
        fi
    done
    die "no python3 with pip"
}

# Sets $sdist to a file whose hash has just been checked.
fetch_sdist() {
    cache=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/sandgate
    mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ] || cache=$work
    sdist=$cache/yyjson-$yyjson_version.tar.gz
    if sdist_is_good "$sdist"; then
        return
    fi
    rm -f "$sdist"
    python=$(python_with_pip)
    write_metadata_stub "$work/stub"
    PYTHONPATH="$work/stub" "$python" -m pip download --quiet --disable-pip-version-check --no-cache-dir \
        --no-deps --no-binary :all: --no-build-isolation --require-hashes \
        -r "$requirements" -d "$work/download"
    mv "$work/download/yyjson-$yyjson_version.tar.gz" "$sdist"
    sdist_is_good "$sdist" || die "$sdist: wrong hash"
}

yyjson_is_built() {
    [ -f .deps/yyjson/lib/libyyjson.a ] && [ "$(cat .deps/yyjson/built 2>/dev/null)" = "$yyjson_line" ]
}

build_yyjson() {
    if pkg-config --atleast-version="$yyjson_floor" yyjson 2>/dev/null || yyjson_is_built; then
        return
    fi
    mkdir -p .deps
    exec 9>.deps/lock
    flock 9 # two builds may start at once in one tree
    yyjson_is_built && return
    work=$PWD/$(mktemp -d .deps/new.XXXXXX)
    trap 'rm -rf "$work"' EXIT
    fetch_sdist
    made=$work/yyjson
    mkdir -p "$made/src" "$made/include" "$made/lib"
    tar -xzf "$sdist" --no-same-owner -C "$made/src" --strip-components=2 \
        "yyjson-$yyjson_version/yyjson/yyjson.c" "yyjson-$yyjson_version/yyjson/yyjson.h"
    cp "$made/src/yyjson.h" "$made/include/"
    ${CC:-gcc} $yyjson_flags -c "$made/src/yyjson.c" -o "$work/yyjson.o"
    ar rcsD "$made/lib/libyyjson.a" "$work/yyjson.o"
    echo "$yyjson_line" >"$made/built"
    rm -rf .deps/yyjson
    mv "$made" .deps/yyjson
    write_stamp
}

# For the Python that runs the tests.
install_sdks() {
    wants test || return 0
    python=/usr/bin/python3
    [ -x "$python" ] || python=python3
    for sdk in $sdks; do
        PYTHON=$python tests/sdk/install.sh "${sdk##*/}" >/dev/null || say "$sdk not installed: its tests will be skipped"
    done
}

wants() {
    for group; do
        case " $groups " in *" $group "* | *" all "*) return ;; esac
    done
    return 1
}

# The compiler of clients/typescript and Pyright. npm checks every archive against the lock file's hash.
fetch_node_tools() {
    wants test lint || return 0
    lock=$(sha256sum clients/typescript/package-lock.json | cut -d' ' -f1)
    [ "$(cat .deps/node/lock 2>/dev/null)" != "$lock" ] || return 0
    rm -rf .deps/node
    mkdir -p .deps/node
    cp clients/typescript/package.json clients/typescript/package-lock.json clients/typescript/.npmrc .deps/node/
    (cd .deps/node && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
    echo "$lock" >.deps/node/lock
}

fetch_mypy() {
    wants lint || return 0
    cmp -s "$mypy_requirements" .deps/mypy/requirements && return
    rm -rf .deps/mypy
    "$(python_with_pip)" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
        --require-hashes -r "$mypy_requirements" --target .deps/mypy
    cp "$mypy_requirements" .deps/mypy/requirements
}

# What this tree was last set up with, to read when a build differs between two machines.
write_stamp() {
    mkdir -p .deps
    {
        cat .deps/yyjson/built 2>/dev/null || true
        if command -v dpkg-query >/dev/null; then
            dpkg-query -W -f='${Package} ${Version}\n' $(packages | cut -d' ' -f2 | sort -u) 2>/dev/null || true
        fi
    } >.deps/stamp.$$
    mv .deps/stamp.$$ .deps/stamp
}

groups=
for word; do
    case $word in
    --list) list && exit ;;
    build | test | lint | fuzz | bench | all) groups="$groups $word" ;;
    *) die "usage: scripts/setup.sh [build|test|lint|fuzz|bench|all]... | --list" ;;
    esac
done
groups="build$groups"

started=$(now_ms)
install_packages
packages_took=$(seconds_since "$started")
step=$(now_ms)
build_yyjson
install_sdks
fetch_node_tools
fetch_mypy
say "packages $packages_took, libraries $(seconds_since "$step"), total $(seconds_since "$started")"
