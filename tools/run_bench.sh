#!/usr/bin/env bash
# Runs a benchmark with the release binary. The table is printed and kept in out/bench-NAME.txt, its
# rows follow it, one JSON line each (measure, value, limit, ratio, reach, ok), and are kept in
# out/bench-NAME.jsonl.
#   run_bench.sh plan|growth|server|kube|appwrapper [options of `muster bench`]
#   run_bench.sh fgd [seeds, 42..51 unless given]     the traces in ../shared/traces/openb
#   run_bench.sh page                                 docs/performance.md from what was kept
set -euo pipefail
cd "$(dirname "$0")/.."
muster=build/release/muster
traces=../shared/traces/openb
lists=(default cpu050 cpu200 gpushare40 gpushare100 gpuspec10 multigpu20 multigpu50)

machine() {
  awk -F ': ' '/^model name/{print $2; exit}' /proc/cpuinfo
}

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

page() {
  echo '# What Muster reaches'
  echo
  echo "Made by \`make bench\` on: $(machine)."
  echo 'Times of the engine are processor time of the one thread that plans; the raw limits of the'
  echo 'machine stand below the first table, to compare with another one. The server is measured'
  echo 'from outside, its clients on the same machine; `limit here` is measured in the same run.'
  echo 'On Kubernetes the control planes run on the same cores as server and clients; limit and'
  echo 'server take turns, each on fresh control planes, and `ratio` is the median of the turns.'
  local name
  for name in plan growth fgd server kube appwrapper; do
    if [ -f "out/bench-$name.txt" ]; then
      printf '\n## make bench-%s\n\n```\n' "$name"
      sed "s/ *$//" "out/bench-$name.txt"
      echo '```'
    fi
  done
}

name=${1:?usage: run_bench.sh plan|growth|server|kube|appwrapper|fgd|page [options]}
shift
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
  return "$code"
}

case $name in
  plan) measure "$muster" bench plan --no-growth --rows out/bench-plan.jsonl "$@" ;;
  growth | server | kube | appwrapper)
    measure "$muster" bench "$name" --rows "out/bench-$name.jsonl" "$@" ;;
  fgd) measure fgd "$@" ;;
  page) page > docs/performance.md ;;
  *)
    echo "run_bench: no benchmark $name; there are plan, growth, server, kube, appwrapper, fgd" >&2
    exit 1
    ;;
esac
