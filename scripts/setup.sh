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
build libsqlite3-dev 3.40
build libssl-dev 3.0.9
build libcurl4-openssl-dev 7.88.1
build libgumbo-dev 0.10.1
build libcmocka-dev 1.1.5
build python3 3.11.2
build python3-pip 23.0.1
build ca-certificates 20230311
build cargo-web 1.85
build rustc-web 1.85
test cargo-web 1.85
test rustc-web 1.85
test golang-go 2:1.19
test g++ 4:12.2
test git 1:2.39
test zsh 5.9
test fish 3.6
test vim-tiny 2:9.0
test less 590
test htop 3.2
test python3-jsonschema 4.10.3
test python3-venv 3.11.2
test nodejs 18.20
test npm 9.2
test clang 1:14.0
test lld 1:14.0
test wasi-libc 0.0~git20220510
test libclang-rt-14-dev-wasm32 1:14.0.6
lint nodejs 18.20
lint npm 9.2
lint clang 1:14.0
lint clang-format 1:14.0
lint clang-tidy 1:14.0
fuzz clang 1:14.0
fuzz libclang-rt-14-dev 1:14.0.6
bench bubblewrap 0.8.0
bench socat 1.7.4
bench ripgrep 13.0
EOF
}

requirements=scripts/requirements-yyjson.txt
mypy_requirements=scripts/requirements-mypy.txt
yyjson_version=$(sed -n 's/^yyjson==\([^ ]*\).*/\1/p' "$requirements")
yyjson_sha256=$(sed -n 's/^yyjson==.*--hash=sha256:\([0-9a-f]*\).*/\1/p' "$requirements")
yyjson_flags="-O2 -fPIC"
yyjson_floor=0.9 # a system yyjson from here on is used instead; meson.build names the same number
yyjson_line="yyjson $yyjson_version sha256:$yyjson_sha256 $yyjson_flags"

# Rust's regular expressions. Cargo.lock holds the hash of every crate.
rure_files="deps/rure/Cargo.toml deps/rure/Cargo.lock deps/rure/src/lib.rs"
rure_version=$(sed -n 's/^rure = "=\([^"]*\)".*/\1/p' deps/rure/Cargo.toml)
rust_floor=$(sed -n 's/^rust-version = "\([^"]*\)".*/\1/p' deps/rure/Cargo.toml)
rure_line="rure $rure_version sha256:$(cat $rure_files | sha256sum | cut -d' ' -f1)"

# Wasmtime: the library comes in the wheel of its Python binding, the headers in the crate that it is built from.
wasmtime_requirements=scripts/requirements-wasmtime.txt
wasmtime_version=$(sed -n 's/^wasmtime==\([^ ]*\).*/\1/p' "$wasmtime_requirements")
wasmtime_crate=wasmtime-c-api-impl
wasmtime_headers=50.0.0
wasmtime_crate_sha256=b2c5c602144b0226bf8c448b3bd2799d13296be2e0d6ffbe74aefefda44c2b5e
wasmtime_cargo=1.82 # the first whose `cargo info` fetches a crate without those that it needs
wasmtime_line="wasmtime $wasmtime_version $wasmtime_headers sha256:$(sha256sum <"$wasmtime_requirements" | cut -d' ' -f1)"

# What the tests talk through, compare with, or work on.
sdks="tests/sdk/mcp tests/sdk/models tests/sdk/ripgrep tests/sdk/toolchains tests/sdk/agents"

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
    echo "| rure (Rust's regex crate for C) | $rure_version | build | sha256 in \`deps/rure/Cargo.lock\` |"
    sed -n '/^name = /h; /^version = /{H;x;s/name = "\(.*\)"\nversion = "\(.*\)"/\1 \2/p;}' deps/rure/Cargo.lock |
        grep -v -e '^rure ' -e '^sandgate-rure ' | while read -r name version; do
        echo "| $name (crate) | $version | build | sha256 in \`deps/rure/Cargo.lock\` |"
    done
    echo "| Wasmtime's library (in PyPI's \`wasmtime\`) | $wasmtime_version | build | sha256 in \`$wasmtime_requirements\` |"
    echo "| Wasmtime's headers (crate $wasmtime_crate) | $wasmtime_headers | build | sha256 \`$wasmtime_crate_sha256\` |"
    for sdk in $sdks; do
        [ ! -f "$sdk/requirements.txt" ] ||
            sed -n "s#^\([a-z0-9-]*\)==\([^ ]*\) .*#| \1 (PyPI) | \2 | test | sha256 in \`$sdk/requirements.txt\` |#p" \
                "$sdk/requirements.txt"
        [ ! -f "$sdk/Cargo.toml" ] ||
            sed -n "s#^\([a-z]*\) = \"=\(.*\)\"#| \1 (crate) | \2 | test | sha256 in \`$sdk/Cargo.lock\` |#p" "$sdk/Cargo.toml"
        sed -n "s#.*\"\(@*[a-z0-9/-]*\)\": \"\([0-9][0-9a-z.-]*\)\".*#| \1 (npm) | \2 | test | sha512 in \`$sdk/package-lock.json\` |#p" \
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

# So does Rust. What was built once needs none.
has_rust() { { rure_is_built && wasmtime_is_there; } || find_cargo; }

# Sets $rust_path to a PATH on which cargo and rustc run and are new enough.
find_cargo() {
    for rust_path in "$PATH" "/usr/bin:$PATH"; do
        ! runs_from "$rust_path" cargo || ! runs_from "$rust_path" rustc || return 0
    done
    return 1
}

runs_from() { # PATH, program
    version=$(PATH=$1 "$2" --version 2>/dev/null | sed -n "s/^$2 \([0-9.]*\).*/\1/p")
    [ -n "$version" ] && [ "$(printf '%s\n' "$rust_floor" "$version" | sort -V | head -n 1)" = "$rust_floor" ]
}

# Tests run programs in a sandbox and as another user, and both see only those of the system.
system_path=/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin
system_has() { (PATH=$system_path && command -v "$1" >/dev/null); }

wanted() {
    packages | while read -r group name floor; do
        case " $groups " in
        *" $group "* | *" all "*) ;;
        *) continue ;;
        esac
        case $group-$name in
        test-nodejs) ! system_has node || continue ;;
        test-npm) ! system_has npm || continue ;;
        test-golang-go) ! system_has go || continue ;;
        test-cargo-web) ! runs_from "$system_path" cargo || continue ;;
        test-rustc-web) ! runs_from "$system_path" rustc || continue ;;
        *-nodejs | *-npm) ! has_npm || continue ;;
        *-cargo-web | *-rustc-web) ! has_rust || continue ;;
        esac
        echo "$name $floor"
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
    cache=${XDG_CACHE_HOME:-${HOME:-/dev/null}/.cache}/sandgate
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

# Two builds may start at once in one tree: one waits here for the other.
lock_deps() {
    [ -z "$work" ] || return 0
    mkdir -p .deps
    exec 9>.deps/lock
    flock 9
    work=$PWD/$(mktemp -d .deps/new.XXXXXX)
    trap 'rm -rf "$work"' EXIT
}

build_yyjson() {
    if pkg-config --atleast-version="$yyjson_floor" yyjson 2>/dev/null || yyjson_is_built; then
        return
    fi
    lock_deps
    yyjson_is_built && return
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

# Beneath its first line the file says which compiler it was.
rure_is_built() {
    [ -f .deps/rure/lib/librure.a ] && [ "$(head -n 1 .deps/rure/built 2>/dev/null)" = "$rure_line" ]
}

# Cargo, where it keeps the crates it fetches: as it is used to, or if it may not write there, for this once.
run_cargo() { # subcommand, arguments
    command=$1
    shift
    PATH=$rust_path CARGO_HOME=$cargo_home CARGO_TARGET_DIR=$work/target \
        cargo "$command" --quiet --locked --manifest-path deps/rure/Cargo.toml "$@" 9>&-
}

build_rure() {
    rure_is_built && return
    lock_deps
    rure_is_built && return
    find_cargo || die "no cargo and rustc of $rust_floor or later: install cargo-web and rustc-web, or Rust from elsewhere"
    cargo_home=${CARGO_HOME:-${HOME:-/dev/null}/.cargo}
    mkdir -p "$cargo_home" 2>/dev/null && [ -w "$cargo_home" ] || cargo_home=$work/cargo
    # Fetches, too. A crate's folder has its version in its name.
    crate=$(run_cargo metadata --format-version 1 | grep -o "\"manifest_path\":\"[^\"]*/rure-$rure_version/Cargo.toml\"" |
        sed 's/^"manifest_path":"//; s#/Cargo.toml"$##')
    [ -f "$crate/include/rure.h" ] || die "the crate rure $rure_version has no include/rure.h"
    # Messages of the library name its source files: without the machine's own folders.
    RUSTFLAGS="--remap-path-prefix=${crate%/*}=crates" run_cargo build --release
    made=$work/rure
    mkdir -p "$made/include" "$made/lib"
    cp "$crate/include/rure.h" "$made/include/"
    strip --strip-debug -o "$made/lib/librure.a" "$work/target/release/libsandgate_rure.a"
    { echo "$rure_line" && PATH=$rust_path rustc --version; } >"$made/built"
    rm -rf .deps/rure
    mv "$made" .deps/rure
    write_stamp
}

wasmtime_is_there() {
    [ -f .deps/wasmtime/lib/libsandgate_wasmtime.so ] && [ "$(cat .deps/wasmtime/built 2>/dev/null)" = "$wasmtime_line" ]
}

# Only the library: the wheel is not installed.
fetch_wasmtime_library() { # into
    "$(python_with_pip)" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
        --require-hashes -r "$wasmtime_requirements" -d "$work/wheel"
    "$(python_with_pip)" - "$work"/wheel/wasmtime-*.whl "$1" <<'EOF'
import sys, zipfile

with zipfile.ZipFile(sys.argv[1]) as wheel:
    (name,) = [n for n in wheel.namelist() if n.endswith("/_libwasmtime.so")]
    open(sys.argv[2], "wb").write(wheel.read(name))
EOF
}

fetch_wasmtime_headers() { # into
    cargo_home=$work/cargo-wasmtime
    PATH=$rust_path CARGO_HOME=$cargo_home cargo info --quiet "$wasmtime_crate@$wasmtime_headers" >/dev/null 9>&-
    crate=$(find "$cargo_home/registry/cache" -name "$wasmtime_crate-$wasmtime_headers.crate")
    [ "$(sha256sum <"$crate" | cut -d' ' -f1)" = "$wasmtime_crate_sha256" ] || die "$wasmtime_crate: wrong hash"
    tar -xzf "$crate" --no-same-owner -C "$1" --strip-components=1 "$wasmtime_crate-$wasmtime_headers/include"
    # The library has all features. Without them in the headers, sizes of structs would differ.
    sed 's/^#cmakedefine \(WASMTIME_FEATURE_[A-Z0-9_]*\).*/#define \1/' "$1/include/wasmtime/conf.h.in" \
        >"$1/include/wasmtime/conf.h"
}

# Where there is no wheel for the machine, Sandgate is built without tools in WebAssembly.
fetch_wasmtime() {
    wasmtime_is_there && return
    case $(uname -m) in x86_64 | aarch64) ;; *) return 0 ;; esac
    lock_deps
    wasmtime_is_there && return
    rust_floor=$wasmtime_cargo
    find_cargo || die "no cargo and rustc of $wasmtime_cargo or later: install cargo-web and rustc-web, or Rust from elsewhere"
    made=$work/wasmtime
    mkdir -p "$made/lib"
    fetch_wasmtime_library "$made/lib/libsandgate_wasmtime.so"
    fetch_wasmtime_headers "$made"
    echo "$wasmtime_line" >"$made/built"
    rm -rf .deps/wasmtime
    mv "$made" .deps/wasmtime
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
        cat .deps/yyjson/built .deps/rure/built .deps/wasmtime/built 2>/dev/null || true
        if command -v dpkg-query >/dev/null; then
            dpkg-query -W -f='${Package} ${Version}\n' $(packages | cut -d' ' -f2 | sort -u) 2>/dev/null || true
        fi
    } >.deps/stamp.$$
    mv .deps/stamp.$$ .deps/stamp
}

groups=
work=
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
build_rure
fetch_wasmtime
install_sdks
fetch_node_tools
fetch_mypy
say "packages $packages_took, libraries $(seconds_since "$step"), total $(seconds_since "$started")"
