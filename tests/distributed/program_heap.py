"""MPI is loaded where another mapping lies right behind the heap, as a GPU's driver may put one: run by mpiexec."""

from __future__ import annotations

import ctypes
import mmap
import sys

import spirograd as sg

NONE, PRIVATE_ANONYMOUS_FIXED_NOREPLACE = 0, 0x100022

libc = ctypes.CDLL(None, use_errno=True)
libc.sbrk.restype = libc.mmap.restype = libc.malloc.restype = ctypes.c_void_p
libc.sbrk.argtypes = [ctypes.c_long]
libc.malloc.argtypes = [ctypes.c_size_t]
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]

assert sg._core._heap_can_grow()
end = -(-libc.sbrk(0) // mmap.PAGESIZE) * mmap.PAGESIZE
assert libc.mmap(end, mmap.PAGESIZE, NONE, PRIVATE_ANONYMOUS_FIXED_NOREPLACE, -1, 0) == end
assert not sg._core._heap_can_grow()
sg.distributed.init_process_group()
for size in range(0, 100_000, 100):
    ctypes.memset(libc.malloc(size + 1), 1, size)
x = sg.ones(3)
sg.distributed.all_reduce(x)
assert x.tolist() == [2.0] * 3
sys.stdout.write("all right\n")
