# SPDX-License-Identifier: MIT
# The build of clineprof. `make help` lists the targets. Two facts explain this file:
#   - While make reads it, the first lines ask the interpreter (tools/config.py) and the machine
#     (tools/setup.sh). Their answers are makefiles, which are included before anything compiles.
#   - Files that include Python.h are built for each interpreter, in $(OUT)/<SOABI>; the core is built once.

# All processors are used, unless -j says how many. Several goals run one after the other, as in `make clean all`.
ifeq ($(filter -j%,$(MAKEFLAGS))$(filter-out 0,$(MAKELEVEL))$(word 2,$(MAKECMDGOALS)),)
MAKEFLAGS += -j$(or $(shell nproc 2>/dev/null),1)
endif
START := $(shell date +%s)

CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
SANITIZER ?=
VALGRIND ?=
V ?=
OUT := build$(if $(SANITIZER),/$(SANITIZER))$(if $(VALGRIND),/valgrind)
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' $(1) $(2))

# ---- the interpreter and the machine ---------------------------------------------------------
CANDIDATES := $(if $(PYTHON),"$(PYTHON)",python3 /usr/bin/python3 python3.15 python3.14 python3.13 python3.12 \
                python3.11 python3.10)
GOALS := $(or $(MAKECMDGOALS),all)
# Targets that run all tests, targets that need an environment with packages for the Python tests, and targets that need
# Criterion.
FULL := full slowest
WITH_VENV := check $(FULL) quick test soak stdlib-check package-check fuzz-rewrite truth stress leak-repeats screenshots
TESTING := $(WITH_VENV) engines unit valgrind conformance bench
ifneq ($(filter-out help clean layers print-sources check-all uninstall wheels,$(GOALS)),)
CONFIG := $(shell for p in $(CANDIDATES); do "$$p" tools/config.py $(OUT) && break; done \
            $(if $(PYTHON),,2>/dev/null))
ifeq ($(CONFIG),)
$(error no usable interpreter among: $(CANDIDATES). clineprof needs CPython 3.10 or newer; name one with PYTHON=)
endif
include $(CONFIG)
PER := $(OUT)/$(SOABI)
endif

# ---- what the machine lacks -------------------------------------------------------------------
VENV := build/venv/$(SOABI)-$(PYTHON_VERSION)
TEST_NEEDS := pytest pytest-xdist~=3.8 msgpack
TEST_WISHES := numpy coverage cloudpickle rich pyte jinja2 pygments line_profiler memory_profiler
TEST_WISHES += ipython ipykernel nbclient
TEST_WISHES += pytest-cov pytest-asyncio anyio
TEST_WISHES += joblib gunicorn uvicorn
TEST_WISHES += greenlet gevent uvloop
TEST_WISHES += debugpy
# packages that read code objects
TEST_WISHES += hypothesis dill pony cython setuptools
# packages that read the formats which clineprof writes
TEST_WISHES += pandas jsonschema snakeviz line-profiler-pycharm markdown-it-py
TEST_WISHES += gprof2dot protobuf
TEST_WISHES += pygls
# for `make full`: what is large. torch is left out, because it is too large
FULL_WISHES := selenium axe-core-python jupyterlab nbconvert numba viztracer matplotlib dask distributed mpi4py pyinstaller
# for `make engines`
ENGINE_WISHES := cloudpickle dill dask distributed pandas pyarrow mpi4py ray pyspark joblib celery multiprocess
ENGINE_WISHES += gunicorn uvicorn flask django torch
NODE_WISHES := speedscope@1.25.0 devtools-protocol@0.0.1734725
NODE_WISHES += @firefox-devtools/profiler-cli@0.10.0

# make first prints what pip and npm are about to download; tools/setup.sh says it of apt-get. VENV= names an existing
# environment, which is used as it is.
MAKES_VENV := $(if $(filter command,$(origin VENV)),,yes)
AIRFLOW_VENV := $(if $(MAKES_VENV),build/venv/airflow-$(SOABI)-$(PYTHON_VERSION))
ENGINE_VENV := $(if $(MAKES_VENV),build/venv/engines-$(SOABI)-$(PYTHON_VERSION),$(VENV))
has = $(shell which $(1) 2>/dev/null)
lacks = $(if $(MAKES_VENV),$(if $(wildcard $(1)),,$(2)))
FETCHES := $(if $(filter $(WITH_VENV),$(GOALS)),$(call lacks,$(VENV)/ready,VENV))
ifneq ($(filter $(FULL),$(GOALS)),)
FETCHES += $(call lacks,$(VENV)/ready-full,FULL) $(if $(wildcard build/node/ready),,$(if $(call has,npm),NODE,NO_NODE))
endif
FULLY := $(and $(or $(wildcard $(VENV)/ready-full),$(if $(MAKES_VENV),,yes)),$(call has,chromedriver),$(call has,mpirun),$(call has,gdb))
FETCHES += $(if $(filter check,$(GOALS)),$(if $(FULLY),,NOT_FULL))
FETCHES += $(if $(filter engines,$(GOALS)),$(call lacks,$(ENGINE_VENV)/ready,ENGINES))
SAY_VENV = FETCH packages for the Python tests with pip: about 60 MB, 380 MB in $(VENV)
SAY_FULL = FETCH packages for more Python tests with pip: about 150 MB, 550 MB in $(VENV)
SAY_NOT_FULL = SKIP  tests that need a browser, mpirun, gdb or large packages: make full fetches these, about 400 MB
SAY_NODE = FETCH $(NODE_WISHES) with npm: about 5 MB in build/node
SAY_NO_NODE = SKIP  tests that need $(NODE_WISHES): npm is not installed
SAY_ENGINES = FETCH packages for the tests on engines with pip: about 6 GB in build/venv, most of it torch
$(foreach what,$(FETCHES),$(info $()  $(SAY_$(what))))

ifneq ($(CONFIG),)
LEVEL := $(if $(filter $(TESTING),$(GOALS)),check,build)
SETTINGS := $(PER)/setup-$(LEVEL).mk
ifeq ($(shell find $(SETTINGS) -newer tools/setup.sh -newer $(CONFIG) 2>/dev/null),)
ifeq ($(shell CC='$(CC)' SETUP='$(SETUP)' sh tools/setup.sh $(LEVEL) "$(PYTHON_EXE)" >$(SETTINGS).new && \
        mv $(SETTINGS).new $(SETTINGS) && echo ready),)
$(error this machine is not set up; nothing was built)
endif
# Setup may have installed the library to embed the interpreter with, so the interpreter is asked again.
$(if $(shell "$(PYTHON_EXE)" tools/config.py $(OUT)),)
include $(CONFIG)
endif
include $(SETTINGS)
endif
# Programs that only some tests need: a browser, mpirun, gdb, Java. They come after what a build needs, so that whoever
# refuses that is asked once.
$(foreach level,$(if $(filter $(FULL),$(GOALS)),full) $(filter engines,$(GOALS)),\
  $(if $(shell SETUP='$(SETUP)' sh tools/setup.sh $(level)),))

# ---- sources and flags -----------------------------------------------------------------------
ALL := $(sort $(shell find src kernprof -name '*.c' ! -path 'src/native/*' ! -path '*/ckernprof.c'))
# The files of kernprof that the launcher, ckernprof, links. They are plain C.
LAUNCHER_PARTS := $(filter kernprof/cli/option%.c kernprof/cli/interpreter.c,$(ALL))
CORE := $(filter-out src/bridge/% src/cpython/%,$(filter src/%,$(ALL))) $(LAUNCHER_PARTS)
WITH_PYTHON := $(filter-out $(CORE),$(ALL))
PACKAGE := $(patsubst src/%,%,$(shell find src/clineprof -type f ! -path '*/__pycache__/*' ! -name '*.so'))
TESTS := $(patsubst tests/unit/%.c,%,$(sort $(wildcard tests/unit/*/test_*.c tests/unit/*/*/test_*.c)))
# Non-empty with the thread sanitizer and under valgrind, where Criterion's processes do not start. The tests then use
# tests/unit/plain instead of Criterion.
PLAIN := $(filter thread,$(SANITIZER))$(VALGRIND)
TEST_HELPERS := $(filter-out tests/unit/test_%,$(wildcard tests/unit/*.c $(if $(PLAIN),tests/unit/plain/*.c)))
TEST_LIBRARY := $(if $(PLAIN),,-lcriterion)

SANITIZE := $(if $(SANITIZER),-fsanitize=$(SANITIZER) -fno-sanitize-recover=all -fno-omit-frame-pointer)
SANITIZE += $(if $(filter thread,$(SANITIZER)),$(if $(findstring clang,$(CC)),,-Wno-tsan))
override CFLAGS += -std=c11 -D_GNU_SOURCE= -Wall -Wextra -Wshadow -Wconversion -Werror=incompatible-pointer-types -fPIC \
                   -fvisibility=hidden -fno-plt $(SANITIZE)
override LDFLAGS += -Wl,-z,now $(SANITIZE)
# BENCH_BUILD=no_clock or hits_alone makes a build for `make bench` only, which leaves out a part of each event.
QUOTED := $(if $(BENCH_BUILD),-include bench/builds/$(BENCH_BUILD).h) $(if $(PLAIN),-I tests/unit/plain) -iquote src -iquote kernprof -iquote tests/unit

LIBS := $(MSGPACK_LIBS) -lz
CORE_OBJECTS := $(CORE:%.c=$(OUT)/core/%.o)
PYTHON_OBJECTS := $(WITH_PYTHON:%.c=$(PER)/%.o)
CORE_LIBRARY := $(OUT)/core/libclineprof.a
MODULE := $(OUT)/python/clineprof/_core$(EXT_SUFFIX)
NATIVE := $(addprefix $(OUT)/python/clineprof/libclineprof_,native.so tensors.so)
LAUNCHERS := $(OUT)/bin/ckernprof $(OUT)/bin/clineprof
PACKAGE_FILES := $(PACKAGE:%=$(OUT)/python/%)
# The libraries that `pip install -e .` has put among the sources; each build updates them.
EDITABLE := $(if $(SANITIZER)$(VALGRIND),,$(wildcard $(patsubst $(OUT)/python/%,src/%,$(MODULE) $(NATIVE))))

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all demo test check full slowest quick engines check-all soak unit valgrind stress stdlib-check package-check conformance fuzz-rewrite truth leak-repeats fuzz layers bench screenshots install \
        uninstall completions wheels \
        clean help print-sources FORCE

all: $(MODULE) $(NATIVE) $(LAUNCHERS) $(PACKAGE_FILES) $(EDITABLE) ## build for PYTHON= (default: python3) into build/
	@find $(OUT)/python -xtype l -delete # links to files of the package that have moved since

# ---- building --------------------------------------------------------------------------------
# Changes when the compiler's flags change, so that objects which were made with other flags are not reused.
$(OUT)/flags: FORCE
	@mkdir -p $(@D); echo '$(CC) $(CFLAGS)' | cmp -s - $@ || echo '$(CC) $(CFLAGS)' >$@

# Holds the interpreter of the last make, which the launcher starts by default.
$(OUT)/default-python: FORCE
	@mkdir -p $(@D); echo '$(PYTHON_EXE)' | cmp -s - $@ || echo '$(PYTHON_EXE)' >$@

$(OUT)/core/%.o: %.c $(OUT)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(QUOTED) $(MSGPACK_CFLAGS) -MMD -MP -c -o $@ $<

$(PER)/%.o: %.c $(OUT)/flags $(CONFIG)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(QUOTED) $(PYTHON_CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/core/ckernprof.o: kernprof/ckernprof.c $(OUT)/flags $(OUT)/default-python
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(QUOTED) -DCLP_PYTHON='"$(PYTHON_EXE)"' -MMD -MP -c -o $@ $<

$(CORE_LIBRARY): $(CORE_OBJECTS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# The module is linked from objects, not from the library, so that also a file that nothing uses must link.
$(MODULE): $(PYTHON_OBJECTS) $(CORE_OBJECTS)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared $(LDFLAGS) -o $@ $^ $(LIBS) -lpthread -lm -ldl

# These libraries are built without the sanitizer, because they are loaded before the sanitizer's malloc.
$(NATIVE): $(OUT)/python/clineprof/libclineprof_%.so: src/native/%.c $(wildcard src/native/*.h) $(OUT)/flags
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out $(SANITIZE),$(CFLAGS)) -shared $(filter-out $(SANITIZE),$(LDFLAGS)) -o $@ $< -lpthread -ldl

$(OUT)/bin/ckernprof: $(OUT)/core/ckernprof.o $(CORE_LIBRARY)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lm

$(OUT)/bin/clineprof: | $(OUT)/bin/ckernprof
	@ln -sf ckernprof $@

$(PACKAGE_FILES): $(OUT)/python/%: | src/%
	@mkdir -p $(@D); ln -sfr src/$* $@

$(EDITABLE): src/%: $(OUT)/python/%
	$(call say,COPY,$@)
	$(Q)cp $< $@.new && mv $@.new $@

# ---- tests -----------------------------------------------------------------------------------
# The tests in tests/unit/cpython embed an interpreter. If it has no library to link, they are listed as skipped.
PYTHON_TESTS := $(filter cpython/%,$(TESTS))
# Tests of resident sizes, to which valgrind and the thread sanitizer add their own memory.
TOO_LARGE := os/test_proc os/test_processes
RUN_TESTS := $(filter-out $(if $(PLAIN),$(PYTHON_TESTS) $(TOO_LARGE),$(if $(PYTHON_EMBED),,$(PYTHON_TESTS))),$(TESTS))
CORE_BINARIES := $(patsubst %,$(OUT)/unit/%,$(filter-out cpython/%,$(RUN_TESTS)))
PYTHON_BINARIES := $(patsubst %,$(PER)/unit/%,$(filter cpython/%,$(RUN_TESTS)))
HELPER_OBJECTS := $(TEST_HELPERS:%.c=$(OUT)/unit/%.o)
TEST_BINARIES = $(CORE_BINARIES) $(PYTHON_BINARIES)

$(OUT)/unit/tests/unit/%.o: tests/unit/%.c $(OUT)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(QUOTED) $(MSGPACK_CFLAGS) -MMD -MP -c -o $@ $<

$(CORE_BINARIES): $(OUT)/unit/%: $(OUT)/unit/tests/unit/%.o $(HELPER_OBJECTS) $(CORE_LIBRARY)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(TEST_LIBRARY) $(LIBS) -lpthread -lm

# The fuzzers as built here only run the files of tests/fuzz/corpus. `make fuzz` builds one that makes new inputs.
FUZZERS := $(patsubst tests/fuzz/%.c,$(OUT)/fuzz/%,$(wildcard tests/fuzz/*.c))
$(FUZZERS): $(OUT)/fuzz/%: tests/fuzz/%.c tests/fuzz/replay.h $(CORE_LIBRARY)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(QUOTED) $(LDFLAGS) -o $@ $< $(CORE_LIBRARY) $(LIBS) -lpthread -lm

$(PYTHON_BINARIES): $(PER)/unit/%: $(PER)/tests/unit/%.o $(HELPER_OBJECTS) $(PYTHON_OBJECTS) \
                                   $(CORE_LIBRARY)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -rdynamic -o $@ $^ -lcriterion $(LIBS) $(PYTHON_EMBED)

# The rewriter as a library, which tests/conformance/test_rewrite.py calls from Python.
REWRITE_LIBRARY := $(OUT)/conformance/rewrite_library.so
$(REWRITE_LIBRARY): tests/conformance/rewrite_library.c $(CORE_LIBRARY)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(QUOTED) -shared $(LDFLAGS) -o $@ $^

# Installs packages that tests wish for into the environment of the target: all at once, or one by one if some of them
# cannot be installed for this interpreter.
define install-wishes
	@$(@D)/bin/python -m pip install -q --only-binary :all: $(WISHES) >/dev/null 2>&1 || for p in $(WISHES); do \
	  $(@D)/bin/python -m pip install -q --only-binary :all: $$p >/dev/null 2>&1 || \
	  echo "  $$p cannot be installed for $(PYTHON_EXE); tests that need it are skipped"; done
	@touch $@
endef

# Makes the environment whose file `ready` is the target.
define make-venv
	$(call say,VENV,$(@D))
	@"$(PYTHON_EXE)" -m venv --clear $(@D) && $(@D)/bin/python -m pip install -q $(TEST_NEEDS)
	$(install-wishes)
endef

ifeq ($(MAKES_VENV),)
$(VENV)/ready $(VENV)/ready-full: ;
else
$(VENV)/ready: WISHES = $(TEST_WISHES)
$(VENV)/ready: Makefile $(CONFIG)
	$(make-venv)

$(VENV)/ready-full: WISHES = $(FULL_WISHES)
$(VENV)/ready-full: $(VENV)/ready
	$(call say,VENV,$(@D): more packages)
	$(install-wishes)

$(ENGINE_VENV)/ready: WISHES = $(ENGINE_WISHES)
$(ENGINE_VENV)/ready: Makefile $(CONFIG)
	$(make-venv)

# Airflow asks for certain versions of a hundred packages, so it has an environment of its own.
$(AIRFLOW_VENV)/ready: WISHES = apache-airflow
$(AIRFLOW_VENV)/ready: Makefile $(CONFIG)
	$(make-venv)
endif

build/node/ready: Makefile
	$(call say,NODE,build/node)
	@mkdir -p $(@D); npm install --fetch-retries=0 --ignore-scripts --no-audit --no-fund --prefix $(@D) $(NODE_WISHES) >/dev/null 2>&1 && \
	  touch $@ || echo "  npm cannot install $(NODE_WISHES); tests that need them are skipped"

# The rules start this command with exec, so that a signal which ends make reaches it.
CHECK = "$(PYTHON_EXE)" tools/check.py --since $(START) --out $(OUT) --results $(PER)/results \
  $(if $(SANITIZER),--sanitizer $(SANITIZER)) $(if $(VALGRIND),--under "$(VALGRIND)") \
  $(foreach t,$(if $(PLAIN),,$(filter-out $(RUN_TESTS),$(TESTS))),--skip $(t)) $(TEST_BINARIES:%=--unit %) \
  $(FUZZERS:%=--fuzz %)

READY = all layers $(TEST_BINARIES) $(FUZZERS) $(REWRITE_LIBRARY) $(VENV)/ready
check: $(READY) ## all tests but those that need large downloads, 15 minutes; SANITIZER=address|undefined
	@exec $(CHECK) --venv $(VENV)/bin/python

full: $(READY) $(VENV)/ready-full build/node/ready ## all tests; installs a browser, mpirun, gdb and large packages first
	@exec $(CHECK) --venv $(VENV)/bin/python

slowest: $(READY) $(VENV)/ready-full build/node/ready ## the slowest tests, and where their time goes
	@exec $(CHECK) --venv $(VENV)/bin/python --costs

quick: $(READY) ## some tests of every subject, 2 minutes
	@exec $(CHECK) --venv $(VENV)/bin/python --quick

# T names a Python test, a file or folder of Python tests, or a file of C tests. Without it tools/changed.py chooses.
C_TEST := $(if $(filter %.c,$(T)),$(or $(filter %/$(T:tests/%.c=%),$(TEST_BINARIES)),no-such-test))
test: all $(or $(C_TEST),$(VENV)/ready $(REWRITE_LIBRARY) $(if $(T),,$(TEST_BINARIES))) ## tests of what has changed since the commit; or T=tests/cli/test_run.py::name or T=tests/unit/os/test_proc.c, TRACER=settrace
	@$(or $(if $(T),,exec $(CHECK) --venv $(VENV)/bin/python --changed $(if $(TRACER),--tracer $(TRACER))),$(C_TEST),CLINEPROF_BUILD="$(CURDIR)/$(OUT)" $(if $(TRACER),CLINEPROF_TEST_TRACER=$(TRACER)) \
	  $(VENV)/bin/python -m pytest -q -o pythonpath=$(OUT)/python $(T))

# T names a test here too. The last lines say what was skipped, and why.
engines: all $(ENGINE_VENV)/ready $(AIRFLOW_VENV:%=%/ready) ## tests on the real engines: Dask, Ray, Spark, Celery ..; T=tests/engines/test_celery.py
	@CLINEPROF_ENGINES=1 CLINEPROF_AIRFLOW="$(AIRFLOW_VENV:%=$(CURDIR)/%/bin/python)" CLINEPROF_BUILD="$(CURDIR)/$(OUT)" $(if $(TRACER),CLINEPROF_TEST_TRACER=$(TRACER)) \
	  $(ENGINE_VENV)/bin/python -m pytest -q -rs -o pythonpath=$(OUT)/python $(or $(T),tests/engines)

no-such-test:
	@echo "make test: there is no file of C tests called $(T)"; exit 2

unit: $(TEST_BINARIES) $(FUZZERS) ## the C unit tests only, half a minute; SANITIZER=thread too
	@exec $(CHECK)

VALGRIND_WORDS := valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite
valgrind: ## the C unit tests under valgrind; SANITIZER=thread unit is for races
	+@$(MAKE) --no-print-directory unit VALGRIND="$(VALGRIND_WORDS)"

check-all: ## `make check` with every interpreter found here, one after the other
	+@python3 tools/check_all.py "$(MAKE)"

soak: all $(VENV)/ready ## the tests that take hours, one after the other
	+@"$(PYTHON_EXE)" tools/soak.py "$(MAKE)"

stdlib-check: all $(VENV)/ready ## the interpreter's own test suite; MODULES=, TRACER=auto, OUTCOMES=1
	@$(VENV)/bin/python tools/stdlib_check.py --python "$(PYTHON_EXE)" --out $(OUT) --tracer $(or $(TRACER),auto) $(if $(OUTCOMES),--outcomes) $(MODULES)

package-check: all $(VENV)/ready ## a package's own tests; WORDS="--python PYTHON FOLDER MODULE [PYTEST ARG..]", TRACER=auto
	@$(VENV)/bin/python tools/package_check.py --out $(OUT) --tracer $(or $(TRACER),auto) $(WORDS)

conformance: all ## the tests of line_profiler and memory_profiler; PEERS=1, WORDS=
	@"$(PYTHON_EXE)" tools/conformance.py --python "$(PYTHON_EXE)" --out $(OUT) $(if $(PEERS),--peers) $(WORDS)

fuzz-rewrite: all $(VENV)/ready ## random functions; FUNCTIONS=100000, SEED=, TRACER=probe, CALLS=yes: with --native
	@$(VENV)/bin/python tools/fuzz_rewrite.py --tracer $(or $(TRACER),probe) $(if $(CALLS),--native) \
	  --functions $(or $(FUNCTIONS),100000) $(if $(SEED),--seed $(SEED))

truth: all $(VENV)/ready ## the memory that lines keep, by clineprof and tracemalloc: a table of docs/proof.md
	@$(VENV)/bin/python tools/truth.py

stress: all $(VENV)/ready ## exact hits of threads, processes, tasks ..; REPEATS=50, WORDS=
	@$(VENV)/bin/python tools/stress.py --out $(OUT) --repeats $(or $(REPEATS),50) --only "$(WORDS)"

leak-repeats: all $(VENV)/ready ## verdicts on leaks, many times over; REPEATS=20
	@$(VENV)/bin/python tools/leak_repeats.py --repeats $(or $(REPEATS),20)

READER ?= pickle
fuzz: ## run a fuzzer, with clang; READER=wire|live|pickle|engine|rewrite, SECONDS=60
	@mkdir -p build/fuzz/$(READER)
	$(Q)clang -g -O1 -std=c11 -D_GNU_SOURCE= $(QUOTED) $(MSGPACK_CFLAGS) -DCLP_LIBFUZZER \
	  -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	  -o build/fuzz/libfuzzer_$(READER) tests/fuzz/fuzz_$(READER).c \
	  $(filter src/%,$(CORE)) $(LIBS) -lpthread -lm
	cd build/fuzz && ./libfuzzer_$(READER) -max_total_time=$(or $(SECONDS),60) -max_len=16384 \
	  $(patsubst %,-dict=../../%,$(wildcard tests/fuzz/$(READER).dict)) \
	  $(READER) ../../tests/fuzz/corpus/$(READER)

layers: ## check which folder uses which (docs/design.md, section 1)
	@"$(or $(PYTHON_EXE),python3)" tools/layers.py

# ---- for users -------------------------------------------------------------------------------
demo: all ## build, then profile a small program
	build/bin/ckernprof -l -v -o build/demo.lprof fixtures/demo.py

BENCH_VENV := build/venv/bench-$(SOABI)-$(PYTHON_VERSION)
$(BENCH_VENV)/ready: $(wildcard bench/requirements.txt) $(CONFIG)
	$(call say,VENV,$(BENCH_VENV))
	@"$(PYTHON_EXE)" -m venv --clear $(BENCH_VENV)
	@test ! -e bench/requirements.txt || \
	  $(BENCH_VENV)/bin/python -m pip install -q -r bench/requirements.txt
	@touch $@

bench: all $(BENCH_VENV)/ready ## cost beside line_profiler and memory_profiler; ARGS= for bench/run.py
	$(BENCH_VENV)/bin/python bench/run.py $(ARGS)

screenshots: all $(VENV)/ready ## docs/terminal.svg, from a real run
	@$(VENV)/bin/python tools/terminal_picture.py

INSTALL = sh tools/install.sh "$(DESTDIR)" "$(PREFIX)" $(OUT)
install: all ## install under PREFIX= (default /usr/local)
	@$(INSTALL) install $(PYTHON_EXE) $(PACKAGE)

uninstall: ## remove what `make install` put under the same PREFIX= and DESTDIR=
	@$(INSTALL) uninstall

completions: all ## share/ (shells, man pages) and docs/options.md from the option tables
	@$(PYTHON_EXE) tools/options_page.py $(OUT)/bin
	@$(PYTHON_EXE) tools/completions.py $(OUT)/bin

wheels: ## sdist and manylinux wheels of every interpreter found, built and tried; DIST=dist
	@python3 tools/wheels.py $(or $(DIST),dist)

clean: ## remove build/
	rm -rf build

help: ## this list
	@echo "make TARGET [PYTHON=/path/to/python3] [SETUP=no] [V=1] [SANITIZER=address|undefined] [CFLAGS=..]"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' Makefile | expand -t 12 | sed 's/^/  /'

print-sources: # prints the sources of clineprof._core, which a test compares with those of setup.py
	@printf '%s\n' $(sort $(CORE) $(WITH_PYTHON))

-include $(shell find $(OUT) -name '*.d' -type f 2>/dev/null)
