# Brume's commands. `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Warnings are errors, and so is an import that goes against the arrows of Package.swift, in the one debug build that checks, tests and
# daily work share.
DEBUG_FLAGS := -Xswiftc -warnings-as-errors --explicit-target-dependency-import-check error
SWIFT_FILES := Sources Tests Fuzz Examples Package.swift

TEST_TARGETS := $(notdir $(wildcard Tests/*Tests))

.PHONY: help packages build release deb image demo certs test sim race peers fuzz check lint format generate compatibility documentation clean

help: ## This list
	@echo "Brume: a cloud you run yourself."
	@echo
	@grep -E '^[a-z]+:.*## ' Makefile | sed -E 's/^([a-z]+):.*## (.*)$$/  make \1|\2/' | column -t -s '|' 2>/dev/null \
		|| grep -E '^[a-z]+:.*## ' Makefile

packages: ## Install the Debian packages that are missing (root or sudo)
	@Scripts/install-packages.sh

demo: packages release certs ## A server and a tour of it, in one command
	@"$$(swift build -c release --show-bin-path)/brume" demo

certs: release ## Make a certificate authority and a server certificate in certs/, once
	@if [ ! -e certs/server.pem ]; then "$$(swift build -c release --show-bin-path)/brume" certs; fi

build: packages ## Debug build of everything, tests included, warnings as errors
	@swift build --build-tests $(DEBUG_FLAGS)

release: packages ## Optimised build of the brume executable
	@swift build -c release --product brume

deb: ## Debian packages of the server and of the SDK in .build/packages
	@Scripts/install-packages.sh --packaging
	@Scripts/build-packages.sh

image: ## An image of the server in .build/packages, of what make deb has made (root)
	@Scripts/build-image.sh

# So many tests at once: with all of them, those that wait for a server would wait for the ones that only compute, and meet their
# time limits.
test: export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 12

# Of a crash the thread that crashed: reports of all threads and images push the cause out of what a log's reader sees.
test: export SWIFT_BACKTRACE ?= threads=crashed,registers=none,images=none

test: build ## All tests
	@# A process for each target: tests that measure memory have fewer neighbours.
	@for target in $(TEST_TARGETS); do \
		swift test --skip-build --disable-xctest $(DEBUG_FLAGS) --filter "^$$target\\." || exit 1; done
	@# The example for XCTest is the one test that XCTest runs.
	@swift test --skip-build --disable-swift-testing $(DEBUG_FLAGS) --filter BrumeTestingTests

fuzz: packages ## Fuzz what bytes from outside reach, MINUTES (10) for each target
	@Scripts/fuzz.sh $$(( $(or $(MINUTES),10) * 60 ))

SEEDS ?= 1000
FIRST ?= 0
THREADS ?= $(shell nproc)

sim: packages ## The simulator: SEEDS=N runs (1000), from seed FIRST=N (0), THREADS=N at a time (one for each core)
	@swift build -c release --product brume-sim
	@"$$(swift build -c release --show-bin-path)/brume-sim" $(SEEDS) $(FIRST) $(THREADS)

RACE_TARGETS := BrumeServerTests BrumeKitTests BrumeTestingTests
# Everything is built once more, in a folder of its own: with the sanitizer, and with locks that it sees (Sources/BrumeLock).
RACE_FLAGS := --sanitize=thread --scratch-path .build/race -Xswiftc -DBRUME_PTHREAD_LOCKS
comma := ,
empty :=

race: export BRUME_TESTS = $(subst $(empty) $(empty),$(comma),$(RACE_TARGETS))
race: export TSAN_OPTIONS ?= suppressions=$(CURDIR)/Scripts/race-suppressions.txt history_size=4 exitcode=66
race: export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 4
race: packages ## The server's, SDK's and test kit's tests under the thread sanitizer: FILTER=SomeTests for some
	@swift build --build-tests $(RACE_FLAGS)
	@for target in $(RACE_TARGETS); do \
		swift test --skip-build --disable-xctest $(RACE_FLAGS) --filter "^$$target\.$(FILTER)" || exit 1; done

peers: release ## Brume beside Redis, PostgreSQL and others (root, an hour): MEASURES="commit fetch" for some
	@Benchmarks/peers/all.sh $(MEASURES)

check: lint build ## What must hold before a commit, apart from the tests
	@Scripts/generate-proto.sh --check
	@Scripts/check-house.sh
	@Scripts/check-readme.sh
	@Scripts/check-compatibility.sh
	@Scripts/documentation.sh

lint:
	@swift format lint --strict --parallel --recursive $(SWIFT_FILES)

format: ## Format the Swift code in place
	@swift format --in-place --parallel --recursive $(SWIFT_FILES)

generate: packages ## Generate Sources/CBrumeProto from proto/
	@Scripts/generate-proto.sh

compatibility: build ## Write the documentation's pages of what of CloudKit is here, and what differs
	@Scripts/check-compatibility.sh --write

documentation: build ## The SDK's documentation as static pages in .build/documentation
	@Scripts/documentation.sh

clean: ## Remove what was built; certs/ stays
	@rm -rf .build
