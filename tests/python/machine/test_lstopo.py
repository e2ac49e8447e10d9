"""The picture of the machine by hwloc's tool."""

import shutil
import xml.etree.ElementTree as xml

import pytest

from crossrail.machine import lstopo

DRAWN = """<?xml version='1.0' encoding='UTF-8'?>
<svg xmlns='http://www.w3.org/2000/svg' width='322px' height='286px' viewBox='0 0 322px 286px' version='1.1'>
  <rect id='Core_0_rect' class='Core' x='14' y='203' width='64' height='69' fill='rgb(190,190,190)' stroke='rgb(0,0,0)' onclick='x()'/>
  <text id='Core_0_text' class='Core' font-family='Monospace' x='21' y='220' fill='rgb(0,0,0)' font-size='10px'>Core &lt;0&gt;</text>
  <script>x()</script>
</svg>"""


def test_the_picture_has_the_colours_of_the_pages():
    made = lstopo.restyle(DRAWN)
    root = xml.fromstring(made)
    assert root.get("viewBox") == "-0.5 -0.5 323 287" and '<rect class="core" x="14"' in made and "Core &lt;0&gt;" in made
    assert "rgb(" not in made and "prefers-color-scheme: dark" in made
    assert "onclick" not in made and "<script" not in made and " id=" not in made


@pytest.mark.parametrize("drawn", ["", "Unsupported output format", "<svg xmlns='http://www.w3.org/2000/svg' width='1px' height='1px'/>", DRAWN.replace("x='14'", "x='a'")])
def test_what_is_no_picture_is_refused(drawn):
    with pytest.raises(ValueError):
        lstopo.restyle(drawn)


def test_without_the_tool_there_is_no_picture(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert lstopo.lstopo_picture() == ""


@pytest.mark.skipif(not shutil.which("lstopo"), reason="lstopo is not installed")
def test_this_machine_is_drawn():
    assert lstopo.lstopo_picture().count('class="pu"') >= 1
