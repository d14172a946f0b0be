#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The tests of the Python package, by pytest of the distribution. $TACKLE_PYTHON names another
# interpreter. Arguments are those of pytest.
# ctest: cost 120
set -u
python=${TACKLE_PYTHON:-/usr/bin/python3}
"$python" -c 'import pytest' 2>/dev/null || {
    echo "skipped: $python has no pytest (package python3-pytest)"
    exit 77
}
case ${TACKLE_SANITIZE-} in
*thread*)
    echo "skipped: ThreadSanitizer does not know the locks of the interpreter"
    exit 77
    ;;
*address*)
    # The interpreter itself is built without: its leaks are not ours.
    LD_PRELOAD=$(cc -print-file-name=libasan.so):$(cc -print-file-name=libubsan.so)
    export LD_PRELOAD ASAN_OPTIONS=detect_leaks=0
    ;;
esac
export TACKLE_LIBRARY=$TACKLE_BUILD/libtackle.so PYTHONPATH=$TACKLE_BUILD/python
export PYTHONDONTWRITEBYTECODE=1
cd "$TACKLE_SOURCE/bindings/python/tests" || exit 1
exec timeout --kill-after=10 600 "$python" -m pytest -q -p no:cacheprovider \
    -o faulthandler_timeout=120 "$@"
