# A thin front for scripts/setup.sh, meson and tests/run.py.

BUILD ?= build
BUILD_ASAN ?= build-asan
BUILD_TSAN ?= build-tsan
BUILD_MUTANTS ?= build-mutants
PREFIX ?= /usr/local
DESTDIR ?=
# The system's own Python where there is one: the packages that the tests need are installed for that.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
RUN_TESTS = $(PYTHON) tests/run.py --build $(BUILD)

.PHONY: build demo test test-unit test-sandbox test-asan soak bench lint format install clean
.PHONY: build-all build-all-asan build-tsan test-tsan test-faults mutants

build:
	@scripts/setup.sh build
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --buildtype=release
	@ninja -C $(BUILD) sandgate

# With the unit tests.
build-all:
	@scripts/setup.sh test
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --buildtype=release
	@ninja -C $(BUILD)

build-all-asan:
	@scripts/setup.sh test
	@test -f $(BUILD_ASAN)/build.ninja || meson setup $(BUILD_ASAN) \
		-Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false
	@ninja -C $(BUILD_ASAN)

build-tsan:
	@scripts/setup.sh test
	@test -f $(BUILD_TSAN)/build.ninja || meson setup $(BUILD_TSAN) \
		-Dbuildtype=debugoptimized -Db_sanitize=thread -Db_lundef=false
	@ninja -C $(BUILD_TSAN) sandgate tests/broken/sandgate-broken

demo: build
	SANDGATE=$(abspath $(BUILD)/sandgate) scripts/demo.sh

test: build-all
	$(RUN_TESTS) unit sandbox

test-unit: build-all
	$(RUN_TESTS) unit

test-sandbox: build-all
	$(RUN_TESTS) sandbox

# The program with AddressSanitizer and UBSan, then with ThreadSanitizer: gate, cell, threads of the worker and all.
test-asan: build-all-asan test-tsan
	$(PYTHON) tests/run.py --build $(BUILD_ASAN) sanitized

test-tsan: build-tsan
	$(PYTHON) tests/run.py --build $(BUILD_TSAN) sanitized

# System calls that fail, each kind with each error at several moments.
test-faults: build-all
	$(RUN_TESTS) sandbox -k faults --soak

# Each security decision of tests/mutants/table.txt made weaker: a test has to fail.
mutants:
	@scripts/setup.sh test
	$(PYTHON) tests/mutants/run.py --work $(BUILD_MUTANTS)

soak: build-all test-asan
	scripts/setup.sh fuzz
	$(RUN_TESTS) unit sandbox --soak
	SANDGATE=$(abspath $(BUILD)/sandgate) $(PYTHON) bench/commands.py --soak 100000
	scripts/fuzz.sh --seconds 600

bench: build
	@scripts/setup.sh bench
	SANDGATE=$(abspath $(BUILD)/sandgate) bench/peers.sh
	SANDGATE=$(abspath $(BUILD)/sandgate) $(PYTHON) bench/files.py
	SANDGATE=$(abspath $(BUILD)/sandgate) $(PYTHON) bench/mcp.py
	SANDGATE=$(abspath $(BUILD)/sandgate) $(PYTHON) bench/tokens.py
	SANDGATE=$(abspath $(BUILD)/sandgate) $(PYTHON) bench/search.py
	SANDGATE=$(abspath $(BUILD)/sandgate) $(PYTHON) bench/search.py --choices
	SANDGATE=$(abspath $(BUILD)/sandgate) $(PYTHON) bench/commands.py
	SANDGATE=$(abspath $(BUILD)/sandgate) $(PYTHON) bench/guards.py
	SANDGATE=$(abspath $(BUILD)/sandgate) $(PYTHON) bench/policy.py
	SANDGATE=$(abspath $(BUILD)/sandgate) $(PYTHON) bench/start.py
	SANDGATE=$(abspath $(BUILD)/sandgate) $(PYTHON) bench/workspaces.py
	SANDGATE=$(abspath $(BUILD)/sandgate) $(PYTHON) bench/wasm.py

lint:
	@scripts/setup.sh test lint
	PYTHON=$(PYTHON) scripts/lint.sh

format:
	@scripts/setup.sh lint
	scripts/lint.sh --format

install: build
	@! $(BUILD)/sandgate --version | grep 'for tests only' || { echo "install: this build is refused" >&2; exit 1; }
	meson configure $(BUILD) -Dprefix=$(abspath $(PREFIX))
	DESTDIR=$(DESTDIR) meson install -C $(BUILD)

clean:
	rm -rf $(BUILD) $(BUILD_ASAN) $(BUILD_TSAN) $(BUILD_MUTANTS) build-lint-gcc build-lint-clang build-fuzz
