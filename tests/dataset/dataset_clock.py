"""A clock that ticks with every durable step, and kills or fails at one of them."""

from pipeline.dataset import files

STEPS = ("make_directory", "write_file", "rename", "remove", "sync_directory")


class Killed(BaseException):
    """Like a SIGKILL: nothing catches it."""


class Clock:
    """Counts durable steps and kills at one of them; a file that was being written is left torn."""

    def __init__(self, monkeypatch, death=None):
        self.steps, self.deadline, self.death = 0, None, death or Killed()
        for name in STEPS:
            monkeypatch.setattr(files, name, self.wrap(getattr(files, name)))

    def wrap(self, step):
        def counted(*arguments):
            self.steps += 1
            if self.deadline is not None and self.steps >= self.deadline:
                if step.__name__ == "write_file":
                    arguments[0].write_bytes(b"PAR1 half")
                raise self.death
            return step(*arguments)

        return counted

    def run(self, action, deadline=None):
        self.steps, self.deadline = 0, deadline
        try:
            action()
        except Killed:
            pass
        finally:
            self.deadline = None
        return self.steps
