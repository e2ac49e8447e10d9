"""The files of a tuning run: what is there already, and is no table or no record, is refused before anything is measured."""

import pytest

from crossrail import core
from crossrail.cli import tune
from crossrail.cli.app import main
from crossrail.errors import CliError
from crossrail.tuning.campaign import Campaign, Context, Goal
from crossrail.tuning.record import Record
from crossrail.tuning.table import older_rows, write_table

WORDS = ["tune", "alltoall", "-n", "2", "--min", "8", "--max", "8", "--rounds", "3"]
HEADER = "collective,memory,nodes,ranks_per_node,up_to_bytes,algorithm\n"


@pytest.fixture(autouse=True)
def nothing_is_measured(monkeypatch):
    """A catalogue, a machine, and no settings."""
    monkeypatch.setattr(core, "catalogue", lambda: [{"collective": "alltoall", "memory": "host", "name": "bruck", "summary": "", "parameters": []}])
    monkeypatch.setattr(tune, "check_that_on", lambda done: None)
    monkeypatch.setattr(tune, "describe_machine", lambda name: {"host": "h", "cpu": "c"})
    monkeypatch.setattr(tune, "run_campaigns", lambda request, record: pytest.fail("something was measured"))
    for name in ("CROSSRAIL_NODES", "CROSSRAIL_TUNING"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("content, sentence", [
    (b"a\xff\xfe", "is no text in UTF-8"), (b'{"format":"crossrail recorded calls","version":1,"a":[1,2,3,4,5,6,7]}', "of more cells than columns"),
    (b"[]", "without memory"), (b"rank,host,pid,wall,finished,name,carried\n0,h,1,2,3,4,5\n", "of which nodes is no number, range or *"),
    (b"collective,mpi,ranks\nalltoall,x,2\n", "a column 'ranks'"), (HEADER.encode() + b"alltoall,host,1,2\n", "without up_to_bytes"),
    (HEADER.encode() + b"alltoall,host,\x1b[31m,2,8,bruck\n", "nodes is no number")])
@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_what_is_no_table_is_not_written_over(content, sentence, resume, tmp_path, capsys):
    file = tmp_path / "mm.csv"
    file.write_bytes(content)
    assert main([*WORDS, "--output", str(file), *resume]) == 2
    said = capsys.readouterr().err
    assert "mm.csv is there, and is no tuning table to add to. It" in said.replace(f"{file} cannot", "It cannot") and sentence in said and "\x1b" not in said
    assert file.read_bytes() == content and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("content, sentence", [(b'{"key"\xff\n', "is no text in UTF-8"), (b"[" * 100_000 + b"\n", ":1: this is no line of a measurement"),
                                               (b"7\n", ":1: this is no line of a measurement")])
def test_what_is_no_record_is_said(content, sentence, tmp_path, capsys):
    (tmp_path / "t.alltoall.measurements.jsonl").write_bytes(content)
    assert main([*WORDS, "--output", str(tmp_path / "t.csv"), "--resume"]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["t.csv", "t.alltoall.measurements.jsonl"])
def test_folders_in_the_place_of_files(kind, tmp_path, capsys):
    (tmp_path / kind).mkdir()
    assert main([*WORDS, "--output", str(tmp_path / "t.csv"), "--resume"]) == 2
    assert f"{kind} is a folder; name a file." in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_a_wrong_time_leaves_nothing_behind(seconds, tmp_path, capsys):
    assert main([*WORDS, "--output", str(tmp_path / "z.csv"), "--seconds", seconds]) == 2
    assert "--seconds takes seconds, more than 0." in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_a_job_without_a_result_is_said_and_leaves_no_record(tmp_path):
    record = Record(tmp_path / "record.jsonl", {"hosts": 2}, False)
    with pytest.raises(CliError, match="The first job, 4 ranks, ended without a measurement"):
        Campaign(Goal("alltoall", 4, [8], 3), Context(lambda names, sizes: {"results": []}, record)).run()
    assert not record.path.exists()


def test_a_table_stays_where_there_is_no_space(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text(HEADER + "alltoall,host,1,2-8,*,bruck\n")
    assert older_rows(table) == [["alltoall", "host", "*", "1", "2-8", "*", "*", "bruck", ""]] and older_rows(tmp_path / "new.csv") == []
    assert write_table(table, [], []) == 1 and "alltoall,host,*,1,2-8,*,*,bruck," in table.read_text()
    full = tmp_path / "full.csv"
    full.symlink_to("/dev/full")
    with pytest.raises(CliError, match="full.csv cannot be written: No space left"):
        write_table(full, [], [])
