"""A small GAN in the style of the scripts that many people start from."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--n_epochs", type=int, default=2)
parser.add_argument("--batch_size", type=int, default=16)
parser.add_argument("--latent_dim", type=int, default=32)
opt = parser.parse_args()

cuda = torch.cuda.is_available()

generator = nn.Sequential(nn.Linear(opt.latent_dim, 128), nn.LeakyReLU(0.2), nn.Linear(128, 28 * 28), nn.Tanh())
discriminator = nn.Sequential(nn.Linear(28 * 28, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1), nn.Sigmoid())
adversarial_loss = nn.BCELoss()

if cuda:
    generator.cuda()
    discriminator.to("cuda:1")
    adversarial_loss.cuda()

optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))

for epoch in range(opt.n_epochs):
    for _ in range(4):
        real = torch.rand(opt.batch_size, 28 * 28) * 2 - 1
        if cuda:
            real = real.cuda()
        valid = torch.ones(opt.batch_size, 1).cuda()
        fake = torch.zeros(opt.batch_size, 1).cuda()

        optimizer_g.zero_grad()
        z = torch.randn(opt.batch_size, opt.latent_dim)
        generated = generator(z)
        g_loss = adversarial_loss(discriminator(generated), valid)
        g_loss.backward()
        optimizer_g.step()

        optimizer_d.zero_grad()
        real_loss = adversarial_loss(discriminator(real), valid)
        fake_loss = adversarial_loss(discriminator(generated.detach()), fake)
        d_loss = (real_loss + fake_loss) / 2
        d_loss.backward()
        optimizer_d.step()

    print(f"[epoch {epoch}] [D loss: {d_loss.item():.4f}] [G loss: {g_loss.item():.4f}]")
