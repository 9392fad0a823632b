"""TLS contexts."""

from __future__ import annotations

import os
import ssl

import certifi


def context() -> ssl.SSLContext:
    """Return an SSL context that verifies certificates and host names.

    It trusts the system's authorities and Mozilla's. If `SSL_CERT_FILE` or `SSL_CERT_DIR` is set,
    it trusts only the authorities there.
    """
    made = ssl.create_default_context()
    if not (os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")):
        made.load_verify_locations(certifi.where())  # on some systems Python finds no authorities
    return made
