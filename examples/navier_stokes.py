#!/usr/bin/env python3
"""The Taylor-Green vortex by a pseudo-spectral method: the Navier-Stokes equations in a periodic cube. Each Fourier transform of the
three components goes through one MPI_Alltoall, twelve of them a time step.

    mpirun -n 4 python3 navier_stokes.py
    crossrail run --report -n 4 -- python3 navier_stokes.py --size 64
    crossrail run --report -n 2 -- python3 navier_stokes.py --arrays torch --device cuda

Every rank holds a slab of the cube: of x in physical space, of y in Fourier space. The time step is the classical Runge-Kutta
method of fourth order; products are dealiased by the rule of two thirds. What the flow loses of its energy must be what viscosity
takes, which is integrated with it: exit status 1 if it is not.

Needs mpi4py, and NumPy, CuPy, PyTorch or JAX.
"""
import argparse
import importlib
import os
import sys
import time

from mpi4py import MPI

TOLERANCE = 1e-6  # of the energy lost: the error of the time step


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--size", type=int, default=32, help="points along an edge of the cube, a multiple of the number of ranks (default 32)")
    add("--steps", type=int, default=20, help="time steps (default 20)")
    add("--viscosity", type=float, default=0.01)
    add("--step", type=float, default=0.01, help="time step (default 0.01)")
    add("--arrays", choices=["numpy", "cupy", "torch", "jax"], default="numpy", help="whose arrays and Fourier transforms")
    add("--device", default="cpu", help="torch and jax: cpu or cuda; ranks take the GPUs of their node in turn")
    return parser.parse_args(argv)


class Arrays:
    """What the solver needs of NumPy, CuPy or PyTorch."""

    def __init__(self, name, device, comm):
        self.library = importlib.import_module(name)
        self.fft = self.library.fft
        self.keywords = {}
        place = comm.Split_type(MPI.COMM_TYPE_SHARED).Get_rank()
        if name == "cupy":
            self.library.cuda.Device(place % self.library.cuda.runtime.getDeviceCount()).use()
        if name == "torch":
            if device == "cuda":
                device = f"cuda:{place % self.library.cuda.device_count()}"
                self.library.cuda.set_device(device)
            self.keywords = {"device": device}
        self.on_gpu = name == "cupy" or str(device).startswith("cuda")

    def array(self, values, dtype="float64"):
        make = getattr(self.library, "as_tensor", None) or self.library.asarray
        return make(values, dtype=getattr(self.library, dtype), **self.keywords)

    def empty(self, shape):
        return self.library.empty(shape, dtype=self.library.complex128, **self.keywords)

    def contiguous(self, array, order):
        if hasattr(array, "permute"):
            return array.permute(order).contiguous()
        return self.library.ascontiguousarray(array.transpose(order))

    def stack(self, arrays):
        return self.library.stack(arrays)

    def ready(self):
        """MPI reads what is there: kernels that write it have to end before."""
        if not self.on_gpu:
            return
        if hasattr(self.library.cuda, "synchronize"):
            self.library.cuda.synchronize()
        else:
            self.library.cuda.get_current_stream().synchronize()

    def exchanger(self, shape):
        """A function that gives an array of blocks to a call and returns what has come."""
        sent, received = self.empty(shape), self.empty(shape)

        def exchange(blocks, call):
            sent[...] = blocks
            self.ready()
            call(sent, received)
            return received

        return exchange


class Interface:
    """Of an array on a GPU, alone: mpi4py would ask it for DLPack first, with a stream that JAX 0.11 does not know. And JAX calls
    all of its arrays read only: MPI writes into one that nobody has seen yet."""

    def __init__(self, array):
        interface = array.__cuda_array_interface__
        address, _ = interface["data"]
        self.__cuda_array_interface__ = {**interface, "data": (address, False)}


class JaxArrays:
    """The same of JAX, whose arrays do not change: every exchange has new ones."""

    def __init__(self, device, comm):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # ranks may share a GPU
        self.jax = importlib.import_module("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.library = self.jax.numpy
        self.fft = self.library.fft
        devices = self.jax.devices(device)
        self.jax.config.update("jax_default_device", devices[comm.Split_type(MPI.COMM_TYPE_SHARED).Get_rank() % len(devices)])
        self.on_gpu = device == "cuda"

    def array(self, values, dtype="float64"):
        return self.library.asarray(values, dtype=dtype)

    def contiguous(self, array, order):
        return array.transpose(order)

    def stack(self, arrays):
        return self.library.stack(arrays)

    def exchanger(self, shape):
        # MPI writes into an array that nobody has seen yet. On the host JAX lets nobody write into any: NumPy does.
        numpy = importlib.import_module("numpy")
        empty, as_buffer = (self.library.empty, Interface) if self.on_gpu else (numpy.empty, numpy.asarray)

        def exchange(blocks, call):
            received = empty(shape, "complex128")
            self.jax.block_until_ready((blocks, received))
            call(as_buffer(blocks), as_buffer(received))
            return self.library.asarray(received)

        return exchange


def arrays_of(options, comm):
    if options.arrays == "jax":
        return JaxArrays(options.device, comm)
    return Arrays(options.arrays, options.device, comm)


class Transform:
    """Of three fields at once, from slabs of x in physical space to slabs of y in Fourier space, and back."""

    def __init__(self, comm, arrays, size):
        self.comm, self.arrays, self.size = comm, arrays, size
        self.slab = size // comm.size
        self.seconds = 0.0
        self.fft = arrays.fft
        # [peer][field][x of a slab][y of a slab][z in Fourier space]
        self.exchange_by = arrays.exchanger((comm.size, 3, self.slab, self.slab, size // 2 + 1))

    def call(self, sent, received):
        began = time.perf_counter()
        self.comm.Alltoall(sent, received)
        self.seconds += time.perf_counter() - began

    def exchange(self, blocks):
        return self.exchange_by(blocks, self.call)

    def forward(self, fields):
        half = self.size // 2 + 1
        planes = self.fft.fft(self.fft.rfft(fields, None, 3), None, 2)
        blocks = self.arrays.contiguous(planes.reshape(3, self.slab, self.comm.size, self.slab, half), (2, 0, 1, 3, 4))
        columns = self.arrays.contiguous(self.exchange(blocks), (1, 0, 2, 3, 4))
        return self.fft.fft(columns.reshape(3, self.size, self.slab, half), None, 1)

    def backward(self, modes):
        half = self.size // 2 + 1
        columns = self.fft.ifft(modes, None, 1).reshape(3, self.comm.size, self.slab, self.slab, half)
        planes = self.arrays.contiguous(self.exchange(self.arrays.contiguous(columns, (1, 0, 2, 3, 4))), (1, 2, 0, 3, 4))
        return self.fft.irfft(self.fft.ifft(planes.reshape(3, self.slab, self.size, half), None, 2), self.size, 3)


class Flow:
    def __init__(self, comm, arrays, size, viscosity):
        self.comm, self.arrays, self.size, self.viscosity = comm, arrays, size, viscosity
        self.transform = Transform(comm, arrays, size)
        slab = size // comm.size
        mine = range(comm.rank * slab, (comm.rank + 1) * slab)
        waves = [n if n < size // 2 else n - size for n in range(size)]
        along_y = [waves[n] for n in mine]
        self.k = [arrays.array(waves).reshape(-1, 1, 1), arrays.array(along_y).reshape(1, -1, 1),
                  arrays.array(list(range(size // 2 + 1))).reshape(1, 1, -1)]
        self.k2 = self.k[0] ** 2 + self.k[1] ** 2 + self.k[2] ** 2
        self.k2_or_one = self.k2 + (self.k2 == 0)
        self.kept = 1.0 * (abs(self.k[0]) < size / 3) * (abs(self.k[1]) < size / 3) * (self.k[2] < size / 3)
        # Modes of a real field: those along z that are not stored are the conjugates of others.
        self.weight = arrays.array([1.0] + [2.0] * (size // 2 - 1) + [1.0]).reshape(1, 1, 1, -1) / float(size) ** 6
        library = arrays.library
        x, y, z = (arrays.array([6.283185307179586 * n / size for n in where]) for where in (mine, range(size), range(size)))
        x, y, z = x.reshape(-1, 1, 1), y.reshape(1, -1, 1), z.reshape(1, 1, -1)
        u = library.sin(x) * library.cos(y) * library.cos(z)
        v = -library.cos(x) * library.sin(y) * library.cos(z)
        self.modes = self.transform.forward(arrays.stack([u, v, 0 * u])) * self.kept

    def total(self, density):
        """Over all modes of all ranks."""
        return self.comm.allreduce(float((self.weight * density).sum()))

    def energy(self):
        return 0.5 * self.total(abs(self.modes) ** 2)

    def rates(self, modes):
        """Of the modes; and the energy that viscosity takes."""
        k, to_physical = self.k, self.transform.backward
        velocity = to_physical(modes)
        vorticity = to_physical(1j * self.arrays.stack([k[1] * modes[2] - k[2] * modes[1], k[2] * modes[0] - k[0] * modes[2],
                                                        k[0] * modes[1] - k[1] * modes[0]]))
        (u, v, w), (a, b, c) = velocity, vorticity
        force = self.transform.forward(self.arrays.stack([v * c - w * b, w * a - u * c, u * b - v * a])) * self.kept
        along = (k[0] * force[0] + k[1] * force[1] + k[2] * force[2]) / self.k2_or_one  # pressure takes what is not free of divergence
        force = self.arrays.stack([force[axis] - k[axis] * along for axis in range(3)])
        return force - self.viscosity * self.k2 * modes, self.viscosity * self.total(self.k2 * abs(modes) ** 2)

    def advance(self, step):
        """One time step; the energy lost in it to viscosity."""
        parts = [(0.5, 1 / 6), (0.5, 1 / 3), (1.0, 1 / 3), (0.0, 1 / 6)]
        begun, at, lost = self.modes, self.modes, 0.0
        for ahead, share in parts:
            rate, dissipated = self.rates(at)
            self.modes = self.modes + step * share * rate
            lost += step * share * dissipated
            at = begun + step * ahead * rate
        return lost


def main(argv):
    options = parse(argv)
    comm = MPI.COMM_WORLD
    if options.size < 4 or options.size % 2 or options.size % comm.size:
        wrong = f"--size {options.size}: an even multiple of the {comm.size} ranks is needed, at least 4"
        sys.exit(wrong if comm.rank == 0 else 1)
    flow = Flow(comm, arrays_of(options, comm), options.size, options.viscosity)
    before = flow.energy()
    flow.advance(0.0)  # plans and first calls
    flow.transform.seconds, began, lost = 0.0, time.perf_counter(), 0.0
    for _ in range(options.steps):
        lost += flow.advance(options.step)
    seconds = time.perf_counter() - began
    after = flow.energy()
    difference = abs(before - after - lost) / max(lost, 1e-300)
    right = difference < TOLERANCE
    slowest = comm.allreduce(seconds, MPI.MAX)
    exchanging = comm.allreduce(flow.transform.seconds, MPI.SUM) / comm.size
    if comm.rank == 0:
        print(f"{options.size}^3 points, {comm.size} ranks, {options.arrays} on {'the GPU' if flow.arrays.on_gpu else 'the host'}: "
              f"{1e3 * slowest / max(options.steps, 1):.2f} ms a step, {100 * exchanging / slowest:.0f} % of it in MPI_Alltoall")
        print(f"energy {before:.12f} -> {after:.12f}; lost to viscosity {lost:.12f}, {difference:.1e} of that unaccounted for: "
              f"{'right' if right else 'WRONG'}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
