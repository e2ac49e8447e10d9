"""What `crossrail list`, `doctor`, `explain` and `run` show of the settings, asked of the built library."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from crossrail.settings_text import configuration_file, file_name_of

ROOT = Path(__file__).resolve().parents[3]


def crossrail(*words, folder, **environment):
    """The finished command, with the settings of `folder`/crossrail.conf if there is one."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("CROSSRAIL")}
    if "CROSSRAIL_BUILD" in os.environ:  # The tests set it themselves.
        known["CROSSRAIL_LIBRARY_DIR"] = os.environ["CROSSRAIL_BUILD"]
    file = folder / "crossrail.conf"
    config = {"CROSSRAIL_CONFIG": str(file)} if file.exists() else {}
    return subprocess.run([sys.executable, "-m", "crossrail", *words], env={**known, **config, **environment},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def settings(folder, **environment):
    """The rows of `list --settings --json` by variable."""
    return {row["variable"]: row for row in json.loads(crossrail("list", "--settings", "--json", folder=folder, **environment).stdout)}


def test_the_page_of_settings_is_the_librarys(tmp_path):
    written = crossrail("list", "--settings", "--markdown", folder=tmp_path).stdout
    assert written == (ROOT / "docs/settings.md").read_text(), "crossrail list --settings --markdown > docs/settings.md"


def test_the_configuration_file_is_readable_and_has_all_settings(tmp_path):
    printed = crossrail("list", "--conf", folder=tmp_path).stdout
    lines = re.sub(r"(?m)^#(?=\S)", "", printed)
    (tmp_path / "crossrail.conf").write_text(printed)
    assert {name for name, row in settings(tmp_path).items() if row["from"] != "default"} == {"CROSSRAIL_CONFIG"}
    (tmp_path / "crossrail.conf").write_text(lines)
    done = crossrail("list", "--settings", "--json", folder=tmp_path)
    assert done.stderr == ""
    for row in json.loads(done.stdout):
        name = file_name_of(row["variable"])
        assert row["value"] == row["preset"] or name == "config"
        assert (f"\n{name} =" in lines) == (row["scope"] not in ("environment", "launch")), name
        if row["preset"] and row["scope"] not in ("environment", "launch"):
            assert row["from"].startswith(f"{tmp_path}/crossrail.conf:"), name


def test_a_row_becomes_comments_and_a_line():
    rows = [{"variable": "CROSSRAIL_NEW", "kind": "count", "scope": "process", "preset": "3", "help": "some"}]
    assert configuration_file(rows).splitlines()[-2:] == ["# Takes a number; for each process.", "#new = 3"]


def test_the_list_says_from_where(tmp_path):
    (tmp_path / "crossrail.conf").write_text("slots = 2\nplans = 7\n")
    rows = settings(tmp_path, CROSSRAIL_SLOTS="3")
    assert (rows["CROSSRAIL_SLOTS"]["value"], rows["CROSSRAIL_SLOTS"]["from"]) == ("3", "environment")
    assert (rows["CROSSRAIL_PLANS"]["value"], rows["CROSSRAIL_PLANS"]["from"]) == ("7", f"{tmp_path}/crossrail.conf:2")
    assert rows["CROSSRAIL_GUARD"]["from"] == "default"
    assert f"{tmp_path}/crossrail.conf:2" in crossrail("list", "--settings", folder=tmp_path, COLUMNS="400").stdout


def test_a_value_that_is_ignored_is_not_shown_as_the_one_that_holds(tmp_path):
    rows = settings(tmp_path, CROSSRAIL_ALLTOALL="nonsense", CROSSRAIL_SCRATCH="lots")
    for name in ("CROSSRAIL_ALLTOALL", "CROSSRAIL_SCRATCH"):
        assert (rows[name]["value"], rows[name]["from"]) == (rows[name]["preset"], "default")


@pytest.mark.parametrize("name, value, sentence", [
    ("CROSSRAIL_ALLTOALL", "foo", "alltoall has no algorithm 'foo'"),
    ("CROSSRAIL_ALLTOALL", "node_shared packet=abc", "'packet=abc' is no parameter"),
    ("CROSSRAIL_ALLTOALL", "node_shared colour=3", "node_shared has no parameter 'colour'"),
    ("CROSSRAIL_SEGMENT", "foo", "it takes memfd, shm and none"),
    ("CROSSRAIL_SCRATCH", "lots", "it takes a size such as 64M"),
    ("CROSSRAIL_ALTOALL", "x", "CROSSRAIL_ALTOALL is not a setting of crossrail"),
    ("CROSSRAIL_TUNING", "/nosuch.csv", "/nosuch.csv is not there"),
    ("CROSSRAIL_TUNING", "/", "/ is a directory"),
    ("CROSSRAIL_TUNING", "/dev/null", "/dev/null is no regular file"),
    ("CROSSRAIL_CONFIG", "/nosuch.conf", "/nosuch.conf is not there")])
def test_doctor_and_explain_say_what_is_wrong(tmp_path, name, value, sentence):
    found = json.loads(crossrail("doctor", "--json", folder=tmp_path, **{name: value}).stdout)
    assert [one["level"] for one in found if sentence in one["words"]] == ["broken"]
    explained = crossrail("explain", "alltoall", "-n", "2", "--bytes", "16", folder=tmp_path, COLUMNS="400", **{name: value})
    assert explained.returncode == 0 and (explained.stdout + explained.stderr).count(sentence) == 1


def test_an_empty_table_and_one_with_a_bad_row(tmp_path):
    table = tmp_path / "mine.csv"
    for text, sentence in (("", "has no row"), ("collective,memory,nodes\n", "the column ranks_per_node is missing")):
        table.write_text(text)
        found = json.loads(crossrail("doctor", "--json", folder=tmp_path, CROSSRAIL_TUNING=str(table)).stdout)
        assert [one["words"] for one in found if sentence in one["words"] and one["level"] == "broken"], found
    table.write_text("collective,memory,nodes,ranks_per_node,up_to_bytes,algorithm\nalltoall,host,*,*,*,pairwise\n")
    explained = crossrail("explain", "alltoall", "-n", "2", "--bytes", "16", folder=tmp_path, COLUMNS="400", CROSSRAIL_TUNING=str(table)).stdout
    assert f"{table}:2" in explained and f"CROSSRAIL_TUNING={table} (environment)" in explained


def test_doctor_and_run_say_what_is_set(tmp_path):
    (tmp_path / "crossrail.conf").write_text("slots = 2\n")
    found = json.loads(crossrail("doctor", "--json", folder=tmp_path).stdout)
    words = f"settings: CROSSRAIL_SLOTS=2 ({tmp_path}/crossrail.conf:1)"
    assert [one["level"] for one in found if one["words"].startswith(words)] == ["note"]
    mpirun = tmp_path / "mpirun"
    mpirun.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "mpirun (Open MPI) 4.1.4"\nexit 0\n')
    mpirun.chmod(0o755)
    done = crossrail("run", "--mpi", "openmpi", "--launcher", str(mpirun), "-n", "1", "--", "/bin/true", folder=tmp_path)
    assert words in done.stderr, done.stderr
    assert "settings:" not in crossrail("run", "--mpi", "openmpi", "--launcher", str(mpirun), "-n", "1", "--", "/bin/true", folder=tmp_path / "none").stderr


def test_the_sites_file_is_read(tmp_path):
    """In a mount namespace with an /etc of its own, which needs root."""
    words = 'mount -t tmpfs tmpfs /etc && printf "slots = 2\\nplans = 9\\n" > /etc/crossrail.conf && exec "$0" -m crossrail $1'
    known = {name: value for name, value in os.environ.items() if not name.startswith("CROSSRAIL")}
    if "CROSSRAIL_BUILD" in os.environ:
        known["CROSSRAIL_LIBRARY_DIR"] = os.environ["CROSSRAIL_BUILD"]
    if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/etc"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("may not mount")
    done = subprocess.run(["unshare", "-m", "sh", "-c", words, sys.executable, "list --settings --json"], env={**known, "CROSSRAIL_SLOTS": "3"},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    rows = {row["variable"]: (row["value"], row["from"]) for row in json.loads(done.stdout)}
    assert rows["CROSSRAIL_SLOTS"] == ("3", "environment")
    assert rows["CROSSRAIL_PLANS"] == ("9", "/etc/crossrail.conf:2")


def test_a_table_that_is_not_there_is_said_where_settings_are_listed(tmp_path):
    missing = str(tmp_path / "missing.csv")
    row = settings(tmp_path, CROSSRAIL_TUNING=missing)["CROSSRAIL_TUNING"]
    assert (row["value"], row["from"]) == (missing, "environment (wrong)")
    shown = crossrail("list", "--settings", folder=tmp_path, CROSSRAIL_TUNING=missing, COLUMNS="400").stdout
    assert f"CROSSRAIL_TUNING: {missing} is not there: the built-in table is used." in shown


def test_what_a_call_cannot_have_is_explained_by_what_it_would_need(tmp_path):
    shown = crossrail("explain", "alltoall", "--ranks", "8", "--nodes", "2", "--bytes", "1M", folder=tmp_path, COLUMNS="400").stdout
    assert "node_shared, node_single_copy" in shown and "does not fit: it needs all ranks on one node" in shown
    assert shown.count("no row of the tuning tables names it") == 1


def test_the_list_of_one_collective(tmp_path):
    shown = crossrail("list", "ialltoallv", folder=tmp_path, COLUMNS="400").stdout
    assert " alltoallv " in shown and " alltoall " not in shown and "allreduce" not in shown
    rows = json.loads(crossrail("list", "allreduce", "--json", folder=tmp_path).stdout)
    assert {row["collective"] for row in rows} == {"allreduce"}
