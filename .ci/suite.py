"""Run pytest, then run the few tests that failed beside others once more, alone.

A test that passes only alone does not fail the run. It is named at the end as unsteady: a fault of
the test or of the product that is still to be found.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

# More failures than this are not by chance.
MOST_UNSTEADY = 3


class Failures:
    """Pytest plugin that collects the failed tests and notes whether the run was cut short."""

    def __init__(self) -> None:
        self.tests: list[str] = []
        self.is_cut_short = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the name of a failed test."""
        if report.failed and report.nodeid not in self.tests:
            self.tests.append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Note a run that pytest stopped early, such as by `-x` or a time limit."""
        self.is_cut_short = bool(session.shouldfail or session.shouldstop)


def run(arguments: list[str]) -> int:
    """Return the exit code of pytest with these arguments, after the second look at failures."""
    failures = Failures()
    code = int(pytest.main(arguments, plugins=[failures]))
    if code != pytest.ExitCode.TESTS_FAILED or failures.is_cut_short:
        return code
    if len(failures.tests) > MOST_UNSTEADY:
        return code
    print(f"\nsuite: {len(failures.tests)} failed beside others, running alone:", flush=True)
    alone = subprocess.run([sys.executable, "-m", "pytest", *failures.tests], check=False)
    if alone.returncode == 0:
        print("suite: unsteady, passed only alone:", *failures.tests, sep="\n  ", flush=True)
    return alone.returncode


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
