"""One secret of each kind, and a machine whose every source holds some: engine log, probe log, kernel log, dumps, environment."""

from __future__ import annotations

import json
import random
from pathlib import Path

from tests.lives import Life, log
from tests.made_dumps import job

HOME = "/home" + "/"  # whole, it would be a path of one machine
HOST = "gpu-node-7"
DOMAIN = "rack4.bigcorp.internal"
ADDRESS = "10.77.13.201"
USER = "alicewonder"
KEYS = {
    "openai": "sk-proj-Ab12Cd34Ef56Gh78Ij90",
    "hugging face": "hf_QwErTyUiOpAsDfGhJkLzXcVb",
    "aws": "AKIAZ7PLANTED1EXAMPL",
    "github": "ghp_pLaNtEd0123456789abcdefghijklmnopqrs",
    "slack": "xoxb-998877665544-plantedplanted",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJwbGFudGVkIjoxfQ.c2lnbmVkcGxhbnRlZA",
    "nvidia": "nvapi-PlAnTeD0123456789abcdef",
}
WORDS = {
    "api key": "plain-api-key-77",
    "password": "hunter2planted",
    "bearer": "bearerplanted.0123",
    "basic": "cGxhbnRlZDpwbGFudGVk",
    "url": "urlpassplanted",
    "parameter": "sigplanted0123",
    "cookie": "cookieplanted",
    "prompt": "bears ate my porridge yesterday",
    "prompt in pieces": "the second line of a sad letter",
    "message": "what is wrong with my marriage",
    "token ids": "31337, 4242, 90210",
    "private key": "MIIEplantedPrivateKeyBody",
    "dsn": "dsnplanted99",
    "environment": "envsecretplanted",
    "header": "headerplanted77",
    "typed": "typedplanted77",
    "manifest": "manifestplanted77",
    "array of ids": "60606, 70707, 80808",
    "ids put out": "10101, 20202",
    "schema": "blood pressure of the patient",
    "picture": "rash-of-the-patient.png",
}
NAMES = {"host": HOST, "plain host": "bertha", "public host": "gpu7.bigcorp.com", "domain": DOMAIN, "address": ADDRESS, "user": USER,
         "mail": f"{USER}@bigcorp.example", "ipv6": "fd12:3456:789a::17", "mac": "02:42:ac:11:00:1f"}  # fmt: skip
SECRETS = {**KEYS, **WORDS, **NAMES}


def said() -> list[str]:
    """Lines as engines and their surroundings print them, with every secret in one of them at least."""
    lines = [f"warning: using credential {key} from the environment" for key in KEYS.values()]
    lines += [f"retrying with {key[: len(key) // 2]}\x1b[31m{key[len(key) // 2 :]}\x1b[0m" for key in KEYS.values()]
    return [
        *lines,
        f"settings: {{'api_key': ['{WORDS['api key']}'], 'model': 'oak-8b', 'port': 8000}}",
        f"vllm serve oak-8b --api-key {WORDS['api key']} --port 8000",
        f"POSTGRES_PASSWORD={WORDS['password']} MASTER_ADDR={HOST}.{DOMAIN}",
        f"request headers: Authorization: Bearer {WORDS['bearer']}",
        f"request headers: {{\"authorization\": \"Basic {WORDS['basic']}\", \"cookie\": \"session={WORDS['cookie']}; lang=en\"}}",
        f"pulling https://{USER}:{WORDS['url']}@git.{DOMAIN}/model.git and https://s3.example/x?X-Amz-Signature={WORDS['parameter']}&x=1",
        f"Received request cmpl-7: prompt: 'my {WORDS['prompt']}, help', params: SamplingParams(n=1), prompt_token_ids: [{WORDS['token ids']}]",
        f'{{"messages": [{{"role": "user", "content": "{WORDS["message"]}"}}], "model": "oak"}}',
        f"GenerateReqInput(rid='x', text='{WORDS['prompt']}', input_ids=[{WORDS['token ids']}], output_ids=[{WORDS['token ids']}])",
        f"Received request cmpl-8: prompt: 'dear all,\n{WORDS['prompt in pieces']}\nbye', params: None",
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{WORDS['private key']}\n-----END OPENSSH PRIVATE KEY-----",
        f"connecting to postgresql://svc:{WORDS['dsn']}@{HOST}:5432/db as {NAMES['mail']}",
        f"loading {HOME}{USER}/models/oak-8b/config.json, cache of {USER} at C:\\Users\\{USER}\\cache",
        f"client {ADDRESS}:43210 closed; peer [{NAMES['ipv6']}]:29500 over {NAMES['mac']}",
        f"rank 3 on {HOST} lost {HOST}.{DOMAIN} <{ADDRESS}>",
        f"env: DEPLOY_TOKEN={WORDS['environment']} NCCL_DEBUG=INFO",
        f"scope: [(b'accept', b'*/*'), (b'x-api-key', b'{WORDS['header']}')] of hostname={NAMES['plain host']}",
        f"+ docker login -u svc -p {WORDS['typed']} {NAMES['public host']}:443",
        f'container env: [{{"name": "WEIGHTS_TOKEN", "value": "{WORDS["manifest"]}"}}]',
        f"SequenceData(prompt_token_ids=array('l', [{WORDS['array of ids']}])), CompletionOutput(index=0, token_ids=[{WORDS['ids put out']}])",
        f"guided_json={{'title': '{WORDS['schema']}'}} image_url: https://photos.example/{WORDS['picture']}",
    ]


def machine(folder: Path, lines: list[str] | None = None) -> Path:
    """The logs of a machine that died twice, with dumps of the second time; every source has secrets next to what is cited.

    The engine says `lines`, those of `said` where none are given.
    """
    (folder / "dumps").mkdir(parents=True)
    lines = said() if lines is None else lines
    first = Life(2, pid=100)
    _say(first, lines).serves()
    _say(first, lines).raises(3, "RuntimeError: CUDA error: an illegal memory access was encountered", [f"{HOME}{USER}/vllm/model.py:7 forward"])
    _say(first, lines).dies()
    second = Life(4, pid=300).serves()
    _say(second, lines).core("ERROR", "seat.py:12", f"the seat server at {ADDRESS} took back the seat of {HOST} api_key={WORDS['api key']}").dies()
    log(folder, first, second)
    _probes(folder / "probe.log")
    _kernel(folder / "kernel.log")
    for rank, document in job().items():
        document["pg_config"]["0"]["desc"] = f"tp of {HOST}.{DOMAIN}"
        for entry in document["entries"]:
            entry["frames"] = [{"name": f"forward_{WORDS['api key']}"[:7], "filename": f"{HOME}{USER}/vllm/worker.py", "line": 7},
                               {"name": "run", "filename": f"/mnt/{HOST}/token={WORDS['environment']}/run.py", "line": 9}]  # fmt: skip
            entry["process_group"] = ("0", f"tp of {HOST}.{DOMAIN}")
        (folder / "dumps" / f"rank_{rank}.json").write_text(json.dumps(document))
    return folder


def environment(folder: Path) -> Path:
    """A file as /proc/PID/environ has it."""
    file = folder / "environ"
    given = {"VLLM_HOST_IP": ADDRESS, "NCCL_SOCKET_IFNAME": "eth0", "VLLM_API_KEY": WORDS["api key"], "HF_TOKEN": KEYS["hugging face"],
             "VLLM_CACHE_ROOT": f"{HOME}{USER}/cache", "NCCL_COMM_ID": f"{HOST}.{DOMAIN}:29500",
             "TORCH_DSN": f"postgresql://svc:{WORDS['dsn']}@{HOST}/x"}  # fmt: skip
    file.write_bytes("\0".join(f"{name}={value}" for name, value in given.items()).encode())
    return file


def inspected(folder: Path) -> Path:
    """A file as `docker inspect` prints it."""
    file = folder / "inspect.json"
    told = [f"VLLM_API_KEY={WORDS['api key']}", f"NCCL_SOCKET_HOST={HOST}", f"TORCH_NOTE=ask {NAMES['mail']}"]
    command = [f"{HOME}{USER}/oak", "--api-key", WORDS["api key"], f"--middleware=https://x:{WORDS['url']}@{HOST}/"]
    config = {"Env": told, "Image": f"registry.{DOMAIN}:5000/vllm:1", "Entrypoint": ["vllm", "serve"], "Cmd": command}
    file.write_text(json.dumps([{"State": {"StartedAt": "2026-11-20T04:00:01Z"}, "Config": config, "RestartCount": 1}]))
    return file


def leaked(shown: str | bytes) -> list[str]:
    """The kinds of secrets that stand in what is shown, whole or half of a key."""
    text = shown.decode("utf-8", "replace") if isinstance(shown, bytes) else shown
    halves = {f"half of {kind}": key[len(key) // 2 :] for kind, key in KEYS.items()}
    return [kind for kind, secret in {**SECRETS, **halves}.items() if secret.lower() in text.lower()]


def _say(life: Life, lines: list[str]) -> Life:
    for line in random.Random(len(life.lines)).sample(lines, len(lines)):
        head, *rest = line.split("\n")
        life.worker(1, "WARNING", "plant.py:1", head, later=0)
        for more in rest:
            life.raw(more)
    return life


def _probes(file: Path) -> None:
    target = f"http://{USER}:{WORDS['url']}@{HOST}.{DOMAIN}:8000/health?token={WORDS['parameter']}"
    told = [f'{{"time": "2026-11-20T{minute // 60:02}:{minute % 60:02}:00Z", "url": "{target}", "status": {0 if 123 < minute < 130 else 200}, '
            f'"error": "{f"Failed to connect to {HOST} ({ADDRESS}) port 8000: Connection refused" if 123 < minute < 130 else ""}"}}'
            for minute in range(100, 160)]  # fmt: skip
    file.write_text("".join(f"{line}\n" for line in told))


def _kernel(file: Path) -> None:
    said = "NVRM: Xid (PCI:0000:3b:00): 31, pid=104, name=VLLM::Worker_TP, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS"
    file.write_text(
        f"Nov 20 02:03:00 {HOST} kernel: [ 100.1] eth0: link up {NAMES['mac']} {ADDRESS}\n"
        f"Nov 20 02:03:01 {HOST} kernel: [ 101.1] audit: user={USER} key {KEYS['aws']}\n"
        f"Nov 20 02:03:30 {HOST} kernel: [ 130.1] {said}\n"
    )
