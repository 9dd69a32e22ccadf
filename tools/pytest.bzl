"""pytest_test: a py_test whose sources are collected by pytest."""

load("@rules_python//python:py_test.bzl", "py_test")

def pytest_test(name, srcs, args = [], **kwargs):
    """Runs pytest on srcs.

    Args:
      name: of the test.
      srcs: test files, all of them given to pytest.
      args: more arguments for pytest.
      **kwargs: for py_test.
    """
    py_test(
        name = name,
        srcs = ["//tools:pytest_main.py"] + srcs,
        main = "//tools:pytest_main.py",
        args = ["$(rootpath %s)" % s for s in srcs if not s.endswith("conftest.py")] + args,
        **kwargs
    )
