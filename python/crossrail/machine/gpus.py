"""The GPUs that CUDA's driver shows to programs started here.

A driver in trouble crashes or hangs whoever asks it, so a child process does. The file is also the program of that child: it prints
a JSON object with `problem` (empty: none) and `gpus`, each with name, bus, bytes, mode (CUcomputemode) and reaches (other GPUs).
"""

import ctypes
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List

ANSWER_S = 60.0  # a node of eight GPUs without a persistent driver takes some ten seconds
COMPUTE_MODE = 20  # CU_DEVICE_ATTRIBUTE_COMPUTE_MODE
SHARED, PROHIBITED, ONE_PROCESS = 0, 2, 3


@dataclass
class Gpu:
    """`bus`: '0000:1b:00.0'; `mode`: SHARED, PROHIBITED or ONE_PROCESS; `reaches`: numbers of the GPUs whose memory it can map."""

    name: str
    bus: str
    bytes: int
    mode: int = SHARED
    reaches: List[int] = field(default_factory=list)


@dataclass
class Gpus:
    """What the driver says; `driver` is False where there is none, `problem` its own words where it sees no GPU."""

    driver: bool
    problem: str = ""
    gpus: List[Gpu] = field(default_factory=list)


class DriverError(Exception):
    """A function of the driver has failed."""


def call(driver: Any, name: str, *arguments: Any) -> None:
    """Calls a function of the driver; raises DriverError with the driver's words."""
    code = getattr(driver, name)(*arguments)
    if code:
        words = ctypes.c_char_p()
        driver.cuGetErrorString(code, ctypes.byref(words))
        raise DriverError((words.value or b"").decode() or f"error {code} of {name}")


def number_from(driver: Any, name: str, *arguments: Any) -> int:
    """What a function writes into its first argument, an int."""
    value = ctypes.c_int()
    call(driver, name, ctypes.byref(value), *arguments)
    return value.value


def ask_gpu(driver: Any, number: int, count: int) -> Dict[str, Any]:
    """One GPU, as a dict of Gpu's members."""
    name, bus, size = ctypes.create_string_buffer(256), ctypes.create_string_buffer(32), ctypes.c_size_t()
    device = number_from(driver, "cuDeviceGet", number)
    call(driver, "cuDeviceGetName", name, len(name), device)
    call(driver, "cuDeviceGetPCIBusId", bus, len(bus), device)
    call(driver, "cuDeviceTotalMem_v2", ctypes.byref(size), device)
    reaches = [other for other in range(count) if other != number and number_from(driver, "cuDeviceCanAccessPeer", device, number_from(driver, "cuDeviceGet", other))]
    return {"name": name.value.decode(), "bus": bus.value.decode().lower(), "bytes": size.value,
            "mode": number_from(driver, "cuDeviceGetAttribute", COMPUTE_MODE, device), "reaches": reaches}


def ask_driver() -> Dict[str, Any]:
    """What the child prints."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return {"driver": False}
    try:
        call(driver, "cuInit", 0)
        count = number_from(driver, "cuDeviceGetCount")
        return {"driver": True, "gpus": [ask_gpu(driver, number, count) for number in range(count)]}
    except DriverError as error:
        return {"driver": True, "problem": str(error)}
    except AttributeError as error:  # something else under the driver's name
        return {"driver": True, "problem": f"it is not complete: {error}"}


def look() -> Gpus:
    """Asks in a child process."""
    try:
        child = subprocess.run([sys.executable, str(Path(__file__).resolve())], capture_output=True, text=True, timeout=ANSWER_S,
                               env={name: value for name, value in os.environ.items() if name != "LD_PRELOAD"})
        said = json.loads(child.stdout)
    except subprocess.TimeoutExpired:
        return Gpus(True, f"it does not answer within {ANSWER_S:g} s")
    except ValueError:
        return Gpus(True, f"the process that asks it ended with status {child.returncode}")
    return Gpus(said["driver"], said.get("problem", ""), [Gpu(**one) for one in said.get("gpus", [])])


if __name__ == "__main__":
    print(json.dumps(ask_driver()))
