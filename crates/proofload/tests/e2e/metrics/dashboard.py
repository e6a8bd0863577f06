"""Reads a dashboard with Grafana's own schema and writes it again: what the schema does not know is not written."""

import json
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard


def differences(given, written, place=""):
    if isinstance(given, dict) and isinstance(written, dict):
        for key, value in given.items():
            if key not in written:
                yield f"{place}/{key} is unknown"
            else:
                yield from differences(value, written[key], f"{place}/{key}")
    elif isinstance(given, list) and isinstance(written, list) and len(given) == len(written):
        for index, (one, other) in enumerate(zip(given, written)):
            yield from differences(one, other, f"{place}[{index}]")
    elif given != written:
        yield f"{place} is {given} and becomes {written}"


register_default_plugins()
dashboard = json.load(sys.stdin)
written = json.loads(json.dumps(Dashboard.from_json(dashboard), cls=JSONEncoder))
print("\n".join(differences(dashboard, written)), end="")
