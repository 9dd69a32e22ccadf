#!/usr/bin/env bash
# What a stamped build says of its sources.
echo "STABLE_GIT_COMMIT $(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)"
