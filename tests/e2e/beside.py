"""Cases that mostly wait, all at once: each in a process of its own, because who acts for a file is the process's."""

import os
import tempfile
import traceback


class Beside:
    """A case that is under way."""

    def __init__(self, case, *args):
        self.said = tempfile.TemporaryFile()
        self.pid = os.fork()
        if self.pid == 0:
            os._exit(self.run(case, args))

    def run(self, case, args):
        """In the child: whatever happens, it never gets back to what its parent was about to do."""
        try:
            case(*args)
        except BaseException as error:
            text = str(error) if isinstance(error, AssertionError) and str(error) else traceback.format_exc()
            self.said.write(text.encode(errors="replace"))
            self.said.flush()
            return 1
        return 0

    def result(self):
        """Raises what the case has raised, as text."""
        _, status = os.waitpid(self.pid, 0)
        with self.said:
            self.said.seek(0)
            text = self.said.read().decode(errors="replace")
        if status != 0:
            raise AssertionError(text or f"its process ended with {status}")


def together(case, rows):
    """The case with each of the rows' arguments, all at the same time."""
    wrong = []
    for one in [Beside(case, *row) for row in rows]:
        try:
            one.result()
        except AssertionError as error:
            wrong.append(str(error))
    if wrong:
        raise AssertionError("\n".join(wrong))
