"""The one error the commands show to people: a sentence, no traceback."""


class Problem(Exception):
    """Something the user can act on; `str(problem)` is a complete sentence."""
