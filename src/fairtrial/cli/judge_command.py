"""The command group `fairtrial judge`, which checks and calibrates judges."""

from __future__ import annotations

import click

from fairtrial.cli.headed_command import HeadedGroup
from fairtrial.cli.judges.judge_check_command import check_judge
from fairtrial.cli.judges.judge_choice_commands import align, choose
from fairtrial.cli.judges.judge_label_commands import calibrate, sample


@click.group(cls=HeadedGroup)
def judge() -> None:
    """Check the models that judge: do they answer in form, and do they agree with people?

    \b
    fairtrial judge check --quick --judge-model openai/my-model
    fairtrial judge check --judge-model openai/my-model
    fairtrial judge sample 20260102 --criterion final_response_match_v2 -o labels.csv
    fairtrial judge calibrate 20260102 --labels labels.csv
    fairtrial judge check --recorded verdicts.csv
    fairtrial judge choose 20260102 20260103 --criterion safety_v1 --config test_config.json
    fairtrial judge align 20260102 --criterion safety_v1 --config test_config.json -o better.json
    """  # noqa: D301


judge.add_command(check_judge)
judge.add_command(sample)
judge.add_command(calibrate)
judge.add_command(choose)
judge.add_command(align)
