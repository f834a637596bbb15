#!/bin/sh
# wheels.sh DIRECTORY: everything the image installs, as wheels, with the versions and hashes of requirements.lock.
# The index says which packages need which others; that the files are the right ones, only the lock says.
set -eu
out=$1
rm -rf "$out" && mkdir -p "$out"
"$UV" pip compile --quiet --no-header --no-annotate --constraint "${LOCK:=requirements.lock}" \
  --python-version "$IMAGE_PYTHON" --no-emit-package berth-runtime --extra uvloop \
  operator/pyproject.toml scheduler_runtime/pyproject.toml --output-file "$out/pins.txt"
.venv/bin/python -m tools.supply_chain.requirements "$LOCK" <"$out/pins.txt" >"$out/requirements.txt"
arch=$(uname -m | sed 's/arm64/aarch64/')  # the image runs Linux, whatever this machine runs
"$PIP" download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: \
  --implementation cp --python-version "$IMAGE_PYTHON" \
  --platform "manylinux_2_28_$arch" --platform "manylinux_2_17_$arch" --platform "manylinux2014_$arch" \
  --dest "$out" --requirement "$out/requirements.txt"
for distribution in scheduler_runtime operator; do
  "$UV" build --quiet --wheel --no-build-isolation --python .venv/bin/python --out-dir "$out" "$distribution"
done
rm -f "$out/.gitignore"
echo "$(ls "$out"/*.whl | wc -l) wheels for Python $IMAGE_PYTHON in $out"
