# Thin: CMake builds, ./crossrail is the command line. `make` installs nothing; `make deps`, `make demo`,
# `make test` and `make docs` install what is missing (cmake/setup.sh), and say first what that is.
export PATH := $(CURDIR)/build/venv/bin:$(PATH)

# Tests beside each other: most wait for launchers and sleepers, and count for two (PROCESSORS) where they have several ranks, so there are
# three times as many as cores, 32 at most.
JOBS := $(shell cores=`nproc 2>/dev/null || echo 2`; [ $$cores -lt 11 ] && echo $$((3 * cores)) || echo 32)

.PHONY: build deps demo test test-gpu bench bench-gpu docs clean
.DEFAULT_GOAL := build

build:            ## all that is installed, into build/: no tests
	@cmake/setup.sh check
	@cmake --preset release -DCROSSRAIL_LEAN=OFF
	@cmake --build --preset release --target install_parts

deps:             ## says what is missing, and installs it: apt with root or sudo, else PyPI's wheels into build/
	@cmake/setup.sh build

demo:             ## a real program without and with crossrail, then a replay of its calls: build/demo.html
	@cmake/setup.sh demo
	@cmake --preset release
	@cmake --build --preset release --target demo_programs
	@./crossrail demo

# Tests run under the first MPI library that there is (Open MPI 4, MPICH 4, Open MPI 5, MPICH 5). Of those under further ones, which are installed
# then: 0, 1 or 2, a third each, or all (tests/mpi/programs.cmake).
SHARE := none
ifeq ($(filter none 0 1 2 all,$(SHARE)),)
$(error SHARE=$(SHARE): it is none, 0, 1, 2 or all)
endif

test:             ## the tests that this machine can run, under one MPI library; SHARE=all: under all there are
	@cmake/setup.sh $(if $(filter none,$(SHARE)),test,test-all)
	@cmake --preset release $(if $(filter none,$(SHARE)),-DCROSSRAIL_TEST_MPIS=first -DCROSSRAIL_LEAN=ON,-DCROSSRAIL_TEST_MPIS=all -DCROSSRAIL_LEAN=OFF)
	@cmake --build --preset release
	@ctest --preset release -j $(JOBS) $(if $(filter none all,$(SHARE)),,-LE 'share_[^$(SHARE)]') --output-junit tests.xml; code=$$?; \
	/usr/bin/env python3 cmake/test_summary.py build/tests.xml "`ctest --preset release -N | sed -n 's/^Total Tests: //p'`" "`cat build/tests/left_out`"; \
	exit $$code

test-gpu:         ## the tests that need a GPU
	@if nvidia-smi -L >/dev/null 2>&1; then \
	  cmake/setup.sh check && \
	  cmake --preset release -DCROSSRAIL_LEAN=OFF && cmake --build --preset release && ctest --preset release -L gpu; \
	else echo "skipped: no GPU"; fi

bench: build      ## MPI_Alltoall against the native one: build/bench.html
	@./crossrail bench alltoall --output build/results --html build/bench.html

bench-gpu:        ## the same in device memory, against NCCL: build/bench_gpu.html
	@if nvidia-smi -L >/dev/null 2>&1; then $(MAKE) --no-print-directory build && \
	./crossrail bench alltoall --memory cuda --algorithms all --min 16 --max 64M --output build/results --html build/bench_gpu.html; \
	else echo "skipped: no GPU"; fi

docs:             ## the documentation as a site: build/site/index.html
	@cmake/setup.sh docs
	@NO_MKDOCS_2_WARNING=1 build/docs_venv/bin/mkdocs build --strict
	@echo "The site is in build/site: open build/site/index.html."

clean:            ## all but what was downloaded (build/venv, build/docs_venv, build/wheels)
	@[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name venv ! -name docs_venv ! -name wheels -exec rm -rf {} +
