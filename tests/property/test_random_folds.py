"""Random programs, repeated: whatever is folded, the picture has no cycle, and every node is in it once."""

from __future__ import annotations

import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from property.programs import programs, run
from unit.test_fold import assert_acyclic

from gradwidget._inspect import Inspection


@given(programs, st.integers(1, 12), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_any_folding_is_acyclic(program, times, random):
    outputs = [run(program)[2] for _ in range(times)]
    assume(outputs[0] is not None)
    found = Inspection((torch.stack(outputs).prod(),), watch=False)
    fold = found.fold
    assert len(fold.member) == len(found)
    for i, group in enumerate(fold.groups):
        assert group.parent < i
    sizes = [0] * len(fold.groups)
    for innermost in fold.member:
        m = innermost
        while m >= 0:
            sizes[m] += 1
            m = fold.groups[m].parent
    assert sizes == [g.nodes for g in fold.groups]
    assert len({g.id for g in fold.groups}) == len(fold.groups)
    for _ in range(5):
        assert_acyclic(found.columns, fold, [g.id for g in fold.groups if random.random() < 0.5])
    assert fold.boxes(fold.first) <= 150
