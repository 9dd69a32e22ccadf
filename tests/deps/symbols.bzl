"""no_torch_symbols_test: shared libraries that work in a process without LibTorch."""

load("@rules_python//python:py_test.bzl", "py_test")

def no_torch_symbols_test(name, libraries, expect_faults = False, **kwargs):
    """Passes when no library needs LibTorch's libraries or leaves symbols of theirs undefined.

    Args:
      name: of the test.
      libraries: targets whose files are shared libraries.
      expect_faults: for the check's own test.
      **kwargs: for py_test.
    """
    py_test(
        name = name,
        size = "small",
        srcs = ["//tests/deps:no_torch_symbols.py"],
        main = "//tests/deps:no_torch_symbols.py",
        args = (["--expect-faults"] if expect_faults else []) + ["$(rootpaths %s)" % l for l in libraries],
        data = libraries,
        **kwargs
    )
