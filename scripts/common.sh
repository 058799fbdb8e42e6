# SPDX-License-Identifier: Apache-2.0
# What the scripts share; sourced by them. Sets `root`, goes there, installs what is missing, and sets the seed
# of the random tests.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
"$root/scripts/install-deps"

# The sources may belong to another user than the one who builds, as in a container; git reads them even so.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=$root

# Random tests read PINNACE_SEED. It comes from the commit, so that a run can be repeated and the next commit
# tries something else. 60 bits: a number that every shell and language holds.
if [ -z "${PINNACE_SEED:-}" ]; then
    commit=$(git rev-parse HEAD 2>/dev/null || echo 1)
    PINNACE_SEED=$((16#${commit:0:15}))
fi
export PINNACE_SEED

# Clones in different places share the compiler's cache.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=true

die() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# build PRESET [TARGET...]: configures build/PRESET and builds the targets, or all.
build() {
    local preset=$1 targets=()
    shift
    [ $# -eq 0 ] || targets=(--target "$@")
    cmake --preset "$preset" --log-level=NOTICE || die "cannot configure $preset"
    cmake --build --preset "$preset" "${targets[@]}" || die "cannot build $preset"
}
