#!/bin/sh
# Makes the trees that searches are measured on, where missing: parts of Debian's Linux source, fetched by apt, and copies
# of the C headers and Python modules that are installed here; and the ripgrep they are compared with, by npm. Prints
# name, version and path of each.
set -eu

package=linux-source-6.1
rg_version=1.18.0
dir="${XDG_CACHE_HOME:-$HOME/.cache}/sandgate-bench"
rg_dir="$dir/ripgrep-$rg_version"
large=$dir/linux-large # about 4,700 files, 90 MB
small=$dir/linux-small # about 3,000 files, 16 MB

fail() {
    echo "trees.sh: $*" >&2
    exit 1
}

# A folder is moved to its final name only when it is whole.
unpack_linux() {
    [ ! -d "$large" ] || [ ! -d "$small" ] || return 0
    part=$dir/linux.part
    rm -rf "$part" "$large" "$small"
    mkdir -p "$part"
    (cd "$part" && apt-get download -q "$package" >&2) || fail "apt-get download $package"
    dpkg-deb --fsys-tarfile "$part"/*.deb | tar -xO --wildcards '*.tar.xz' >"$part/source.tar.xz"
    tar -xf "$part/source.tar.xz" -C "$part" --wildcards \
        '*/fs' '*/net' '*/kernel' '*/mm' '*/tools/testing' --anchored --exclude='*/arch' --exclude='*/drivers' \
        --exclude='*/sound' --exclude='*/Documentation' --exclude='*/include'
    source=$(echo "$part"/linux-source-*/)
    mkdir "$part/large"
    mv "$source/tools/testing" "$part/small"
    for folder in fs net kernel mm; do
        mv "$source/$folder" "$part/large/"
    done
    # The kernel's own has such rules too; Debian's also leaves out everything.
    printf '%s\n' '.*' '*.a' '*.o' '*.ko' '*.mod' '*.order' '/vmlinux' '!.gitignore' '!.mailmap' |
        tee "$part/small/.gitignore" >"$part/large/.gitignore"
    chmod -R a+rX "$part/large" "$part/small"
    mv "$part/large" "$large"
    mv "$part/small" "$small"
    rm -rf "$part"
}

# Links and what is not text of that kind stay out, so that both sides have the same files.
copy_installed() { # name folder path
    [ ! -d "$dir/$1" ] || return 0
    rm -rf "$dir/$1.part"
    mkdir -p "$dir/$1.part"
    (cd "$2" && find . -type f -path "$3" -print0 | tar -c --null -T -) | tar -x -C "$dir/$1.part"
    chmod -R a+rX "$dir/$1.part"
    mv "$dir/$1.part" "$dir/$1"
}

install_rg() {
    [ ! -d "$rg_dir" ] || return 0
    rm -rf "$rg_dir.part"
    mkdir -p "$rg_dir.part"
    npm install --prefix "$rg_dir.part" --no-save --ignore-scripts --no-audit --no-fund "@vscode/ripgrep@$rg_version" >&2
    mv "$rg_dir.part" "$rg_dir"
}

mkdir -p "$dir"
install_rg
unpack_linux
copy_installed headers /usr/include '*.h*'
copy_installed python /usr/lib './python3*.py'
echo "rg $rg_version $(echo "$rg_dir"/node_modules/@vscode/ripgrep-linux-*/bin/rg)"
echo "large $package $large"
echo "small $package $small"
echo "headers $(du -sm "$dir/headers" | cut -f1)MB $dir/headers"
echo "python $(du -sm "$dir/python" | cut -f1)MB $dir/python"
