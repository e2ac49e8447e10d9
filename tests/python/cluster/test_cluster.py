"""Clusters on one machine: dealing ranks and cores, and the words for each launcher. Nothing is started here."""

from pathlib import Path

import pytest

from crossrail import launchers
from crossrail.cli.words import split_cluster, split_run
from crossrail.cluster import hosts as cluster_hosts
from crossrail.cluster import launch as cluster_launch
from crossrail.cluster import network as cluster_network
from crossrail.cluster.hosts import Cluster, agent_text
from crossrail.cluster.launch import cluster_start
from crossrail.cluster.plan import Host, crowded, distribute, distribute_cores, lay_out, parse_bandwidth, parse_per_host, resolve_ranks, visible_gpus
from crossrail.errors import CliError
from crossrail.launchers import Job, Launcher


def test_ranks_are_dealt_in_even_blocks():
    assert distribute(56, 4) == [14, 14, 14, 14]
    assert distribute(7, 3) == [3, 2, 2]
    for ranks, hosts in ((3, 4), (4, 0), (1000, 251)):
        with pytest.raises(CliError):
            distribute(ranks, hosts)


def test_lists_of_ranks():
    assert parse_per_host("3,1,2") == [3, 1, 2]
    for text in ("", "3,", "3,0", "a", "3 1", "-1"):
        with pytest.raises(CliError, match="no list"):
            parse_per_host(text)


def test_what_the_user_says_must_agree():
    assert resolve_ranks(None, None, "3,1", 8) == [3, 1]
    assert resolve_ranks(2, 4, "3,1", 8) == [3, 1]
    assert resolve_ranks(4, None, None, 8) == [2, 2, 2, 2]
    assert resolve_ranks(4, None, None, 2) == [1, 1, 1, 1]
    assert resolve_ranks(None, 5, None, 8) == [3, 2]
    for hosts, ranks in ((3, None), (None, 5)):
        with pytest.raises(CliError, match="says otherwise"):
            resolve_ranks(hosts, ranks, "3,1", 8)


@pytest.mark.parametrize("count, ranks, expected", [
    (8, [4, 4], [[0, 1, 2, 3], [4, 5, 6, 7]]),
    (5, [1, 1], [[0, 1, 2], [3, 4]]),
    (4, [3, 1], [[0, 1, 2], [3]]),  # Each rank has a core, though uneven.
    (6, [3, 1], [[0, 1, 2], [3, 4, 5]]),
    (7, [5, 1], [[0, 1, 2, 3, 4, 5], [6]]),
    (2, [2, 2], [[0], [1]]),  # There are too few cores, and still hosts share none.
    (2, [1, 1, 1], [[0], [1], [0]]),
])
def test_cores(count, ranks, expected):
    assert distribute_cores(list(range(count)), ranks) == expected


def test_whether_ranks_share_cores():
    assert not crowded(lay_out("c", [2, 2], [0, 1, 2, 3]))
    assert crowded(lay_out("c", [2, 2], [0, 1]))
    assert crowded(lay_out("c", [1, 1, 1], [0, 1]))


def test_hosts():
    assert lay_out("c", [2, 1], [4, 5])[1] == Host(2, "c-2", "10.83.0.2", 1, [5])


def test_bandwidth():
    assert parse_bandwidth("10gbit") == 10**10
    assert parse_bandwidth("2.5Gbit") == 2500 * 10**6
    for text in ("fast", "10", "10gbps", "0gbit", "-1gbit", "10 gbit; ls"):
        with pytest.raises(CliError, match="no bandwidth"):
            parse_bandwidth(text)


def test_options_of_the_cluster_and_of_the_launcher():
    parts = split_cluster(["-H", "4", "-np", "8", "--bandwidth=1gbit", "--native", "--bind-to", "core", "--", "./app", "-H", "9"])
    assert parts.own == ["-H", "4", "-n", "8", "--bandwidth=1gbit", "--native"]
    assert parts.launcher == ["--bind-to", "core"]
    assert parts.program == ["./app", "-H", "9"]
    assert split_run(["-H", "a:2", "--", "./app"]).launcher == ["-H", "a:2"]  # There, it is mpirun's.


@pytest.fixture
def small(monkeypatch):
    """A cluster that is laid out, not started: 2 and 1 ranks on 4 cores; a plain user."""
    monkeypatch.setattr(cluster_hosts, "usable_cores", lambda: [0, 1, 2, 3])
    monkeypatch.setattr(launchers.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(launchers, "core_count", lambda: 4)
    monkeypatch.setattr(cluster_launch, "major_version", lambda _: 4)
    for name in cluster_launch.hydra_environment():
        monkeypatch.delenv(name, raising=False)
    one = Cluster([2, 1])
    one.folder = Path("/c")
    return one


def start(one, family, *words):
    """How a program is started there."""
    return cluster_start(one, Job(Launcher("/bin/launcher", family), None, ["./app"], list(words), {"LD_PRELOAD": "/l.so"}))


def test_open_mpi_4(small):
    words = start(small, "openmpi").words
    text = " ".join(words)
    assert words[:2] == ["nsenter", f"--net=/var/run/netns/{small.hosts[0].name}"]
    assert words[words.index("/bin/launcher") - 1] == "0,1"  # These are the first host's cores.
    assert "--mca plm rsh --mca plm_rsh_agent /c/agent --mca plm_rsh_no_tree_spawn 1" in text
    assert "--host 10.83.0.1:2,10.83.0.2:1" in text and "--bind-to none" in text and "mpi_yield_when_idle 0" in text
    assert "-n 3" in text and "-x LD_PRELOAD=/l.so" in text and words[-1] == "./app"


def test_open_mpi_5(small, monkeypatch):
    monkeypatch.setattr(cluster_launch, "major_version", lambda _: 5)
    text = " ".join(start(small, "openmpi").words)
    assert "--prtemca plm ssh --prtemca plm_ssh_agent /c/agent" in text and "--prtemca prte_if_include eth0" in text
    assert f"--host {small.hosts[0].name}:2,10.83.0.2:1" in text and "--map-by slot" in text


def test_what_the_user_says_wins(small):
    text = " ".join(start(small, "openmpi", "--bind-to", "core", "--map-by", "node", "--mca", "btl", "self,tcp").words)
    assert "--bind-to none" not in text and "--map-by slot" not in text and text.count(" btl ") == 1


def test_hydra(small, monkeypatch):
    begun = start(small, "hydra")
    assert "-launcher ssh -launcher-exec /c/agent -machinefile /c/hosts" in " ".join(begun.words)
    assert begun.environment["FI_PROVIDER"] == "tcp"
    monkeypatch.setenv("FI_PROVIDER", "sockets")
    assert "FI_PROVIDER" not in start(small, "hydra").environment


def test_what_cannot_be(small):
    with pytest.raises(CliError, match="names hosts"):
        start(small, "openmpi", "--host", "a:2")
    with pytest.raises(CliError, match="srun|machines of its own"):
        start(small, "srun")
    small.folder = None
    with pytest.raises(CliError, match="not started"):
        start(small, "openmpi")


@pytest.mark.parametrize("text, version", [("mpirun (Open MPI) 4.1.4", 4), ("mpirun (Open MPI) 5.0.11", 5), ("?", 4)])
def test_versions(tmp_path, text, version):
    launcher = tmp_path / "mpirun"
    launcher.write_text(f"#!/bin/sh\necho '{text}'\n")
    launcher.chmod(0o755)
    assert cluster_launch.major_version(str(launcher)) == version


def test_the_agent_knows_every_host(small):
    text = agent_text(small.hosts)
    assert f"10.83.0.2|{small.hosts[1].name}) name={small.hosts[1].name} cores=2,3 own='' ;;" in text


def test_hosts_have_gpus_of_their_own(small, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, 1,GPU-7")
    assert visible_gpus() == ["3", "1", "GPU-7"]
    hosts = lay_out("c", [2, 2], [0, 1, 2, 3], visible_gpus())
    assert [host.gpus for host in hosts] == [("3", "1"), ("GPU-7",)]
    assert [host.gpus for host in lay_out("c", [1, 1], [0, 1], ["0"])] == [(), ()]  # There are too few, so all see it.
    assert "own=CUDA_VISIBLE_DEVICES=3,1 ;;" in agent_text(hosts) and "own=CUDA_VISIBLE_DEVICES=GPU-7 ;;" in agent_text(hosts)
    small.hosts = hosts
    assert small.entering(hosts[1])[-2:] == ["env", "CUDA_VISIBLE_DEVICES=GPU-7"]


def test_no_cluster_without_ip(small, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CliError, match="'ip'.*iproute2"):
        small.__enter__()


def test_names_tell_their_owner(small):
    for name in small.names:
        match = cluster_network.NAME.match(name)
        assert match and cluster_network.start_of(int(match[1])) == match[2]
    assert not cluster_network.NAME.match("crossrail-1-2")
    assert cluster_network.start_of(2**22 + 1) == ""
