"""Files that commands write, and JSON that they read."""

import json

import pytest

from crossrail.cli.app import main
from crossrail.errors import CliError
from crossrail.json_shape import misfit
from crossrail.outputs import check_files

SHAPE = {"name": str, "size?": int, "times": [float], "counts?": {str: int}}


def test_files_that_can_be_written_are_let_be(tmp_path):
    (tmp_path / "old.csv").write_text("old")
    check_files(None, tmp_path / "new.html", tmp_path / "old.csv")
    assert (tmp_path / "old.csv").read_text() == "old" and not (tmp_path / "new.html").exists()


@pytest.mark.parametrize("names, sentence", [((".",), "is a folder"), (("no/x",), "There is no folder"), (("x", "x"), "Two results"), (("x", "./x"), "Two results")])
def test_files_that_cannot_be_written_are_refused(names, sentence, tmp_path):
    with pytest.raises(CliError, match=sentence):
        check_files(*(tmp_path / name for name in names))


@pytest.mark.parametrize("value, words", [
    ({"name": "a", "times": [1, 2.5]}, ""), ({"name": "a", "times": [], "size": 3, "counts": {"b": 1}, "more": None}, ""),
    ([], "it is not an object"), ({"times": []}, "it has no 'name'"), ({"name": 1, "times": []}, "name is not a text"),
    ({"name": "a", "times": [1, None]}, r"times[1] is not a number"), ({"name": "a", "times": [], "counts": {"b": True}}, "counts.b is not a whole number"),
    ({"name": "a", "times": [], "size": 1.5}, "size is not a whole number")])
def test_what_does_not_fit_is_named(value, words):
    assert misfit(value, SHAPE) == words


@pytest.mark.parametrize("content", ["[1]", "{}", '{"rank":0,"calls":[{}]}', '{"rank":"0","calls":[]}', '{"rank":0,"calls":[{"name":"x","histogram":{"a":1}}]}',
                                     '{"rank":0,"calls":[],"plans":[{}]}', '{"rank":0,"calls":[],"time_line":{"part_seconds":null}}'])
def test_what_is_no_report_is_left_out(content, tmp_path, capsys):
    (tmp_path / "one.json").write_text(content)
    assert main(["report", str(tmp_path)]) == 2
    assert "one.json is none, or incomplete" in capsys.readouterr().err
    (tmp_path / "two.json").write_text(json.dumps({"rank": 0, "world_size": 1, "calls": []}))
    assert main(["report", str(tmp_path)]) == 0
    assert "one.json is incomplete and was left out" in " ".join(capsys.readouterr().out.split())
