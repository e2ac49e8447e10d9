"""check_rules.py <root of the repository>: prints every broken rule, and fails if there is one."""

import sys
from pathlib import Path

from rules import RULES, catalogues, declared_parameters
from source import CPP

FOLDERS = ("src", "modules", "include", "virtual_world", "simulated_world", "python", "tests", "bench", "examples")


def read_all(root):
    files = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (*CPP, ".py") and path.is_file():
                files[path.relative_to(root).as_posix()] = path.read_text()
    return files


def broken(files):
    wrong = [f"{path}:{one}  [{rule.__name__}]" for path, text in files.items() for rule in RULES for one in rule(path, text)]
    return wrong + [f"{one}  [catalogues]" for one in catalogues(files) + declared_parameters(files)]


def main():
    files = read_all(Path(sys.argv[1]))
    if len(files) < 50:
        sys.exit(f"only {len(files)} files below {sys.argv[1]}: this is not the repository")
    wrong = broken(files)
    print("\n".join(wrong) if wrong else f"{len(files)} files keep the rules")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
