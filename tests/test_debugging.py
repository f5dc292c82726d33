"""What a plugin's code raised is shown on made-up data, and on data never."""

import dpkit
from dpkit.data.summing.query_sums import plan_sums
from dpkit.debugging import VARIABLE, made_up


def failing(block):
    raise RuntimeError(f"the canary {block[0, 0]}")


def summed():
    query = dpkit.Query(
        name="broken",
        rows=failing,
        shape=(),
        sensitivity=lambda relation: (dpkit.l1(1.0),),
        because=dpkit.Citation(key="dpkit", locator="a test"),
    )
    return plan_sums([query], ("x",)).partial(dpkit.authoring.asfloat([[0.25], [0.5]]))


def test_what_a_query_raises_is_shown_on_made_up_data_only(capsys, monkeypatch):

    monkeypatch.setenv(VARIABLE, "1")
    summed()
    assert capsys.readouterr().err == ""
    with made_up():
        summed()
    shown = capsys.readouterr().err
    assert shown.count("RuntimeError: the canary") == 1  # one place, however many rows
    assert "`rows` of the query 'broken'" in shown
    monkeypatch.delenv(VARIABLE)
    with made_up():
        summed()
    assert capsys.readouterr().err == ""


def test_what_a_hook_raises_is_shown(capsys, monkeypatch):
    class Bad:
        @dpkit.hookimpl
        def dpkit_queries():
            return 1 / 0

    dpkit.load_plugins(discover=False, extra={"bad": Bad})
    assert capsys.readouterr().err == ""
    monkeypatch.setenv(VARIABLE, "1")
    dpkit.load_plugins(discover=False, extra={"bad": Bad})
    assert "dpkit_queries of the plugin 'bad' raised" in (shown := capsys.readouterr().err)
    assert "return 1 / 0" in shown
