"""Takes out of a text what must not leave the house, and gives people, hosts and addresses a name that says nothing.

>>> redacted("loading with api_key=sk-abcdef0123456789abcdef, stop='tell me a story about bears'")
"loading with api_key=<secret>, stop='…'"
>>> redactor = Redactor()
>>> redactor.text("http://gpu-box-7:8000/health of /home/alice: timed out")
'http://HOST1:8000/health of /home/USER1: timed out'
>>> redactor.counts
{'user': 1, 'host': 1}
"""

from triage.report.redact.findings import knowing
from triage.report.redact.redactor import Redactor, redacted, without_secrets

__all__ = ["Redactor", "knowing", "redacted", "without_secrets"]
