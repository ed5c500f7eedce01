#!/usr/bin/env bash
# @octokit/core 7.0.8, @octokit/plugin-paginate-rest 16.0.0, parse-link-header 2.0.0, http-link-header 1.1.4, li 1.3.0 (npm); requests
# 2.34.2, httpx 0.28.1 (PyPI); Node 26.12.1.
#
# Expected: the next page of a list is found wherever the header is valid by RFC 8288: in any order of parameters, in any
#   case, with or without quotes.
# Seen: octokit has the next page only where `rel="next"` stands right behind the address: with a title before it, without
#   quotes or with two relations the list ends without an error. requests and httpx cut an address at `;`, and take no
#   second relation. A relation in capitals is known to one of six. Of two next pages the first, the last or both are
#   found; a relative address is joined to the API's root by octokit.
# Source: RFC 8288, 3 (order, case, several relations); of the readers no documentation found.
# Why it matters: a list that ends early looks complete: reviews, checks or files of the later pages are missing, behind a
#   proxy or on another server than GitHub's own.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @octokit/core@7.0.8 @octokit/plugin-paginate-rest@16.0.0 parse-link-header@2.0.0 \
  http-link-header@1.1.4 li@1.3.0
pip_packages requests==2.34.2 httpx==0.28.1

ln -s "$folder/node_modules" node_modules
cat >headers <<'FILE'
<https://a.example/?p=2>; rel="next"
<https://a.example/?p=2>; rel="next"; title="two"
<https://a.example/?p=2>; title="two"; rel="next"
<https://a.example/?p=2>; rel=next
<https://a.example/?p=2>; rel='next'
<https://a.example/?p=2>; REL="next"
<https://a.example/?p=2>; rel="next last"
<https://a.example/?p=2> ; rel = "next"
<https://a.example/?a=1;2&p=2>; rel="next"
<https://a.example/?a=1,2&p=2>; rel="next"
<https://a.example/?p=2>; rel="prev"; rel="next"
<https://a.example/?p=2>; rel="next", <https://a.example/?p=3>; rel="next"
<https://a.example/?p=1>; rel="prev", , <https://a.example/?p=2>; rel="next"
<?p=2>; rel="next"
FILE
cat >read.mjs <<'CODE'
import fs from 'node:fs'
import parse from 'parse-link-header'
import LinkHeader from 'http-link-header'
import li from 'li'
import { Octokit } from '@octokit/core'
import { paginateRest } from '@octokit/plugin-paginate-rest'
const found = []
for (const link of fs.readFileSync('headers', 'utf8').trim().split('\n')) {
  const asked = []
  const fetch = async (url) => {
    asked.push(url)
    return new Response('[]', { headers: { 'content-type': 'application/json', ...(asked.length === 1 ? { link } : {}) } })
  }
  const octokit = new (Octokit.plugin(paginateRest))({ baseUrl: 'https://a.example/api', request: { fetch } })
  await octokit.paginate('GET /list')
  const tried = (read) => { try { return read() } catch { return 'an error' } }
  found.push({
    octokit: asked[1], 'parse-link-header': tried(() => parse(link)?.next?.url), li: tried(() => li.parse(link).next),
    'http-link-header': tried(() => LinkHeader.parse(link).rel('next').map(({ uri }) => uri).join(' and ')),
  })
}
console.log(JSON.stringify(found))
CODE
cat >read.py <<'CODE'
import json, subprocess
import httpx, requests

for header, found in zip(open("headers"), json.loads(subprocess.check_output(["node", "read.mjs"]))):
    response = requests.Response()
    response.headers["link"] = header.strip()
    found["requests"] = response.links.get("next", {}).get("url")
    found["httpx"] = httpx.Response(200, headers={"link": header.strip()}).links.get("next", {}).get("url")
    groups = {}
    for name in ("octokit", "parse-link-header", "li", "http-link-header", "requests", "httpx"):
        groups.setdefault((found.get(name) or "none").replace("https://a.example", ""), []).append(name)
    print(header.strip().replace("https://a.example", ""), " ->",
          "; ".join(f"{url}: {'all' if len(groups) == 1 else ' '.join(names)}" for url, names in groups.items()))
CODE

observe() {
  python3 read.py
}

finding observe <<'RECORDED'
</?p=2>; rel="next"  -> /?p=2: all
</?p=2>; rel="next"; title="two"  -> /?p=2: all
</?p=2>; title="two"; rel="next"  -> none: octokit; /?p=2: parse-link-header li http-link-header requests httpx
</?p=2>; rel=next  -> none: octokit; /?p=2: parse-link-header li http-link-header requests httpx
</?p=2>; rel='next'  -> none: octokit parse-link-header li http-link-header; /?p=2: requests httpx
</?p=2>; REL="next"  -> none: octokit parse-link-header li requests httpx; /?p=2: http-link-header
</?p=2>; rel="next last"  -> none: octokit requests httpx; /?p=2: parse-link-header li http-link-header
</?p=2> ; rel = "next"  -> none: octokit parse-link-header li; /?p=2: http-link-header requests httpx
</?a=1;2&p=2>; rel="next"  -> /?a=1;2&p=2: octokit parse-link-header li http-link-header; /?a=1: requests httpx
</?a=1,2&p=2>; rel="next"  -> /?a=1,2&p=2: all
</?p=2>; rel="prev"; rel="next"  -> none: octokit http-link-header; /?p=2: parse-link-header li requests httpx
</?p=2>; rel="next", </?p=3>; rel="next"  -> /?p=2: octokit; /?p=3: parse-link-header li requests httpx; /?p=2 and /?p=3: http-link-header
</?p=1>; rel="prev", , </?p=2>; rel="next"  -> /?p=2: octokit parse-link-header requests httpx; none: li; an error: http-link-header
<?p=2>; rel="next"  -> /api?p=2: octokit; ?p=2: parse-link-header li http-link-header requests httpx
RECORDED
