"""The command line with a settler that needs no engine: faults_driver.py SECONDS TRACE MOMENT WORD...

Each deal takes so many seconds and is written to the file TRACE. MOMENT is `-` or MODULE:SIGNAL: the process sends
itself that signal when that module is about to be loaded.
"""

import os
import signal
import sys
from functools import partial


class Sender:
    """Looks on while modules are found, and sends a signal at one of them."""

    def __init__(self, module, number):
        self.module, self.number = module, number

    def find_spec(self, name, *_):
        if name == self.module:
            os.kill(os.getpid(), self.number)


def main(seconds, trace, moment, *words):
    from pipeline.cli import entry

    if moment != "-":
        module, _, name = moment.partition(":")
        sys.meta_path.insert(0, Sender(module, signal.Signals[name]))
    else:
        from faults_settler import IDENTITY, Easy

        from pipeline.runs import run as runs

        runs.run = partial(runs.run, settler=Easy(float(seconds), trace), solver=IDENTITY)
    sys.argv[1:] = words
    entry.main()


if __name__ == "__main__":
    main(*sys.argv[1:])
