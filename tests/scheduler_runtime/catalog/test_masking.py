"""Stars in place of names and passwords in addresses, and of private keys."""

import pytest

from scheduler_runtime.catalog.masking import masked, masked_document, without_credentials
from scheduler_runtime.config import Finding, Problem, Severity


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://there/path", "http://there/path"),
        ("http://me:secret@there:80/path", "http://***@there:80/path"),
        ("http://secret@there", "http://***@there"),
        ("http://me:se/c?r#et@there", "http://***@there"),
        ("http://me:se\ncret@there", "http://***@there"),
        ("me:secret@there", "***@there"),
        ("http://there/path?token=secret", "http://there/path?***"),
        ("", ""),
    ],
)
def test_an_address_is_shown_without_credentials(address: str, expected: str) -> None:
    assert without_credentials(address) == expected


def test_any_address_in_a_message_is_shown_without_credentials() -> None:
    # Wherever it comes from: arguments of a plugin that is not ours may have addresses, too.
    text = "'http://me:secret@a' and https://secret@b/x are not what (ftp://c) is"
    expected = "'http://***@a' and https://***@b/x are not what (ftp://c) is"
    assert masked(text) == expected
    assert Problem("args.hook", text).message == expected
    finding = Finding("Code", Severity.NOTE, "args.hook", text, f"hook: {text}")
    assert (finding.message, finding.suggestion) == (expected, f"hook: {expected}")


def test_a_document_is_shown_without_credentials_and_keys() -> None:
    tls = {"keyData": "c2VjcmV0", "certData": "eA=="}
    document = {"extenders": [{"urlPrefix": "http://secret@there", "tlsConfig": tls}, {"tlsConfig": {"keyData": ""}}]}
    assert masked_document(document) == {
        "extenders": [
            {"urlPrefix": "http://***@there", "tlsConfig": {"keyData": "***", "certData": "eA=="}},
            {"tlsConfig": {"keyData": ""}},
        ]
    }
