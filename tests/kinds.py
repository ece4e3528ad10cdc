"""Every kind of what must not leave the house, each in the shapes that engines, kernels, launchers and manifests print it in."""

from __future__ import annotations

import string
from typing import NamedTuple

HOME = "/home" + "/"  # whole, it would be a path of one machine
_LETTERS, _HEX = string.ascii_letters + string.digits, "0123456789abcdef"


class Kind(NamedTuple):
    """What a secret of a kind is made of (`{}` is where `length` signs of `alphabet` stand), and the texts that it stands in."""

    alphabet: str
    length: int
    texts: tuple[str, ...]
    shape: str = "{}"


KINDS: dict[str, Kind] = {
    "word under a name": Kind(_LETTERS, 18, (
        "api_key={}", "api_key: {}", "'api_key': '{}'", "api_key=['first', '{}']", "settings: {{'api_key': ['{}'], 'port': 8000}}",
        "VLLM_API_KEY={} NCCL_DEBUG=INFO", "export WANDB_API_KEY='{}'", "environ({{'DEPLOY_TOKEN': '{}', 'NCCL_DEBUG': 'INFO'}})",
        "Namespace(model='oak-8b', api_key='{}', port=8000)", "hf_token={}", "X-Vault-Token: {}", "WEIGHTS_KEY={}", "GIT_PAT={}",
        "vllm serve oak-8b --api-key {} --port 8000", "vllm serve oak-8b --api-key first-key {} --port 8000", "['--hf-token', '{}']",
        "--api-key={}", "password = {}", "POSTGRES_PASSWORD={}", "PGPASSWORD={}", "db_pass={}", "passphrase: '{}'", "ssl_keyfile_password='{}'",
        "clientSecret={}", "Ocp-Apim-Subscription-Key: {}", "consumer_key={}", "client-key-data: {}", "    certificate-authority-data: {}",
        "licence key: {}", "_authToken={}", '"auth": "{}"', "auth=('svc', '{}')", "SENTRY_DSN=https://{}@sentry.example/1", "csrf_token={}",
        "| HF_TOKEN | {} |", "session_id={}", "session_params={{'id': '{}', 'rid': 'x'}}", "X-Session-Id: {}", "JSESSIONID={}",
        "SLACK_WEBHOOK_URL=https://x.example/{}", "(b'x-api-key', b'{}')", "['HF_TOKEN', '{}']", "wandb login {}",
        "docker login -u svc -p {} registry", "curl -u svc:{} http://x.example/", "curl -b sid={} http://x.example/", "ENV HF_TOKEN {}",
        "machine git.example login svc password {}", "aws_secret_access_key {}", "Incorrect API key provided: {}7", "invalid token '{}'",
        "Server=db-7;Uid=svc;Pwd={};", "AccountKey={}==;EndpointSuffix=x", "host=db-7 user=svc password={} dbname=x",
        "secrets={{'a': {{'b': ['{}']}}}}", "- name: HF_TOKEN\n  value: {}", '- name: "WEIGHTS_KEY"\n  value: "{}"',
        "- value: {}\n  name: DB_PASSWORD", '{{"name": "HF_TOKEN", "value": "{}"}}', '{{"value": "{}", "name": "HF_TOKEN"}}',
        '{{\n  "name": "HF_TOKEN",\n  "value": "{}"\n}}', "- {{name: HF_TOKEN, value: {}}}", '{{"Key": "API_SECRET", "Value": "{}"}}',
        "api_key: |\n  {}", "api_keys:\n  - first\n  - {}", '"api_keys": [\n  "first",\n  "{}"\n],',
        "machine git.example\n  login svc\n  password {}",
    )),
    "header": Kind(_LETTERS + "._-", 24, (
        "Authorization: Bearer {}", '"authorization": "Basic {}"', "-H 'Authorization: Bearer {}'", "got bearer {}", "authorization: ApiKey {}",
        'Authorization: Digest username="svc", nonce="0", response="{}"',
        "Authorization: AWS4-HMAC-SHA256 Credential=x/20260101/a/s3, Signature={}", "Cookie: lang=en; sid={}", "Set-Cookie: sid={}; Path=/",
        "cookies={{'sid': '{}'}}",
    ), "a{}z"),
    "address that gives access": Kind(_LETTERS, 24, (
        "https://bucket.example/o?X-Amz-Credential=x&X-Amz-Signature={}&x=1", "https://bucket.example/o?sv=1&sig={}%3D&se=2",
        "https://bucket.example/o?sv=1&amp;sig={}&amp;se=2", "https://bucket.example/o?GoogleAccessId={}&Expires=1",
        "https://x.example/cb#access_token={}&y=1", "https://x.example/cb?code={}&state=1", "https://x.example/p?session={}",
        "https://x.example/p?jwt={}", "next=https%3A%2F%2Fx.example%3Fsig%3D{}%26a", "https://svc:{}@git.example/model.git",
        "redis://:{}@cache-1:6379/0", "mongodb+srv://svc:{}@cluster-0.example/", "jdbc:mysql://db-7/x?user=svc&password={}",
        "POST https://api.telegram.example/bot123456789:{}/sendMessage", "POST /bot123456789:{}/getMe 200",
        "https://hooks.slack.com/services/T0000/B0000/{}", "https://discord.example/api/webhooks/0123456789/{}",
        "https://discord.example/api/v10/webhooks/0123456789/{}", "https://x.example/webhookb2/1@2/IncomingWebhook/{}/3",
        "https://x.example/open-apis/bot/v2/hook/{}", "https://events.example/integration/{}/enqueue",
    )),
    "openai": Kind(_LETTERS, 24, (
        "using {}", "'{}'", "key is {}.",
    ), "sk-proj-{}"),
    "hugging face": Kind(_LETTERS, 34, (
        "using {}", "Token {} is not valid",
    ), "hf_{}"),
    "aws": Kind(string.ascii_uppercase + string.digits, 16, (
        "using {}", "aws_access_key_id={}",
    ), "AKIA{}"),
    "alibaba": Kind(_LETTERS, 20, (
        "using {}",
    ), "LTAI5t{}"),
    "github": Kind(_LETTERS, 36, (
        "using {}", "git clone {}",
    ), "ghp_{}"),
    "gitlab": Kind(_LETTERS, 20, (
        "using {}",
    ), "glpat-{}"),
    "slack": Kind(_LETTERS, 24, (
        "using {}",
    ), "xoxb-998877665544-{}"),
    "nvidia": Kind(_LETTERS, 40, (
        "using {}",
    ), "nvapi-{}"),
    "vault": Kind(_LETTERS, 24, (
        "using {}",
    ), "hvs.{}"),
    "jwt": Kind(_LETTERS + "_-", 30, (
        "using {}", "cookie {}",
    ), "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx{}.c2lnbmF0dXJlc2ln"),
    "licence": Kind(string.ascii_uppercase, 20, (
        "License: {}", "activated {}",
    ), "A1B2C-{}-D3E4F"),
    "hash of a password": Kind(_LETTERS, 40, (
        "root:{}:19000:0:99999", "alice:{}",
    ), "$6$salt${}"),
    "private key": Kind(_LETTERS + "+/", 64, (
        "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n{}\n-----END PGP PRIVATE KEY BLOCK-----",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n{}\n-----END RSA PRIVATE KEY-----",
        '"private_key": "-----BEGIN PRIVATE KEY-----\\n{}\\n-----END PRIVATE KEY-----\\n"',
        "tls.key: |\n  -----BEGIN EC PRIVATE KEY-----\n  {}\n  -----END EC PRIVATE KEY-----",
    ), "MIIE{}"),
    "prompt": Kind(string.ascii_lowercase, 9, (
        "Received request cmpl-7: prompt: '{}', params: SamplingParams(n=1)", "prompt: '{}", "Prompt: {}", "user message: {}",
        '{{"messages": [{{"role": "user", "content": "{}"}}]}}', "GenerateReqInput(rid='x', text='{}', input_ids=None)", "text=['a', '{}']",
        "stop=['{}']", "guided_json={{'title': '{}'}}", "got it in a quote: '{}'", "CompletionOutput(index=0, text='{}', token_ids=(1, 2))",
        "reasoning='{}'", "documents=[{{'title': '{}'}}]", '"tool_calls": [{{"function": {{"arguments": "{{\\"who\\": \\"{}\\"}}"}}}}]',
        "last_user_message='{}'", "multi_modal_data={{'image': '{}.png'}}", "got <|im_start|>user {}<|im_end|>", "[INST] {} [/INST]",
        "prompt: 'it's {} and more', n=1", "prompt: 'dear all,\n{}\nbye', params: None", "<|im_start|>user\n{}<|im_end|>",
        '"messages": [\n  {{\n    "content": "{}"\n  }}\n],', "prompt: |\n  {}",
    ), "my dear {} is ill today"),
    "asked in an address": Kind(string.ascii_lowercase, 16, (
        '"GET /v1/chat?q={} HTTP/1.1" 200', "http://x.example/chat?x=1&prompt={}+ill",
    )),
    "token ids": Kind("123456789", 5, (
        "prompt_token_ids=[{}]", "prompt_token_ids: tensor([[{}]], device='cuda:0')", "input_ids=[{}]", "output_ids=[{}]", "token_ids=({})",
        "next_token_ids=[{}]", "sampled_token_ids=[[{}]]", "bad_words_token_ids=[[{}]]", "array_of_token_ids=array('l', [{}])",
        "input_ids.tolist(): [{}]", "ids [1, 2, 3, 4, 5, 6, 7, {}]", "prompt_logprobs=[None, {{{}: 0}}]",
        '"logprobs": {{"tokens": ["{}"], "token_logprobs": [-0.1]}}', "output_token_logprobs=[(-0.2, {}, None)]", "logit_bias={{{}: -100}}",
        '"prompt_token_ids": [\n  9,\n  {}\n],',
    ), "73{}, 64"),
    "token": Kind("123456789", 5, (
        "last_token_id=7{}", "Token id 7{} is out of vocabulary",
    )),
    "piece of text": Kind(string.ascii_lowercase, 12, (
        "decoded_token=' {}'", '"token": "{}"', '"top_logprobs": [{{"{}": -0.1}}]', '"tokens": ["dear", "{}"]',
    )),
    "user": Kind(string.ascii_lowercase, 11, (
        f"loading {HOME}{{}}/models", "at C:\\Users\\{}\\cache", "cd ~{}/x", "USER={}", '"username": "{}"', '"user": "{}-4711"', "user_id={}",
        "uid=1001({}) gid=1001({})", "session opened for user {}(uid=1001)", "Accepted publickey for {} from 10.1.2.3 port 22",
        "sudo: {} : TTY=pts/0 ; USER=root", "User Id={};", "ssh {}@gpu-7: done",
    )),
    "mail": Kind(string.ascii_lowercase, 11, (
        "mail of {}", "mailto:{}",
    ), "{}@corp.example"),
    "host": Kind(string.ascii_lowercase, 9, (
        "http://{}:8000/health", "MASTER_ADDR={}.corp.example", "hostname: {}", "'host': '{}'", "rank 3 on {}.rack4.internal",
        "{}:355:1203 [3] NCCL INFO comm 0x1", "[{}:00355] *** Process received signal ***", "srun: error: {}: task 3: Aborted",
        "could not resolve host: {}", "lost {}.corp.com:443", "pod/{}-abcde", "SLURM_NODELIST={}[01-08]",
    ), "gpu-{}-7"),
    "plain host": Kind(string.ascii_lowercase, 9, (
        "hostname={}", '"nodeName": "{}"', "{}:355:1203 [3] NCCL INFO comm 0x1", "host={}", "http://{}:8000/health",
    )),
    "container": Kind(_HEX, 62, (
        "docker://{}", "/var/lib/docker/containers/{}/x-json.log", "container id {}", "cri-containerd-{}.scope", "task=VLLM, oom_memcg=/docker/{}",
    ), "3f{}"),
    "account": Kind("123456789", 11, (
        "arn:aws:iam::{}:role/x", '"accountId" : "{}"',
    ), "4{}"),
}  # fmt: skip
"""By name. The `{}` of a text is where the secret stands; other braces are doubled."""
ADDRESSES = ("{}", "client {}:43210 closed", "('{}', 51234)", "NCCL INFO NET/Socket : Using [0]eth0:{}<0>", "master_addr={}", "node-{}.log",
             "[::ffff:{}]:8000")  # fmt: skip
ADDRESSES_6 = ("[{}]:29500", "NCCL INFO Bootstrap : Using ens1:{}<0>", "peer {} lost", "from {}%eth0")


def pieces(secret: str) -> list[str]:
    """A secret whole, and every long piece of it: two thirds, and no less than eight signs where it has them."""
    size = max(min(8, len(secret)), 2 * len(secret) // 3)
    return [secret[at : at + size] for at in range(len(secret) - size + 1)]


def left(secret: str, shown: str) -> list[str]:
    """The long pieces of a secret that stand in what is shown, letters compared without their case."""
    lower = shown.lower()
    return [piece for piece in pieces(secret) if piece.lower() in lower]
