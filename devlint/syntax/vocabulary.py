"""Which functions and classes of a text speak of devices.

The interpreter enters only those by itself, and leaves files alone in which nothing does. The words are taken from the
text, function by function, because a scan by `re` takes half the time of a walk over all nodes; a method is recognised
by its dot (`.to`, `.load`), docstrings don't count. A function speaks when it holds such a word, or
names a function or method of the same text that speaks; a class speaks also when it names a class that does. (A
function that does no more than build one, or than call one function that speaks, has nothing to tell: those are entries
of their own.) A word too many costs time, a word too few costs findings; so the list is generous.
"""

from __future__ import annotations

import re
from itertools import accumulate

_FACTORIES = """
    tensor as_tensor from_numpy zeros ones empty full rand randn randint randperm arange linspace logspace eye
    zeros_like ones_like empty_like full_like rand_like randn_like randint_like normal bernoulli multinomial
    tril_indices triu_indices hann_window hamming_window complex polar sparse_coo_tensor scalar_tensor asarray
    new_tensor new_zeros new_ones new_empty new_full FloatTensor LongTensor IntTensor BoolTensor ByteTensor
    DoubleTensor HalfTensor one_hot
"""

_LAYERS = """
    Linear LazyLinear Bilinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d BatchNorm1d
    BatchNorm2d BatchNorm3d SyncBatchNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm GroupNorm RMSNorm
    Embedding EmbeddingBag RNN LSTM GRU RNNCell LSTMCell GRUCell MultiheadAttention Transformer TransformerEncoder
    TransformerDecoder TransformerEncoderLayer TransformerDecoderLayer PReLU Sequential ModuleList ModuleDict
    ParameterList ParameterDict Parameter Buffer DataParallel DistributedDataParallel DDP CrossEntropyLoss NLLLoss
    BCEWithLogitsLoss BCELoss
"""

_METHODS = """
    to type_as load load_state_dict save
"""

_WORDS = """
    cuda device devices gpu gpus cpu numpy from_numpy mps xpu accelerator pin_memory non_blocking map_location
    device_ids output_device gpu_ids device_count current_device get_device set_device is_available is_cuda
    synchronize empty_cache set_default_device set_default_tensor_type CUDA_VISIBLE_DEVICES LOCAL_RANK local_rank
    DataLoader register_buffer register_parameter default_collate autocast GradScaler manual_seed_all
    load_checkpoint data_parallel to_device try_gpu try_all_gpus
"""

_ANYWHERE = f"{_FACTORIES} {_LAYERS} {_WORDS}".split()

_WORD = re.compile(r"[A-Za-z_.]\w*")
_CONSTRUCTED = "Tensor("  # as an annotation, `Tensor` says nothing
_VARIABLE = "CUDA_"  # an environment variable, misspelled or not
_PARTS = (_CONSTRUCTED, _VARIABLE)

_BUILDING = frozenset(_LAYERS.split())
VOCABULARY = frozenset({*_ANYWHERE, *(f".{word}" for word in (*_ANYWHERE, *_METHODS.split())), *_PARTS})

_SAYING = VOCABULARY - _BUILDING - {f".{word}" for word in _BUILDING}
"""The words that say something by themselves; layers say it where they are called."""


class _Span:
    """The rows of a function or class (both included), with the words on them."""

    __slots__ = ("first", "is_class", "last", "name", "parent", "start", "words")

    def __init__(
        self, name: str, first: int, last: int, start: int, parent: _Span | None, is_class: bool = False
    ) -> None:
        self.name = name
        self.is_class = is_class
        self.first = first
        self.last = last
        self.start = start
        self.words: set[str] = set()
        self.parent = parent


class Survey:
    """What one walk over the statements of a text tells: definitions, imports, and then who speaks.

    A front end calls `enter`, `leave` and `imports.append` in the order of the text, then `close`; after that `speaks`
    and `lambda_speaks` answer. Rows are counted from 1.
    """

    def __init__(self, text: str) -> None:
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        self.text = text
        self._parts = [part for part in _PARTS if part in text]
        self.imports: list[tuple[str, int, tuple[str, ...]]] = []
        self.docstrings: list[tuple[int, int]] = []
        self._starts = [0, 0, *accumulate(len(line) + 1 for line in text.split("\n"))]
        self._spans: list[_Span] = []
        self._top = _Span("", 1, len(self._starts) - 2, 1, None)
        self._current = self._top
        self._position = 0
        self._speaking: frozenset[str] | set[str] = VOCABULARY
        self._answers: set[int] = set()

    def skip(self, first: int, last: int) -> None:
        """Leave these rows out (a docstring)."""
        self.docstrings.append((first, last))
        self._take(self._starts[first])
        self._position = max(self._position, self._starts[min(last + 1, len(self._starts) - 1)])

    def enter(self, name: str, first: int, last: int, is_class: bool) -> None:
        """A function or class begins."""
        self._take(self._starts[first])
        self._current = _Span(name, first, last, first, self._current, is_class)
        self._spans.append(self._current)

    def leave(self) -> None:
        """The function or class entered last ends."""
        span = self._current
        assert span.parent is not None
        self._take(self._starts[min(span.last + 1, len(self._starts) - 1)])
        self._current = span.parent

    def close(self) -> None:
        """Find out who speaks, through calls inside the text too."""
        self._take(len(self.text))
        for span in reversed(self._spans):
            assert span.parent is not None
            span.parent.words |= span.words
        if self._top.words.isdisjoint(VOCABULARY):
            return
        functions = [span for span in self._spans if not span.is_class]
        rows, words = _speakers(functions)
        names = words - VOCABULARY
        rows -= {span.first for span in functions if _passes_on(span, names)}
        everything, self._speaking = _speakers(self._spans)
        self._answers = rows | {span.first for span in self._spans if span.is_class and span.first in everything}

    @property
    def any_speaks(self) -> bool:
        """Whether the text speaks at all."""
        return not self._top.words.isdisjoint(VOCABULARY)

    def speaks(self, row: int) -> bool:
        """Whether the function or class that begins on this row speaks."""
        return row in self._answers

    def lambda_speaks(self, first: int, last: int) -> bool:
        """Whether a lambda on these rows speaks."""
        if not self._answers and not self.any_speaks:
            return False
        end = self._starts[min(last + 1, len(self._starts) - 1)]
        return not self._speaking.isdisjoint(_WORD.findall(self.text, self._starts[first], end))

    def _take(self, end: int) -> None:
        if end > self._position:
            words = self._current.words
            words.update(_WORD.findall(self.text, self._position, end))
            words.update(part for part in self._parts if self.text.find(part, self._position, end) >= 0)
            self._position = end


def _passes_on(span: _Span, names: set[str]) -> bool:
    """Whether a function outside of classes speaks only because it names one that does, among `names`."""
    assert span.parent is not None
    if span.parent.is_class or not span.words.isdisjoint(_SAYING):
        return False
    if "return" not in span.words and span.last - span.first > 1:
        return False  # it keeps what it gets, and does something with it
    return len({word.lstrip(".") for word in span.words & names} - {span.name}) == 1


def _speakers(waiting: list[_Span]) -> tuple[set[int], set[str]]:
    """The first rows of the spans that speak, through the names of each other too; and all words that count then."""
    rows: set[int] = set()
    speaking = set(VOCABULARY)
    while True:
        silent: list[_Span] = []
        names: list[str] = []
        for span in waiting:
            if speaking.isdisjoint(span.words):
                silent.append(span)
                continue
            rows.add(span.first)
            if not span.name.startswith("__"):
                names.append(span.name)
        if len(silent) == len(waiting):
            return rows, speaking
        speaking.update(names)
        speaking.update(f".{name}" for name in names)
        waiting = silent
