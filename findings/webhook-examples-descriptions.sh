#!/usr/bin/env bash
# @octokit/webhooks-examples 7.6.1, @octokit/webhooks-schemas 7.6.1, @octokit/openapi-webhooks 12.1.0, ajv 8.20.0, ajv-formats 3.0.1
# (npm); Node 26.12.1.
#
# Expected: the examples of deliveries fit the schemas that are released with them, in the same version; GitHub's own OpenAPI
#   description refuses a few old ones.
# Seen: 53 of 329 do not fit their schemas, mostly for a repository without properties that are required; 120 do not fit
#   GitHub's description: a property that came later is required, `homepage` may not be empty, an installation's times have
#   to be text where GitHub sends numbers. More than a third of the actions that are described have no example.
# Source: the README of webhooks-schemas calls them schemas for payloads; that its examples need not fit, none found.
# Why it matters: a receiver that refuses what does not fit a description refuses real deliveries, old ones sent anew above all.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @octokit/webhooks-examples@7.6.1 @octokit/webhooks-schemas@7.6.1 @octokit/openapi-webhooks@12.1.0 \
  ajv@8.20.0 ajv-formats@3.0.1

ln -s "$folder/node_modules" node_modules
cat >check.cjs <<'CODE'
const Ajv = require('ajv').default
const Ajv2020 = require('ajv/dist/2020').default
const formats = require('ajv-formats').default
const all = require('@octokit/webhooks-examples/api.github.com/index.json')
  .flatMap(({ name, examples }) => examples.map((body) => ({ name, body })))
const octokit = require('./node_modules/@octokit/webhooks-schemas/schema.json')
const github = require('./node_modules/@octokit/openapi-webhooks/generated/api.github.com.json')

const first = new Ajv({ strict: false, allErrors: true })
formats(first).addSchema(octokit, 'first')
const own = ({ name, body }) => {
  const key = [`${name}$${body.action}`, `${name}$event`].find((key) => octokit.definitions[key])
  return key && ['first#/definitions/' + encodeURIComponent(key), first]
}
const second = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
formats(second).addSchema(github, 'second')
const seen = new Set()
const described = ({ name, body }) => {
  const key = [`${name}-${body.action}`, name].map((key) => key.replaceAll('_', '-')).find((key) => github.webhooks[key])
  if (!key) return
  seen.add(key)
  return ['second' + github.webhooks[key].post.requestBody.content['application/json'].schema.$ref, second]
}

for (const [title, find] of [['schemas of the same version', own], ["GitHub's description", described]]) {
  let bad = 0, without = 0
  const reasons = new Map()
  for (const example of all) {
    const found = find(example)
    if (!found) { without++; continue }
    const [reference, ajv] = found
    const valid = ajv.getSchema(reference) ?? ajv.compile({ $ref: reference })
    if (valid(example.body)) continue
    bad++
    const texts = valid.errors.filter(({ keyword }) => !/Of$/.test(keyword)).map(({ instancePath, message }) => `${instancePath} ${message}`)
    for (const text of new Set(texts)) reasons.set(text, (reasons.get(text) ?? 0) + 1)
  }
  console.log(`${title}: ${bad} of ${all.length} do not fit, ${without} are not described`)
  const most = [...reasons].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 6)
  for (const [text, times] of most) console.log(`  ${times}: ${text.trim()}`)
}
console.log(`described: ${Object.keys(github.webhooks).length}, with an example: ${seen.size}`)
CODE

observe() {
  node check.cjs
}

finding observe <<'RECORDED'
schemas of the same version: 53 of 329 do not fit, 0 are not described
  47: /repository must have required property 'custom_properties'
  46: /repository must have required property 'web_commit_signoff_required'
  44: /repository must have required property 'is_template'
  44: /repository must have required property 'topics'
  44: /repository must have required property 'visibility'
  4: /pull_request/base/repo must have required property 'custom_properties'
GitHub's description: 120 of 329 do not fit, 2 are not described
  27: /pull_request/base/repo must have required property 'has_discussions'
  24: /pull_request/head/repo must have required property 'has_discussions'
  24: /repository/homepage must match format "uri"
  19: /discussion must have required property 'state_reason'
  13: /release must have required property 'immutable'
  13: /release must have required property 'updated_at'
described: 261, with an example: 160
RECORDED
