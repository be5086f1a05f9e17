# The tests with the lowest versions of everything that pyproject.toml allows; Python 3.11 is the lowest of those.

PYTHON ?= python3
LOWEST := build/lowest

.PHONY: lowest
lowest:
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/pip install --quiet --upgrade pip
	$(LOWEST)/bin/python .ci/lowest > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/pip install --quiet --constraint $(LOWEST)/constraints.txt --editable ".[dask,notebook,tune]" --group dev
	PYTHONWARNINGS=ignore $(LOWEST)/bin/pytest -W default
