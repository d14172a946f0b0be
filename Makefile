# The front door of tackle. CMake and ctest do the work behind it; tools/setup installs what is
# missing. `make help` lists what there is.

BUILD   ?= build
PREFIX  ?= /usr/local
SERVER  ?= redis-server
SECONDS ?= 30
JOBS    ?= $(shell nproc 2>/dev/null || echo 2)
AT_ONCE ?= $(shell expr 2 \* $(JOBS)) # tests: they mostly wait
WERROR  ?= OFF
CMAKE   ?= cmake
CTEST   ?= ctest

configure = $(CMAKE) -S . -B $(1) -DTACKLE_WERROR=$(WERROR) $(2) >/dev/null
with_tests = -DTACKLE_TESTS=ON
compile   = $(CMAKE) --build $(1) --parallel $(JOBS) $(2)
run_tests = TACKLE_TEST_SERVER=$(SERVER) $(CTEST) --test-dir $(1) --parallel $(AT_ONCE) \
            --output-on-failure $(2) $(ARGS)

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := all
.PHONY: all help demo test bench bench-peers check format install uninstall deb wheel asan tsan fuzz clean

all: ## build the library and the command
	@tools/setup build
	@$(call configure,$(BUILD))
	@$(call compile,$(BUILD))

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  SERVER=valkey-server (test, asan, tsan)   SECONDS=30 (fuzz, for each target)"
	@echo "  ARGS='-R lock' (test, asan, tsan: for ctest)   ARGS=--quick (bench; --help lists them)"
	@echo "  PREFIX=/usr/local DESTDIR= (install, uninstall)   BUILD=build JOBS=$(JOBS)"
	@echo "  WERROR=ON: warnings are errors"

demo: ## build and take the guided tour on a private server; it ends with a dashboard
	@tools/setup build run
	@$(call configure,$(BUILD))
	@$(call compile,$(BUILD),--target tackle_cli tackle_serve)
	@$(BUILD)/tackle demo

test: ## build and run every test
	@tools/setup build run test
	@$(call configure,$(BUILD),$(with_tests))
	@$(call compile,$(BUILD))
	@$(call run_tests,$(BUILD))

bench: ## measure, as ratios to bare hiredis, in one run; also into build/bench.json
	@tools/setup build run test
	@$(call configure,$(BUILD),$(with_tests))
	@$(call compile,$(BUILD),--target tackle_bench)
	@$(BUILD)/tackle_bench --json $(BUILD)/bench.json $(ARGS)

bench-peers: ## the same with the other libraries, which it installs
	@tools/setup peers
	@$(MAKE) --no-print-directory bench ARGS="--peers $(ARGS)"

asan: ## every test under AddressSanitizer and UBSan
	@tools/setup build run test
	@$(call configure,$(BUILD)-asan,$(with_tests) -DTACKLE_SANITIZE=address$(comma)undefined)
	@$(call compile,$(BUILD)-asan)
	@$(call run_tests,$(BUILD)-asan)

tsan: ## the tests with threads under ThreadSanitizer
	@tools/setup build run test
	@$(call configure,$(BUILD)-tsan,$(with_tests) -DTACKLE_SANITIZE=thread)
	@$(call compile,$(BUILD)-tsan)
	@$(call run_tests,$(BUILD)-tsan,-L threads)

fuzz: ## feed random bytes to the parsers, SECONDS for each
	@tools/setup build run test
	@CC=clang $(call configure,$(BUILD)-fuzz,-DTACKLE_FUZZ=ON)
	@$(call compile,$(BUILD)-fuzz,--target fuzzers)
	@tools/fuzz $(BUILD)-fuzz $(SECONDS)

check: ## layout, static checks and script headers
	@tools/setup build
	@$(call configure,$(BUILD))
	@$(call compile,$(BUILD),--target tackle_objects)
	@tools/check

format: ## lay out every C file as .clang-format says
	@git ls-files '*.c' '*.h' | xargs clang-format -i

install: ## install below $(DESTDIR)$(PREFIX)
	@tools/setup build
	@$(call configure,$(BUILD),-DCMAKE_INSTALL_PREFIX=$(PREFIX))
	@$(call compile,$(BUILD),--target tackle tackle_static tackle_text tackle_cli manual)
	@DESTDIR=$(DESTDIR) $(CMAKE) --install $(BUILD)
	@DESTDIR=$(DESTDIR) tools/linkable $(BUILD)

uninstall: ## remove what install put there
	@DESTDIR=$(DESTDIR) tools/uninstall $(BUILD)

deb: ## Debian packages: tackle, libtackle, libtackle-dev, python3-tackle, in $(BUILD)-deb
	@tools/setup build deb
	@$(call configure,$(BUILD)-deb,-DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_BUILD_TYPE=Release)
	@$(call compile,$(BUILD)-deb)
	@cd $(BUILD)-deb && cpack -G DEB >cpack.log || { cat cpack.log; false; }
	@ls $(BUILD)-deb/*.deb

wheel: ## the Python package as a wheel, in $(BUILD)
	@tools/setup build
	@$(call configure,$(BUILD))
	@$(call compile,$(BUILD),--target tackle tackle_text python)
	@ls $(BUILD)/*.whl

clean: ## remove everything that was built
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz $(BUILD)-deb

comma := ,
