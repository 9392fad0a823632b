"""Whom we trust on the network."""

from __future__ import annotations

import os
import ssl

import certifi


def context() -> ssl.SSLContext:
    """Return what verifies certificates and names: by the system's authorities and Mozilla's, or
    those alone that `SSL_CERT_FILE` or `SSL_CERT_DIR` names.
    """
    made = ssl.create_default_context()
    if not (os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")):
        made.load_verify_locations(certifi.where())  # some systems show Python no authorities
    return made
