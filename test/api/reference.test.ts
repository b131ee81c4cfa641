import {execFile} from 'node:child_process'
import {mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {promisify} from 'node:util'
import test from 'ava'
import {z} from 'zod'
import {describeApi, nameOf} from '../../api/reference/document.ts'
import {pathOf} from '../../api/reference/operation.ts'
import {refusalsOf, refusalsOfNoRoute} from '../../api/reference/refusals.ts'
import {tags} from '../../api/reference/tags.ts'
import type {AnswerShape, Route} from '../../api/route.ts'
import {routes} from '../../api/routes.ts'
import {codes} from '../../shared/errors.ts'
import {KINDS} from '../../shared/notifications/kind.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const document: any = describeApi({PUBLIC_URL: 'https://lading.test'}, routes)
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item as Record<string, any>).map(([method, operation]) => ({method, path, operation})),
)

test('the API document has every route under a unique name, and nothing else', t => {
  t.deepEqual(operations.map(({method, path}) => `${method} ${path}`).sort(), routes.map(one => `${one.method} ${pathOf(one)}`).sort())
  t.is(new Set(operations.map(({operation}) => operation.operationId)).size, routes.length)
  t.deepEqual(routes.filter(({operationId}) => !/^[a-z][a-zA-Z]+$/.test(operationId)).map(nameOf), [])
  t.deepEqual([...new Set(routes.map(({tag}) => tag))].sort(), Object.keys(tags).sort())
})

test('redocly reports no problem in the API document', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'lading-reference-'))
  t.teardown(() => rm(folder, {recursive: true}))
  const file = join(folder, 'openapi.json')
  await writeFile(file, JSON.stringify(document))
  const bin = join(root, 'node_modules/.bin/redocly')
  const {stdout} = await promisify(execFile)(
    process.execPath,
    [bin, 'lint', file, '--config', join(root, 'api/reference/redocly.yaml'), '--format', 'json'],
    {env: {...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true'}, maxBuffer: 16 * 1024 ** 2},
  ).catch(({stdout}) => ({stdout}))
  const {totals, problems} = JSON.parse(stdout)
  t.deepEqual({problems, totals}, {problems: [], totals: {errors: 0, warnings: 0, ignored: 0}})
})

test('every route, parameter and field has a one-line description', t => {
  for (const {summary, path, body, sends} of routes) {
    t.regex(summary, /^[A-Z].{5,79}[^.]$/, path)
    if (typeof body === 'string') t.truthy(sends, `${path} says what its body is to be`)
  }
  t.deepEqual(undescribed(), [])
})

/** Lists the paths of fields that have no description in parameters, bodies, responses and their components. */
const undescribed = () => {
  const found = new Set<string>()
  const walk = (schema: any, at: string) => {
    for (const [name, one] of Object.entries<any>(schema?.properties ?? {})) {
      const named = one.$ref && document.components.schemas[one.$ref.split('/').at(-1)]
      // A refusal refers to the envelope and lists its own codes beside the `$ref`. The description of `code` is in the referenced schema.
      if (!one.description && !named && !(one.enum && schema.$ref)) found.add(`${at}.${name}`)
      walk(one, `${at}.${name}`)
    }
    for (const inner of [schema?.items, schema?.additionalProperties, ...(schema?.anyOf ?? []), ...(schema?.oneOf ?? [])])
      if (inner) walk(inner, at)
  }
  for (const {method, path, operation} of operations) {
    for (const {name, description} of operation.parameters ?? []) if (!description) found.add(`${method} ${path} ${name}`)
    for (const {content = {}} of [operation.requestBody ?? {}, ...Object.values<any>(operation.responses)])
      for (const {schema} of Object.values<any>(content)) walk(schema, `${method} ${path}`)
  }
  for (const [name, schema] of Object.entries(document.components.schemas)) walk(schema, name)
  return [...found]
}

test('every example matches its schemas', t => {
  for (const route of routes) {
    const {example, params, query, body, sends} = route
    if (!example) continue
    const wrong = [
      ...misfits(params?.partial(), example.params),
      ...misfits(query, example.query && texts(example.query)),
      ...bodiesOf(body, sends).flatMap(schema => misfits(schema, example.body)),
      ...answersOf(route).flatMap(schema => misfits(schema, example.answer)),
    ]
    t.deepEqual(wrong, [], nameOf(route))
    if (example.answer !== undefined) t.is(answersOf(route).length, 1, `${nameOf(route)} answers its example`)
  }
})

const misfits = (schema: z.ZodType | undefined, value: unknown): string[] => {
  if (value === undefined) return []
  if (!schema) return ['there is no schema for it']
  const {error} = schema.safeParse(value)
  return error ? [z.prettifyError(error)] : []
}

const texts = (query: object) => Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]))

const bodiesOf = (body: Route['body'], sends: Route['sends']): z.ZodType[] => {
  if (typeof body === 'object' && !sends) return [body]
  return [sends ?? []].flat().flatMap(one => one.schema ?? [])
}

/** Returns the schemas of the route's successful answer. */
const answersOf = ({answers}: Route): z.ZodType[] => {
  const shapes = answers[200] ?? answers[201] ?? answers[202]
  return ([shapes ?? []].flat() as AnswerShape[]).flatMap(shape => ('what' in shape ? (shape.schema ?? []) : shape))
}

test('every error code is declared by a route or listed as declared elsewhere, not both', t => {
  const told = new Set<string>([...routes.flatMap(refusalsOf).map(({code}) => code), ...refusalsOfNoRoute, ...Object.keys(elsewhere)])
  t.deepEqual(
    codes.filter(code => !told.has(code)),
    [],
  )
  const ofRoutes = new Set<string>(routes.flatMap(refusalsOf).map(({code}) => code))
  t.deepEqual(
    Object.keys(elsewhere).filter(code => ofRoutes.has(code)),
    [],
    'what a route tells is not told elsewhere alone',
  )
})

const elsewhere = {ROW_OF_ANOTHER_PARENT: 'of one row, in the answer to a write'}

test('the document and its pages are served and load nothing from other hosts', async t => {
  const {as} = await startTestDeployment(t)
  const ask = as(null)
  const served = await ask('GET', '/openapi.json')
  t.deepEqual(served.body.paths, document.paths)
  t.is((await ask('GET', '/openapi.json', undefined, {'if-none-match': served.headers.get('etag')!})).status, 304)
  const start = await ask('GET', '/reference')
  t.regex(
    start.headers.get('content-security-policy')!,
    /^default-src 'none'; script-src 'nonce-[^']+'; style-src 'nonce-[^']+'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
  )
  t.regex(start.text, /<h2 id="quick-start">.*curl -X POST \S+\/imports\b.*<h2 id="events">/s, 'it begins with an import, call by call')
  for (const kind of KINDS) t.true(start.text.includes(`<code>${kind}</code>`), kind)
  t.true(start.text.includes('href="/"'), 'a way back to the app')
  for (const name of Object.keys(tags)) {
    const {status, text} = await ask('GET', `/reference/${name.toLowerCase().replaceAll(' ', '-')}`)
    t.is(status, 200, name)
    for (const {operationId: id} of routes.filter(({tag}) => tag === name))
      t.true(text.includes(`id="${id}"`) && start.text.includes(`#${id}"`), id)
    t.deepEqual([...text.matchAll(/<(?:script|link|img|iframe)[^>]*(?:src|href)="(?!data:)/g)], [], name)
    // Every link within the page must have a target.
    const ids = new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
    t.deepEqual(
      [...text.matchAll(/ href="#([^"]+)"/g)].map(([, id]) => id).filter(id => !ids.has(id!)),
      [],
      name,
    )
  }
  const {text: imports} = await ask('GET', '/reference/imports')
  t.regex(imports, /<form data-path="\/orgs\/\{org\}\/imports" aria-label="Try listImports">/)
  t.false(imports.includes('Try createImport'), 'a page sends no change')
  t.is((await ask('GET', '/reference/nothing')).body.code, 'NOT_FOUND')
})
