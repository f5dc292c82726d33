"""Secure bits: the right cipher, a full key, and no stream that is ever seen twice."""

import copy
import multiprocessing
import pickle
import struct
import threading
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from randomgen import ChaCha

from dpkit import NoiseLaw, exactly_rounded
from dpkit.numerics.noise import secure_bits
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.numerics.noise.randomness import Simulated, is_secure, is_simulated, random_words, secure_generator, stamped

MASK = 0xFFFFFFFF
ignore_fork_warning = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
needs_fork = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="the system cannot fork")


def rotate(x: int, by: int) -> int:
    return ((x << by) | (x >> (32 - by))) & MASK


def chacha20_block(key: bytes, last_row: tuple[int, ...]) -> bytes:
    """RFC 8439, section 2.3, written from the text of the standard."""
    start = list(struct.unpack("<4I", b"expand 32-byte k") + struct.unpack("<8I", key) + last_row)
    w = start.copy()

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for (x, y, z), by in (((a, b, d), 16), ((c, d, b), 12), ((a, b, d), 8), ((c, d, b), 7)):
            w[x] = (w[x] + w[y]) & MASK
            w[z] = rotate(w[z] ^ w[x], by)

    for _ in range(10):
        for column in range(4):
            quarter(column, 4 + column, 8 + column, 12 + column)
        for column in range(4):
            quarter(column, 4 + (column + 1) % 4, 8 + (column + 2) % 4, 12 + (column + 3) % 4)
    return struct.pack("<16I", *((a + b) & MASK for a, b in zip(w, start, strict=True)))


def words_of(blocks: list[bytes]) -> np.ndarray:
    return np.frombuffer(b"".join(blocks), dtype="<u8")


def test_our_block_function_reproduces_the_vector_of_the_standard():
    nonce = bytes.fromhex("000000090000004a00000000")
    block = chacha20_block(bytes(range(32)), (1, *struct.unpack("<3I", nonce)))
    assert block.hex().startswith("10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e")
    assert block.hex().endswith("a2503c4e")


def test_randomgen_is_that_block_function_in_counter_mode():
    key = bytes((7 * i + 3) % 256 for i in range(32))
    nonce = 0x0123456789ABCDE
    bits = ChaCha(key=int.from_bytes(key, "little"), counter=nonce << secure_bits.NONCE_SHIFT)
    expected = [chacha20_block(key, (i, 0, nonce & MASK, nonce >> 32)) for i in range(9)]
    assert np.array_equal(bits.random_raw(72), words_of(expected))


def test_a_secure_generator_uses_all_256_bits_of_its_key_as_they_are(monkeypatch):
    entropy = {256: int.from_bytes(bytes(range(100, 132)), "little"), 60: 0xFEDCBA987654321}
    monkeypatch.setattr(secure_bits.secrets, "randbits", entropy.__getitem__)
    rng = secure_generator()
    key, nonce = bytes(range(100, 132)), entropy[60]
    expected = words_of([chacha20_block(key, (i, 0, nonce & MASK, nonce >> 32)) for i in range(4)])
    assert np.array_equal(random_words(rng, 32), expected)
    rng.bit_generator.rekey()
    assert np.array_equal(random_words(rng, 32), expected), "a rekeyed stream starts from its key alone"


def test_only_our_generators_are_secure():
    assert is_secure(secure_generator())
    assert is_secure(np.random.Generator(secure_generator().bit_generator))
    assert not is_secure(np.random.default_rng(1))
    assert not is_secure(np.random.Generator(ChaCha(key=1)))


def test_words_are_64_bits_wide_on_a_32_bit_generator_too():
    words = random_words(np.random.Generator(np.random.MT19937(5)), 4096)
    assert words.dtype == np.uint64
    ones = [(words >> np.uint64(bit) & np.uint64(1)).mean() for bit in range(64)]
    assert min(ones) > 0.4
    assert max(ones) < 0.6


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda rng: pickle.loads(pickle.dumps(rng)), lambda rng: rng.spawn(1)[0]])
def test_a_copy_is_secure_and_never_repeats_the_stream(duplicate):
    rng = secure_generator()
    other = duplicate(rng)
    assert is_secure(other)
    assert not set(random_words(rng, 64).tolist()) & set(random_words(other, 64).tolist())


def test_a_shallow_copy_shares_one_stream_and_so_never_repeats_it():
    rng = secure_generator()
    other = copy.copy(rng)
    assert not set(random_words(rng, 64).tolist()) & set(random_words(other, 64).tolist())


def test_the_key_can_be_neither_read_nor_chosen():
    bits = secure_generator().bit_generator
    with pytest.raises(TypeError, match="simulation"):
        bits.seed(1)
    with pytest.raises(TypeError, match="read"):
        _ = bits.state
    with pytest.raises(TypeError, match="set"):
        bits.state = {}


def drawn_by_forked_children(draw, children: int) -> list[list[int]]:
    context = multiprocessing.get_context("fork")
    answers = []
    for _ in range(children):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=lambda end=theirs: end.send(draw()))
        process.start()
        assert ours.poll(30)
        answers.append(ours.recv())
        process.join()
    return answers


@needs_fork
@ignore_fork_warning
@pytest.mark.parametrize(
    "draw", [lambda rng: random_words(rng, 64), lambda rng: rng.integers(0, 2**63, 64), lambda rng: rng.normal(size=64)]
)
def test_after_a_fork_parent_and_children_share_nothing(draw):
    rng = secure_generator()
    random_words(rng, 3)  # in the middle of a block: its unread words must not survive either
    streams = drawn_by_forked_children(lambda: draw(rng).tolist(), 3)
    streams.append(draw(rng).tolist())
    seen = [value for stream in streams for value in stream]
    assert len(set(seen)) == len(seen)


@needs_fork
@ignore_fork_warning
def test_a_seeded_generator_does_repeat_after_a_fork_so_the_test_above_can_see():
    rng = np.random.default_rng(3)
    streams = drawn_by_forked_children(lambda: random_words(rng, 8).tolist(), 2)
    assert streams[0] == streams[1] == random_words(rng, 8).tolist()


@needs_fork
@ignore_fork_warning
def test_a_fork_while_other_threads_draw_neither_hangs_nor_repeats():
    rng = secure_generator()
    stop = threading.Event()

    def keep_drawing() -> None:
        while not stop.is_set():
            random_words(rng, 20_000)

    threads = [threading.Thread(target=keep_drawing) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        streams = drawn_by_forked_children(lambda: random_words(rng, 16).tolist(), 5)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    seen = [word for stream in streams for word in stream]
    assert len(set(seen)) == len(seen)


def test_a_fork_that_bypassed_python_is_noticed_at_the_next_draw():
    rng = secure_generator()
    before = random_words(rng, 8)
    rng.bit_generator._process = -1
    reference = copy.copy(before)
    assert not set(random_words(rng, 8).tolist()) & set(reference.tolist())
    assert rng.bit_generator._process > 0


def test_a_spawned_process_gets_its_own_stream():
    rng = secure_generator()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        children = [pool.apply(random_words, (rng, 64)).tolist() for _ in range(2)]
    seen = [*children[0], *children[1], *random_words(rng, 64).tolist()]
    assert len(set(seen)) == len(seen)


DERIVED = {
    "an entry": lambda x: x[0, 0],
    "a row": lambda x: x[0],
    "a mask": lambda x: x[x > 1],
    "an iteration": lambda x: next(iter(x)),
    "arithmetic": lambda x: 2.0 * x + 1.0,
    "arithmetic on an entry": lambda x: 1.0 - x[0, 0],
    "numpy's scalar on the left": lambda x: np.float64(2.0) * x[0, 0],
    "a plain array on the left": lambda x: np.ones(3) @ x,
    "a comparison": lambda x: x[0, 0] < 1,
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "std": lambda x: x.std(),
    "argmax": lambda x: x.argmax(),
    "argmin": lambda x: x.argmin(),
    "trace": lambda x: x.trace(),
    "dot": lambda x: x[0].dot(x[0]),
    "take": lambda x: x.take(0),
    "nonzero": lambda x: x.nonzero()[0],
    "searchsorted": lambda x: x[0].searchsorted(0.5),
    "astype": lambda x: x.astype(int),
    "round": lambda x: round(x[0, 0]),
    "builtin sum": lambda x: sum(x[0]),
    "np.stack": lambda x: np.stack([np.zeros((3, 3)), x]),
    "np.concatenate": lambda x: np.concatenate([np.zeros((1, 3)), x]),
    "np.where": lambda x: np.where(True, x, 0.0),
    "np.median": lambda x: np.median(x),
    "np.histogram": lambda x: np.histogram(x)[0],
    "np.split": lambda x: np.split(x, 3)[1],
    "np.linalg.inv": lambda x: np.linalg.inv(x),
    "np.linalg.svd": lambda x: np.linalg.svd(x).S,
    "np.einsum": lambda x: np.einsum("ij,ij", x, x),
    "np.asanyarray": lambda x: np.asanyarray(x),
    "np.add.reduce": lambda x: np.add.reduce(x[0]),
    "a pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "a deep copy": copy.deepcopy,
}


def simulated():
    return (np.eye(3) + np.arange(9.0).reshape(3, 3) / 10).view(Simulated)


@pytest.mark.parametrize("derive", DERIVED.values(), ids=DERIVED)
def test_what_numpy_derives_from_a_simulation_is_stamped(derive):
    derived = derive(simulated())
    assert isinstance(derived, Simulated)
    assert derived.simulation is True
    assert np.array_equal(np.asarray(derived), np.asarray(derive(np.asarray(simulated()))))


def test_a_stamp_that_is_not_passed_on_is_caught():
    """The mutant is what a plain subclass of ndarray does."""

    class Forgetful(np.ndarray):
        simulation = True

    for name in ("an entry", "np.stack", "np.where", "argmax"):
        assert not isinstance(DERIVED[name](simulated().view(Forgetful)), Forgetful)


@settings(deadline=None)  # a busy machine is no counterexample
@given(arrays.arrays(np.float64, st.integers(1, 5), elements=st.floats(-9, 9)), st.data())
def test_numbers_taken_out_behave_as_numbers(array, data):
    index = data.draw(st.integers(-array.size, array.size - 1))
    entry = array.view(Simulated)[index]
    assert float(entry) == array[index]
    assert f"{entry:.3f}" == f"{array[index]:.3f}"
    assert Counter(array.view(Simulated)) == Counter(array.tolist())
    assert [*range(20)][entry.astype(int)] == [*range(20)][int(array[index])]


def test_an_array_with_axes_has_no_hash():
    with pytest.raises(TypeError, match="unhashable"):
        hash(simulated())


def test_what_is_no_array_stays_what_it_is():
    assert np.shape(simulated()) == (3, 3)
    assert np.array_equal(simulated(), simulated()) is True


@pytest.mark.parametrize("lose", [np.asarray, np.array, lambda x: x.tolist(), lambda x: x.flat[0]])
def test_where_the_stamp_is_known_to_be_lost(lose):
    """The documented limits: numpy asks nobody here."""
    assert not isinstance(lose(simulated()), Simulated)


def test_a_list_with_a_stamped_entry_is_a_simulation():
    assert is_simulated([1.0, [2.0, simulated()[0, 0]]])
    assert not is_simulated([1.0, (2.0, np.ones(3))])
    assert isinstance(stamped(np.ones(2), None, value=(simulated()[0, 0], 1.0)), Simulated)


@pytest.mark.parametrize("rng", [None, secure_generator()], ids=["new", "given"])
def test_the_helper_of_plugins_stamps_too(rng):
    law = NoiseLaw(name="a plugin's own", upper=LAPLACE.upper)
    assert not isinstance(exactly_rounded([1.0, 2.0], scale=1.0, law=law, rng=rng), Simulated)
    assert isinstance(exactly_rounded([1.0, 2.0], scale=1.0, law=law, rng=np.random.default_rng(1)), Simulated)
    assert isinstance(exactly_rounded(simulated(), scale=1.0, law=law, rng=rng), Simulated)
    assert isinstance(exactly_rounded([simulated()[0, 0], 1.0], scale=1.0, law=law, rng=rng), Simulated)


def test_rounding_keeps_the_stamp():
    stamped = np.arange(3.0).view(Simulated)
    assert isinstance(stamped.round(1), Simulated)
    assert isinstance(stamped[0].round(), Simulated)


@pytest.mark.parametrize("method", "sum mean std var prod cumsum max min clip round copy ravel transpose".split())
def test_no_method_of_an_array_loses_the_stamp(method):
    stamped = np.arange(4.0).reshape(2, 2).view(Simulated)
    arguments = (0.0, 1.0) if method == "clip" else ()
    assert isinstance(getattr(stamped, method)(*arguments), Simulated)
