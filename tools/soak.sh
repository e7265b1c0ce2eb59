#!/usr/bin/env bash
# One long test, as `make soak` runs it: soak.sh KIND BINARY [options of the fuzzer]
#
#   MUSTER_SOAK_SEED       first seed of histories and fuzzers (default 1000: beyond those of CI)
#   MUSTER_SOAK_SEEDS      kind sim: histories with faults (default 1000)
#   MUSTER_SOAK_HISTORIES  kind properties: random histories (default 5000)
#   MUSTER_SOAK_KILLS      kind e2e_kill: kill -9 of a server with a real Kubernetes (default 200)
#   MUSTER_SOAK_FUZZ_S     kind fuzz: seconds for each fuzzer (default 300)
#
# What a fuzzer finds interesting is kept in build/corpus/ and is where the next soak begins.
set -euo pipefail
cd "$(dirname "$0")/.."
kind=$1 binary=$2
shift 2
seed=${MUSTER_SOAK_SEED:-1000}

case $kind in
  sim)
    export MUSTER_SIM_SEED=$seed MUSTER_SIM_SEEDS=${MUSTER_SOAK_SEEDS:-1000}
    exec "$binary" --gtest_filter='Swarm/*'
    ;;
  properties)
    export MUSTER_PROPERTY_SEED=$seed MUSTER_PROPERTY_RUNS=${MUSTER_SOAK_HISTORIES:-5000}
    export MUSTER_PROPERTY_KEEP=10  # goes on after a failure
    exec "$binary" --gtest_filter='Properties.HoldOnRandomHistories'
    ;;
  fuzz)
    corpus=build/corpus/$(basename "$binary")
    mkdir -p "$corpus"
    exec "$binary" -max_total_time="${MUSTER_SOAK_FUZZ_S:-300}" -seed="$seed" "$@" "$corpus"
    ;;
  e2e_kill)
    exec python3 tests/e2e/kill_test.py "$binary" --kills "${MUSTER_SOAK_KILLS:-200}" --seed "$seed"
    ;;
  *)
    echo "soak.sh: no kind '$kind'; there are sim, properties, fuzz, e2e_kill" >&2
    exit 2
    ;;
esac
