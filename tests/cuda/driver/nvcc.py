"""A compiler that answers like nvcc, for the simulated driver: its objects run in the emulator.

Run as ``nvcc --version`` or ``nvcc --cubin OPTIONS FILE``. The object is what the host compiler
makes of the source, so its symbols are named like nvcc's, with a section .cynet that says where the
emulator's object of the same source is (modules.cpp).
"""

import re
import subprocess
import sys
from pathlib import Path

from cynet.base.errors import KernelError
from cynet.cuda.libraries.symbols import kernel_symbols, strip_spaces
from cynet.cuda.sources import CUDA_SOURCES, KERNELS

# Under the name `cynet` only if PYTHONPATH has it: nvcc is called in a folder of its own.
from cynet_cuda_cpu import EmulatedModule
from cynet_cuda_cpu.compiler import INCLUDE_FOLDER, host_compiler

_TABLE = re.compile(r"void\* cynet_instances\[\] = \{\n(.*?)\};\n", re.S)


def main(arguments):
    if "--version" in arguments:
        print("nvcc: simulated, release 13.0, V13.0.0")
        return 0
    skip = next((i for i, a in enumerate(arguments) if a == "-arch"), None)
    if skip is not None:
        arguments = arguments[:skip] + arguments[skip + 2 :]
    file = arguments[-1]
    own = f"-I{KERNELS}", f"-I{CUDA_SOURCES}"  # which the emulator adds by itself
    options = [a for a in arguments[:-1] if a.startswith(("-D", "-U", "-I")) and a not in own]
    options = [a for a in options if "pycuda" not in a]
    if "-fmad=false" in arguments:
        options.append("-ffp-contract=off")
    whole = Path(file).read_text()
    title = re.match(r'#line 1 "([^"]*)"\n', whole)
    text = whole[title.end() :] if title else whole
    exports = []
    for found in _TABLE.finditer(text):
        exports = re.findall(r'^#line 1 "kernel (.*)"$', found[1], re.M)
    if exports:
        text = _TABLE.sub("", text)[:-1]  # as it was: its object is the one that other tests made
    try:
        module = EmulatedModule(text, title[1] if title else file, [*options, "-O1"], exports)
    except KernelError as error:
        for line, message in re.findall(r"  line (\d+): (.*)", str(error)):
            print(f"{title[1] if title else file}({line}): error: {message}", file=sys.stderr)
        print(error, file=sys.stderr)
        return 2
    names = exports + [n for n in module.kernels if n not in exports]
    _object(file, module, names, options)
    return 0


def _object(file, module, names, options):
    table = ",\n".join(f"  (void*)&{name}" for name in names)
    source = Path("symbols.cu")
    source.write_text(f"{module.source.rewritten_text()}\nvoid* cynet_table[] = {{\n{table}\n}};\n")
    command = [*host_compiler(), "-x", "c++", "-std=gnu++17", "-O0", "-w", "-fPIC", *options]
    command += [
        f"-I{INCLUDE_FOLDER}",
        f"-I{KERNELS}",
        f"-I{CUDA_SOURCES}",
        "-include",
        "cynet_emulator.h",
    ]
    command += ["-c", str(source), "-o", "symbols.o"]
    subprocess.run(command, check=True)
    symbols = kernel_symbols(Path("symbols.o").read_bytes())
    lines = [f"object {module.path}"]
    for name, kernel in module.kernels.items():
        sizes = " ".join(str(p.size) for p in kernel.parameters)
        limit = kernel.threads_limit or 1024
        lines.append(f"kernel {symbols[strip_spaces(name)]} {kernel.index} {limit} {sizes}")
    Path("table.txt").write_text("\n".join(lines) + "\n")
    target = Path(file).with_suffix(".cubin")
    command = ["objcopy", "--add-section", ".cynet=table.txt", "symbols.o", str(target)]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
