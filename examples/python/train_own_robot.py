"""Train the robot of a file of your own with SHAC: gradients of the rewards go through the physics.

    python examples/python/train_own_robot.py runs/cheetah [epochs]

The file is the half cheetah that Gymnasium ships; `pip install gymnasium` beside this package is all that is needed.
"""

import sys
from pathlib import Path

import gymnasium

import pullback

model = Path(gymnasium.__file__).parent / "envs/mujoco/assets/half_cheetah.xml"
cheetah = pullback.load(model)

# A step costs the distance of the speed from 3 m/s, of the pitch from level, and a little for torques.
loss = (
    pullback.losses.state_target(cheetah, "rootx.v", 3.0, norm="smooth", softness=0.5)
    + pullback.losses.state_target(cheetah, "rooty.q", 0.0)
    + pullback.losses.effort(cheetah, 0.01)
)
task = pullback.Task.of_model(
    cheetah, loss, observe="rootz.q,rooty.q,?thigh.q,?shin.q,?foot.q,*.v", noise=0.05, substeps=2, episode_length=250
)


def watch(at: dict) -> None:
    if at["epoch"] % 10 == 0:
        print({name: round(value, 2) for name, value in at.items() if "return" in name or name == "epoch"})


folder, epochs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200
told = pullback.train(
    task, folder, algorithm="shac", preset="dflex-cheetah", settings={"epochs": epochs}, watch=watch
)
print(f"A step costs {-told.return_mean / task.episode_length:.2f}; at rest it costs 2.5.")
