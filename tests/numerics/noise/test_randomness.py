"""Secure bits: the right cipher, a full key, and no stream that is ever seen twice."""

import copy
import multiprocessing
import pickle
import struct
import threading

import numpy as np
import pytest
from randomgen import ChaCha

from dpkit.numerics.noise import randomness
from dpkit.numerics.noise.randomness import is_secure, random_words, secure_generator

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
    bits = ChaCha(key=int.from_bytes(key, "little"), counter=nonce << randomness._NONCE_SHIFT)
    expected = [chacha20_block(key, (i, 0, nonce & MASK, nonce >> 32)) for i in range(9)]
    assert np.array_equal(bits.random_raw(72), words_of(expected))


def test_a_secure_generator_uses_all_256_bits_of_its_key_as_they_are(monkeypatch):
    entropy = {256: int.from_bytes(bytes(range(100, 132)), "little"), 60: 0xFEDCBA987654321}
    monkeypatch.setattr(randomness.secrets, "randbits", entropy.__getitem__)
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
