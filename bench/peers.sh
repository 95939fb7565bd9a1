#!/bin/sh
# Installs the programs Sandgate is compared with, where missing: of file servers these versions, of sandboxes what
# bench/peers/package-lock.json has the hashes of.
# Prints name, version and path of each.
set -eu

rust_version=0.4.5
npm_version=2026.8.31
dir="${XDG_CACHE_HOME:-$HOME/.cache}/sandgate-bench"
rust_dir="$dir/rust-mcp-filesystem-$rust_version"
npm_dir="$dir/server-filesystem-$npm_version"
rust_program="bin/rust-mcp-filesystem"
npm_program="node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
here=$(cd "$(dirname "$0")" && pwd)
sandboxes_dir="$dir/sandboxes-$(cat "$here/peers/package.json" "$here/peers/package-lock.json" | sha256sum | cut -c1-16)"

need() {
    command -v "$1" >/dev/null 2>&1 && return
    echo "peers.sh: '$1' is not in PATH ($2)" >&2
    exit 1
}

# A folder is moved to its final name only when its installation succeeded.
install_rust() {
    [ -x "$rust_dir/$rust_program" ] && return
    need cargo "install Rust"
    rm -rf "$rust_dir.part" "$rust_dir"
    cargo install --locked --version "$rust_version" --root "$rust_dir.part" rust-mcp-filesystem >&2
    mv "$rust_dir.part" "$rust_dir"
}

install_npm() {
    [ -f "$npm_dir/$npm_program" ] && return
    need npm "install Node.js"
    rm -rf "$npm_dir.part" "$npm_dir"
    mkdir -p "$npm_dir.part"
    npm install --prefix "$npm_dir.part" --no-save --ignore-scripts --no-audit --no-fund \
        "@modelcontextprotocol/server-filesystem@$npm_version" >&2
    mv "$npm_dir.part" "$npm_dir"
}

install_sandboxes() {
    [ -d "$sandboxes_dir" ] && return
    need npm "install Node.js"
    rm -rf "$sandboxes_dir.part"
    mkdir -p "$sandboxes_dir.part"
    cp "$here/peers/package.json" "$here/peers/package-lock.json" "$here/peers/.npmrc" "$sandboxes_dir.part/"
    npm ci --prefix "$sandboxes_dir.part" --ignore-scripts --no-audit --no-fund --loglevel=error >&2
    mv "$sandboxes_dir.part" "$sandboxes_dir"
}

version_of() { # npm package
    sed -n "s#.*\"$1\": \"\([0-9.]*\)\".*#\1#p" "$here/peers/package.json"
}

need bwrap "apt install bubblewrap"
# srt wants both.
need socat "apt install socat"
need rg "apt install ripgrep"
need node "install Node.js"
mkdir -p "$dir"
install_npm
install_rust
install_sandboxes
echo "rust $rust_version $rust_dir/$rust_program"
echo "npm $npm_version $npm_dir/$npm_program"
echo "codex $(version_of @openai/codex) $sandboxes_dir/node_modules/.bin/codex"
echo "srt $(version_of @anthropic-ai/sandbox-runtime) $sandboxes_dir/node_modules/.bin/srt"
echo "bwrap $(bwrap --version | cut -d' ' -f2) $(command -v bwrap)"
