#!/usr/bin/env bash
# One long test, as `make soak` runs it: soak.sh KIND BINARY [options of the fuzzer]
#
#   MUSTER_SOAK_SEED       first seed of histories and fuzzers (default 1000: beyond those of CI)
#   MUSTER_SOAK_SEEDS      kind sim: histories with faults (default 1000)
#   MUSTER_SOAK_HISTORIES  kind properties: random histories (default 5000)
#   MUSTER_SOAK_KILLS      kinds server_kill, e2e_kill: kill -9 of a server, the latter with a real
#                          Kubernetes (default 200)
#   MUSTER_SOAK_GANGS      kinds e2e_faults, e2e_fleet: gangs (default 60 a fault, 600 in a fleet)
#   MUSTER_SOAK_NODES      kind e2e_large: nodes in one informer (default 2000)
#   MUSTER_SOAK_PODS       kind e2e_large: pods in one informer (default 10000)
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
    export MUSTER_PROPERTY_LINES=60  # longer than those of CI
    export MUSTER_PROPERTY_KEEP=10   # goes on after a failure
    exec "$binary" --gtest_filter='Properties.HoldOnRandomHistories'
    ;;
  fuzz)
    corpus=build/corpus/$(basename "$binary")
    mkdir -p "$corpus"
    exec "$binary" -max_total_time="${MUSTER_SOAK_FUZZ_S:-300}" -seed="$seed" "$@" "$corpus"
    ;;
  server_kill) # options: --store postgres
    exec python3 tests/server/kill_test.py "$binary" --kills "${MUSTER_SOAK_KILLS:-200}" \
      --seed "$seed" "$@"
    ;;
  e2e_kill)
    exec python3 tests/e2e/kill_test.py "$binary" --kills "${MUSTER_SOAK_KILLS:-200}" --seed "$seed"
    ;;
  e2e_faults)
    exec python3 tests/e2e/faults_test.py "$binary" --gangs "${MUSTER_SOAK_GANGS:-60}"
    ;;
  e2e_fleet)
    exec python3 tests/e2e/fleet_test.py "$binary" --gangs "${MUSTER_SOAK_GANGS:-600}"
    ;;
  e2e_large)
    export MUSTER_E2E_NODES=${MUSTER_SOAK_NODES:-2000} MUSTER_E2E_PODS=${MUSTER_SOAK_PODS:-10000}
    exec python3 tests/e2e/kube_test.py "$binary" --bare
    ;;
  e2e_version) # options: the other binary, the version; not tested unless it was built before
    python3 tests/e2e/kube_test.py "$1" --kubernetes "$2"
    python3 tests/e2e/muster_test.py "$binary" --kubernetes "$2"
    exec python3 tests/e2e/appwrapper_test.py "$binary" --kubernetes "$2"
    ;;
  *)
    echo "soak.sh: no kind '$kind'; there are sim, properties, fuzz, server_kill, e2e_kill," \
      "e2e_faults, e2e_fleet, e2e_large, e2e_version" >&2
    exit 2
    ;;
esac
