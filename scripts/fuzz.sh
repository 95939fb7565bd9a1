#!/bin/sh
# Fuzzes with libFuzzer, AddressSanitizer and UBSan; fails on any finding.
#   scripts/fuzz.sh [--seconds N] [TARGET...]     default: 600 seconds, every tests/fuzz/fuzz_TARGET.c
# Begins with tests/fuzz/corpus/TARGET; new inputs go to build-fuzz/corpus/TARGET, findings to build-fuzz/findings.
set -eu
cd "$(dirname "$0")/.."
BUILD=build-fuzz
SECONDS_EACH=600

usage() {
    sed -n '2,4s/^# *//p' "$0" >&2
    exit 2
}

targets=
while [ $# -gt 0 ]; do
    case $1 in
    --seconds)
        [ $# -ge 2 ] || usage
        SECONDS_EACH=$2
        shift
        ;;
    -*) usage ;;
    *)
        [ -f "tests/fuzz/fuzz_$1.c" ] || { echo "fuzz: there is no tests/fuzz/fuzz_$1.c" >&2; exit 2; }
        targets="$targets $1"
        ;;
    esac
    shift
done
case $SECONDS_EACH in '' | *[!0-9]*) usage ;; esac
[ -n "$targets" ] || targets=$(basename -s .c tests/fuzz/fuzz_*.c | sed 's/^fuzz_//')

# Meson makes the library, with its generated filter, and yyjson where the system has none.
make_library() {
    [ -f $BUILD/build.ninja ] || CC=clang meson setup $BUILD -Dbuildtype=debugoptimized \
        -Db_sanitize=address,undefined -Db_lundef=false -Dc_args=-fsanitize=fuzzer-no-link >/dev/null
    libraries=$(ninja -C $BUILD -t targets all | sed -n 's/^\(\(src\/libsandgate\|clients\/c\/libsandgate-client\|libyyjson\)\.a\): .*/\1/p')
    # shellcheck disable=SC2086 # one word a library
    ninja -C $BUILD --quiet $libraries
}

# The header is in one of two places, and so is the library.
yyjson() { # --cflags or --libs
    if pkg-config --atleast-version=0.9 yyjson; then
        pkg-config "$1" yyjson
    elif [ "$1" = --cflags ]; then
        echo "-isystem .deps/yyjson/include"
    else
        echo $BUILD/libyyjson.a
    fi
}

make_target() { # name
    # shellcheck disable=SC2046 # flags are words
    clang -std=gnu17 -D_GNU_SOURCE -g -O1 -fno-omit-frame-pointer -Isrc -Iinclude -Iclients -isystem .deps/rure/include $(yyjson --cflags) \
        -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
        "tests/fuzz/fuzz_$1.c" -o "$BUILD/fuzz_$1" \
        $BUILD/src/libsandgate.a $BUILD/clients/c/libsandgate-client.a $(yyjson --libs) \
        .deps/rure/lib/librure.a $(pkg-config --libs libuv libcrypto libfyaml sqlite3) -lpthread -ldl -lm
}

make_library
for target in $targets; do
    make_target "$target"
    mkdir -p "$BUILD/corpus/$target" "$BUILD/findings" "$BUILD/logs"
done

# One target, for xargs. Its paths are whole ones: some targets change the working directory.
cat >$BUILD/run-one <<'EOF'
#!/bin/sh
build=$1 seconds=$2 target=$3
log=$build/logs/$target
set -- -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3000 -print_final_stats=1
set -- "$@" -dict="$PWD/tests/fuzz/words.dict" -artifact_prefix="$build/findings/$target-" "$build/corpus/$target"
[ ! -d "tests/fuzz/corpus/$target" ] || set -- "$@" "$PWD/tests/fuzz/corpus/$target"
verdict=clean
"$build/fuzz_$target" "$@" >"$log" 2>&1 || verdict="FINDING, see $log and $build/findings"
runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
printf '%-16s %12s runs  %s\n' "$target" "${runs:-0}" "$verdict"
[ "$verdict" = clean ]
EOF
chmod +x $BUILD/run-one
# shellcheck disable=SC2086 # one word a target
printf '%s\n' $targets | xargs -P "$(nproc)" -I {} $BUILD/run-one "$PWD/$BUILD" "$SECONDS_EACH" {} || exit 1
