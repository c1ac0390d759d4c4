# make help lists what there is.
.DEFAULT_GOAL := help
.NOTPARALLEL:
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# -buildvcs=false: the version is given here, and a checkout owned by another user still builds.
GOBUILD   := CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags '-s -w -X main.version=$(VERSION)'
PLATFORMS := linux/amd64 linux/arm64 darwin/arm64 windows/amd64
FUZZTIME  ?= 20s

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: run
run: build ## build, and serve in the foreground; RUQI_DATA_DIR says where the data is
	bin/ruqi serve

.PHONY: build
build: ## build bin/ruqi, one static binary
	$(GOBUILD) -o bin/ruqi ./cmd/ruqi

.PHONY: test
test: ## everything that must hold before a change is merged
	@scripts/test

.PHONY: test-chaos
test-chaos: ## the crash tests, longer than make test runs them
	scripts/strace
	scripts/postgres
	RUQI_CHAOS=long go test $$(scripts/race) -count=1 -timeout 60m -v ./internal/crash </dev/null

.PHONY: test-tz
test-tz: ## triggers at every clock change of every zone, 1970 to 2100, beside a walk over real time
	RUQI_SWEEP=whole go test -count=1 -timeout 120m -v -run '^(TestTheZonesAreThoseOfGo|TestEveryClockChange|TestTheWholeLifeOfEveryZone)$$' ./trigger </dev/null

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (20s)
	@scripts/fuzz $(FUZZTIME)

.PHONY: bench
bench: ## measure, beside other schedulers, and write bench/RESULTS.md
	cd bench && go run .

.PHONY: fmt
fmt: ## format the Go source
	gofmt -w $$(git ls-files -co --exclude-standard '*.go')

.PHONY: check-fmt
check-fmt:
	@bad=$$(git ls-files -co --exclude-standard '*.go' | xargs -r ls -d 2>/dev/null | xargs -r gofmt -l); \
	if [ -n "$$bad" ]; then printf 'not formatted (run make fmt):\n%s\n' "$$bad" >&2; exit 1; fi

.PHONY: vet
vet: ## go vet
	go vet ./...

.PHONY: lint
lint: bin/tools/staticcheck ## staticcheck
	bin/tools/staticcheck ./...

.PHONY: check-bench
check-bench: bin/tools/staticcheck
	cd bench && go vet ./... && go build -buildvcs=false -o /dev/null ./... && ../bin/tools/staticcheck ./...

# To know that it compiles, SQLite need not be optimized, which is half of the time. For this machine it is built as it is used.
.PHONY: cross
cross: ## build for every platform we care for
	@here=$$(go env GOHOSTOS)/$$(go env GOHOSTARCH); \
	for platform in $(PLATFORMS); do \
	  echo "build for $$platform"; \
	  how=; if [ "$$platform" != "$$here" ]; then how='-gcflags=modernc.org/sqlite/lib=-N -l'; fi; \
	  CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} go build -buildvcs=false $${how:+"$$how"} ./... || exit 1; \
	done

.PHONY: tools
tools: bin/tools/staticcheck bin/tools/testcount

# The tools are built by Go itself, at the versions of scripts/tools/go.mod.
bin/tools/staticcheck: scripts/tools/go.mod scripts/tools/go.sum
	go -C scripts/tools build -buildvcs=false -o ../../$@ honnef.co/go/tools/cmd/staticcheck

bin/tools/testcount: $(wildcard internal/check/testcount/*.go)
	go build -buildvcs=false -o $@ ./internal/check/testcount

.PHONY: clean
clean: ## remove what was built; data stays
	rm -rf bin
