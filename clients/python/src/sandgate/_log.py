"""Where what nobody can be told otherwise goes."""

from __future__ import annotations

import logging

log = logging.getLogger("sandgate")
