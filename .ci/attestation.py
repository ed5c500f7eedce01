#!/usr/bin/env python3
"""Published verifiers read what Loopgate signs: securesystemslib checks the envelope, in-toto-attestation the statement.

    .ci/attestation.py FOLDER

FOLDER has `envelope.json` and `keys.json`, as the tests of `src/proof` write them for LOOPGATE_ATTESTATION.
"""
import base64
import copy
import json
import sys
from pathlib import Path

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf import json_format
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1 import statement_pb2
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

folder = Path(sys.argv[1])
written = json.loads((folder / "envelope.json").read_text())
published = json.loads((folder / "keys.json").read_text())["keys"]
keys = []
for key in published:
    raw = load_pem_public_key(key["public"].encode()).public_bytes_raw()
    keys.append(SSlibKey(key["keyid"], "ed25519", "ed25519", {"public": raw.hex()}))

# Reading an envelope takes its parts out of the dictionary.
accepted = Envelope.from_dict(copy.deepcopy(written)).verify(keys, 1)
assert list(accepted) == [published[0]["keyid"]], accepted

text = base64.b64decode(written["payload"]).decode()
statement = json_format.Parse(text, statement_pb2.Statement())
Statement.copy_from_pb(statement).validate()
assert [subject.name for subject in statement.subject] == ["merge", "head"], statement

altered = {**copy.deepcopy(written), "payload": base64.b64encode(text.replace("carol", "mallory").encode()).decode()}
try:
    Envelope.from_dict(altered).verify(keys, 1)
    sys.exit("an altered statement was accepted")
except VerificationError:
    pass
print(f"{len(written['signatures'])} signature accepted, the statement is valid, an altered one is refused")
