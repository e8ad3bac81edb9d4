"""The runs of one entry point, and one of them: what is assumed in it, where it is, and what it has seen so far.

The machine (`machine.py`) is one world's; its `entry` is begun anew for each entry point, its `run` for each of the
runs of that: one for each answer to a condition. An import that a run comes to is a run of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from devlint.analysis.dispatch import Call
    from devlint.analysis.domain.origins import Origin
    from devlint.analysis.domain.values import Const, Function, Instance, Shared, Tensor, Unknown, Value
    from devlint.analysis.events import Choice, Event, Site
    from devlint.analysis.flow.choices import ChoiceKey
    from devlint.analysis.flow.other_values import Aim, Limited, OtherWay, Values
    from devlint.analysis.frames import Frame
    from devlint.analysis.notes import Testimony
    from devlint.analysis.state import Trace, Worker
    from devlint.syntax import ir
    from devlint.worlds import World


class Activation:
    """A user call on the stack: when it began, the call (with the caller's frame), the activation's own frame, and
    whether it is the forward of a module that was called."""

    __slots__ = ("tick", "call", "frame", "is_forward", "receiver")

    def __init__(self, tick: int, call: Call, frame: Frame, is_forward: bool, receiver: Value | None) -> None:
        self.tick = tick
        self.call = call
        self.frame = frame
        self.is_forward = is_forward
        self.receiver = receiver


FIRST_GPU: Final = ("the number of a GPU that is not known", "is 0")
"""What is assumed in a run that takes GPUs of which nobody knows the number for the first."""

VARIES: Final = ("the answer to a condition on data", "is that of the first alone")
"""What is assumed in a further run: what is assumed of the other condition holds for what it asks first."""

ON_THE_CPU: Final = ("an option whose default is a GPU", "is the CPU")
"""What is assumed in a further run where there is no GPU: the user of a program says that it is to stay on the CPU."""

IS_A_GPU: Final = "is a GPU"
"""What is assumed in a further run of a setting of the user's, by its name (`users_devices.py`)."""


class EntryNotes:
    """What the runs of one entry point have found together."""

    def __init__(self) -> None:
        self.events: dict[tuple[Any, ...], Event] = {}
        """What was told, by what makes it the same."""
        self.consulted: set[str] = set()
        """What was asked of the world: another world in which the answers are the same has the same events."""
        self.evidence: dict[Testimony, None] = {}
        """What speaks for running without a GPU, in the order in which it was found."""
        self.launched = False
        """Whether a GPU was chosen by a number that is not known, as in a process that a launcher has started."""
        self.called: set[ir.Node] = set()
        """The functions that others called."""
        self.own: set[ir.Node] = set()
        """The functions of the entry's own file that were run."""
        self.touched: set[str] = set()
        """The files whose code was run, or whose names were asked for."""
        self.met: set[ir.Node] = set()
        """Where, with nothing assumed, an operand of known device met one whose device was lost behind a condition."""
        self.pairs: dict[tuple[ChoiceKey, ChoiceKey], None] = {}
        """Conditions behind which operands of one operation lost their devices."""
        self.other_ways: dict[ChoiceKey, OtherWay] = {}
        """The ways that a program goes with other values of its options, by what is assumed of them."""
        self.ways_taken: set[Aim] = set()
        """Which conditions have had which answer, and which cases were run."""


class Run:
    """What belongs to one run of one entry point.

    The budget is what functions and loops get their shares of; the run ends at the limit, which is the budget unless a
    longer one is given. Both are counted in steps of evaluation.
    """

    def __init__(self, world: World, budget: int, assume: dict[ChoiceKey, bool], limit: int = 0) -> None:
        # -- how far it may go

        self.steps = 0
        self.budget = budget
        self.limit = limit or budget
        self.contexts: dict[ir.Function, tuple[int, int, int]] = {}
        """How often functions were run in this phase, the steps that they took, and those of them in descents."""
        self.phases: dict[tuple[ir.Node, ...], dict[ir.Function, tuple[int, int, int]]] = {}
        """The same for each phase, by the calls that began it."""
        self.latest: dict[ir.Function, int] = {}
        """When each function was last called by another than itself."""
        self.memo: dict[Any, Any] = {}
        """What calls gave, by function and arguments."""
        self.cuts = 0
        """How many calls a bound has left out."""
        self.home: str | None = None
        """The file of which functions are entered by protocol, where one is."""
        self.abroad = 0
        """The steps that functions of other files have taken."""
        self.left_at: int | None = None
        """At which step the run left its home, if it is elsewhere."""

        # -- where it is

        self.stack: list[ir.Function] = []
        """The functions that run, outermost first."""
        self.activations: list[Activation] = []
        """What is known of their calls, in the same order."""
        self.path: list[Choice] = []
        """What was chosen on the way to where the run is."""
        self.protocol = False
        """Whether what runs was entered by protocol."""
        self.entered: Instance | None = None
        """The module of which a method was entered by protocol, if nothing is open about it but who calls that."""
        self.unseen = False
        """Whether nobody in sight calls what runs: it was entered by protocol, and is no test."""
        self.importing = 0
        """How many imports the run is in."""
        self.building = False
        """Whether an instance is being built by protocol."""
        self.worker: Worker | None = None
        """The forked process in which the run is."""
        self.trace: Trace | None = None
        """The trace that records or repeats where the run is."""
        self.given_device: str | None = "cuda:0" if world.has_cuda else "cpu"
        """What an entry point by protocol is given where it is given a device; None where nobody knows."""
        self.presumed: set[tuple[str, int, int]] = set()
        """Where something was put on a device for no other reason than that it was given, or that an input is there."""
        self.asking: set[ir.Function] = set()
        """The functions that asked something of which nobody knows where it is (`x.device`), and were answered."""
        self.replica_failed = False
        """Whether the running replica of a DataParallel has raised, and that was told."""
        self.texts = 0
        """How many texts the run is in that `eval` was given."""
        self.quiet = 0
        """How many guesses the run is in: nothing is told in them."""

        # -- what is assumed in it

        self.assume = assume
        """The answers that are given to conditions in this run."""
        self.takes_first = FIRST_GPU in assume
        """Whether this run takes a GPU of which nobody knows the number for the first of several."""
        self.is_on_the_cpu = ON_THE_CPU in assume
        """Whether the user of the program says that it is to stay on the CPU."""
        self.varies = VARIES in assume
        """Whether the answers that are assumed of conditions on data hold for what is asked first alone."""
        self.gives_a_gpu = any(key.__class__ is tuple and key[1] == IS_A_GPU for key in assume)
        """Whether this run gives a GPU to settings that name a device."""
        self.has_arguments = any(isinstance(key, str) and "sys.argv" in key for key in assume)
        """Whether the program is started with arguments."""

        # -- conditions

        self.asked: dict[ChoiceKey, None] = {}
        """The conditions that were asked and that the world does not decide, in their order."""
        self.promoted: dict[ChoiceKey, Choice] = {}
        """The conditions that other runs are to answer: a join after them lost a device."""
        self.joint: dict[ChoiceKey, list[dict[ChoiceKey, bool]]] = {}
        """What settles conditions of several undecided parts, by the first of these."""
        self.defaults: dict[ChoiceKey, bool] = {}
        """Answers that were taken because the program is started without arguments."""
        self.unless_given: dict[ChoiceKey, bool | None] = {}
        """What options are that nobody gives."""
        self.from_options: dict[Const, str] = {}
        """The defaults of options that the program has read, with the names of these."""
        self.limited: dict[str, Limited] = {}
        """Options that take no more than their choices, by their names."""
        self.of_options: dict[Const, Values] = {}
        """What conditions on them gave, with the values of options that would give another answer."""
        self.unlikely: dict[ChoiceKey, bool] = {}
        """Of the questions whether something is None, whether all ask what a call gave of which nothing is known."""
        self.data_asked: dict[ChoiceKey, list[list[Value]]] = {}
        """Of which data conditions were asked: of the first, and of others."""
        self.settled: dict[ChoiceKey, bool] = {}
        """Conditions of which the program survives one answer alone: on the other it has returned or raised."""
        self.vouched: set[ChoiceKey] = set()
        """The conditions of `settled` that were counted as guards."""
        self.within: dict[ChoiceKey, bool] = {}
        """The named conditions inside whose sides the run is, with their answers."""
        self.proved: dict[str, bool] = {}
        """Which flags of the user's the conditions around have answered, by their names."""
        self.one_sided: set[tuple[str, int, int]] = set()
        """Where the conditions stand of which the program survives one answer alone."""
        self.connective: ir.Bool | None = None
        """The `and` or `or` of which a part is being evaluated."""
        self.branching: ir.If | None = None
        """The `if` of which the condition is being evaluated."""
        self.missed: ir.Compare | None = None
        """The comparison that asked for a key under a device of another spelling."""
        self.guards = 0
        """How many questions for a GPU, or for whether a device will do, the run is behind."""
        self.doubts = 0
        """Behind how many conditions the run is of which nothing is known."""

        # -- errors

        self.trying: tuple[frozenset[str], ...] = ()
        """What each handler around would catch of what torch raises about devices."""
        self.telling = 0
        """How many of the handlers around, of which each would catch a device error, only tell of it and go on."""
        self.expected: list[str] = []
        """The exceptions for which the handlers around wait, for imports that raise."""
        self.raised = ""
        """The dotted name of the exception that the program raised last: of a class of its own, that of the nearest
        base that is a builtin or of a library."""
        self.thrown: Value | None = None
        """The exception of the program's own that is on its way to a handler."""

        # -- rounds of loops

        self.round_began = 0
        """When the running round of a loop began."""
        self.grown = 0
        """How often a module that had been moved was given another."""
        self.weighed = False
        """Whether a condition was decided by numbers, so that it may have another answer in another round."""
        self.weighs: frozenset[str] = frozenset()
        """The names of which such conditions in the running loops are made, where they are made of names alone, and of
        attributes, by `.name`."""
        self.staying: list[tuple[Any, str, Tensor, str | None]] = []
        """The tensors that the sides of such conditions gave to names, and where they were: they are to stay there."""
        self.passing = False
        """Whether one was of which the other answer makes no difference."""

        # -- what became of tensors and modules

        self.elsewhere = False
        """Whether this run has named another place than that where all is by protocol, or the host reads what it is not
        known to have; or whether what it put there met something of which nobody knows where it is."""
        self.strayed = False
        """Whether this run has put a tensor elsewhere than where all is by protocol."""
        self.built_on_cpu = False
        """Whether something was put on the CPU while an instance was built by protocol."""
        self.clashed: set[tuple[ir.Node, Frame, tuple[Choice, ...]]] = set()
        """Where operands have clashed: in which activation, and on which way."""
        self.sent: set[Origin] = set()
        """Where tensors began that the program itself has sent to another device."""
        self.served: dict[Origin, int] = {}
        """When tensors were last given to what stands elsewhere. It says who is blamed, so that it isn't undone: a side
        of a branch that only does this leaves nothing behind."""
        self.kept: dict[int, dict[int, Shared]] = {}
        """What was kept of weights by moves that copied nothing, by the weight; both by identity."""
        self.replaced_leaves: dict[Tensor, Origin] = {}
        """The moves by which leaves were replaced by their copies, by the leaf."""
        self.answered_before = False
        """Whether a file that it imports asked for CUDA while other GPUs were visible: an import happens once."""
        self.standing: list[tuple[Instance, list[Value]]] = []
        """Modules that were picked by an index that is not known, and those of which each may be meant."""
        self.late: dict[tuple[str, int, int], list[Tensor]] = {}
        """The parameters that a module was given after it had been moved, by the place of the move."""
        self.loads: dict[Unknown | Tensor, Site] = {}
        """What was loaded from files that this run doesn't know, and where."""
        self.contents: set[Tensor] = set()
        """What shares its memory with weights, where there is no GPU."""
        self.withheld: dict[tuple[str, int, int], Event] = {}
        """What was told of loads, and taken back, by where they stand."""
        self.parts: dict[Unknown, Instance] = {}
        """What was taken out of modules of other libraries by names that no row gives, and the module."""
        self.handed: list[Function] = []
        """Functions that were made in this run, and that libraries were given."""
        self.given_away: list[Value] = []
        """Functions that this run has given to what surely calls them."""
        self.surely_called = False
        """Whether one of these is what runs, by protocol."""
