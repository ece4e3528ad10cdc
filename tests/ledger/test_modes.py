"""Graph modes as pairs, after every line that changes them at boot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.booting import CONFIG, boot_log, boot_of
from triage.ledger.modes import graphs, pair_of

FULL = ", compilation_config={'mode': 3, 'cudagraph_mode': <CUDAGraphMode.FULL: 2>}"
DECODE_BAR = "(Worker_TP0 pid=200) Capturing CUDA graphs (decode, FULL): 100%|██████████| 35/35 [00:05<00:00,  5.91it/s]"
MIXED_BAR = "(Worker_TP0 pid=200) Capturing CUDA graphs (mixed prefill-decode, {mode}): 100%|██████████| 35/35 [00:05<00:00,  5.91it/s]"
WORKER = "(Worker_TP0 pid=200) WARNING 11-02 08:00:40 [compilation.py:1420] "


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("FULL_AND_PIECEWISE", ("FULL", "PIECEWISE")), ("CUDAGraphMode.FULL", ("FULL", "FULL")), ("[2, 0]", ("FULL", "NONE")),
        (1, ("PIECEWISE",) * 2),
        ("0", ("NONE", "NONE")), ("something", None),
    ],
)  # fmt: skip
def test_names_and_numbers(name: object, pair: tuple[str, str] | None) -> None:
    assert pair_of(name) == pair


@pytest.mark.parametrize(
    ("config", "after", "mode"),
    [
        (FULL, (), "FULL"),
        ("", (), None),
        (", compilation_config={\"level\":3,\"cudagraph_mode\":[2,1]}", (), "FULL_AND_PIECEWISE"),
        (FULL, (WORKER + "CUDAGraphMode.FULL is not supported with X (support: Y); setting cudagraph_mode=FULL_DECODE_ONLY",), "FULL_DECODE_ONLY"),
        (FULL, (WORKER + "Overriding cudagraph_mode from FULL to PIECEWISE.", WORKER + "setting cudagraph_mode=NONE because"), "NONE"),
        (FULL, ("(APIServer pid=1) INFO 11-02 08:00:05 [vllm.py:1772] Enforce eager set, disabling torch.compile and CUDAGraphs.",), "NONE"),
        (FULL, (DECODE_BAR,), "FULL_DECODE_ONLY"),  # what was captured proves more than what was said
        (FULL, (DECODE_BAR, MIXED_BAR.format(mode="PIECEWISE")), "FULL_AND_PIECEWISE"),
        (FULL, (MIXED_BAR.format(mode="FULL"),), "FULL"),
        (", compilation_config={'cudagraph_mode': <CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>}", (DECODE_BAR,), "FULL_AND_PIECEWISE"),
        ("", (MIXED_BAR.format(mode="PIECEWISE"),), "PIECEWISE"),
    ],
)
def test_the_mode_in_force(tmp_path: Path, config: str, after: tuple[str, ...], mode: str | None) -> None:
    found = graphs(boot_of(tmp_path, boot_log({"model": "acme/oak-8b"}, config=CONFIG + config, after=after)))
    assert (found.mode if found else None) == mode


def test_it_says_what_was_printed_first_and_whether_captures_prove_it(tmp_path: Path) -> None:
    late = WORKER + "setting cudagraph_mode=FULL_DECODE_ONLY"
    found = graphs(boot_of(tmp_path, boot_log({}, config=CONFIG + FULL, after=(late, DECODE_BAR))))
    assert found is not None
    assert (found.printed, found.captured) == ("FULL", True)
    assert [line.rule for line in found.lines] == ["vllm/config-engine", "vllm/config-graph-mode", "vllm/milestone-capture"]
