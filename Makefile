# Everything a developer does, by name. The commands of the test tiers stand in tools/test_tiers.py.

JOBS ?= $(shell nproc)
SEED ?= 1
MUSTER := build/release/muster
TIERS := tools/test_tiers.py --jobs $(JOBS)
BENCHES := plan fgd growth server kube appwrapper
SOURCES = $(shell git ls-files --cached --others --exclude-standard -- '*.cc' '*.h')

.DEFAULT_GOAL := help
.PHONY: help setup run demo build dev test unit scenarios rewrite mutate properties sim server e2e e2e-versions cluster \
        cluster-stop mcad-defects fuzz soak \
        bench bench-plan bench-fgd bench-growth bench-server bench-kube bench-appwrapper lint format docs-check clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup:  ## install what is missing (Debian 12, apt)
	@tools/setup.sh

build:  ## build/release/muster, as users run it
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release -j $(JOBS) --target muster

dev:  ## build/dev: quick to build, easy to debug
	@cmake --preset dev --log-level=WARNING
	@cmake --build --preset dev -j $(JOBS)

run: setup build  ## start a server: this machine and two simulated clusters, data in ./data
	@$(MUSTER) serve --demo

demo: build  ## a generated fleet in the simulator
	$(MUSTER) sim run --generate demo

test: setup  ## everything CI runs: all tiers, with a table of times at the end
	@$(TIERS)

unit:  ## unit tests (ASan)
	@$(TIERS) unit

scenarios:  ## scenario files, tests/scenarios (ASan)
	@$(TIERS) scenarios

rewrite: build  ## record the scenarios' output again; the diff is the review
	$(MUSTER) scenario rewrite tests/scenarios
	@git --no-pager diff --stat -- tests/scenarios

mutate:  ## switch each scheduling rule off in turn; a scenario must notice
	@$(TIERS) mutate

properties:  ## random histories against the invariants (ASan)
	@$(TIERS) properties

sim: build  ## one simulated history with faults, SEED=1 unless given
	$(MUSTER) sim run --faults --seed $(SEED)

server:  ## the real server over HTTP: kill -9 on both stores, full disk, full inbox (ASan)
	@$(TIERS) server

e2e:  ## real Kubernetes control planes and a real node; builds their binaries once, into a cache (Go, minutes)
	@tests/e2e/binaries.py --with kubelet kubectl kuberay-operator helm
	-@tests/compat/venvs.py
	-@tests/e2e/ray_image.py
	@$(TIERS) e2e

e2e-versions:  ## an older and the newest Kubernetes, built once into a cache (Go, half an hour); a part of soak
	@for version in oldest newest; do tests/e2e/binaries.py --kubernetes $$version --with kubectl || exit; done
	@cmake --preset asan --log-level=WARNING
	@cmake --build --preset asan -j $(JOBS) --target muster kube_real_test
	@ctest --preset asan -L '^soak$$' -R e2e_kubernetes --no-tests=error --verbose

cluster: build  ## leave two Kubernetes clusters, a real node and a Muster server running to play with
	@tests/e2e/binaries.py --with kubelet kubectl > /dev/null
	@tests/e2e/playground.py start $(MUSTER)

cluster-stop:  ## end what `make cluster` started
	@tests/e2e/playground.py stop

mcad-defects:  ## what MCAD 1.40 itself does where our tests are: docs/mcad-defects.md, by hand (builds it; minutes)
	@tests/e2e/mcad_defects.py

fuzz:  ## the parsers, a short run (ASan, libFuzzer)
	@$(TIERS) fuzz

soak:  ## the long tests, half an hour (ASan); tools/soak.sh has the sizes
	@cmake --preset asan --log-level=WARNING
	@cmake --build --preset asan -j $(JOBS)
	-@for version in oldest newest; do tests/e2e/binaries.py --kubernetes $$version --with kubectl; done
	@ctest --preset asan -L '^soak$$' -j $(JOBS) --no-tests=error --verbose

bench: $(BENCHES:%=bench-%)  ## all benchmarks; each alone writes its section of docs/performance.md
	@tools/run_bench.sh page

bench-plan: build  ## filling a fleet, single events, memory, saying no
	@tools/run_bench.sh plan

bench-fgd: build  ## placement quality on the published traces, 10 seeds
	@tools/run_bench.sh fgd

bench-growth: build  ## how the time of an event grows with the fleet
	@tools/run_bench.sh growth

bench-server: build  ## a real server: submits, starts, restart, pages, event streams
	@tools/run_bench.sh server

bench-kube: build  ## on real Kubernetes control planes: gangs, starts, a large cluster, idle (half an hour)
	@tests/e2e/binaries.py > /dev/null
	@tools/run_bench.sh kube

bench-appwrapper: build  ## AppWrappers on a real control plane: dispatch, writes, behind others, 100,000 of them
	@tests/e2e/binaries.py > /dev/null
	@tools/run_bench.sh appwrapper

lint:  ## layers, documents, formatting, clang-tidy
	@tools/check_layers.py
	@tools/check_docs.py
	@clang-format-19 --dry-run --Werror $(SOURCES)
	@cmake --preset lint --log-level=WARNING
	@run-clang-tidy-19 -quiet -j $(JOBS) -p build/lint '/(src|apps|tests|tools)/.*\.cc$$'

format:  ## clang-format over all sources
	@clang-format-19 -i $(SOURCES)

docs-check:  ## do the documents speak of what exists
	@tools/check_docs.py

clean:  ## remove build/ and out/
	rm -rf build out
