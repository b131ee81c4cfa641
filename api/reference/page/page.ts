import {randomBytes} from 'node:crypto'
import {readFileSync} from 'node:fs'
import {Refusal} from '../../../shared/errors.ts'
import {inText} from '../../html.ts'
import {type Reply, reply} from '../../reply.ts'
import type {ApiDocument} from '../document.ts'
import {type ApiOperation, type LocatedOperation, type Response, showOperation} from './operation.ts'
import {showEvents, showQuickStart} from './quick-start.ts'
import {namesIn, type Schema, treeOf} from './schema.ts'
import {markdown} from './text.ts'

const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')
const [style, script] = [read('style.css'), read('script.js')]

/**
 * Returns a function that renders a page of the reference: the start page for null, else the page of the tag with this slug. Throws NOT_FOUND
 * for an unknown slug. The content of a page is generated on first use.
 */
export const openPages = (document: ApiDocument) => {
  const made = new Map<string, string>()
  const placed = placedIn(document)
  return (slug: string | null): Reply => {
    const noun = slug === null ? null : (document.tags?.find(({name}) => slugOf(name) === slug) ?? null)
    if (slug !== null && !noun) throw new Refusal('NOT_FOUND', 'The reference has no such page. /reference lists all pages')
    const content = made.get(slug ?? '') ?? (noun ? nounPage(document, placed, noun) : startPage(document, placed))
    made.set(slug ?? '', content)
    return answer(shell({document, placed, title: noun?.name ?? 'API reference', slug, content}))
  }
}

const slugOf = (noun: string) => noun.toLowerCase().replaceAll(' ', '-')

/** Returns all operations in document order. Each `$ref` to a response is replaced by that response. */
const placedIn = ({paths = {}, components}: ApiDocument): LocatedOperation[] => {
  const shared = (components?.responses ?? {}) as Record<string, Response>
  const follow = (one: Response & {$ref?: string}) => (one.$ref ? shared[one.$ref.split('/').at(-1)!]! : one)
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, ApiOperation>).map(([method, operation]) => {
      const responses = Object.entries(operation.responses).map(([status, one]) => [status, follow(one)])
      return {method, path, operation: {...operation, responses: Object.fromEntries(responses)}}
    }),
  )
}

const addressOf = ({operation: {operationId, tags}}: LocatedOperation) => `/reference/${slugOf(tags[0]!)}#${inText(operationId)}`

const startPage = (document: ApiDocument, placed: LocatedOperation[]): string => {
  const {info, tags = []} = document
  const nouns = tags.map(({name, description = ''}) => {
    const count = placed.filter(({operation}) => operation.tags.includes(name)).length
    return `<li><a href="/reference/${slugOf(name)}">${inText(name)}</a> <span class="id">${count}</span><p>${inText(description)}</p></li>`
  })
  return `<h1>${inText(info.title)} API reference</h1>
<p class="id">Version ${inText(info.version)} · <a href="/openapi.json">openapi.json</a> (OpenAPI ${document.openapi})</p>
${showQuickStart(placed, {server: document.servers?.[0]?.url ?? '', addressOf})}
<h2>Conventions</h2>
${markdown(info.description ?? '')}
<h2>Sections</h2>
<ul class="nouns">${nouns.join('')}</ul>
${showEvents()}`
}

type Noun = {name: string; description?: string}

const nounPage = (document: ApiDocument, placed: LocatedOperation[], {name, description = ''}: Noun): string => {
  const own = placed.filter(({operation}) => operation.tags.includes(name))
  const server = document.servers?.[0]?.url ?? ''
  const schemas = (document.components?.schemas ?? {}) as Record<string, Schema>
  const shown = reachedFrom(
    own.map(({operation}) => operation),
    schemas,
  )
  const objects = shown.map(
    one => `<section class="object" id="schema-${inText(one)}" aria-labelledby="schema-${inText(one)}-title">
<h3 id="schema-${inText(one)}-title">${inText(one)}</h3>${schemas[one]!.description ? markdown(schemas[one]!.description) : ''}${treeOf(schemas[one]!)}</section>`,
  )
  return `<h1>${inText(name)}</h1>
<p>${inText(description)}</p>
${own.map(one => showOperation(one, server)).join('\n')}
${objects.length ? `<h2 id="objects">Objects</h2>${objects.join('')}` : ''}`
}

/** Returns the sorted names of all schemas except `Refusal` to which `start` refers, directly or through others. */
const reachedFrom = (start: unknown, schemas: Record<string, Schema>): string[] => {
  const found = new Set<string>()
  const queue = namesIn(start)
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (found.has(name) || name === 'Refusal') continue
    found.add(name)
    queue.push(...namesIn(schemas[name]))
  }
  return [...found].sort()
}

type Shell = {document: ApiDocument; placed: LocatedOperation[]; title: string; slug: string | null; content: string}

const shell = ({document, placed, title, slug, content}: Shell): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${inText(title)} · Lading</title>
<link rel="icon" href="data:,">
<style nonce="NONCE">${style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header><a class="home" href="/reference">Lading <span>API reference</span></a> <a class="app" href="/">Open the app</a></header>
<nav aria-label="Operations">
<details class="menu" open><summary>Operations</summary>
<label for="filter">Find an operation</label>
<input id="filter" type="search" placeholder="Name, path or words" autocomplete="off" spellcheck="false">
<p id="found" role="status"></p>
${(document.tags ?? []).map(({name}) => menuOf(name, placed, slug)).join('\n')}
</details>
</nav>
<main id="main" tabindex="-1">
${content}
</main>
<script nonce="NONCE">${script}</script>
</body>
</html>
`

const menuOf = (name: string, placed: LocatedOperation[], slug: string | null): string => {
  const own = placed.filter(({operation}) => operation.tags.includes(name))
  const isHere = slug === slugOf(name)
  const items = own.map(({method, path, operation: {operationId, summary}}) => {
    const words = `${operationId} ${method} ${path} ${summary}`.toLowerCase()
    return `<li data-words="${inText(words)}"><a href="/reference/${slugOf(name)}#${inText(operationId)}"><b class="method ${method}">${method.toUpperCase()}</b> ${inText(summary)}</a></li>`
  })
  return `<details class="group"${isHere ? ' open' : ''}><summary>${inText(name)}</summary><ul>${items.join('')}</ul></details>`
}

/** Returns a reference page. It loads nothing from other hosts, cannot be framed, and runs only its own script. */
const answer = (html: string): Reply => {
  const nonce = randomBytes(16).toString('base64')
  return reply({
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    },
    body: html.replaceAll('NONCE', nonce),
  })
}
