"""Reads the assembly that clang writes for AMD cards: kernels, their resources, their loops.

LLVM notes the loops in comments: which block heads one, and which loop a block lies in.
"""

import collections
import dataclasses
import re

# Instructions that keep a SIMD busy for more than one cycle: 32-bit multiplications and what goes
# through the unit for transcendental functions run at a quarter of the rate.
QUARTER_RATE = re.compile(
    r"v_(mul_(lo|hi)_|mad_[iu]64|(exp|log|rcp|rsq|sqrt|sin|cos)_(legacy_)?f)")
DOT = re.compile(r"v_dot4c?_i32_(iu8|i8)")


@dataclasses.dataclass
class Loop:
    header: str
    depth: int
    parent: str  # header of the loop around it; "": none
    innermost: bool
    opcodes: collections.Counter

    def instructions(self):
        return sum(self.opcodes.values())

    def cycles(self):
        return sum(n * (4 if QUARTER_RATE.match(op) else 1) for op, n in self.opcodes.items())

    def dots(self):
        return sum(n for op, n in self.opcodes.items() if DOT.match(op))


@dataclasses.dataclass
class Kernel:
    symbol: str
    resources: dict  # of .amdhsa_ directives and "Occupancy"
    loops: list
    opcodes: collections.Counter
    text: str


def _loops(lines):
    loops, header, seen = {}, "", collections.Counter()
    block, parents = "", []

    def note(comment):
        nonlocal header
        if m := re.search(r"Parent Loop (BB\d+_\d+) Depth=(\d+)", comment):
            parents.append(m[1])
        elif m := re.search(r"=>\s*This (Inner )?Loop Header: Depth=(\d+)", comment):
            header = block
            parent = parents[-1] if parents else ""
            before = loops[block].opcodes if block in loops else collections.Counter()
            loops[block] = Loop(block, int(m[2]), parent, bool(m[1]), before)
        elif m := re.search(r"in Loop: Header=(BB\d+_\d+) Depth=(\d+)", comment):
            header = m[1]
            if header not in loops:  # blocks of a loop may stand before its header
                loops[header] = Loop(header, int(m[2]), "", True, collections.Counter())

    for line in lines:
        if m := re.match(r"\.L(BB\d+_\d+):|; %bb\.(\d+):", line):
            block, header, parents = m[1] or "", "", []
        code, _, comment = line.partition(";")
        if comment:
            note(comment)
        if not line.startswith("\t") or not code.strip() or code.strip().startswith("."):
            continue
        opcode = code.split()[0]
        seen[opcode] += 1
        if header:
            loops[header].opcodes[opcode] += 1
    return list(loops.values()), seen


def kernels(text):
    """The kernels of one file of assembly, in order."""
    found = []
    for symbol, body in re.findall(
            r"; -- Begin function (\S+)\n(.*?)\n\.Lfunc_end", text, re.DOTALL):
        described = re.search(
            r"\.amdhsa_kernel " + re.escape(symbol) + r"\n(.*?)\.end_amdhsa_kernel", text,
            re.DOTALL)
        if not described:
            continue  # a function that is not a kernel
        resources = {
            name: int(value)
            for name, value in re.findall(r"\.amdhsa_(\w+) (\d+)", described[1])
        }
        after = text[described.end():]
        resources["occupancy"] = int(re.search(r"; Occupancy: (\d+)", after)[1])
        code = body.split("\t.section\t.rodata")[0]
        loops, opcodes = _loops(code.split("\n"))
        found.append(Kernel(symbol, resources, loops, opcodes, code))
    return found
