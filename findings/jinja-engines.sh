#!/usr/bin/env bash
# nunjucks 3.2.4, @huggingface/jinja 0.5.11 (npm); jinja2 3.1.6, minijinja 3.1.0 (PyPI); Node 26.12.1.
#
# Expected: four engines that take Jinja's templates write the same text, or an error.
# Seen: they agree on one template of 22. jinja2 and minijinja differ in three: an item called `items` is a method to
#   jinja2, quotes are escaped in two ways, `truncate` is known to one. Of those in JavaScript an absent value's member is
#   nothing, `'1' == 1`, a list is not equal to itself, `none` with a default is empty; to nunjucks an empty list is true,
#   `3 > 2 > 1` is not, and a loop changes what is outside; @huggingface/jinja takes line breaks away.
# Source: no documentation of the differences found.
# Why it matters: a template of a comment, a changelog or a prompt that moves from one tool to the next says something
#   else without an error.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 nunjucks@3.2.4 @huggingface/jinja@0.5.11
pip_packages jinja2==3.1.6 minijinja==3.1.0

ln -s "$folder/node_modules" node_modules
cat >templates.json <<'FILE'
["{{ yes }}", "{{ x.absent }}", "{{ x.absent.deeper }}", "{{ none | default('no') }}", "{{ x.list }}", "{{ 4 / 2 }}", "{{ -7 % 3 }}", "{{ 3 > 2 > 1 }}",
 "{{ '1' == 1 }}", "{{ x.list == [1, 2] }}", "{{ x.list[-1] }}", "{% if [] %}a{% else %}b{% endif %}", "{{ x.text }}", "{{ x.text | e }}",
 "{{ x.text | tojson }}", "{{ x.big }}", "{{ x.half | round(1) }}", "{{ x.emoji | length }}", "{{ x.map.items }}",
 "{{ 'one two three' | truncate(8) }}", "{% set n = 0 %}{% for i in [1, 2] %}{% set n = i %}{% endfor %}{{ n }}", "{% if yes %}\na\n{% endif %}\nb\n"]
FILE
cat >values.json <<'FILE'
{"list": [1, 2], "map": {"items": 2}, "text": "a<\"b\"", "emoji": "\ud83d\udc4d\ud83c\udffd", "half": 2.25, "big": 12345678901234567}
FILE
cat >render.mjs <<'CODE'
import fs from 'node:fs'
import nunjucks from 'nunjucks'
import { Template } from '@huggingface/jinja'
const tried = (render) => { try { return render() } catch { return null } }
const values = () => ({ yes: true, x: JSON.parse(fs.readFileSync('values.json')) })
console.log(JSON.stringify(JSON.parse(fs.readFileSync('templates.json')).map((text) => ({
  nunjucks: tried(() => new nunjucks.Environment(null).renderString(text, values())),
  '@huggingface/jinja': tried(() => new Template(text).render(values())),
}))))
CODE
cat >render.py <<'CODE'
import json, subprocess
import jinja2, minijinja

def tried(render):
    try:
        return render()
    except Exception:
        return None

with open("templates.json") as file:
    templates = json.load(file)
with open("values.json") as file:
    values = {"yes": True, "x": json.load(file)}
for text, found in zip(templates, json.loads(subprocess.check_output(["node", "render.mjs"]))):
    found["jinja2"] = tried(lambda: jinja2.Environment().from_string(text).render(values))
    found["minijinja"] = tried(lambda: minijinja.Environment().render_str(text, **values))
    groups = {}
    for name, value in found.items():
        shown = "an error" if value is None else "the method" if value.startswith("<built-in") else json.dumps(value)
        groups.setdefault(shown, []).append(name)
    print(json.dumps(text), " ->", "; ".join(f"{value}: {'all' if len(groups) == 1 else ' '.join(names)}" for value, names in groups.items()))
CODE

observe() {
  python3 render.py
}

finding observe <<'RECORDED'
"{{ yes }}"  -> "true": nunjucks @huggingface/jinja; "True": jinja2 minijinja
"{{ x.absent }}"  -> "": all
"{{ x.absent.deeper }}"  -> "": nunjucks @huggingface/jinja; an error: jinja2 minijinja
"{{ none | default('no') }}"  -> "": nunjucks @huggingface/jinja; "None": jinja2 minijinja
"{{ x.list }}"  -> "1,2": nunjucks; "[1, 2]": @huggingface/jinja jinja2 minijinja
"{{ 4 / 2 }}"  -> "2": nunjucks; "2.0": @huggingface/jinja jinja2 minijinja
"{{ -7 % 3 }}"  -> "-1": nunjucks @huggingface/jinja; "2": jinja2 minijinja
"{{ 3 > 2 > 1 }}"  -> "false": nunjucks; an error: @huggingface/jinja; "True": jinja2 minijinja
"{{ '1' == 1 }}"  -> "true": nunjucks @huggingface/jinja; "False": jinja2 minijinja
"{{ x.list == [1, 2] }}"  -> "false": nunjucks @huggingface/jinja; "True": jinja2 minijinja
"{{ x.list[-1] }}"  -> "": nunjucks; "2": @huggingface/jinja jinja2 minijinja
"{% if [] %}a{% else %}b{% endif %}"  -> "a": nunjucks; "b": @huggingface/jinja jinja2 minijinja
"{{ x.text }}"  -> "a&lt;&quot;b&quot;": nunjucks; "a<\"b\"": @huggingface/jinja jinja2 minijinja
"{{ x.text | e }}"  -> "a&lt;&quot;b&quot;": nunjucks minijinja; an error: @huggingface/jinja; "a&lt;&#34;b&#34;": jinja2
"{{ x.text | tojson }}"  -> an error: nunjucks; "\"a<\\\"b\\\"\"": @huggingface/jinja; "\"a\\u003c\\\"b\\\"\"": jinja2 minijinja
"{{ x.big }}"  -> "12345678901234568": nunjucks @huggingface/jinja; "12345678901234567": jinja2 minijinja
"{{ x.half | round(1) }}"  -> "2.3": nunjucks; an error: @huggingface/jinja; "2.2": jinja2 minijinja
"{{ x.emoji | length }}"  -> "4": nunjucks @huggingface/jinja; "2": jinja2 minijinja
"{{ x.map.items }}"  -> "2": nunjucks @huggingface/jinja minijinja; the method: jinja2
"{{ 'one two three' | truncate(8) }}"  -> "one two...": nunjucks; an error: @huggingface/jinja minijinja; "one two three": jinja2
"{% set n = 0 %}{% for i in [1, 2] %}{% set n = i %}{% endfor %}{{ n }}"  -> "2": nunjucks; "0": @huggingface/jinja jinja2 minijinja
"{% if yes %}\na\n{% endif %}\nb\n"  -> "\na\n\nb\n": nunjucks; "a\nb": @huggingface/jinja; "\na\n\nb": jinja2 minijinja
RECORDED
