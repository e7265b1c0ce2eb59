#!/usr/bin/env bash
# Runs a benchmark with the release binary. The table is printed and kept in out/bench-NAME.txt, its
# rows follow it, one JSON line each (measure, value, limit, ratio, reach, ok), and are kept in
# out/bench-NAME.jsonl. Without options the table becomes a section of docs/performance.md.
#   run_bench.sh plan|growth|server|kube|appwrapper [options of `muster bench`]
#   run_bench.sh fgd [seeds, 42..51 unless given]     the traces in ../shared/traces/openb
#   run_bench.sh page                                 all of docs/performance.md from what was kept
set -euo pipefail
cd "$(dirname "$0")/.."
muster=build/release/muster
traces=../shared/traces/openb
lists=(default cpu050 cpu200 gpushare40 gpushare100 gpuspec10 multigpu20 multigpu50)

fgd() {
  local seeds=${1:-42..51} nodes=$traces/openb_node_list_gpu_node.csv list policy
  if [ ! -f "$nodes" ]; then
    echo "bench-fgd: no trace in $traces" >&2
    return 1
  fi
  echo "allocated GPU %, seeds $seeds"
  printf '%-12s %-9s %16s %16s %16s %8s\n' list policy 'at 100 %' 'at 130 %' 'unallocated' 's a run'
  for list in "${lists[@]}"; do
    for policy in default fgd best-fit random; do
      "$muster" sim fgd --nodes "$nodes" --pods "$traces/openb_pod_list_$list.csv" \
        --policy "$policy" --seeds "$seeds" -o json
    done | python3 tools/fgd_rows.py "$list" out/bench-fgd.jsonl
  done
}

name=${1:?usage: run_bench.sh plan|growth|server|kube|appwrapper|fgd|page [options]}
shift
options=$#
mkdir -p out

# What it prints is the table; the rows are in a file when it ends, also when it ends badly.
measure() {
  local rows=out/bench-$name.jsonl code=0
  rm -f "$rows"
  set +e  # in the pipe it holds on: what follows is said after a failure as well
  (set -e; "$@") | tee "out/bench-$name.txt"
  code=$?
  set -e
  if [ -f "$rows" ]; then cat "$rows"; fi
  if [ "$code" = 0 ] && [ "$options" = 0 ]; then tools/performance_page.py "$name"; fi
  return "$code"
}

case $name in
  plan) measure "$muster" bench plan --no-growth --rows out/bench-plan.jsonl "$@" ;;
  growth | server | kube | appwrapper)
    measure "$muster" bench "$name" --rows "out/bench-$name.jsonl" "$@" ;;
  fgd) measure fgd "$@" ;;
  page) tools/performance_page.py all ;;
  *)
    echo "run_bench: no benchmark $name; there are plan, growth, server, kube, appwrapper, fgd" >&2
    exit 1
    ;;
esac
