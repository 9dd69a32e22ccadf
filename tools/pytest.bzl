"""pytest_test: a py_test whose sources are collected by pytest."""

load("@rules_python//python:py_test.bzl", "py_test")

# Inductor compiles and runs a program for each instruction set that it finds in /proc/cpuinfo, in
# every process anew, to see that the compiler knows it, too.
_ENV = {"TORCHINDUCTOR_VEC_ISA_OK": "1"}

def pytest_test(name, srcs, args = [], env = {}, **kwargs):
    """Runs pytest on srcs.

    Args:
      name: of the test.
      srcs: test files, all of them given to pytest.
      args: more arguments for pytest.
      env: more variables for it.
      **kwargs: for py_test.
    """
    py_test(
        name = name,
        srcs = ["//tools:pytest_main.py"] + srcs,
        main = "//tools:pytest_main.py",
        args = ["$(rootpath %s)" % s for s in srcs if not s.endswith("conftest.py")] + args,
        env = _ENV | env,
        **kwargs
    )
