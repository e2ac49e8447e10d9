"""Which package may import which: the list in crossrail/__init__.py."""

import ast
from pathlib import Path

import crossrail

ROOT = Path(crossrail.__file__).parent
ORDER = ["", "machine", "cluster", "bench", "simulation", "report", "tuning", "cli"]
ABOVE_ALL = {"__main__.py": "cli", "demonstration.py": "report"}  # They put packages together.


def package_of(module):
    """'crossrail.bench.run' -> 'bench'; '' for a module at the top."""
    parts = module.split(".")[1:]
    return parts[0] if parts and (ROOT / parts[0]).is_dir() else ""


def imported(path):
    """The modules of crossrail that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("crossrail"):
            yield from ([f"{node.module}.{name.name}" for name in node.names] if (ROOT / Path(*node.module.split(".")[1:])).is_dir() else [node.module])


def test_packages_import_only_those_above_them():
    for path in ROOT.rglob("*.py"):
        mine = ABOVE_ALL.get(path.name, path.parent.name if path.parent != ROOT else "")
        for module in imported(path):
            assert ORDER.index(package_of(module)) <= ORDER.index(mine), f"{path.relative_to(ROOT)} imports {module}"


def test_no_command_imports_another():
    for path in (ROOT / "cli").glob("*.py"):
        if path.name != "app.py":
            assert not [module for module in imported(path) if module.startswith("crossrail.cli")], path.name
