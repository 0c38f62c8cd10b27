"""Random kernels without data races, rewritten (regions.py) and as they were: equal to the byte.

Each thread writes y and s at places of its own; what others wrote it reads behind a barrier.
Numbers are unsigned, so that no overflow is undefined. CYNET_RANDOM_KERNELS: how many modules
(default 2).
"""

import ctypes
import os
import random

import numpy as np
import pytest

from cynet.cuda.emulator import EmulatedModule
from cynet.cuda.emulator import module as module_of_kernels
from cynet.cuda.emulator.source import Source

HELPERS = """
#define TWICE(a) ((a) + (a))
#define SIZE 64
struct Pair { unsigned a, b; };
__device__ unsigned mixed(unsigned a, unsigned b) { return (a ^ (b << 3)) * 2654435761u + 1; }
__device__ void bump(unsigned &a, unsigned b) { a += b * 3; }
__device__ void put(unsigned *a, unsigned b) { *a ^= b; }
"""
SHAPES = ((64,), (16, 4), (4, 4, 4))


class Plain(Source):
    """A source whose kernels stay as they are."""

    def in_regions(self, names):
        return self.rewritten(), {}


class Kernel:
    """The text of a random kernel."""

    def __init__(self, seed):
        self.random, self.count, self.loops = random.Random(seed), 0, 0
        self.choose, self.chance = self.random.choice, self.random.random

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def value(self, known, depth=0):
        """An expression; `known` are variables, an array's element among them."""
        kind = self.chance()
        if depth > 2 or kind < 0.3:
            number = f"{self.random.randrange(20)}u"
            return self.choose([*known, *known, number, "n", "threadIdx.x"])
        one, two = self.value(known, depth + 1), self.value(known, depth + 1)
        if kind < 0.65:
            return f"({one} {self.choose('+-*&|^')} {two})"
        if kind < 0.72:
            return f"({self.condition(known, depth + 1)} ? {one} : {two})"
        return self.choose([
            f"x[({one}) & 63]", f"mixed({one}, {two})", f"TWICE({one})", f"({one} >> 2)",
            f"max({one}, 0u + {two})", f"(unsigned short)({one})", f"unsigned({one})",
        ])  # fmt: skip

    def condition(self, known, depth=0):
        return (
            f"{self.value(known, depth + 1)} {self.choose(['<', '>', '==', '!=', '<=', '% 3u <'])} "
            f"{self.value(known, depth + 1)}"
        )

    def change(self, known):
        """A statement that changes a variable; the last ones go by reference or pointer."""
        name, value = self.choose(known), self.value(known)
        return self.choose([
            f"{name} {self.choose(['=', '+=', '^=', '-=', '*=', '|='])} {value};",
            f"{name}++;", f"--{name};", f"({name}) += {value};", f"{name} <<= 1;",
            f"{self.choose(known)} = {value}, {name} ^= 5u;", f"bump({name}, {value});",
            f"put(&{name}, {value});", f"bump(({name}), 2u);",
            f"{{ unsigned &r = {name}; r += {value}; }}", f"y[t] += {value};",
            f"y[t + 64] = y[t] ^ {value};", f"s[t] = {value};", f"s[t] += y[t] + {value};",
        ])  # fmt: skip

    def private(self, known, depth=0, loop=False):
        """Statements without a barrier."""
        out, known = [], list(known)
        for _ in range(self.random.randint(1, 4)):
            kind = self.chance()
            if kind < 0.2:
                name = self.choose([*known[:2], self.name()]) if depth else self.name()
                if any(f" {name} =" in each for each in out):
                    continue
                out.append(f"unsigned {name} = {self.value([k for k in known if k != name])};")
                known.append(name)
            elif kind < 0.6 or depth > 2:
                out.append(self.change(known))
            elif kind < 0.75:
                out.append(f"if ({self.condition(known)}) {self.private(known, depth + 1, loop)}")
                if self.chance() < 0.5:
                    out.append(f"else {self.private(known, depth + 1, loop)}")
            elif kind < 0.8:
                out.append(f"if ({self.condition(known)} && t > 40) return;")
            elif kind < 0.85 and loop:
                out.append(f"if ({self.condition(known)}) {self.choose(['break', 'continue'])};")
            elif kind < 0.92:
                i = self.name()
                out.append(
                    f"for (unsigned {i} = 0; {i} < {self.random.randint(1, 5)}; ++{i}) "
                    f"{self.private(known, depth + 1, True)}"
                )
            else:
                out.append(
                    f"switch ({self.value(known)} & 3u) {{ case 0: {self.change(known)} "
                    f"case 1: {self.change(known)} break; case 2: {self.private(known, depth + 1)} "
                    f"default: {self.change(known)} }}"
                )
        return "{ " + "\n    ".join(out) + " }"

    def together(self, known, same, depth=0):
        """Statements with barriers; `same` are variables that all threads have alike."""
        out, known, same = [], list(known), list(same)
        for _ in range(self.random.randint(2, 5)):
            kind = self.chance()
            if kind < 0.2:
                name = self.name()
                out.append(f"unsigned {name} = {self.value(known)}, {name}b = {name} + 1;")
                known += [name, name + "b"]
            elif kind < 0.3:
                name = self.name()
                out.append(f"unsigned {name} = {self.choose(same)} / 2 + 3;")
                same.append(name)
                known.append(name)  # may be changed by a thread: then it is no longer the same
                same = same[:-1] if self.chance() < 0.5 else same
                if name in same:
                    known.remove(name)
            elif kind < 0.45:
                out.append(self.private(known))
            elif kind < 0.6:
                out.append(self.change(known))
            elif kind < 0.75:
                there = self.choose(["63 - t", "(t + 7) & 63", "t ^ 1"])
                out.append(f"__syncthreads(); {self.choose(known)} += s[{there}]; __syncthreads();")
            elif kind < 0.82:
                out.append(
                    f"for (unsigned i = t; i < 128; i += 64) y[i] ^= {self.value(known)} + i;"
                    if self.chance() < 0.5
                    else "for (unsigned i = threadIdx.x; i < 16; i += blockDim.x) { "
                    f"if (!(i % 3)) continue; {self.change(known)} }}"
                )
            elif kind < 0.9 and depth < 2:
                k = self.name()
                head = self.choose([
                    f"for (unsigned {k} = 0; {k} < 3; ++{k})",
                    f"for (unsigned {k} = 32; {k} > 3; {k} >>= 1)",
                    f"for (unsigned {k} = 1, {k}c = 0; {k}c < 3; {k} *= 2, ++{k}c)",
                ])  # fmt: skip
                out.append(f"{head} {self.together(known, [*same, k], depth + 1)}")
            elif depth < 2:
                out.append(
                    f"if ({self.choose(same)} > {self.random.randrange(9)}u) "
                    f"{self.together(known, same, depth + 1)}"
                )
        return "{ " + "\n  ".join(out) + " }"

    def text(self, name):
        at = "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x"
        return (
            f"__global__ void {name}(const unsigned *x, unsigned *y, unsigned n) {{\n"
            f"  __shared__ unsigned s[SIZE];\n  const unsigned t = {at};\n  s[t] = x[t];\n"
            f"  unsigned a = x[t] + t, b = n; Pair p = {{a, 7u}};\n  "
            + self.together(["a", "b", "p.a", "p.b"], ["n"])
            + "\n  __syncthreads(); y[t + 128] = a + 3 * b + 5 * p.a + 7 * p.b + s[63 - t];\n}\n"
        )


@pytest.mark.parametrize("seed", range(int(os.environ.get("CYNET_RANDOM_KERNELS", "2"))))
def test_rewritten_as_written(seed):
    print("seed", seed)
    kernels = [Kernel(100 * seed + i).text(f"f{i}") for i in range(8)]
    text = HELPERS + "".join(kernels)
    quick = EmulatedModule(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module_of_kernels, "Source", Plain)
        plain = EmulatedModule(text)
    x = np.random.RandomState(seed).randint(0, 99, 64).astype("I")
    for i, kernel in enumerate(kernels):
        block = SHAPES[i % 3]
        got = []
        for module, threads in ((plain, 1), (quick, 1), (quick, 2)):
            y = np.arange(192, dtype="I")
            module.get(f"f{i}").launch([x, y, ctypes.c_uint(6)], 1, block, 0, threads)
            got.append(y)
        assert np.array_equal(got[0], got[1]) and np.array_equal(got[0], got[2]), kernel
    names = [f"f{i}" for i in range(8)]
    rewritten = {name for name in names if quick.get(name).in_regions}
    assert rewritten == set(Source(text).in_regions(names)[1])  # the text compiles
    assert len(rewritten) >= 3
