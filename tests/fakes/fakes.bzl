"""Fake TensorRT libraries: one shared library for each release that tests need."""

load("//tools:cc.bzl", "trtscope_cc_binary")

def fake_tensorrt(name, version, flavour = "kFull", family = None, layout = None):
    """A shared library that plays one TensorRT release.

    Args:
      name: folder and file, such as "trt8/libnvinfer.so.8".
      version: "8.6.0".
      flavour: of engine::tensorrt::Flavour.
      family: of abi::Family; by default that of the version.
      layout: major * 100 + minor of the release whose methods it has; by default the version's.
    """
    major, minor, patch = version.split(".")
    families = {"8": "k8_6", "10": "k10"}
    trtscope_cc_binary(
        name = name,
        testonly = True,
        srcs = ["fake_release.cc"],
        # Many of these are open at once: none may see another's symbols.
        copts = [
            "-fvisibility=hidden",
            "-fno-gnu-unique",
        ],
        linkopts = ["-Wl,-Bsymbolic"],
        linkshared = True,
        local_defines = [
            "FAKE_MAJOR=" + major,
            "FAKE_MINOR=" + minor,
            "FAKE_PATCH=" + patch,
            "FAKE_FLAVOUR=" + flavour,
            "FAKE_FAMILY=" + (family or families.get(major, "k11")),
            "FAKE_LAYOUT=" + str(layout or int(major) * 100 + int(minor)),
        ],
        deps = [":fake_tensorrt"],
    )
