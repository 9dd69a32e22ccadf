"""What is deployed to: the one table of what differs between targets.

TensorRT and CUDA are opened at run time, so targets of one CPU have one build.  A target here is a
platform //toolchains:NAME, and `--config=` in .bazelrc; what a bundle's README and the wheel's tag say
of it is this.
"""

def _target(cpu, config, system, tensorrt, folders, glibc = "2.31"):
    return struct(
        cpu = cpu,
        # The --config of .bazelrc; none for the machine that builds.
        config = config,
        # What the target's own C library is at least.  All are built for the oldest one.
        glibc = glibc,
        system = system,
        # Which of its libraries are looked for, and where the system keeps them.
        tensorrt = tensorrt,
        folders = folders,
    )

_MULTIARCH = "/usr/lib/aarch64-linux-gnu"

TARGETS = {
    "drive_os_6_aarch64": _target(
        config = "drive_os_6",
        cpu = "aarch64",
        folders = [_MULTIARCH, "/usr/local/cuda/lib64"],
        system = "DRIVE OS 6 Linux (Ubuntu 20.04)",
        tensorrt = ["libnvinfer.so.8"],
    ),
    "drive_os_7_aarch64": _target(
        config = "drive_os_7",
        cpu = "aarch64",
        folders = [_MULTIARCH, "/usr/local/cuda/lib64"],
        glibc = "2.39",
        system = "DRIVE OS 7 Linux (Ubuntu 24.04)",
        tensorrt = ["libnvinfer.so.10", "libnvinfer.so.11"],
    ),
    "jetson_aarch64": _target(
        config = "jetson",
        cpu = "aarch64",
        folders = [_MULTIARCH, _MULTIARCH + "/nvidia", "/usr/local/cuda/lib64"],
        glibc = "2.35",
        system = "JetPack 6 or newer (Ubuntu 22.04)",
        tensorrt = ["libnvinfer.so.10", "libnvinfer.so.11"],
    ),
    "linux_x86_64_cuda": _target(
        config = "linux_x86_64_cuda",
        cpu = "x86_64",
        folders = ["/usr/lib/x86_64-linux-gnu", "/usr/local/cuda/lib64"],
        system = "Linux on x86_64",
        tensorrt = ["libnvinfer.so.8", "libnvinfer.so.10", "libnvinfer.so.11"],
    ),
    "sbsa_aarch64": _target(
        config = "sbsa",
        cpu = "aarch64",
        folders = [_MULTIARCH, "/usr/local/cuda/lib64"],
        system = "Linux on Arm servers (SBSA)",
        tensorrt = ["libnvinfer.so.8", "libnvinfer.so.10", "libnvinfer.so.11"],
    ),
}

# The symbol versions that what ships may ask for: those of the sysroots (Debian 11).
GLIBC_FLOOR = "2.31"
GLIBCXX_FLOOR = "3.4.28"

def wheel_tag(cpu):
    """The platform tag of a wheel for a CPU."""
    return "manylinux_%s_%s" % (GLIBC_FLOOR.replace(".", "_"), cpu)
