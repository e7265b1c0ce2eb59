#!/usr/bin/env bash
# Runs the benchmark NAME of tests/bench (muster_bench of cmake/muster.cmake), release build.
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:?usage: run_bench.sh NAME [options of the benchmark]}
shift
program=build/release/bin/bench_$name
if [ ! -x "$program" ]; then
  echo "bench-$name: no such benchmark; tests/bench registers it with muster_bench($name ...)" >&2
  exit 1
fi
exec "$program" "$@"
