#!/usr/bin/env python3
"""What can be known of the kernels for Radeon cards without one: reads their assembly.

  check_assembly.py FOLDER FORMATS [--prove]

FOLDER holds the assembly (*.s), FORMATS is kernels/gpu/formats/card_formats.h, which lists the
tuned types. Fails unless every kernel works in waves of 32 lanes, and every tuned type has a kernel
with integer dot instructions, without memory for spilled registers (scratch), without loads that
may go to either kind of memory (flat), within MOST_REGISTERS, and whose loop at one row keeps up
with memory to LEAST_SHARE. --prove breaks the assembly in one way after the other and fails unless
each is noticed.
"""

import argparse
import pathlib
import re
import sys

import assembly

# Elements and bytes of a block (docs/formats.md).
BLOCKS = {
    "Q4_0": (32, 18), "Q8_0": (32, 34), "Q2_K": (256, 84), "Q3_K": (256, 110), "Q4_K": (256, 144),
    "Q5_K": (256, 176), "Q6_K": (256, 210), "IQ2_XXS": (256, 66), "IQ2_XS": (256, 74),
    "IQ2_S": (256, 82), "IQ3_XXS": (256, 98), "IQ3_S": (256, 110), "IQ4_NL": (32, 18),
    "IQ4_XS": (256, 136), "MXFP4": (32, 17), "NVFP4": (64, 36), "Q2_0": (64, 18),
}
# A Radeon RX 7900 XTX: 960 GB/s for 192 SIMDs of 2.4 GHz, each of which issues one instruction of
# its waves in a cycle.
BYTES_A_CYCLE = 2.08
LEAST_SHARE = 0.8
# 12 waves of 16 on a SIMD of a gfx1100, 8 on one of a gfx1030.
MOST_REGISTERS = 128


def tuned_types(header):
    """{decoder: type} of the list of tuned formats."""
    text = header.split("#define BERTH_FOR_EACH_TUNED_CARD_FORMAT", 1)[1].split("\n\n", 1)[0]
    return {decoder: name for name, decoder in re.findall(r"X\(k(\w+), (\w+)\)", text)}


def overlapping(kernel_text):
    """64-bit multiplications whose result lies over an operand: gfx11 gets those wrong."""
    def registers(operand):
        if m := re.fullmatch(r"v(\d+)", operand):
            return {int(m[1])}
        if m := re.fullmatch(r"v\[(\d+):(\d+)\]", operand):
            return set(range(int(m[1]), int(m[2]) + 1))
        return set()

    found = []
    for line in re.findall(r"\tv_mad_[iu]64_[iu]32 (.*)", kernel_text):
        to, _, *operands = [o.strip() for o in line.split(";")[0].split(",")]
        if any(registers(to) & registers(o) for o in operands):
            found.append(line)
    return found


def one_row_loop(kernel):
    """The loop of a tuned kernel for one row: rows multiply dot instructions, so the one with the
    fewest."""
    loops = [loop for loop in kernel.loops if loop.innermost and loop.dots() > 0]
    return min(loops, key=lambda loop: (loop.dots(), -loop.cycles()), default=None)


def check(text, types, table):
    """Faults found in the assembly, each a line; appends rows to `table`."""
    faults, seen = [], set()
    for kernel in assembly.kernels(text):
        name = re.sub(r"^_ZN5berth7kernels7gpu_hip\d*", "", kernel.symbol)
        if kernel.resources.get("wavefront_size32") != 1:
            faults.append(f"{name}: not in waves of 32 lanes")
        decoder = re.search(r"DotKernelINS1_\d+(Card\w+?)EE", kernel.symbol)
        if not decoder:
            continue
        type_name = types.get(decoder[1])
        if type_name is None:
            faults.append(f"{name}: a tuned kernel of a type that is not listed as tuned")
            continue
        seen.add(decoder[1])
        if scratch := kernel.resources["private_segment_fixed_size"]:
            faults.append(f"{type_name}: {scratch} bytes of scratch a lane")
        registers = kernel.resources["next_free_vgpr"]
        if registers > MOST_REGISTERS:
            faults.append(f"{type_name}: {registers} vector registers, more than {MOST_REGISTERS}")
        flat = sum(n for op, n in kernel.opcodes.items() if op.startswith(("flat_", "scratch_")))
        if flat:
            faults.append(f"{type_name}: {flat} flat or scratch instructions")
        for line in overlapping(kernel.text):
            faults.append(f"{type_name}: v_mad with its result over an operand: {line}")
        loop = one_row_loop(kernel)
        if loop is None:
            faults.append(f"{type_name}: no loop with integer dot instructions")
            continue
        # A dot instruction takes four weights in each of 32 lanes.
        per_group = loop.cycles() * 256 / (loop.dots() * 4 * 32)
        elements, block_bytes = BLOCKS[type_name]
        budget = 256 / elements * block_bytes / BYTES_A_CYCLE
        share = min(1.0, budget / per_group)
        table.append((type_name, per_group, budget, share, registers))
        if share < LEAST_SHARE:
            faults.append(f"{type_name}: {per_group:.1f} cycles for 256 weights where memory takes "
                          f"{budget:.1f}: {share:.2f} of its bandwidth, less than {LEAST_SHARE}")
    for decoder in sorted(set(types) - seen):
        faults.append(f"{types[decoder]}: no tuned kernel")
    return faults


def replaced(text, pattern, to):
    changed, count = re.subn(pattern, to, text, count=1)
    return changed if count else None


def breakages(text):
    """Ways to break the assembly, by what must be noticed."""
    kernel = r"(\.amdhsa_kernel \S*DotKernel\S*\n(?:.*\n)*?\s*\.amdhsa_"
    dots = re.sub(r"\tv_dot4\w+", "\tv_add_nc_u32", text)
    loop = re.search(r"\n\tv_dot4.*", text)
    return {
        "waves of 64": replaced(text, kernel + r"wavefront_size32) 1", r"\1 0"),
        "scratch": replaced(text, kernel + r"private_segment_fixed_size) 0", r"\1 16"),
        "registers": replaced(text, kernel + r"next_free_vgpr) \d+", r"\1 168"),
        "no dot instructions": dots,
        "flat loads": replaced(text, r"(Begin function \S*DotKernel\S*\n(?:.*\n)*?\t)global_load_",
                               r"\1flat_load_"),
        "overlapping result": text[:loop.end()] +
                              "\n\tv_mad_u64_u32 v[2:3], null, v4, v5, v[3:4]" + text[loop.end():],
        "slow loops": re.sub(r"(\n\tv_dot4.*)", r"\1" + "\n\tv_mul_lo_u32 v1, v1, v1" * 8, text),
        "a kernel missing": replaced(text, r"(Begin function \S*DotKernelINS1_\d+Card)", r"\1X"),
    }


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("formats", type=pathlib.Path)
    arguments.add_argument("--prove", action="store_true")
    given = arguments.parse_args()
    files = sorted(given.folder.glob("*.s"))
    if not files:
        sys.exit(f"check_assembly: no assembly in {given.folder}")
    text = "\n".join(file.read_text() for file in files)
    types = tuned_types(given.formats.read_text())

    table = []
    faults = check(text, types, table)
    if given.prove:
        missed = [what for what, broken in breakages(text).items()
                  if broken is None or len(check(broken, types, [])) <= len(faults)]
        for what in missed:
            print(f"check_assembly: broken, and not noticed: {what}")
        sys.exit(1 if missed else 0)

    print("type     cycles for 256 weights  memory's  share of bandwidth  registers")
    for type_name, cycles, budget, share, registers in sorted(table):
        print(f"{type_name:8} {cycles:22.1f} {budget:9.1f} {share:19.2f} {registers:10}")
    for fault in faults:
        print(f"check_assembly: {fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
