"""Shared memory that ended jobs have left."""

import os
import time

from crossrail.machine import orphans

OLD = "crossrail.0123456789abcdef"


def old(path):
    """A file of an hour ago."""
    path.write_bytes(b"x")
    os.utime(path, (time.time() - 3600,) * 2)
    return path


def test_only_old_segments_that_nobody_has_open(tmp_path):
    left, held, mapped = (old(tmp_path / f"crossrail.{digit * 16}") for digit in "123")
    (tmp_path / "crossrail.4444444444444444").write_bytes(b"new")
    old(tmp_path / "crossrail.short")
    old(tmp_path / "of_somebody_else")
    (tmp_path / "crossrail.5555555555555555").symlink_to(left)
    processes = tmp_path / "proc"
    (processes / "7/fd").mkdir(parents=True)
    (processes / "7/fd/3").symlink_to(held)
    (processes / "7/maps").write_text(f"7f00-7f10 rw-s 00000000 00:18 5  {mapped}\n7f20-7f30 rw-p 00000000 00:00 0\n")
    assert orphans.find(tmp_path, processes) == [left]


def test_files_of_other_users_stay(tmp_path, monkeypatch):
    old(tmp_path / OLD)
    monkeypatch.setattr(orphans.os, "geteuid", lambda: os.getuid() + 1)
    assert orphans.find(tmp_path) == []


def test_an_open_file_of_this_process_is_seen(tmp_path):
    path = old(tmp_path / OLD)
    with open(path, "rb"):
        assert orphans.find(tmp_path) == []
    assert orphans.find(tmp_path) == [path]
    assert orphans.find(tmp_path / "nosuch") == []
