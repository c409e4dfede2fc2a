#!/bin/sh
# Whether the compiled extractor is right and fast on the GPU of this machine: one JSON object on stdout.
# Installs nothing, and takes eight minutes at the most. To try the script itself: --device cpu --chars 50000
set -eu
cd "$(dirname "$0")/.."
if [ -x .venv/bin/python ]; then python=.venv/bin/python; else python=${PYTHON:-python3}; fi
exec timeout 480 "$python" -m benchmarks.gpu_check "$@"
