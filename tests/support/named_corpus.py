"""Secrets that look like dotted names or paths, each beside its own name, and the code and settings they look like.

It was written before the detector was changed for it. `HALVES` splits it: the detector was fitted to one half alone.
"""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable, Iterator

from secret_corpus import ALNUM, HEX, Example

BASE64 = ALNUM + "+/"
SHELL_SAFE = ALNUM + "@%+=:./-_"
"""What a shell takes without quotes. A comma is left out: in a log, it ends a value."""
HALVES = ("fitted", "held out")


def _some(rng: random.Random, alphabet: str, count: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(count))


def _mixed(rng: random.Random, alphabet: str, count: int) -> str:
    """Random characters with a letter and a digit among them, and neither a quote's nor a sentence's end."""
    while True:
        value = _some(rng, alphabet, count)
        if set(value) & set(string.ascii_letters) and set(value) & set(string.digits) and value[-1] not in ".:":
            return value


def _word(rng: random.Random) -> str:
    words = ("summer", "winter", "hunter", "dragon", "prod", "staging", "orders", "config", "settings", "monkey", "db")
    word = rng.choice(words)
    return word.capitalize() if rng.random() < 0.4 else word


VALUES: dict[str, Callable[[random.Random], str]] = {
    "words and a year, dotted": lambda r: f"{_word(r)}{r.randrange(2020, 2030)}.{_word(r)}{_word(r)}",
    "a word, a digit and a stage": lambda r: f"{_word(r)}{r.randrange(2, 9)}x.{_word(r)}{r.choice('XQZ')}",
    "a word like a module, and a random end": lambda r: f"{r.choice(['config', 'settings'])}.{_mixed(r, ALNUM, 9)}Q",
    "hex and letters, dotted": lambda r: f"{_some(r, HEX, 32)}.{_mixed(r, ALNUM, 16)}",
    "random parts, dotted": lambda r: ".".join([_mixed(r, ALNUM, 6), _mixed(r, ALNUM, 8), _mixed(r, ALNUM, 7)]),
    "safe in a shell": lambda r: _mixed(r, SHELL_SAFE, r.randrange(10, 17)),
    "secret key of AWS": lambda r: _mixed(r, BASE64, 40),
    "secret key of AWS after a slash": lambda r: "/" + _mixed(r, BASE64, 39),
    "account key of Azure": lambda r: _mixed(r, BASE64, 86) + "==",
    "account key of Azure after a slash": lambda r: "/" + _mixed(r, BASE64, 85) + "==",
    "a path of random parts": lambda r: "/" + "/".join(_mixed(r, ALNUM, 8) for _ in range(2)),
}
PLACES: dict[str, Callable[[str], str]] = {
    "shell": lambda v: f"DB_PASSWORD={v}",
    "export": lambda v: f"export AWS_SECRET_ACCESS_KEY={v}",
    "env file": lambda v: f"# local\nHOST=db\nREDIS_PASSWORD={v}\nPORT=6379\n",
    "yaml": lambda v: f"database:\n  user: app\n  password: {v}\n",
    "yaml list": lambda v: f"env:\n  - name: API_KEY\n    value: {v}\n",
    "ini": lambda v: f"[client]\npassword = {v}\nport = 3306",
    "json": lambda v: json.dumps({"password": v}),
    "json api key": lambda v: json.dumps({"settings": {"api_key": v, "retries": 3}}),
    "python": lambda v: f'client_secret = "{v}"',
    "python argument": lambda v: f'connect("db", password="{v}", port=1)',
    "javascript": lambda v: f"const apiKey = '{v}';",
    "log": lambda v: f"12:03:11 INFO connect user=app password={v} host=db",
    "odbc": lambda v: f"Server=db;User Id=app;Password={v};Encrypt=true",
    "azure": lambda v: f"AccountName=shop;AccountKey={v};EndpointSuffix=core.windows.net",
    "properties": lambda v: f"spring.datasource.password={v}",
    "option": lambda v: f"shopctl --host db --password {v} --verbose",
    "option with a sign": lambda v: f"shopctl --api-key={v} --verbose",
    "image": lambda v: f"FROM python\nENV DB_PASSWORD={v}\nRUN make",
    "container": lambda v: f"docker run -e MYSQL_ROOT_PASSWORD={v} mysql:8",
    "toml": lambda v: f'[auth]\ntoken = "{v}"',
    "element": lambda v: f"<password>{v}</password>",
    "table": lambda v: f"| name | value |\n|---|---|\n| api_key | {v} |",
    "colon": lambda v: f"api_key: {v}",
    "sentence": lambda v: f"The password is {v} for now",
}
REFERENCES = (
    "password=os.environ['DB_PASSWORD2']",
    "password = os.environ.get('DB_PASSWORD2')",
    'api_key = os.getenv("API_KEY_1")',
    "const apiKey = process.env.OPENAI_API_KEY2;",
    "apiKey: process.env.API_KEY_V2,",
    "token: import.meta.env.VITE_TOKEN2",
    "password=$DB_PASSWORD2",
    "password: ${DB_PASSWORD2}",
    "password: ${{ secrets.DB_PASSWORD2 }}",
    "password = var.db_password2",
    "password = local.secrets2.password",
    "password = module.db1.password",
    "password = aws_secretsmanager_secret_version.db2.secret_string",
    "secret_key = random_password.main2.result",
    "token = self.token2",
    "token = self._tokens.access_token",
    "this.password = this.form.value.password2;",
    "password = settings.DB_PASSWORD2",
    "SECRET_KEY = config.SECRET_KEY_V2",
    "api_key = cfg.providers.openai2.key",
    "password = request.form.password1",
    "const token = response.data.token2;",
    "let secret = ctx.state.secret1",
    "token = user1.token",
    "password=args.password2, user=args.user",
    "password = ldap3.utils.hash_password",
    "secret = base64.b64decode(encoded)",
    "token = jwt.encode(payload, key)",
    "token = oauth2.fetch_token(url)",
    "token = client.oauth2.token",
    "api_key = boto3.client('secretsmanager').get_secret_value()",
    "password = utf8.decode(raw)",
    "secret_file=/run/secrets/db2_password",
    "password_file: /run/secrets/db2",
    "password: /run/secrets/db2_password",
    "POSTGRES_PASSWORD_FILE=/run/secrets/postgres16",
    "private_key=/etc/ssl/private/server2.key",
    "private_key: /home/app1/.ssh/id_ed25519",
    "private_key = ~/.ssh/id_ed25519",
    "secret: ./certs/client1.pem",
    "private_key = ../keys/rsa2048.pem",
    "private_key=server2048.pem",
    "credentials = credentials2.json",
    "credentials: service-account-v2.json",
    "token: token2.txt",
    "secret = secrets/prod1.yaml",
    "token: /api/v2/refresh",
    "token=/oauth2/v1/token",
    "secret: /var/lib/app2/secret",
    "pwd: /home/runner/work2/app",
    "PWD=/home/ci/builds/Xy3k9fQ2/0/app",
    "pwd=/tmp/tmp3kf9x2ab/work",
    "PWD=/private/var/folders/q1/abc9/T/tmp2",
    "pwd=C:\\Users\\app2\\secrets",
    "password = input('Password: ')",
    'password = input("Password: ") or default',
    'token = getpass.getpass("Token: ")',
    'password = click.prompt("Password: ", hide_input=True)',
    "arn:aws:secretsmanager:us-east-1:123456789012:secret:app-x",
    "arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/db-AbC123",
    '{"SecretId": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop/db-9fK2aB"}',
    "valueFrom: arn:aws-cn:secretsmanager:cn-north-1:123456789012:secret:app2",
    "client = session.client('secretsmanager', 'us-east-1')",
    "token: str = Field(default=None)",
    "tokens = line2.split()",
    "password: str | None = None",
    "secret: Secret2 = Secret2()",
    "token_url = 'https://login2.example.com/oauth2/token'",
    "tokenizer = tiktoken.get_encoding('cl100k_base')",
    "key = sha256.hexdigest()",
    "from oauth2.token import Token",
    "import secrets2.token as token",
    "token = tokens[i+1].value",
    "access_token=data.access_token",
    "private_key = ec.generate_private_key(curve)",
    "password = faker.password(length=12)",
    "password = user.password_hash",
    "password=self.password",
    "refresh_token = credentials.refresh_token",
    "if token.type == TokenType.NUMBER1:",
    "token = Token.Literal.Number2",
    "token: pygments.token.Text",
    "secret: kubernetes.io/service-account-token",
    "secretKeyRef:\n  name: db2\n  key: password1",
    "authorization: authn.v1.Scheme",
    "credential: com.example2.auth.Credential",
    "password: com.acme.v2.PasswordEncoder",
    "token: org.springframework.security.oauth2.core.OAuth2AccessToken",
    "keyVault secret: https://vault2.azure.net/secrets/db",
    "Authorization: Bearer ${TOKEN2}",
    "WARN token.go:123 refresh token: expired",
    "password: see docs/passwords2.md",
    "secret=vault:secret/data/app2#password",
    "password = lookup('env', 'DB_PASSWORD2')",
    "token = await auth0.getTokenSilently()",
    "const token = req.headers.authorization;",
    "let password = document.getElementById('password2').value;",
    'String password = props.getProperty("db2.password");',
    "Password = p.Password,",
    "password := cfg.Database2.Password",
    'token := r.Header.Get("X-Token2")',
    "$password = $config['db2']['password'];",
    "password => $this->password2",
    "password: Rails.application.credentials.db2[:password]",
    "secret_key_base: <%= ENV['SECRET_KEY_BASE2'] %>",
    "api_key = st.secrets.openai2.key",
    "token = dbutils.secrets.get(scope2, key2)",
    "password=config.db2.password",
    '{"password": "process.env.DB_PASSWORD2"}',
    '{"api_key": "os.environ/OPENAI_API_KEY_2"}',
    '{"password": "settings.DB_PASSWORD"}',
    '{"token": "config.token"}',
    "api_key: os.environ/AZURE_API_KEY_V2",
)
"""Nothing of these may change: none holds a secret."""


def positives(rng: random.Random, half: str, each: int = 3) -> Iterator[Example]:
    """Every kind of value in every place of a half. A place and a kind belong to one half together."""
    for number, (category, make) in enumerate(VALUES.items()):
        for place_number, (place, wrap) in enumerate(PLACES.items()):
            if HALVES[(number + place_number) % 2] == half:
                for _ in range(each):
                    secret = make(rng)
                    yield Example(category, place, wrap(secret), secret)


def negatives(half: str) -> Iterator[Example]:
    """The look-alikes of a half, alone and as a line of a longer text."""
    for text in REFERENCES[HALVES.index(half) :: 2]:
        yield Example("reference", "alone", text)
        yield Example("reference", "indented", f"if ready:\n    {text}\n    run()")
        yield Example("reference", "json", json.dumps({"content": text}))
