"""Completion is printed or installed where a shell looks, and overwrites nothing of others."""

import shutil
import subprocess

import pytest
from click.testing import CliRunner

from dpkit.cli import main
from dpkit.cli.completion import place_of


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(main, ["completion", *arguments])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_it_is_installed_and_installed_again(home, shell):
    for _ in range(2):
        assert run("--shell", shell, "--install").exit_code == 0
    text = place_of(shell, home).read_text()
    assert "_DPKIT_COMPLETE" in text
    assert text.startswith("#compdef dpkit") == (shell == "zsh")


def test_what_others_wrote_stays(home):
    place = place_of("fish", home)
    place.parent.mkdir(parents=True)
    place.write_text("mine")
    done = run("--shell", "fish", "--install")
    assert done.exit_code == 2
    assert "did not write it" in done.output
    assert place.read_text() == "mine"


def test_an_unknown_shell_is_said(home, monkeypatch):
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    done = run("--install")
    assert done.exit_code == 2
    assert "tcsh" in done.output


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_reads_it():
    subprocess.run(["bash", "-n"], input=run("--shell", "bash").stdout, text=True, check=True)
