# CliGate. `make help` lists what there is.

SHELL   := /bin/bash
GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
TAGS    := sqlite_omit_load_extension
LDFLAGS := -s -w -X main.version=$(VERSION)
BIN     := bin/cligate
TOOLS   := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/cligate-tools
LINT    := $(TOOLS)/golangci-lint-v2.15.0
VULN    := $(TOOLS)/govulncheck-v1.1.4
export CGO_ENABLED := 1
# SQLite: sync data without the times of a file, and keep a query's plan
# whatever values it is asked with (else it plans most of ours anew each time).
export CGO_CFLAGS := -g -O2 -DHAVE_FDATASYNC=1 -DSQLITE_ENABLE_QPSG

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

.PHONY: run
run: build ## build and start the daemon; needs no configuration
	@exec $(BIN) serve

.PHONY: build
build: ## build bin/cligate
	@mkdir -p bin
	$(GO) build -trimpath -tags $(TAGS) -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/cligate

.PHONY: test
test: ## all tests that need only Go, gcc, make and git
	$(GO) test -race -tags $(TAGS) -timeout 15m ./...

# What the agents show is written down by these, and the page is made from it.
UPDATED = $(if $(UPDATE),./internal/sim/agents ./internal/sim/agents/cleanup -update)

.PHONY: test-agents
test-agents: ## the real agent CLIs against a model server of our own; AGENTS=all for those that CI leaves out, UPDATE=1 writes down what they show
	AGENTS='$(AGENTS)' .ci/install-agents
	LAB_AGENTS="$$(AGENTS='$(AGENTS)' .ci/install-agents --names)" \
		$(GO) test -p 1 -tags '$(TAGS) agents' -count=1 -timeout 60m $(or $(UPDATED),./internal/sim/agents/...)
	$(if $(UPDATE),$(GO) test -tags $(TAGS) -count=1 -run 'Table|Runs' ./internal/sim/agents -update)

DRIVERS ?= claude codex opencode pi acp

.PHONY: record
record: ## record the transcripts of the real agents anew, and the golden files from them; DRIVERS="claude acp" for some
	AGENTS=all .ci/install-agents
	set -e; for d in $(DRIVERS); do \
		PATH="$$(.ci/install-agents --path all):$$PATH" $(GO) test -tags '$(TAGS) agents' -count=1 -timeout 30m -run 'TestRecord$$' ./internal/worker/$$d -record; \
		$(GO) test -tags $(TAGS) -count=1 -run 'Transcripts|Recorded' ./internal/worker/$$d -update; \
	done

.PHONY: test-browser
test-browser: ## the web chat in headless Chromium (needs .ci/install-browser)
	.ci/install-browser
	$(GO) test -tags '$(TAGS) browser' -count=1 -timeout 10m ./internal/web/...

.PHONY: test-image
test-image: build ## replay the image's steps and run it without a container engine (root, Debian)
	$(GO) test -tags '$(TAGS) image' -count=1 -timeout 10m ./internal/sim/image

.PHONY: check
check: fmt-check vet lint vuln test ## everything that must be green before a change lands

.PHONY: fmt
fmt: ## format the code
	gofmt -w cmd internal configs migrations

.PHONY: fmt-check
fmt-check:
	@out=$$(gofmt -l cmd internal configs migrations); [ -z "$$out" ] || { echo "gofmt differs:"; echo "$$out"; exit 1; }

.PHONY: vet
vet:
	$(GO) vet -tags '$(TAGS) agents browser image' ./...
	$(GO) vet -tags '$(TAGS) faults' ./...

.PHONY: lint
lint: $(LINT) ## golangci-lint, over every build
	$(LINT) run --build-tags '$(TAGS),agents,browser,image'
	$(LINT) run --build-tags '$(TAGS),faults'

$(LINT):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
	mv $(TOOLS)/golangci-lint $@

.PHONY: vuln
vuln: $(VULN) ## known vulnerabilities, where the database can be reached
	.ci/vulncheck $(VULN)

$(VULN):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS) $(GO) install golang.org/x/vuln/cmd/govulncheck@v1.1.4
	mv $(TOOLS)/govulncheck $@

.PHONY: chaos
chaos: ## every fault point three times and 2,000 random kills
	CLIGATE_CHAOS=full $(GO) test -tags $(TAGS) -count=1 -timeout 6h -v -run 'Chaos|Fault' ./internal/sim/...

.PHONY: bench
bench: ## our costs as multiples of a measuring rod, in one run
	$(GO) run -tags $(TAGS) ./internal/sim/bench

.PHONY: image
image: ## the container image (needs a container engine); AGENTS="claude codex" adds agents
	docker build --build-arg AGENTS="$(or $(AGENTS),claude)" --build-arg VERSION=$(VERSION) -t cligate:$(VERSION) .

.PHONY: clean
clean: ## remove what was built
	rm -rf bin
