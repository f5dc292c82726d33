"""Opacus pays from a training run, stops before the model is changed, and loaders that do not sample so are refused."""

import sys
from types import SimpleNamespace

import pytest

import dpkit
from dpkit import ApproxDP, BudgetExceededError, InvalidValueError, Training
from dpkit.release.opacus_training import check_loader, check_sampler

BUDGET = ApproxDP(epsilon=1.0, delta=1e-5)


class UniformWithReplacementSampler:
    sample_rate = 0.1


class BatchSampler:
    pass


def test_a_loader_that_is_no_poisson_sample_of_the_rate_is_refused():
    check_loader(SimpleNamespace(batch_sampler=UniformWithReplacementSampler()), rate=0.1)
    for loader, rate in (
        (SimpleNamespace(batch_sampler=UniformWithReplacementSampler()), 0.05),
        (SimpleNamespace(batch_sampler=BatchSampler()), 0.1),
        (SimpleNamespace(batch_sampler=None), 0.1),
        (object(), 0.1),
    ):
        with pytest.raises(InvalidValueError):
            check_loader(loader, rate=rate)


class SequentialSampler(list):
    pass


class WeightedRandomSampler(list):
    pass


def test_a_loader_whose_sampler_would_be_dropped_is_refused_without_opacus():
    data = range(60)
    check_sampler(SimpleNamespace(dataset=data, sampler=SequentialSampler(data), batch_sampler=BatchSampler()))
    for sampler, batches in (
        (WeightedRandomSampler(data), BatchSampler()),
        (SequentialSampler(data[:12]), BatchSampler()),
        (SequentialSampler(data), object()),
    ):
        with pytest.raises(InvalidValueError, match="once in an epoch"):
            check_sampler(SimpleNamespace(dataset=data, sampler=sampler, batch_sampler=batches))


def test_without_opacus_the_extra_is_named(monkeypatch):
    for module in ("opacus", "opacus.accountants", "opacus.accountants.registry", "opacus.privacy_engine"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(dpkit.MissingExtraError, match=r"dpkit\[opacus\]"):
        Training(budget=BUDGET).register_with_opacus()


@pytest.fixture
def parts():
    pytest.importorskip("opacus")
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = torch.utils.data.TensorDataset(torch.randn(60, 3), torch.randn(60, 1))
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(data, batch_size=6)
    return {"module": model, "optimizer": optimizer, "data_loader": loader, "noise_multiplier": 2.0, "max_grad_norm": 1.0}


def train(made, epochs):
    from torch.nn.functional import mse_loss

    model, optimizer, loader = made
    for _ in range(epochs):
        for features, targets in loader:
            optimizer.zero_grad()
            mse_loss(model(features), targets).backward()
            optimizer.step()


@pytest.mark.filterwarnings("ignore")
def test_real_opacus_pays_each_step_and_is_stopped_before_the_model_changes(parts, tmp_path):
    training = Training(ledger=tmp_path / "run.ledger", budget=BUDGET)
    made = training.opacus_engine().make_private(**parts)
    train(made, 1)
    assert training.steps == 10
    assert training.history == [(2.0, 0.1, 10)]
    with pytest.raises(BudgetExceededError):
        train(made, 1000)
    weights = [parameter.detach().clone() for parameter in made[0].parameters()]
    with pytest.raises(BudgetExceededError):
        train(made, 1)
    assert all((before == after).all() for before, after in zip(weights, made[0].parameters(), strict=True))
    assert dpkit.account(training.event, "rdp").epsilon(delta=1e-5) <= 1.0
    assert Training(ledger=tmp_path / "run.ledger", budget=BUDGET).steps == training.steps


@pytest.mark.filterwarnings("ignore")
def test_real_opacus_finds_the_run_by_its_name(parts):
    from opacus import PrivacyEngine

    training = Training(budget=BUDGET)
    training.register_with_opacus("dpkit")
    engine = PrivacyEngine(accountant="dpkit")
    made = engine.make_private(**parts)
    with pytest.raises(InvalidValueError, match="not checked"):
        train(made, 1)
    assert training.steps == 0
    engine.accountant.check(made[-1])
    train(made, 1)
    assert len(engine.accountant) == training.steps == 10
    assert 0.0 < engine.get_epsilon(1e-5) < 1.0
    state = engine.accountant.state_dict()
    engine.accountant.load_state_dict(state)
    assert dpkit.interchange.read(state).event == dpkit.interchange.read(engine).event
    with pytest.raises(InvalidValueError, match="were paid"):
        engine.accountant.load_state_dict({"history": [(2.0, 0.1, 11)], "mechanism": "dpkit"})


@pytest.mark.filterwarnings("ignore")
def test_real_loaders_that_shuffle_are_refused(parts):
    engine = Training(budget=BUDGET).opacus_engine()
    with pytest.raises(InvalidValueError, match="poisson_sampling"):
        engine.make_private(**parts, poisson_sampling=False)
    with pytest.raises(InvalidValueError, match="Poisson"):
        check_loader(parts["data_loader"], rate=0.1)


@pytest.mark.filterwarnings("ignore")
def test_the_stock_engine_does_not_pay_for_loaders_that_shuffle_nor_for_batches_that_are_added_up(parts):
    from opacus import PrivacyEngine

    training = Training(budget=BUDGET)
    training.register_with_opacus("dpkit")
    engine = PrivacyEngine(accountant="dpkit")
    model, optimizer, loader = engine.make_private(**parts, poisson_sampling=False)
    with pytest.raises(InvalidValueError, match="Poisson"):
        engine.accountant.check(loader)
    weights = [parameter.detach().clone() for parameter in model.parameters()]
    with pytest.raises(InvalidValueError, match="not checked"):
        train((model, optimizer, loader), 1)
    assert all((before == after).all() for before, after in zip(weights, model.parameters(), strict=True))
    assert training.steps == 0


@pytest.mark.filterwarnings("ignore")
def test_one_batch_may_be_cut_in_memory_but_several_are_not_paid_as_one(parts):
    from opacus.utils.batch_memory_manager import BatchMemoryManager
    from torch.nn.functional import mse_loss

    training = Training(budget=BUDGET)
    model, optimizer, loader = training.opacus_engine().make_private(**parts)
    with BatchMemoryManager(data_loader=loader, max_physical_batch_size=2, optimizer=optimizer) as cut:
        train((model, optimizer, cut), 1)
    assert 1 <= training.steps <= 10  # an empty sample is no batch there
    paid = training.steps
    model.allow_grad_accumulation()
    optimizer.zero_grad()
    for features, targets in list(loader)[:2]:
        mse_loss(model(features), targets).backward()
    with pytest.raises(InvalidValueError, match="accumulated"):
        optimizer.step()
    assert training.steps == paid


@pytest.mark.filterwarnings("ignore")
def test_real_opacus_is_not_asked_to_find_the_noise(parts):
    """It would try histories on its accountant, and this one pays."""
    training = Training(budget=ApproxDP(epsilon=8.0, delta=1e-5))
    with pytest.raises(InvalidValueError, match="calibrate"):
        training.opacus_engine().make_private_with_epsilon(**parts, target_epsilon=1.0, target_delta=1e-5, epochs=1)
    assert training.steps == 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["weighted", "with replacement", "a part", "batches"])
def test_a_sampler_that_opacus_would_drop_in_silence_is_refused(parts, kind):
    """opacus 813: 128 weighted draws of 100,000 records became samples at a rate of 0.125, 45,000 times what was meant."""
    from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler, WeightedRandomSampler

    data = parts["data_loader"].dataset
    wrong = {
        "weighted": lambda: DataLoader(data, batch_size=6, sampler=WeightedRandomSampler([1.0] * 60, num_samples=12)),
        "with replacement": lambda: DataLoader(data, batch_size=6, sampler=RandomSampler(data, replacement=True)),
        "a part": lambda: DataLoader(data, batch_size=6, sampler=RandomSampler(data, num_samples=12)),
        "batches": lambda: DataLoader(data, batch_sampler=type("Own", (BatchSampler,), {})(SequentialSampler(data), 6, False)),
    }
    training = Training(budget=BUDGET)
    with pytest.raises(InvalidValueError, match="once in an epoch"):
        training.opacus_engine().make_private(**{**parts, "data_loader": wrong[kind]()})
    assert training.steps == 0
    right = {**parts, "data_loader": DataLoader(data, batch_size=6, shuffle=True)}
    train(training.opacus_engine().make_private(**right), 1)
    assert training.history == [(2.0, 0.1, 10)]
