"""Incidents about which a model must say nothing: engines that die among nonsense, among other software's lines, or with their log mixed up."""

from __future__ import annotations

import random
from collections.abc import Sequence

from triage.knowledge.load import Knowledge
from triage.learn.generate import BEGINNING, Made, Recipe
from triage.learn.lives import Ends, Library, as_log
from triage.learn.wording import shuffled_words

NOTHING = "unclassified"
# Errors of programs that are no inference engine, in the forms that those print.
OTHERS = (
    'FATAL:  password authentication failed for user "billing"',
    'ERROR:  duplicate key value violates unique constraint "orders_pkey"',
    "ERROR:  deadlock detected",
    "LOG:  could not receive data from client: connection closed unexpectedly",
    '2026/11/20 05:51:01 [error] 29#29: *812 upstream sent too big header while reading response header from upstream, client: 10.0.0.9',
    '2026/11/20 05:51:01 [crit] 29#29: *9 SSL_do_handshake() failed (SSL: error:0A00006C:SSL routines::bad key share)',
    "java.lang.NullPointerException: Cannot invoke \"com.acme.Cart.total()\" because \"cart\" is null",
    "Exception in thread \"main\" java.lang.ClassNotFoundException: com.acme.billing.Invoice",
    "org.hibernate.LazyInitializationException: failed to lazily initialize a collection",
    "[2026-11-20 05:51:01,118] ERROR [ReplicaManager broker=2] Error processing append operation on partition orders-3 (kafka.server.ReplicaManager)",
    "1:M 20 Nov 2026 05:51:01.118 # MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist to disk",
    "TypeError: Cannot read properties of undefined (reading 'price')",
    "npm ERR! code ELIFECYCLE",
    "(node:812) UnhandledPromiseRejectionWarning: Error: cart was emptied by somebody else",
    "thread 'main' panicked at src/invoice.rs:41:9: attempt to subtract with overflow",
    "panic: assignment to entry in nil map",
    "django.core.exceptions.ImproperlyConfigured: The STATIC_URL setting must not be empty",
    "sqlalchemy.exc.IntegrityError: (psycopg2.errors.NotNullViolation) null value in column \"total\"",
    "celery.exceptions.WorkerShutdown: warm shutdown failed for queue invoices",
    "sshd[812]: error: kex_exchange_identification: banner line contains invalid characters",
    "dovecot: imap-login: Error: auth: user is unknown to every passdb",
    "postfix/smtpd[812]: fatal: no SASL authentication mechanisms",
    "E: Sub-process /usr/bin/dpkg returned an error code",
    "error: failed to push some refs to 'git.acme.example:shop.git'",
    "ERROR: failed to solve: process \"/bin/sh -c make\" did not complete successfully",
    "level=error ts=2026-11-20T05:51:01Z caller=scrape.go:1284 component=\"scrape manager\" msg=\"append failed\" err=\"out of bounds\"",
    "ERROR 1064 (42000): You have an error in your SQL syntax near 'FORM orders' at line 1",
    "AH00558: apache2: Could not reliably determine the server's fully qualified domain name",
    "elasticsearch.exceptions.RequestError: search_phase_execution_exception: all shards failed",
    "rabbitmq error: channel error on connection, operation queue.declare caused a channel exception precondition_failed",
    "terraform: Error: Provider produced inconsistent final plan",
    "cron[812]: (shop) ERROR (grandchild #813 failed with exit status 1)",
)
_SYLLABLES = ("ba", "ko", "tri", "len", "mur", "sha", "vel", "ost", "ing", "quo", "zan", "pel", "dri", "fum", "gar", "hix", "jol", "nep")


def strangers(known: Knowledge, kind: str, count: int, *, made: Sequence[Made] = (), seed: int = 5) -> list[Made]:
    """Incidents of one kind: `nonsense`, `other software`, and of `made` ones `mixed lines` (also `, stamps kept`) and `mixed words`."""
    rng = random.Random(seed)
    if kind.startswith("mixed"):
        return [mixed(each, rng, kind) for each in rng.sample(list(made), count)]
    library = Library(known)
    return [_dies(f"{kind} {number}", _lines(kind, rng), library, rng) for number in range(count)]


def mixed(made: Made, rng: random.Random, kind: str) -> Made:
    """The incident with its logs' lines in any order, with their stamps or below those in order, or with the words of each line in any order."""
    return made._replace(files={name: log if name == "probe.log" else _mixed(log, rng, kind) for name, log in made.files.items()})


def _mixed(log: bytes, rng: random.Random, kind: str) -> bytes:
    rows = [row.partition(" ")[::2] for row in log.decode().splitlines()]
    if kind == "mixed lines":
        rows = rng.sample(rows, len(rows))
    stamps, texts = [stamp for stamp, _ in rows], [text for _, text in rows]
    said = [_words_mixed(text, rng) for text in texts] if kind == "mixed words" else texts
    said = rng.sample(said, len(said)) if kind == "mixed lines, stamps kept" else said
    return "".join(f"{stamp} {text}\n" for stamp, text in zip(stamps, said, strict=True)).encode()


def _words_mixed(text: str, rng: random.Random) -> str:
    """A line with its words in any order; the kernel's envelope stays."""
    host, mark, said = text.partition(" kernel: ")
    return host + mark + shuffled_words(said, rng) if mark else shuffled_words(text, rng)


def _dies(name: str, lines: list[str], library: Library, rng: random.Random) -> Made:
    recipe = Recipe(NOTHING, "", lines[-1], "serving-line", "vllm", (), "-")
    told, when = library.life("vllm", "serving-line", lines, (), BEGINNING, rng, gap=0.0, ends=Ends())
    return Made(name, recipe, "gpu-1", when, {"engine.log": as_log(told)}, False)


def _lines(kind: str, rng: random.Random) -> list[str]:
    if kind == "other software":
        return rng.sample(OTHERS, rng.randint(1, 4))
    return [_nonsense(rng) for _ in range(rng.randint(1, 4))]


def _nonsense(rng: random.Random) -> str:
    said = " ".join("".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(rng.randint(3, 12)))
    return rng.choice(("ERROR {}", "RuntimeError: {}", "{} failed", "fatal: {}", "ValueError: {} {}", "cannot {}")).format(said, rng.randint(1, 999))
