"""A trial as one JSON document: runs, cells with their strata, memory, predictions, and what limits the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from triage.report.words import iso
from triage.trials.comparing import Against, against
from triage.trials.ladder import Ladder, ladders
from triage.trials.memory import Memory
from triage.trials.planning import Plan
from triage.trials.predictions import Tested, lean
from triage.trials.trial import Trial
from triage.trials.verdicts import Cell, Counted, Stratum

SCHEMA = "triage/trial/1"
Table = dict[str, Any]


def as_json(trial: Trial) -> str:
    """Everything that was read and concluded; memory in MiB, times in ISO 8601 UTC."""
    import msgspec

    leans = lean(trial.predictions)
    return _json(
        {
            "schema": SCHEMA,
            "question": trial.manifest.question,
            "boots": trial.boots,
            "runs": [_run(one) for one in trial.counted],
            "cells": [_cell(cell) for cell in trial.cells],
            "ladders": [_ladder(ladder, trial.manifest.reserve_mib) for ladder in ladders(trial.counted)],
            "predictions": [_prediction(one) for one in trial.predictions],
            "lean": msgspec.to_builtins(leans) if leans else None,
            "differences": [{"name": one.name, "values": dict(one.values)} for one in trial.differences],
            "downtime": msgspec.to_builtins(trial.downtime) if trial.downtime else None,
            "problems": [{"file": problem.file, "what": problem.what, "lost": problem.lost} for problem in trial.problems],
        }
    )


def memory_as_json(counted: Sequence[Counted], climbed: Sequence[Ladder], reserve: float | None) -> str:
    """The memory of some runs, and the ladders that they make."""
    runs = [{"name": one.run.name, "build": one.run.build.name, "memory": [_memory(memory) for memory in one.run.memory]} for one in counted]
    return _json({"schema": SCHEMA, "runs": runs, "ladders": [_ladder(ladder, reserve) for ladder in climbed]})


def plans_as_json(plans: Sequence[Plan]) -> str:
    import msgspec

    return _json({"schema": SCHEMA, "plans": [msgspec.to_builtins(plan) | {"means_nothing": plan.means_nothing} for plan in plans]})


def _run(one: Counted) -> Table:
    run = one.run
    return {
        "name": run.name, "item": run.item.id, "arm": run.arm.name, "build": run.build.name, "counts_as": one.result, "reason": one.reason,
        "ended": run.ended, "by_hand": run.by_hand, "class": run.fault_class, "incident": run.fault.incident.id if run.fault else None,
        "boots": [boot.id for boot in run.boots], "version": run.boot.version if run.boot else "", "config": run.config, "booted": run.told,
        "facts": run.facts, "began": iso(run.began) if run.began is not None else None, "serving_seconds": run.serving,
        "instruments": [{"id": i.id, "weight": i.weight, "found": i.found, "recorded": i.recorded} for i in run.instruments],
        "shape": {"state": run.shape.state, "asked": run.shape.asked, "held": run.shape.held, "because": run.shape.because},
        "path": [{"name": s.sign.name, "figure": s.figure, "shown": s.holds} for s in run.witnesses],
        "expected": [{"name": s.sign.name, "figure": s.figure, "holds": s.holds} for s in run.expects],
        "memory": [_memory(memory) for memory in run.memory],
    }  # fmt: skip


def _memory(one: Memory) -> Table:
    return {
        "gpu": one.gpu, "total": one.total, "base": one.base, "at_rest": one.own_rest, "step": one.step, "free": one.free, "short": one.short,
        "margin": one.margin, "margin_is_bound": one.short is not None, "interval_seconds": one.interval, "samples": one.samples,
    }  # fmt: skip


def _cell(cell: Cell) -> Table:
    return {
        "item": cell.item.id, "build": cell.build, "config": dict(cell.config), "result": cell.result, "reason": cell.reason,
        "strata": [_stratum(stratum) for stratum in cell.strata], "tests": [_test(one) for one in against(cell)],
    }  # fmt: skip


def _stratum(stratum: Stratum) -> Table:
    return {
        "heavy": sorted(stratum.heavy), "light": sorted(stratum.light), "survived": stratum.survived, "ran": len(stratum.ran),
        **{result: len(stratum.of(result)) for result in ("pass", "fail", "inconclusive", "void")},
    }  # fmt: skip


def _test(one: Against) -> Table:
    return {
        "strata": [one.one, one.other], "survived": one.survived, "ran": one.ran, "fisher": one.fisher, "boschloo": one.boschloo,
        "difference_shown": one.is_shown, "pooled": False,
    }  # fmt: skip


def _ladder(ladder: Ladder, reserve: float | None) -> Table:
    rungs = [
        {"build": r.build, "value": r.value, "kv_tokens": r.kv_tokens, "survived": r.survived, "ran": r.ran, **_memory(r.memory)}
        for r in ladder.rungs
    ]
    return {
        "item": ladder.item, "setting": ladder.setting, "rungs": rungs, "refuted_by": [list(one) for one in ladder.broken],
        "reserve": reserve, "chosen": ladder.highest_with(reserve) if reserve is not None and not ladder.broken else None,
    }  # fmt: skip


def _prediction(one: Tested) -> Table:
    return {
        "id": one.prediction.id, "item": one.prediction.item, "arm": one.prediction.arm, "quantity": one.prediction.quantity,
        "predicted": one.prediction.value, "measured": one.measured, "measured_is_bound": one.is_bound, "residual": one.residual,
        "registered": iso(one.registered) if one.registered is not None else None, "before": one.is_before, "edited": one.edited, "hash": one.hash,
    }  # fmt: skip


def _json(document: Table) -> str:
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
