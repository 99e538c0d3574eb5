# xplane_bridge: build, test and fly on any Linux machine.
#
# If a ROS 2 is sourced (ROS_DISTRO is set), it is used. Otherwise real ROS 2 is installed from
# wheels into build/<distro>/venv: DISTRO=jazzy (the default) or DISTRO=kilted.
# The build type is ament_cmake, so plain `colcon build` in a workspace works as well.

DISTRO ?= jazzy
ifdef ROS_DISTRO
ROOT := build/system-$(ROS_DISTRO)
WHEELS := system
else
ROOT := build/$(DISTRO)
WHEELS := $(DISTRO)
endif

RUN := tools/in_ros.sh $(ROOT)
# A run of all tests starts thousands of processes: each would compile every module that it imports.
unexport PYTHONDONTWRITEBYTECODE
# colcon's own -l makes a build crawl on a machine that is otherwise busy.
JOBS := MAKEFLAGS=-j$(shell nproc)
# As in any install space the executables are not on PATH; `ros2 run` looks here.
EXECUTABLES := $(CURDIR)/$(ROOT)/install/xplane_bridge/lib/xplane_bridge
VENV := $(ROOT)/venv/.made
BUILT := $(ROOT)/.built
# Only what package.xml declares. If a ROS 2 is sourced, that is its own Python.
SOURCED := $(if $(ROS_DISTRO),,$(ROOT)/sourced/venv/.made)
# With a symlink install only these need a build; edits of Python files are live immediately.
SOURCES := package.xml CMakeLists.txt setup.cfg $(wildcard msg/*.msg srv/*.srv action/*.action launch/*.py \
	config/*.yaml resource/*) $(wildcard tools/*)
TREE := $(shell find xplane_bridge -type f ! -name '*.pyc' | LC_ALL=C sort)

.PHONY: build coverage sbom hashes released-types test test-fast test-here test-sourced test-python test-skrl test-sb3 demo experiment campaign train skrl sb3 docs export experiment-table aircraft-table topic-table states-page quantity-table field-table change-table \
	bench bench-page budgets lint mutants soak shell clean
.DELETE_ON_ERROR:

build: $(BUILT)

$(VENV): requirements/extras.txt $(wildcard requirements/$(WHEELS).txt) tools/make_venv.sh
	@mkdir -p $(ROOT) && touch build/COLCON_IGNORE
	@echo 'Installing dependencies into $(ROOT)/venv (once, some minutes) ...'
	@tools/make_venv.sh $(ROOT)/venv $(WHEELS)
	@touch $@

# Pins with their hashes. On top of a sourced ROS without: what it has may have to be replaced by what has no pin.
PINS := $(if $(ROS_DISTRO),sed 's/ --hash=.*//',cat)
# Installed when first used, so that the demo need not wait for them.
STUDIES := $(ROOT)/venv/.studies
$(STUDIES): requirements/studies.txt requirements/docs.txt $(VENV)
	@echo 'Installing what studies and the site need into $(ROOT)/venv (once, some minutes) ...'
	@$(PINS) requirements/studies.txt requirements/docs.txt | $(ROOT)/venv/bin/pip install --quiet --disable-pip-version-check \
		--no-compile -r /dev/stdin
	@touch $@

# Of those the one that LIVE=1 needs; it depends on nothing else.
LIVE_VIEW := $(ROOT)/venv/.live_view
$(LIVE_VIEW): requirements/studies.txt $(VENV)
	@grep '^foxglove-sdk==' $< | $(PINS) | $(ROOT)/venv/bin/pip install --quiet --disable-pip-version-check --no-compile \
		--no-deps -r /dev/stdin
	@touch $@

$(ROOT)/sourced/venv/.made: requirements/noble.txt requirements/$(WHEELS).txt tools/make_venv.sh
	@mkdir -p $(ROOT)/sourced && touch build/COLCON_IGNORE
	@echo 'Installing the dependencies in package.xml into $(ROOT)/sourced/venv (once, some minutes) ...'
	@tools/make_venv.sh $(ROOT)/sourced/venv $(WHEELS) declared
	@touch $@

# A new or deleted file of the package changes this list, and with it the links to install.
$(ROOT)/.tree: $(VENV) FORCE
	@printf '%s\n' $(TREE) | cmp -s - $@ || printf '%s\n' $(TREE) > $@
.PHONY: FORCE
FORCE:

# Built through a link next to the venv: CMake refuses include folders below the source folder.
$(BUILT): $(VENV) $(ROOT)/.tree $(SOURCES)
	@echo 'Building the package (about a minute the first time) ...'
	@ln -sfn ../.. $(ROOT)/xplane_bridge
	@$(JOBS) $(RUN) flock $(ROOT)/.lock colcon --log-base $(ROOT)/log build --symlink-install --paths $(ROOT)/xplane_bridge \
		--build-base $(ROOT)/colcon --install-base $(ROOT)/install \
		--event-handlers console_start_end- \
		--cmake-args -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF $(if $(ROS_DISTRO),,-DPYTHON_ONLY=ON)
	@touch $@

# Most tests wait for another process, so some run in parallel; each worker has its own ROS domain.
WORKERS ?= 6
PARALLEL := -n $(WORKERS) --dist loadgroup

# All tests, with the package as a ROS user has it; with PYTEST_ARGS (a file, -k ...) only those,
# here; with FOLDER=bridges/xpc those of a folder of the package; with FAST=1 of these (or of all)
# those without ROS and JSBSim, of which all take some two minutes of two cores.
test: $(if $(FAST),test-fast,$(if $(PYTEST_ARGS)$(FOLDER),test-here,test-sourced))

# The arguments of pytest for a folder's tests, as "$@" of the shell.
OF_FOLDER = folder=$$($(if $(FOLDER),python3 tools/tests_of.py '$(FOLDER)',true)) && eval "set -- $$folder"

# They run on the source tree, so only the virtual environment is built.
test-fast: $(STUDIES)
	@$(OF_FOLDER) && PYTHONPATH=$(CURDIR) $(ROOT)/venv/bin/python -P -m pytest -m 'pure and not slow' -r fE -q \
		-n $(shell nproc) --dist loadgroup "$$@" $(PYTEST_ARGS)

# With a symlink install space: edits of Python files are live.
test-here: $(BUILT) $(STUDIES)
	@$(OF_FOLDER) && $(RUN) python3 -P -m pytest "$$@" $(or $(PYTEST_ARGS),$(PARALLEL))

# See tools/test_sourced.sh. The two environments are created in parallel.
test-sourced:
	@echo 'All tests: up to half an hour on two cores; make test FAST=1 has those without ROS.'
	@$(MAKE) --no-print-directory -j2 $(STUDIES) $(SOURCED)
	@tools/test_sourced.sh $(ROOT) $(PARALLEL)

# The tests that need no ROS, under another Python: make test-python PYTHON=python3.14
PYTHON ?= python3
test-python:
	@tools/test_python.sh $(PYTHON) $(PARALLEL)

# make demo [LIVE=1]: LIVE=1 shows it in a browser, see docs/how-to/live.md.
demo: $(BUILT) $(if $(LIVE),$(LIVE_VIEW))
	@$(RUN) $(EXECUTABLES)/demo $(if $(LIVE),--live) $(DEMO_ARGS)

# make experiment SIM=xplane12 SCENARIO=racetrack [SPEED=4] [LOCKSTEP=1] [HOST=192.168.1.20]
# [CONTROLLER='python3 my_controller.py'] [LIVE=1]
SIM ?= xpc
SCENARIO ?= steps
experiment: $(BUILT) $(if $(LIVE),$(LIVE_VIEW))
	@$(RUN) $(EXECUTABLES)/experiment --sim $(SIM) --scenario $(SCENARIO) $(if $(HOST),--host $(HOST)) \
		$(if $(SPEED),--speed $(SPEED)) $(if $(LOCKSTEP),--lockstep) \
		$(if $(CONTROLLER),--controller '$(CONTROLLER)') $(if $(LIVE),--live) $(EXPERIMENT_ARGS)

# make campaign [CAMPAIGN=turbulence] [CAMPAIGN_ARGS='--workers 2 --dry-run']
CAMPAIGN ?= turbulence
campaign: $(BUILT) $(STUDIES)
	@$(RUN) $(EXECUTABLES)/campaign $(CAMPAIGN) $(CAMPAIGN_ARGS)

# The shipped policy, made again, over the old one: make train [TRAIN_ARGS='--output my.onnx']
train: $(BUILT) $(STUDIES)
	@$(RUN) $(EXECUTABLES)/train $(or $(TRAIN_ARGS),--force)

# The examples that train by PPO of skrl with JAX (a gigabyte) and of Stable-Baselines3 with torch (five), each in an
# environment of its own, and their tests: make skrl [PPO_ARGS='--steps 500000 --output ppo.onnx'], make test-skrl
skrl sb3: %: $(ROOT)/%/.made
	@PYTHONPATH=$(CURDIR) $(ROOT)/$@/bin/python3 examples/training/$@_ppo.py $(PPO_ARGS)

test-skrl test-sb3: test-%: $(ROOT)/%/.made
	@PYTHONPATH=$(CURDIR) $(ROOT)/$*/bin/python3 -P -m pytest -q test/examples/test_$*_ppo.py

$(ROOT)/skrl/.made $(ROOT)/sb3/.made: $(ROOT)/%/.made: requirements/%.txt
	@mkdir -p $(ROOT) && touch build/COLCON_IGNORE
	@echo 'Installing what $(<F) names into $(ROOT)/$* (once) ...'
	@python3 -m venv $(ROOT)/$*
	@sed 's/ --hash=.*//' requirements/extras.txt requirements/studies.txt | \
		$(ROOT)/$*/bin/pip install --quiet --disable-pip-version-check --no-compile -r $< -c /dev/stdin \
		gymnasium hypothesis jsbsim onnx onnxruntime pyserial pytest pytest-timeout PyYAML
	@touch $@

# The site, into build/docs/html, in an environment of its own: each warning is an error.
DOCS := build/docs
docs: $(DOCS)/venv/.made
	@$(DOCS)/venv/bin/sphinx-build -W --keep-going -q -d $(DOCS)/doctrees docs $(DOCS)/html
	@echo 'The site is $(DOCS)/html/index.html'

$(DOCS)/venv/.made: requirements/docs.txt
	@mkdir -p $(DOCS) && touch build/COLCON_IGNORE
	@echo 'Installing what the site needs into $(DOCS)/venv (once) ...'
	@python3 -m venv $(DOCS)/venv
	@grep -hE '^(certifi|Jinja2|markdown-it-py|MarkupSafe|mdurl|numpy|packaging|Pygments|PyYAML)==' requirements/extras.txt \
		requirements/studies.txt | cat $< - | $(DOCS)/venv/bin/pip install --quiet --disable-pip-version-check --no-compile \
		--require-hashes -r /dev/stdin
	@touch $@

# make export EXPORT_ARGS='flight.mcap --to parquet'
export: $(BUILT) $(STUDIES)
	@$(RUN) $(EXECUTABLES)/export $(EXPORT_ARGS)

# The table in docs/reference/experiments.md: the same scenario and autopilot on each simulator.
experiment-table: $(BUILT)
	@$(RUN) python3 tools/experiment_table.py docs/reference/experiments.md $(TABLE_ARGS)

# The table in docs/reference/aircraft.md: the shipped gains of each aircraft through three scenarios.
aircraft-table: $(BUILT)
	@$(RUN) python3 tools/aircraft_table.py docs/reference/aircraft.md $(TABLE_ARGS)

# The table in docs/reference/topics.md: which node has which topics.
topic-table: $(BUILT)
	@$(RUN) python3 -P test/support/ros/topic_matrix.py docs/reference/topics.md

# The tables and diagrams of states in docs/explanation/sessions.md.
states-page: $(VENV)
	@$(RUN) python3 -P tools/draw_states.py docs/explanation/sessions.md

# The tables of quantities and observations in docs/reference/scenarios.md and episodes.md.
quantity-table: $(VENV)
	@$(RUN) python3 -P tools/quantity_table.py

# The tables of fields in docs/reference: of what people write, as it is declared.
field-table: $(VENV)
	@$(RUN) python3 -P tools/field_table.py

# The table at the beginning of CONTRIBUTING.md: which folders a change needs, and their lines.
change-table:
	@python3 -P tools/change_table.py CONTRIBUTING.md

# The table of calls in docs/reference/performance.md, after a hot path was changed on purpose.
budgets: $(BUILT) $(STUDIES)
	@BUDGETS=rewrite $(RUN) python3 -P -m pytest -q test/house/budgets

# All benchmarks, or those named: make bench BENCH_ARGS="xpc ulyssix"
bench: $(BUILT) $(STUDIES)
	@$(RUN) python3 benchmarks $(BENCH_ARGS)

# The same, and their tables into docs/reference/performance.md.
bench-page: $(BUILT) $(STUDIES)
	@$(RUN) python3 benchmarks --page docs/reference/performance.md $(BENCH_ARGS)

# Restarts, freezes, floods and packet loss for MINUTES per protocol: make soak MINUTES=10
# [PROTOCOL=xpc]
MINUTES ?= 10
soak: $(BUILT)
	@$(RUN) python3 test/support/soak.py $(MINUTES) $(PROTOCOL)

# The share of lines and branches of bridges/ that tests reach, at least 95 %: see QUALITY_DECLARATION.md.
coverage: $(BUILT) $(STUDIES)
	@COVERAGE_FILE=$(CURDIR)/$(ROOT)/coverage.sqlite $(RUN) python3 -P -m pytest -q test/bridges test/simulation/peers test/commands $(PARALLEL) \
		--cov --cov-report= --cov-report=json:$(ROOT)/coverage.json
	@python3 tools/coverage_figures.py $(ROOT)/coverage.json 95

# What `make` installs, as a CycloneDX file: build/jazzy/sbom.json
sbom: $(STUDIES) $(ROOT)/release/.made
	@python3 tools/sbom.py $(ROOT)

# After a version in requirements/ has changed: the hashes of its files. The examples of training install
# this checkout beside their pins, for which pip knows no hash.
HASHED := extras studies docs jazzy kilted noble release
hashes: $(ROOT)/release/.made
	@python3 tools/pin_hashes.py $(ROOT)/release/bin/uv $(addprefix requirements/,$(addsuffix .txt,$(HASHED)))

# At a release: the hashes of all messages, services and actions.
released-types: $(BUILT)
	@RELEASED=rewrite $(RUN) python3 -P -m pytest -q test/house/test_interfaces.py

$(ROOT)/release/.made: requirements/release.txt
	@mkdir -p $(ROOT) && touch build/COLCON_IGNORE
	@python3 -m venv $(ROOT)/release
	@$(ROOT)/release/bin/pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r $<
	@touch $@

lint: $(STUDIES)
	@$(RUN) ruff check .
	@$(RUN) mypy

# Which small changes go unnoticed by the folder's tests? See CONTRIBUTING.md, "Mutants".
# make mutants [NUMBER=300] [SEED=1] [MODULE=xplane_bridge/bridges/xpc/session/flow.py] [TESTS="test/..."] [ONLY=flow.py:12]
NUMBER ?= 300
SEED ?= 1
mutants: $(BUILT) $(STUDIES)
	@$(RUN) nice python3 -P tools/mutants.py $(ROOT)/mutants $(MODULE) --number $(NUMBER) --seed $(SEED) \
		--only '$(ONLY)' $(if $(TESTS),--tests $(TESTS))

shell: $(BUILT)
	@echo 'ROS 2 and xplane_bridge are sourced, and its executables are on PATH; type exit to leave.'
	@command -v ros2 > /dev/null || echo 'ros2 is a stand-in with what the pages use: ros2 --help'
	@tools/shell.sh $(ROOT) || true

clean:
	rm -rf build
