"""Generators and distributions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.annotated import assert_observed, assert_predicted
from tests.rules.machines import Machines

HEAD = """\
import numpy as np
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""

PROGRAMS = {
    "generators": """
g = torch.Generator(device=device)
g.manual_seed(0)
a = torch.rand(2, generator=g, device=device)  #= gpu
b = torch.randperm(4, generator=torch.Generator())  #= cpu
d = g.device.type  #= 'cpu' 'cuda' 'cuda'
""",
    "a generator of the host": """
g = torch.Generator().manual_seed(0)
torch.randn(2, generator=g, device=device)  # DEV305: gpu1 gpu2
""",
    "a distribution of the user's own": """
class Prior(torch.distributions.Independent):
    def __init__(self, low, high, device="cpu"):
        inner = torch.distributions.Uniform(torch.as_tensor(low, device=device), torch.as_tensor(high, device=device))
        super().__init__(inner, 1)
class Unchanged(torch.distributions.Normal):
    pass
class Shifted(torch.distributions.Normal):
    def sample(self, *args, **kwargs):
        return super().sample(*args, **kwargs) + 1
a = Prior([0.0, 1.0], [1.0, 2.0]).sample()  #= cpu
b = Prior([0.0, 1.0], [1.0, 2.0], device).sample((3,))  #= gpu
c = Unchanged(torch.zeros(2, device=device), 1.0).rsample()  #= gpu
d = Shifted(torch.zeros(2), torch.ones(2)).sample()  #= cpu
Prior([0.0, 1.0], [1.0, 2.0]).log_prob(b)  # DEV301: gpu1 gpu2
""",
    "distributions": """
d = torch.distributions.Normal(torch.zeros(2, device=device), torch.ones(2, device=device))
a = d.sample()  #= gpu
b = d.log_prob(a)  #= gpu
c = torch.distributions.Categorical(logits=torch.zeros(3, device=device)).sample((2,))  #= gpu
m = d.mean  #= gpu ?
""",
    "distributions of the user's own": """
from torch.distributions import HalfCauchy, Independent, Normal, TransformedDistribution
from torch.distributions import Uniform
low, high = torch.zeros(3), torch.ones(3)
class Box(Uniform):
    def __init__(self, low, high):
        super().__init__(low, high)
class Boxes(Independent):
    def __init__(self, low, high):
        super().__init__(Uniform(low, high), 1)
class Same(Normal):
    pass
class Prior(nn.Module, Normal):
    def __init__(self, loc, scale):
        nn.Module.__init__(self)
        Normal.__init__(self, loc, scale)
class Registered(nn.Module, Normal):
    def __init__(self, loc, scale):
        nn.Module.__init__(self)
        Normal.__init__(self, loc, scale)
        for name in ("loc", "scale"):
            value = getattr(self, name).clone()
            delattr(self, name)
            self.register_buffer(name, value)
class First(Normal, nn.Module):
    def __init__(self, loc, scale):
        nn.Module.__init__(self)
        super().__init__(loc, scale)
class Moved(nn.Module, HalfCauchy):
    def __init__(self, scale):
        nn.Module.__init__(self)
        HalfCauchy.__init__(self, scale)
    def _apply(self, fn, recurse=True):
        super()._apply(fn, recurse)
        self.base_dist.loc, self.base_dist.scale = fn(self.base_dist.loc), fn(self.base_dist.scale)
        return self
a = Box(low, high).sample((1,))  #= cpu
b = Boxes(low, high).sample((1,))  #= cpu
c = Same(low, high).rsample()  #= cpu
d = Prior(low, high).to(device).sample()  #= cpu
e = Registered(low, high).to(device).sample()  #= gpu
f = First(low, high).to(device).rsample()  #= cpu
g = Boxes(low.to(device), high.to(device)).log_prob(low.to(device))  #= gpu
h = Moved(high).to(device).sample()  #= gpu ?
i = isinstance(Moved(high), TransformedDistribution)  #= True
j = isinstance(Prior(low, high), TransformedDistribution)  #= False
k = isinstance(Normal(low, high), torch.distributions.Distribution)  #= True
""",
    "what distributions hold": """
from torch.distributions import AffineTransform, Categorical, ExpTransform, HalfCauchy, Independent, Normal
from torch.distributions import TransformedDistribution, Transform
loc, scale = torch.zeros(3), torch.ones(3)
p = Normal(loc, 1.0)
a = p.loc  #= cpu
b = p.scale  #= cpu
c = Independent(Normal(loc.to(device), scale.to(device)), 1).base_dist.scale  #= gpu
d = TransformedDistribution(p, [ExpTransform()]).sample()  #= cpu
e = Categorical(logits=loc.to(device)).probs  #= gpu
f = HalfCauchy(scale)
f.base_dist.loc = f.base_dist.loc.to(device)
f.base_dist.scale = f.base_dist.scale.to(device)
g = f.scale  #= gpu
h = f.sample()  #= gpu
class Shift(Transform):
    domain = codomain = torch.distributions.constraints.real
    def __init__(self, by):
        super().__init__()
        self.by = by
    def _call(self, x):
        return x.to(device) + self.by
    def log_abs_det_jacobian(self, x, y):
        return torch.zeros_like(x)
i = TransformedDistribution(p, Shift(scale.to(device))).sample()  #= gpu ?
q = Normal(loc, scale)
q.loc, q.scale = q.loc.to(device), q.scale.to(device)
j = q.sample((2,)) + scale.to(device)  #= gpu
k = TransformedDistribution(p, [AffineTransform(0.0, 2.0)]).sample((2,))  #= cpu
""",
    "distributions of parameters": """
from torch.distributions import AffineTransform, Categorical, Dirichlet, Gamma, HalfNormal, Normal
from torch.distributions import TransformedDistribution
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu, self.sigma = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.ones(2))
        self.normal = Normal(self.mu, self.sigma)
        self.gamma = Gamma(self.sigma, self.sigma)
        self.dirichlet = Dirichlet(self.sigma)
        self.categorical = Categorical(self.sigma)
        self.multi = torch.distributions.MultivariateNormal(self.mu, torch.eye(2))
        self.half = HalfNormal(self.sigma)
        self.shift = AffineTransform(self.mu, self.sigma)
    def now(self):
        return Normal(self.mu, self.sigma)
net = Net().to(device)
a = net.normal.loc  #= gpu
b = net.gamma.sample()  #= gpu
c = net.dirichlet.concentration  #= gpu
d = net.now().rsample()  #= gpu
e = TransformedDistribution(net.now(), [net.shift]).rsample()  #= gpu
f = net.categorical.sample()  #= cpu
g = net.half.base_dist.scale  #= gpu
m = net.multi.sample()  #= cpu
class Own(nn.Module, Normal):
    def __init__(self):
        nn.Module.__init__(self)
        Normal.__init__(self, nn.Parameter(torch.zeros(2)), nn.Parameter(torch.ones(2)), validate_args=False)
own = Own().to(device)
h = own.loc  #= gpu
i = own.rsample()  #= gpu
""",
    "a distribution of the program's own": """
from numbers import Number
from torch.distributions import Distribution
from torch.distributions.utils import broadcast_all
class Uniform(Distribution):
    arg_constraints = {}
    def __init__(self, low, high):
        self.low, self.high = broadcast_all(low, high)
        scalar = isinstance(low, Number) and isinstance(high, Number)
        super().__init__(torch.Size() if scalar else self.low.size(), validate_args=False)
    def rsample(self, sample_shape=torch.Size()):
        noise = torch.rand(self._extended_shape(sample_shape), device=self.low.device)
        return self.low + noise * (self.high - self.low)
x = torch.zeros(4, 2, device=device)
a = Uniform(x, 1.0).high  #= gpu
b = Uniform(x, 1.0).sample()  #= gpu
c = Uniform(0.0, 1.0).low  #= cpu
d = Uniform(0.0, 1.0).rsample() + x  #= gpu
e = len(Uniform(0.0, x[0])._extended_shape((3,)))  #= 2
f = len(Uniform(x, 1.0).batch_shape)  #= 2
""",
    "a distribution of the program's own that samples on the CPU": """
from torch.distributions import Distribution
from torch.distributions.utils import broadcast_all
class Uniform(Distribution):
    def __init__(self, low, high):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.size(), validate_args=False)
    def rsample(self, sample_shape=torch.Size()):
        noise = torch.rand(self._extended_shape(sample_shape))  # DEV303: gpu1 gpu2
        return self.low + noise * (self.high - self.low)
Uniform(torch.zeros(4, 2, device=device), 1.0).sample()
""",
    "tensors that are broadcast": """
x, y = torch.zeros(3, device=device), torch.zeros(2, 3)
a, b = torch.broadcast_tensors(x, y)
c = a  #= gpu
d = b  #= cpu
e = torch.atleast_2d(y)  #= cpu
f = torch.atleast_2d(x, y)[1]  #= cpu
g = torch.block_diag(x, x)  #= gpu
""",
    "half of a distribution moved": """
p = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
p.loc = p.loc.to(device)
p.rsample()  # DEV301: gpu1 gpu2
""",
    "a distribution of transforms elsewhere": """
from torch.distributions import AffineTransform, Normal, TransformedDistribution
p = Normal(torch.zeros(2), torch.ones(2))
q = TransformedDistribution(p, [AffineTransform(torch.zeros(2, device=device), 1.0)])
q.rsample()  # DEV301: gpu1 gpu2
""",
    "a distribution left behind": """
d = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
d.log_prob(torch.zeros(2, device=device))  # DEV301: gpu1 gpu2
""",
    "parameters that meet when it is used": """
p = torch.distributions.Normal(torch.zeros(2), torch.ones(2, device=device))
a = p.loc  #= cpu
b = p.scale  #= gpu
""",
    "parameters that met when it was used": """
p = torch.distributions.Normal(torch.zeros(2), torch.ones(2, device=device))
p.sample()  # DEV301: gpu1 gpu2
""",
    "parameters that meet when it is built": """
p = torch.distributions.Beta(torch.ones(2), torch.ones(2, device=device))  # DEV301: gpu1 gpu2
""",
    "a mixture": """
from torch.distributions import Categorical, MixtureSameFamily, Normal
parts = Normal(torch.zeros(3, device=device), torch.ones(3, device=device))
p = MixtureSameFamily(Categorical(torch.ones(3, device=device)), parts)
a = p.sample()  #= gpu
b = p.log_prob(torch.zeros(2, device=device))  #= gpu
c = p.mean  #= gpu
""",
    "a mixture whose weights are elsewhere": """
from torch.distributions import Categorical, MixtureSameFamily, Normal
parts = Normal(torch.zeros(3, device=device), torch.ones(3, device=device))
p = MixtureSameFamily(Categorical(torch.ones(3)), parts)
p.sample()  # DEV301: gpu1 gpu2
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted(name: str, tmp_path: Path) -> None:
    assert_predicted(HEAD + PROGRAMS[name], tmp_path)


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed(name: str, tmp_path: Path, machines: Machines) -> None:
    assert_observed(HEAD + PROGRAMS[name], tmp_path, machines)
