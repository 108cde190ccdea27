# Treadle: what a developer types. `make` alone lists it.

GO       ?= go
BIN      := bin
TOOLS    := $(BIN)/tools
# Where `make run` listens and keeps its data.
LISTEN   ?= 127.0.0.1:32308
DATA     ?= .data
# The request that `make run` starts.
DEMO     ?= hello

# One version for everybody, so that a finding is the same finding everywhere.
GOLANGCI_VERSION := 2.15.0
NFPM_VERSION     := 2.48.0

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/treadle and bin/treadle-torture.
	CGO_ENABLED=0 $(GO) build -o $(BIN)/ ./cmd/treadle ./cmd/treadle-torture

.PHONY: treadle
treadle:
	CGO_ENABLED=0 $(GO) build -o $(BIN)/ ./cmd/treadle

.PHONY: run
run: treadle ## Run RM, JR and SQLite in one process, with the sample requests; Ctrl-C ends it.
	@exec $(BIN)/treadle dev --listen $(LISTEN) --data $(DATA) --specs specs --demo $(DEMO)

# The programs that tests run, built once for all packages; test/programs finds them.
TEST_BIN := $(CURDIR)/$(BIN)/test
TEST_ENV := TREADLE_TEST_BIN=$(TEST_BIN)

.PHONY: test-programs
test-programs:
	CGO_ENABLED=0 $(GO) build -o $(TEST_BIN)/ ./cmd/treadle ./docs/example ./test/e2e/panicky

.PHONY: test-programs-race
test-programs-race:
	CGO_ENABLED=1 $(GO) build -race -o $(TEST_BIN)/treadle-torture-race ./cmd/treadle-torture

.PHONY: test
test: need need-browser lint vet test-programs test-programs-race ## Run everything: linters, tests with -race, SQLite and MariaDB.
	$(TEST_ENV) TREADLE_TEST_MARIADB=on TREADLE_TEST_BROWSER=on TREADLE_TEST_SLACK=3 $(GO) test -race -timeout 12m ./...

.PHONY: test-short
test-short: test-programs ## Run the tests that need no database server, without -race.
	$(TEST_ENV) TREADLE_TEST_MARIADB=off $(GO) test -short -timeout 5m ./...

.PHONY: test-mysql
test-mysql: ## Run the store suite and the end-to-end tests on MySQL (needs root on Debian, or TREADLE_TEST_MYSQL_DSN).
	TREADLE_TEST_MARIADB=off TREADLE_TEST_SLACK=3 scripts/mysql.sh $(GO) test -timeout 20m -run '/(mysql|MySQL)$$' ./internal/database ./request-manager/store ./schedule/store ./test/e2e

.PHONY: test-galera
test-galera: need ## Run the store suite on a Galera cluster of three nodes.
	@scripts/need.sh rsync rsync
	TREADLE_TEST_MARIADB=off TREADLE_TEST_GALERA=on $(GO) test -p 1 -timeout 20m ./test/galera ./internal/database ./request-manager/store ./schedule/store

.PHONY: lint
lint: ## Run the linters.
	@scripts/golangci-lint.sh $(GOLANGCI_VERSION) $(TOOLS) run ./...

.PHONY: vet
vet:
	$(GO) vet ./...

# How long `make torture` goes on, the seed of its faults, and on what database.
TORTURE_FOR  ?= 10m
TORTURE_SEED ?= 1
TORTURE_DB   ?= mariadb

.PHONY: torture
torture: need build ## Kill, freeze and cut off everything under load, and check that nothing is lost or runs twice.
	$(BIN)/treadle-torture requests --for $(TORTURE_FOR) --seed $(TORTURE_SEED) --db $(TORTURE_DB)

.PHONY: torture-galera
torture-galera: need build ## The same on a Galera cluster of three nodes.
	@scripts/need.sh rsync rsync
	$(BIN)/treadle-torture requests --for $(TORTURE_FOR) --seed $(TORTURE_SEED) --db galera

.PHONY: torture-schedule
torture-schedule: need build ## The same for recurring work: members of the schedule engine are killed and frozen, and their database (TORTURE_DB=galera for a cluster).
	$(BIN)/treadle-torture schedule --for $(TORTURE_FOR) --seed $(TORTURE_SEED) --db $(TORTURE_DB)

.PHONY: bench
bench: need ## Run the Go benchmarks and the load tests.
	$(GO) test -run '^$$' -bench . -benchmem ./...
	$(GO) run ./test/load

NFPM = $$(scripts/tool.sh github.com/goreleaser/nfpm/v2/cmd/nfpm $(NFPM_VERSION) $(TOOLS))

.PHONY: release
release: ## Build archives, deb and rpm packages and checksums of this commit into dist/.
	@nfpm=$(NFPM) && scripts/release.sh "$$nfpm" dist
	@cat dist/SHA256SUMS

.PHONY: release-check
release-check: ## Build the release twice, in different circumstances: the checksums must be the same.
	@nfpm=$(NFPM) && scripts/release-check.sh "$$nfpm" dist

.PHONY: need
need:
	@scripts/need.sh mariadbd mariadb-server
	@scripts/need.sh mariadb-install-db mariadb-server
	@scripts/need.sh gcc gcc libc6-dev

.PHONY: need-browser
need-browser:
	@scripts/need.sh chromium chromium

.PHONY: clean
clean: ## Remove what was built; data of `make run` stays.
	rm -rf $(BIN) dist
