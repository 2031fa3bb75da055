"""Where things live, and whether a disk can be trusted with a ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from sordino.ledger import is_network_path
from sordino.ledger.place import state_directory, write_once


def test_the_state_directory_is_the_one_given_then_the_variable_then_the_platforms(monkeypatch, tmp_path):
    assert state_directory("/given") == Path("/given")
    monkeypatch.setenv("SORDINO_STATE", "/variable")
    assert state_directory() == Path("/variable")
    monkeypatch.delenv("SORDINO_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert state_directory() == tmp_path / "sordino"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/amina")
    assert state_directory() == Path("/home/amina/.local/state/sordino")
    monkeypatch.setattr("sys.platform", "darwin")
    assert state_directory() == Path("/home/amina/Library/Application Support/sordino")


@pytest.mark.parametrize(
    ("path", "network"),
    [
        ("/data/people.ledger", False),
        ("/mnt/share/people.ledger", True),
        ("/mnt/share", True),
        ("/mnt/sharepoint/people.ledger", False),
        ("/mnt/share/disk/people.ledger", False),
        ("/mnt/my files/people.ledger", True),
        ("/over/people.ledger", True),
    ],
)
def test_network_file_systems_are_told_by_the_mount_table(tmp_path, path, network):
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/vda / ext4 rw 0 0\nhost:/x /mnt/share nfs4 rw 0 0\n/dev/vdb /mnt/share/disk xfs rw 0 0\n"
        "//nas/y /mnt/my\\040files cifs rw 0 0\n/dev/vdc /over ext4 rw 0 0\nuser@h: /over fuse.sshfs rw 0 0\nshort\n"
    )
    assert is_network_path(path, mounts=mounts) is network


def test_without_a_mount_table_nothing_is_claimed(tmp_path):
    assert not is_network_path("/anything", mounts=tmp_path / "none")


def test_a_file_written_once_stays_as_it_was(tmp_path):
    assert write_once(tmp_path / "a", b"first")
    assert not write_once(tmp_path / "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
