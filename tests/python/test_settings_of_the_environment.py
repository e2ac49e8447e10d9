"""What the library says of CROSSRAIL_ variables that make no sense, and what holds then."""

import os
import subprocess
import sys

import pytest

ASK = ("import json; from crossrail import core; print(json.dumps({row['variable']: row['value'] for row in core.settings()}))")


def asked(**environment):
    """The settings of a process with this environment, and what it says on standard error."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("CROSSRAIL")}
    if "CROSSRAIL_BUILD" in os.environ:  # The tests set it themselves.
        known["CROSSRAIL_LIBRARY_DIR"] = os.environ["CROSSRAIL_BUILD"]
    done = subprocess.run([sys.executable, "-c", ASK], env={**known, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    return done.stdout, done.stderr


@pytest.mark.parametrize("value, held", [("off", "0"), ("No", "0"), ("false", "0"), ("0", "0"), ("on", "1"), ("1", "1")])
def test_the_switch_takes_words(value, held):
    out, said = asked(CROSSRAIL=value)
    assert f'"CROSSRAIL": "{held}"' in out and said == ""


@pytest.mark.parametrize("name, value, sentence", [
    ("CROSSRAIL", "maybe", "CROSSRAIL=maybe is neither on nor off: crossrail is off"),
    ("CROSSRAIL_SCRATCH", "lots", "CROSSRAIL_SCRATCH=lots is ignored: it takes a size such as 64M; the default, 0, is used"),
    ("CROSSRAIL_DEVICES", "2", "CROSSRAIL_DEVICES=2 is ignored: it takes 0 or 1; the default, 1, is used"),
    ("CROSSRAIL_SLOTS", "-1", "CROSSRAIL_SLOTS=-1 is ignored: it takes a number; the default, 4, is used"),
    ("CROSSRAIL_ALTOALL", "ring", "CROSSRAIL_ALTOALL is not a setting of crossrail: ignored")])
def test_one_sentence_by_one_process_of_the_job(name, value, sentence):
    for rank in ({}, {"OMPI_COMM_WORLD_RANK": "0", "SLURM_PROCID": "3"}, {"PMI_RANK": "0"}):
        said = asked(**{name: value}, **rank)[1]
        assert sentence in said and said.count("\n") == 1
    out, said = asked(**{name: value}, OMPI_COMM_WORLD_RANK="1")
    assert said == ""
    assert ('"CROSSRAIL": "0"' in out) == (name == "CROSSRAIL")
