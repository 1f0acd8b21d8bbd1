"""Train the robot of a file of your own with SHAC: gradients of the rewards go through the physics.

    python python/examples/train_own_robot.py runs/balance [epochs]

The file is the pole on a cart that Gymnasium ships; `pip install gymnasium` beside this package is all
that is needed. The pole is to be balanced upright.
"""

import sys
from pathlib import Path

import gymnasium

import pullback

model = Path(gymnasium.__file__).parent / "envs/mujoco/assets/inverted_pendulum.xml"
cart = pullback.load(model)

# A step costs the angle of the pole, the way of the cart, and a little for speeds and forces.
loss = (
    pullback.losses.state_target(cart, "hinge.q", 0.0, terminal=10.0)
    + pullback.losses.state_target(cart, "slider.q", 0.0, terminal=0.5)
    + pullback.losses.state_target(cart, "*.v", 0.0, terminal=0.01)
    + pullback.losses.effort(cart, 1e-3)
)
task = pullback.Task.of_model(
    cart, loss, bonus=1.0, noise=0.1, substeps=2, episode_length=200, alive={"hinge.q": (-1.0, 1.0)}
)


def watch(at: dict) -> None:
    if at["epoch"] % 10 == 0:
        print({name: round(value, 2) for name, value in at.items() if "return" in name or name == "epoch"})


folder, epochs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60
told = pullback.train(
    task, folder, algorithm="shac", preset="dflex-cartpole", settings={"epochs": epochs}, watch=watch
)
print(f"Return {told.return_mean:.1f} of at most {task.episode_length}")
