"""The codes of errors: their meaning, their repair, and a command that provokes each.

The page "Errors" of the documentation is written from this table. Its commands run in a folder with `examples/`.
"""

from __future__ import annotations

from typing import NamedTuple


class ErrorCode(NamedTuple):
    """The explanation of a code. `example` is a command line that ends with the code, and `output` is what it prints.

    A code without an example needs a second process, a server or an account.
    """

    meaning: str
    repair: str
    example: str = ""
    output: str = ""


_RUN = "fairtrial run examples/shop.evalset.json --agent "
_AGENT = "examples/agent.py:reply"

ERROR_CODES: dict[str, ErrorCode] = {
    "busy": ErrorCode(
        "Another process holds the run, the folder or the file.",
        "Wait until the other process ends, or end it. For another result at the same time, choose another "
        "folder or file.",
    ),
    "cannot-import": ErrorCode(
        "A Python module, or a name in it, cannot be imported. The module may be misspelt, may be in another "
        "folder, or may raise when it is imported.",
        "Write `FILE.py:NAME` or `package.module:NAME`, and start the command in the folder of the package. Run "
        "`python -c 'import MODULE'` to see an error of the module itself.",
        _RUN + "examples/agent.py:replly",
        "fairtrial: --agent: examples/agent.py has no 'replly'; did you mean 'reply'? [cannot-import]",
    ),
    "cannot-resume": ErrorCode(
        "An unfinished run cannot go on, or a new run would continue it by mistake: its inputs or options differ.",
        "Repeat the command of the unfinished run with `--resume`, with the same files and options. For a new "
        "run, give another folder.",
        "fairtrial score examples/traces.jsonl --out results --config examples/test_config.json --resume",
        "fairtrial: results: holds no unfinished run that --resume could continue [cannot-resume]",
    ),
    "changed-meanwhile": ErrorCode(
        "Somebody else changed the modes or labels that a page shows, after the page read them.",
        "Load the page again, and repeat the change.",
    ),
    "file-system": ErrorCode(
        "The operating system refuses to read or write a file. The message ends with its words.",
        "Make room on the disk, or get the permission, then repeat the command.",
    ),
    "input-read-twice": ErrorCode(
        "Input would be read twice: a file is named twice, or standard input is read more than once.",
        "Name each file once. Save standard input to a file if a command reads its input twice.",
        "fairtrial value - - < examples/traces.jsonl",
        "fairtrial: -: is named twice, so that its traces would count twice [input-read-twice]",
    ),
    "missing-entry": ErrorCode(
        "A replayed cassette does not hold a call that the run makes. The prompt or the model has changed since it was "
        "recorded.",
        "Record the cassette again with `--cassette-mode record`, or add the missing calls with `--cassette-mode "
        "auto`.",
    ),
    "missing-key": ErrorCode(
        "A model or a service needs a key that the environment does not hold.",
        "Set the variable that the message names, or write it into a file for `--dotenv FILE`. `fairtrial "
        "doctor` shows which keys are set.",
        "env -u GROQ_API_KEY fairtrial scenarios examples/agent.py:reply --model groq/llama-3 -o new.json",
        "fairtrial: model groq/llama-3: no key; set GROQ_API_KEY [missing-key]\n"
        "`fairtrial doctor` shows packages, keys, the store, programs and plugins.",
    ),
    "missing-option": ErrorCode(
        "An option or argument is missing that another option, or the command, needs.",
        "Add the option or argument that the message names. `fairtrial COMMAND --help-all` lists the options.",
        "fairtrial value examples/traces.jsonl --ttl 3600",
        "fairtrial: --ttl needs --index: it is the time to live of the traces in the index [missing-option]",
    ),
    "missing-package": ErrorCode(
        "A feature needs a package that is not installed, or a newer version of it.",
        "Run the `pip install` of the message in the environment of fairtrial. `fairtrial doctor` shows the packages.",
        _RUN + "crewai:agent:crew",
        "fairtrial: --agent crewai:agent:crew: crewai needs the extra 'agents-crewai': pip install "
        "'crewai>=1.15' (No module named 'crewai') [missing-package]\n"
        "`fairtrial doctor` shows packages, keys, the store, programs and plugins.",
    ),
    "no-answer": ErrorCode(
        "A server does not answer, answers with something else than it should, or cannot listen at its address.",
        "Start the server, and check the URL and the port. `curl URL` shows whether the address answers.",
        "printf 'question\\nHello?\\n' > questions.csv\n"
        "fairtrial record questions.csv --agent http://127.0.0.1:9/v1 -o recordings.json",
        "note: questions.csv: read with --map input=question; nothing is expected\n"
        "fairtrial: --agent: http://127.0.0.1:9/v1/chat/completions does not answer: ConnectError: All "
        "connection attempts failed; is the server running? [no-answer]",
    ),
    "no-such-file": ErrorCode(
        "A file, a folder or a program does not exist.",
        "Check the spelling, and the folder in which the command runs: paths start there.",
        "fairtrial run shop.evalset.json --agent " + _AGENT,
        "fairtrial: shop.evalset.json: no such file or folder [no-such-file]",
    ),
    "no-such-run": ErrorCode(
        "The store holds no run with the id, or several whose ids start so.",
        "List the ids with `fairtrial runs`, and give enough of one of them. A run of another store needs "
        "`--store URL`.",
        _RUN + _AGENT + " --store sqlite:///first.db > /dev/null  # exits with 1\n"
        "fairtrial show 20200101 --store sqlite:///first.db",
        "fairtrial: no run in sqlite:///first.db with an id that starts with '20200101'; see `fairtrial "
        "runs` [no-such-run]",
    ),
    "no-such-store": ErrorCode(
        "No store is at the URL. By default, it is `.fairtrial/fairtrial.db` in the folder in which the command runs.",
        "Run the command in the folder of the run, or give `--store URL`. `fairtrial run` makes a store.",
        "fairtrial runs --store sqlite:///elsewhere.db",
        "fairtrial: there is no store at sqlite:///elsewhere.db; `fairtrial run` makes one [no-such-store]\n"
        "`fairtrial doctor` shows packages, keys, the store, programs and plugins.",
    ),
    "not-passed": ErrorCode(
        "`Run.check()` was called in Python, and the run did not pass. The message is its report.",
        "Read the report. This error says nothing about the input.",
    ),
    "not-supported": ErrorCode(
        "The agent, the service or the model does not support an option.",
        "Leave the option out, or take the way that the message names.",
    ),
    "options-conflict": ErrorCode(
        "Options or arguments do not go together, or there are too many of them.",
        "Leave one of them out. The message names them.",
        "fairtrial redact examples/traces.jsonl --in-place --check",
        "fairtrial: give only one of --check, --in-place and --output [options-conflict]",
    ),
    "other-content": ErrorCode(
        "A file, a folder or a store can be read, but holds something else than the command needs. For example, "
        "it holds an eval set and no recordings.",
        "Find out what a file holds with `fairtrial check FILE`, and give a file of the kind that the message names.",
        "fairtrial convert examples/traces.jsonl --to agents-cli -o converted.json",
        "fairtrial: examples/traces.jsonl: holds reasoning traces; only eval sets and datasets are "
        "converted [other-content]",
    ),
    "request-refused": ErrorCode(
        "A service answered a request with an error. The message holds the status of HTTP and the words of the "
        "service.",
        "Check the keys and their permissions, and the names that the request holds. Repeat the command later if the "
        "status is 429 or begins with 5.",
    ),
    "store-failed": ErrorCode(
        "The store cannot be read or written. This is the only code with exit code 4.",
        "Make room on the disk, start the server of the database, or give another `--store URL`. A run that "
        "stopped goes on with `--resume`.",
        "echo 'not a database' > notes.db\nfairtrial runs --store sqlite:///notes.db  # exits with 4",
        "fairtrial: the store sqlite:///notes.db failed: file is not a database; use another --store [store-failed]\n"
        "`fairtrial doctor` shows packages, keys, the store, programs and plugins.",
    ),
    "too-large": ErrorCode(
        "A file, a request or a number of values is larger than the limit that protects this machine.",
        "Split the input, or choose a part of it. The message names the limit.",
    ),
    "too-little-data": ErrorCode(
        "The input has too few cases, attempts, labels or claims for the question.",
        "Add the part that the message names. `fairtrial plan` says how many cases and attempts a question needs.",
        _RUN + _AGENT + " --only order_status --store sqlite:///one.db > /dev/null\n"
        "fairtrial plan 20 --detect 0.1 --store sqlite:///one.db",
        "fairtrial: run 20261128-175626-9961ac: a plan needs two cases with a value, got 1 [too-little-data]",
    ),
    "unknown-name": ErrorCode(
        "A command, an option, a case, a criterion or another name is not known.",
        "Use a name that the message offers.",
        "fairtrial rnu examples",
        "Usage: fairtrial [OPTIONS] COMMAND [ARGS]...\n"
        "Try 'fairtrial --help' for help.\n"
        "\n"
        "Error: No such command 'rnu'; did you mean 'run'? [unknown-name]",
    ),
    "unreadable-file": ErrorCode(
        "A file cannot be read: it is broken, in another encoding, or misses something. The message names the place, "
        "as a line and column, or as a JSON pointer such as `/eval_cases/0`.",
        "Correct the place. `fairtrial check FILE` names every problem of a file.",
        "echo '{\"eval_cases\": [{}]}' > broken.json\nfairtrial run broken.json --agent " + _AGENT,
        "fairtrial: broken.json: /eval_cases/0: must be a case such as {'eval_id': ..., 'conversation': "
        "[{'user_content': ..., 'final_response': ...}]}, or as {'eval_case_id': ..., 'prompt': "
        "{'parts': [...]}} in a dataset of agents-cli, got an empty object [unreadable-file]",
    ),
    "unsafe-input": ErrorCode(
        "An address or a path would show a secret, or would let others in: a password in a URL, an address that "
        "other machines reach without a token, a path that leads out of its folder.",
        "Put keys into the environment, give `--token`, and keep paths inside of the folder.",
        "fairtrial view --host 0.0.0.0",
        "fairtrial: --host 0.0.0.0: others can reach this address, so it needs --token [unsafe-input]",
    ),
    "unusable-agent": ErrorCode(
        "The target of `--agent` is no agent, or not one that conversations can be held with.",
        "Give `FILE.py:FUNCTION`, `module:function`, or a kind with a colon. The page of agents lists them.",
        _RUN + "process:no-such-program",
        "fairtrial: --agent process:no-such-program: no such program as 'no-such-program' [unusable-agent]",
    ),
    "unusable-config": ErrorCode(
        "A configuration or a project file has an unknown key or criterion, or a value that is not allowed. Each line "
        "begins with the file and the JSON pointer of its problem.",
        "Correct each place. `fairtrial criteria NAME` shows the options of a criterion.",
        'echo \'{"criteria": {"responce_match_score": 1}}\' > wrong.json\n' + _RUN + _AGENT + " --config wrong.json",
        "fairtrial: wrong.json: /criteria/responce_match_score: is not a criterion; did you mean "
        "'response_match_score'? [unusable-config]",
    ),
    "unusable-input": ErrorCode(
        "A value is of the wrong type, out of its range, or not one of the allowed values; or an input does not "
        "fit the command.",
        "Give a value that the message allows.",
        "fairtrial value examples/traces.jsonl --confidence 2",
        "fairtrial: --confidence: must be a number from 0 to 1, got 2.0 [unusable-input]",
    ),
    "unusable-model": ErrorCode(
        "No call of a model can succeed. For example, the provider has no such model.",
        "Check the name `PROVIDER/MODEL` and the key. `fairtrial judge check --quick --judge-model MODEL` asks it "
        "twelve questions.",
        "fairtrial judge check --quick --judge-model nowhere/gpt-4o-mini",
        "fairtrial: model 'nowhere/gpt-4o-mini' names no provider; begin it with one of anthropic/, "
        "azure/, bedrock/, cerebras/, cohere/, crusoe/, dashscope/, deepinfra/, deepseek/, "
        "fireworks_ai/, google/, groq/, heroku/, huggingface/, litellm/, meta/, mistral/, moonshot/, "
        "nebius/, nvidia_nim/, ollama/, openai/, openrouter/, ovhcloud/, perplexity/, sambanova/, "
        "together_ai/, vercel/, vertex_ai/, vllm/, xai/, zai/, gemini-, gemma-, gpt-, claude-, or give "
        "base_url; did you mean 'cohere/'? [unusable-model]",
    ),
    "unusable-run": ErrorCode(
        "A run exists, and does not fit the question: it is not finished, has no commit, or is of another command.",
        "Finish it with `--resume`, or name another run.",
    ),
    "unwritable-file": ErrorCode(
        "An output cannot be written. The results of a run are in the store, so that no conversation is lost.",
        "Give a file in a folder that can be written, then write the output again with `fairtrial show RUN`.",
        "touch notes\nfairtrial init notes/evals",
        "fairtrial: notes/evals: Not a directory [unwritable-file]",
    ),
    "would-overwrite": ErrorCode(
        "An output exists already, or is a file that the command reads.",
        "Name another file, or remove the old file first.",
        "fairtrial init examples",
        "fairtrial: examples/agent.py exists, and would be overwritten; name another folder: fairtrial "
        "init FOLDER [would-overwrite]",
    ),
    "agent-error": ErrorCode(
        "The agent raised, hung, or returned something that is not a reply.",
        "Read the report: it shows the error, with file and line.",
    ),
    "call-failed": ErrorCode(
        "A call of a model got no reply, or the budget of calls is used up. The outcome is unscored.",
        "Repeat the run, or allow more with `--max-calls` and `--max-cost`.",
    ),
    "case-error": ErrorCode(
        "A case went wrong for a reason that no narrower code names.",
        "Read the message in the report.",
    ),
    "judge-error": ErrorCode(
        "A judge could not be asked, or its answer could not be read. The outcome is unscored.",
        "Check the judge with `fairtrial judge check --quick`, or ask for more votes.",
    ),
    "metric-error": ErrorCode(
        "A metric raised, or returned something that is not a score. The outcome is unscored.",
        "Correct the metric. The report shows its error.",
    ),
    "simulated-tool-error": ErrorCode(
        "The simulated environment could not answer a tool call.",
        "Describe the tool in the environment of the case.",
    ),
    "simulator-error": ErrorCode(
        "The simulated user could not say its next message.",
        "Check the model of the simulated user.",
    ),
    "unfit-case": ErrorCode(
        "A message or the state of a case does not fit the input that the agent declares. The outcome is unscored.",
        'Correct the case. For example, an agent with an input schema takes messages such as `{"ticker": "NVDA"}`.',
    ),
}
"""The codes that end a command, then the codes of errors within a case, which do not end it."""

WITHIN_CASES = frozenset(
    {
        "agent-error",
        "call-failed",
        "case-error",
        "judge-error",
        "metric-error",
        "simulated-tool-error",
        "simulator-error",
        "unfit-case",
    }
)
"""The codes of errors that become a failure or an unscored outcome of one case."""
