"""Machine files: those that come with crossrail are right, and nonsense is refused with file, line and key."""

import re
from pathlib import Path

import pytest

from crossrail.errors import CliError
from crossrail.simulation import toml_lines
from crossrail.simulation.machine_file import machine_names, machine_path, read_machine
from crossrail.simulation.machine_keys import KEYS

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", machine_names())
def test_machines_that_come_along_are_right_and_name_their_sources(name):
    path = machine_path(name)
    read = read_machine(path)
    assert len(read.values) == sum(map(len, KEYS.values())) and read.nodes and read.about.endswith(".")
    before = ""
    for line in path.read_text().splitlines():
        assert len(line) <= 150, line
        assert "#" in line or before.startswith("#") or not re.match(r"\w+ = [\d{]", line), f"{name}: {line} has no source"
        before = line


def test_the_papers_machines_come_along():
    assert {"ohio_cluster_a", "ohio_cluster_b", "ohio_local_cluster"} <= set(machine_names())
    assert [read_machine(machine_path(f"ohio_{name}")).ranks_per_node for name in ("cluster_a", "cluster_b", "local_cluster")] == [56, 80, 28]


def test_a_range_has_a_favourable_end_whichever_that_is(banded):
    read = read_machine(banded)
    assert read.has_ranges and read.kind == "best" and read.nodes == (2, 4) and read.sizes == "8-16"
    assert (read.case(True)["adapters.cached"], read.case(True)["adapters.miss"]) == (5000, 35)
    assert (read.case(False)["adapters.cached"], read.case(False)["adapters.miss"]) == (256, 600)
    assert read.case(True)["memory.copy"] == read.case(False)["memory.copy"] == 10 and read.case(True)["network.shared_by_processors"] == 0


@pytest.mark.parametrize("old, new, sentence", [
    ("copy = 10", "copy = -10", "line 11: memory.copy is -10, but it is a time in nanoseconds, from 0 to 1e9."),
    ("copy = 10", 'copy = "fast"', "line 11: memory.copy is no number"),
    ("copy = 10", "copy = true", "line 11: memory.copy is no number"),
    ("copy = 10", "copy = nan", "line 11: memory.copy is nan"),
    ("copy = 10", "copy = inf", "line 11: memory.copy is inf"),
    ("copy = 10", "copy = [1, 2]", "line 11: memory.copy is no number"),
    ("copy = 10", "coppy = 10", "line 11: there is no key memory.coppy. Did you mean 'copy'?"),
    ("copy = 10\n", "", "line 7: [memory] has no 'copy', so memory.copy is missing."),
    ("copy = 10", "copy = 10\ncopy = 11", "line 12: it is no TOML (cannot overwrite a value)."),
    ("copy = 10", "copy = ", "line 11: it is no TOML (invalid value)."),
    ("copy = 10", "copy = { low = 5, high = 3 }", "line 11: memory.copy has low = 5, which is more than high = 3."),
    ("copy = 10", "copy = { low = 5 }", "line 11: memory.copy is no range: a range has low and high, and nothing else."),
    ("copy = 10", "copy = { low = 5, heigh = 6 }", "line 11: memory.copy has 'heigh', but a range has low and high."),
    ("copy = 10", "copy = { low = -5, high = 6 }", "line 11: memory.copy is -5, but it is a time"),
    ("core_bandwidth = 12", "core_bandwidth = 0", "line 8: memory.core_bandwidth is 0, but it is a bandwidth in GB/s"),
    ("core_bandwidth = 12", "core_bandwidth = 500", "line 8: memory.core_bandwidth is 500, which is more than memory.node_bandwidth, 112."),
    ("cached = 5000", "cached = 200000", "adapters.cached is 200000, which is more than adapters.queue_pairs, 131072."),
    ("cached = 5000", "cached = 0.5", "adapters.cached is 0.5, but it is a whole number"),
    ("count = 1", "count = 0", "adapters.count is 0, but it is a whole number, from 1"),
    ("count = 1", "count = { low = 1, high = 2 }", "adapters.count takes no range"),
    ("shared_by_processors = false", "shared_by_processors = 2", "network.shared_by_processors is 2, but it is 0 or 1."),
    ('kind = "rc"', 'kind = "rd"', "line 48: transport.kind is 'rd', but it is one of rc, ud, dc and best."),
    ('kind = "rc"', "kind = 0", "line 48: transport.kind is '0', but"),
    ('kind = "rc"\n', "", "line 47: [transport] has no 'kind', so transport.kind is missing."),
    ("[calls]\nenter = 160\n", "", "line 1: there is no section [calls], so calls.enter is missing."),
    ("[calls]\nenter = 160\n", "[calling]\nenter = 160\n", "line 18: there is no section 'calling'. Did you mean 'calls'?"),
    ("ranks_per_node = 2", "ranks_per_node = 0", "line 3: 'ranks_per_node' is 0, but it is a whole number from 1 to 4096."),
    ("ranks_per_node = 2\n", "", "line 1: 'ranks_per_node' is missing"),
    ('name = "A machine"', "name = 3", "line 1: 'name' is no text"),
    ("nodes = [2, 4]", 'nodes = "2,4"', "line 4: 'nodes' is no list: write nodes = [2, 4, 8]."),
    ("nodes = [2, 4]", "nodes = [2, -4]", "line 4: 'nodes' is -4"),
    ('sizes = "8-16"', 'sizes = "16-8"', "line 5: 'sizes' says no sizes"),
    ('sizes = "8-16"', "sizes = 8", "line 5: 'sizes' says no sizes"),
    ('about = "It', 'about = "\x1b[31mIt', "line 2: it is no TOML (illegal character"),
])
def test_nonsense_is_refused_with_file_line_and_key(old, new, sentence, machine):
    path = machine((old, new))
    with pytest.raises(CliError) as error:
        read_machine(path)
    assert str(error.value).startswith(f"{path}, line ") and sentence in str(error.value)
    assert str(error.value).endswith((".", "?")) and "\n" not in str(error.value) and "\x1b" not in str(error.value)


@pytest.mark.parametrize("content, sentence", [(b"\xff\xfe", "it is no text in UTF-8"), (b"", "line 1: 'name' is missing"), (b"[[memory]]\n", "line 1: "),
                                               (b"name = " + b"[" * 5000, "it is no TOML")])
def test_what_is_no_machine_file(content, sentence, tmp_path):
    path = tmp_path / "m.toml"
    path.write_bytes(content)
    with pytest.raises(CliError, match=sentence):
        read_machine(path)


def test_a_machine_is_named_by_its_path_or_its_name(tmp_path, monkeypatch):
    assert machine_path("ohio_cluster_a") == ROOT / "machines/ohio_cluster_a.toml"
    assert machine_path("./ohio_cluster_a") == Path("ohio_cluster_a") and machine_path("x.toml") == Path("x.toml")
    with pytest.raises(CliError, match="There is no machine 'ohio_cluster_c' here; there are ohio_cluster_a, .*Did you mean 'ohio_cluster_"):
        machine_path("ohio_cluster_c")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CliError, match="x.toml cannot be read: No such file or directory."):
        read_machine(machine_path("x.toml"))


def test_without_a_reader_of_toml_the_sentence_says_what_to_do(machine, monkeypatch):
    monkeypatch.setattr(toml_lines, "tomllib", None)
    with pytest.raises(CliError, match="from version 3.11 on: use a newer Python, or install the package tomli."):
        read_machine(machine())


def test_the_page_explains_every_key():
    page = (ROOT / "docs/simulation.md").read_text()
    missing = [f"{section}.{key}" for section, keys in KEYS.items() for key in [*keys, *(["kind"] if section == "transport" else [])] if f"| `{section}.{key}` |" not in page]
    assert not missing


def test_the_program_takes_the_same_keys():
    taken = re.findall(r'(?m)^VALUE\(\w+, "([\w.]+)"\)', (ROOT / "simulated_world/machine.def").read_text())
    assert sorted(taken) == sorted(["transport.kind", *(f"{section}.{key}" for section, keys in KEYS.items() for key in keys)])
