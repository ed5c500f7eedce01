"""Plays the people of a scenario on the third-party GitHub emulator, for `tests/scenarios.rs`.

One JSON document a line on standard input, one answer a line on standard output:

    {"call": "comment", "args": {"repo": "acme/widget", "number": 1, "body": "hello", "as_": "bob"}}
    {"ok": {...}}        or        {"error": "POST /repos/... -> 403: ..."}

`call` is a method of `github_world.World`; bytes travel as {"base64": "..."}. The first line out says where the world
is. Usage: emulator_world.py DIRECTORY-OF-github_world.py WEBHOOK-URL
"""

import base64
import json
import sys


def decoded(value):
    if isinstance(value, dict):
        if set(value) == {"base64"}:
            return base64.b64decode(value["base64"])
        return {key: decoded(inner) for key, inner in value.items()}
    return [decoded(inner) for inner in value] if isinstance(value, list) else value


def encoded(value):
    return {"base64": base64.b64encode(value).decode()}


def main() -> None:
    directory, webhook_url = sys.argv[1:]
    sys.path.insert(0, directory)
    from github_world import World

    world = World(webhook_url=webhook_url)
    # An AI reviewer's App and one that updates dependencies, like another one of the seed. Their bots act by their logins.
    apps = world.seed["github"]["apps"]
    bots = [(347564, "coderabbitai", 9004), (2740, "renovate", 9005)]
    for app_id, slug, installation in bots:
        installed = {**apps[1]["installations"][0], "installation_id": installation}
        apps.append({**apps[1], "app_id": app_id, "slug": slug, "installations": [installed]})
    with world:
        for _, slug, _ in bots:
            world.tokens[f"{slug}[bot]"] = world.token(f"app:{slug}")
        here = {"url": world.url, "app_id": world.app_id, "app_slug": world.app_slug,
                "private_key": world.private_key_pem, "webhook_secret": world.webhook_secret,
                "token": world.token("olga")}
        print(json.dumps(here), flush=True)
        for line in sys.stdin:
            request = json.loads(line)
            try:
                answer = {"ok": getattr(world, request["call"])(**decoded(request["args"]))}
            except Exception as error:  # told to the scenario, which fails with it
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer, default=encoded), flush=True)


if __name__ == "__main__":
    main()
