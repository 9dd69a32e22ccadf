"""verdict: what a check that ran at analysis time found, as a test that prints it."""

def verdict(ctx, lines, failed):
    """The test's providers.

    Args:
      ctx: of the test's rule.
      lines: printed, whether it failed or not.
      failed: whether the test does.
    """
    out = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(
        out,
        "#!/bin/sh\ncat <<'END'\n%s\nEND\nexit %d\n" % ("\n".join(lines), 1 if failed else 0),
        is_executable = True,
    )
    return [DefaultInfo(executable = out)]
