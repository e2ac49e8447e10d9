"""Files that commands write, and JSON that they read."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from crossrail.cli.app import main
from crossrail.errors import CliError
from crossrail.inputs import parse_json, read_text
from crossrail.json_shape import Amount, Count, misfit
from crossrail.outputs import check_files, result_kept, write_file, writing

SHAPE = {"name": str, "size?": int, "times": [float], "counts?": {str: int}, "calls?": Count, "seconds?": Amount, "kind?": ("a", "b")}


@pytest.fixture
def little_space():
    """No file can become larger than 64 KiB, as on a disk without more space."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_files_that_can_be_written_are_let_be(tmp_path):
    (tmp_path / "old.csv").write_text("old")
    check_files(None, tmp_path / "new.html", tmp_path / "old.csv")
    assert (tmp_path / "old.csv").read_text() == "old" and not (tmp_path / "new.html").exists()


@pytest.mark.parametrize("names, sentence", [((".",), "is a folder"), (("no/x",), "There is no folder"), (("x", "x"), "Two results"), (("x", "./x"), "Two results")])
def test_files_that_cannot_be_written_are_refused(names, sentence, tmp_path):
    with pytest.raises(CliError, match=sentence):
        check_files(*(tmp_path / name for name in names))


def test_names_that_lead_nowhere_are_refused(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "into").symlink_to("nosuch/file")
    for name, sentence in (("loop", "Too many levels of symbolic links"), ("x" * 300, "File name too long"), ("into", "There is no folder .*nosuch")):
        with pytest.raises(CliError, match=sentence):
            check_files(tmp_path / name)
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports/0.json").write_text(json.dumps({"rank": 0, "calls": []}))
    (tmp_path / "reports/0.trace").write_text("x")
    for words in (["report", "{}/reports", "--html", "{}/loop"], ["trace", "{}/reports", "{}/loop"]):
        assert main([word.format(tmp_path) for word in words]) == 2


@pytest.mark.parametrize("words", [["report", "{0}", "--csv", "{0}/0.json"], ["report", "{0}", "--html", "{0}/0.json"], ["trace", "{0}", "{0}/0.trace"]])
def test_what_is_read_is_not_written_over(words, tmp_path, capsys):
    for name in ("0.json", "0.trace"):
        (tmp_path / name).write_text('{"rank": 0, "calls": []}')
    assert main([word.format(tmp_path) for word in words]) == 2
    assert "is what is read here: name another file" in capsys.readouterr().err
    assert {file.read_text() for file in tmp_path.iterdir()} == {'{"rank": 0, "calls": []}'}


def test_a_file_is_whole_or_as_it_was(tmp_path, little_space):
    file, link = tmp_path / "old.html", tmp_path / "link.html"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to("old.html")
    for name in (link, tmp_path / "new.html"):
        with pytest.raises(CliError, match="cannot be written: File too large"):
            write_file(name, "x" * 100_000)
    assert file.read_text() == "old" and sorted(one.name for one in tmp_path.iterdir()) == ["link.html", "old.html"]
    with pytest.raises(KeyboardInterrupt):
        with writing(link):
            raise KeyboardInterrupt
    write_file(link, "new \udcff")
    assert link.is_symlink() and file.read_text() == "new ?" and file.stat().st_mode & 0o777 == 0o640
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.html", "old.html"]


def test_devices_and_open_files_are_written_in_place(tmp_path):
    write_file(Path("/dev/null"), "x")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(CliError, match="No space left"):
        write_file(Path("/dev/full"), "x")
    words = "from crossrail.outputs import write_file, Path; print('before', flush=True); write_file(Path('/dev/stdout'), 'table'); print('after')"
    with open(tmp_path / "said", "a", encoding="utf-8") as said:
        subprocess.run([sys.executable, "-c", words], stdout=said, check=True)
        assert os.fstat(said.fileno()).st_ino == (tmp_path / "said").stat().st_ino
    assert (tmp_path / "said").read_text().endswith("after\n")


def test_a_result_that_is_lost_changes_a_good_exit_code_only(capsys):
    def lost():
        raise CliError("It is lost.")

    assert [result_kept(lost, code) for code in (0, 7)] == [2, 7] and result_kept(lambda: None, 0) == 0
    assert capsys.readouterr().err == 2 * "crossrail: It is lost.\n"


def test_texts_of_json_are_harmless_on_a_terminal():
    assert parse_json('["\\u001b[31mred\\nline", {"a\\u0007": "\\u202eä \\ud800"}]') == ["\ufffd[31mred line", {"a\ufffd": "\ufffdä \ufffd"}]
    for wrong in ("[" * 100_000, "NaN", "[1e999]", "[-Infinity]", "{"):
        with pytest.raises(ValueError):
            parse_json(wrong)


def test_what_is_no_text_is_said(tmp_path):
    (tmp_path / "x").write_bytes(b"a\xff")
    for name, sentence in (("x", "is no text in UTF-8"), ("nosuch", "No such file"), (".", "Is a directory")):
        with pytest.raises(CliError, match=sentence):
            read_text(tmp_path / name)


@pytest.mark.parametrize("more, words", [
    ({"calls": 0, "seconds": 0, "kind": "b"}, ""), ({"calls": -1}, "calls is not a whole number, 0 or more"), ({"calls": True}, "calls is not a whole number, 0 or more"),
    ({"calls": 1 << 64}, "calls is not a whole number, 0 or more"), ({"seconds": -0.5}, "seconds is not a number, 0 or more"), ({"kind": "c"}, "kind is none of a, b"),
    ({"kind": []}, "kind is none of a, b")])
def test_amounts_and_choices(more, words):
    assert misfit({"name": "a", "times": [], **more}, SHAPE) == words


@pytest.mark.parametrize("value, words", [
    ({"name": "a", "times": [1, 2.5]}, ""), ({"name": "a", "times": [], "size": 3, "counts": {"b": 1}, "more": None}, ""),
    ([], "it is not an object"), ({"times": []}, "it has no 'name'"), ({"name": 1, "times": []}, "name is not a text"),
    ({"name": "a", "times": [1, None]}, r"times[1] is not a number"), ({"name": "a", "times": [], "counts": {"b": True}}, "counts.b is not a whole number"),
    ({"name": "a", "times": [], "size": 1.5}, "size is not a whole number")])
def test_what_does_not_fit_is_named(value, words):
    assert misfit(value, SHAPE) == words


@pytest.mark.parametrize("content", ["[1]", "{}", '{"rank":0,"calls":[{}]}', '{"rank":"0","calls":[]}', '{"rank":0,"calls":[{"name":"x","histogram":{"a":1}}]}',
                                     '{"rank":0,"calls":[],"wall_seconds":-5}', '{"rank":0,"calls":[],"wall_seconds":NaN}', '{"rank":0,"calls":[],"plans":[{}]}', '{"rank":0,"calls":[],"wall_seconds":1e308}',
                                     '{"rank":0,"calls":[],"time_line":{"part_seconds":0,"carried":[1],"native":[1]}}', '{"rank":0,"calls":[],"time_line":{"part_seconds":null}}'])
def test_what_is_no_report_is_left_out(content, tmp_path, capsys):
    (tmp_path / "one.json").write_text(content)
    assert main(["report", str(tmp_path)]) == 2
    assert "one.json is none, or incomplete" in capsys.readouterr().err
    (tmp_path / "two.json").write_text(json.dumps({"rank": 0, "world_size": 1, "calls": []}))
    assert main(["report", str(tmp_path)]) == 0
    assert "one.json is incomplete and was left out" in " ".join(capsys.readouterr().out.split())


def test_a_size_of_no_call_is_no_row(tmp_path, capsys):
    call = {"name": "MPI_Alltoall", "carried": 1, "bytes": 8, "histogram": {"8": 0}}
    (tmp_path / "one.json").write_text(json.dumps({"rank": 0, "world_size": 1, "calls": [call]}))
    assert main(["report", str(tmp_path), "--html", str(tmp_path / "page.html")]) == 0
    assert "up to" not in capsys.readouterr().out


def test_a_damaged_report_is_named_and_is_no_lost_rank(tmp_path, capsys):
    whole = {"rank": 0, "world_size": 3, "host": "\x1b[31mh", "mpi": "\x1b]0;title\x07 MPI\nline", "calls": [{"name": "MPI_\x1b[2J", "carried": 1}]}
    (tmp_path / "h.0.json").write_text(json.dumps(whole))
    (tmp_path / "h.1.json").write_text(json.dumps(whole)[:40])
    assert main(["report", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "2 of 3 ranks left no report here: killed" in said and "h.1.json is incomplete and was left out." in said and "\x1b" not in said and "\x07" not in said
    (tmp_path / "h.2.json").write_text("{")
    (tmp_path / "h.3.json").symlink_to("h.3.json")
    assert main(["report", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "2 of 3 ranks left no report here that can be read." in said and "h.2.json is incomplete" in said and "h.3.json is incomplete" in said
