import {readFileSync} from 'node:fs'
import {createRequire} from 'node:module'
import test from 'ava'
import {parse} from 'csv-parse/sync'
import type {HttpAnswer} from '../support/client.ts'
import {type Org, ok, openOrg, readLog, runImport} from '../support/importing.ts'
import {leadsTemplate, makeTemplate} from '../support/templates.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

/** The Big List of Naughty Strings (Max Woolf, MIT). */
const listed: string[] = JSON.parse(readFileSync(createRequire(import.meta.url).resolve('big-list-of-naughty-strings/blns.json'), 'utf8'))
const strings = [
  ...new Set([...listed, '__proto__', 'e\u0301', '\u00e9', '\u0001', '\u007f', '\ufeffmark', 'a\ufffdb', '\u2028', '=1+1', ' '.repeat(3)]),
]

let house: TestDeployment
let org: Org
test.before(async t => {
  house = await startTestDeployment(t, {workers: ['imports', 'discovery']})
  org = await openOrg(house)
})

/** A text field: its limit, how a test writes it, where the answer has it, and how a test reads it later. */
type Field = {
  most: number
  write(text: string): Promise<HttpAnswer>
  written(body: any): unknown
  read(): Promise<unknown>
  /** Returns the form in which the service stores the text; by default the text itself. */
  kept?(text: string): string
  isRefused?(text: string): boolean
}

const hasControls = (text: string) => /[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)
const trimmedHasControls = (text: string) => hasControls(text.trim())

/**
 * Writes each string in turn. The service must store it in the form that `kept` returns, or refuse it as INVALID because it is empty, too long
 * or unsupported. Every eighth string is read back, unless it was refused.
 */
const holds = async (t: {is: any; like: any}, {most, write, written, read, kept = text => text, isRefused = () => false}: Field) => {
  for (const [at, text] of strings.entries()) {
    const wanted = kept(text)
    const answer = await write(text)
    if (answer.status >= 400) {
      t.like(answer, {status: 400, body: {code: 'INVALID'}}, JSON.stringify(text))
      t.is(wanted === '' || wanted.length > most || isRefused(text), true, `${JSON.stringify(text)}: ${answer.text}`)
      continue
    }
    t.is(written(answer.body), wanted)
    if (at % 8 === 0) t.is(await read(), wanted)
  }
}

const trimmed = (text: string) => text.trim()

test('import names keep naughty strings or refuse them', async t => {
  const {call, org: id, connector} = org
  const {import: made} = await ok(call('POST', `/orgs/${id}/imports`, {name: 'First', connectorId: connector}), 201)
  const path = `/orgs/${id}/imports/${made.id}`
  const read = async () => (await ok(call('GET', path), 200)).import.name
  await holds(t, {most: 200, write: name => call('PATCH', path, {name}), written: body => body.import.name, read, isRefused: hasControls})
})

test('connection names keep naughty strings or refuse them', async t => {
  const {call, org: id, connector} = org
  const path = `/orgs/${id}/connectors`
  const read = async () => (await ok(call('GET', path), 200)).connectors[0].name
  await holds(t, {
    most: 100,
    write: name => call('PATCH', `${path}/${connector}`, {name}),
    written: body => body.connector.name,
    read,
    kept: trimmed,
    isRefused: trimmedHasControls,
  })
})

test('webhook descriptions keep naughty strings or refuse them', async t => {
  const {call, org: id} = org
  const {webhook} = await ok(call('POST', `/orgs/${id}/webhooks`, {url: 'https://receiver.example/hook'}), 201)
  const path = `/orgs/${id}/webhooks/${webhook.id}`
  const read = async () => (await ok(call('GET', path), 200)).webhook.description
  await holds(t, {
    most: 200,
    write: description => call('PATCH', path, {description}),
    written: body => body.webhook.description,
    read,
    kept: trimmed,
  })
})

test('file labels and original file names keep naughty strings or refuse them', async t => {
  const {call, org: id, connector} = org
  const {import: made} = await ok(call('POST', `/orgs/${id}/imports`, {name: 'Files', connectorId: connector}), 201)
  const path = `/orgs/${id}/imports/${made.id}/sources`
  const {source} = await ok(call('POST', `${path}?name=a.csv`, 'a\n1\n', {'content-type': 'text/csv'}), 201)
  const at = `${path}/${source.id}`
  const read = async () => (await ok(call('GET', at), 200)).source.label
  await holds(t, {
    most: 255,
    write: label => call('PATCH', at, {label}),
    written: body => body.source.label,
    read,
    isRefused: hasControls,
  })
  for (const text of strings.filter((text, at) => at % 40 === 0 && text !== '')) {
    const sent = await call('POST', `${path}?name=${encodeURIComponent(text)}`, 'a\n1\n', {'content-type': 'text/csv'})
    t.is(sent.status === 201 ? sent.body.source.name : sent.body.code, sent.status === 201 ? text : 'INVALID', JSON.stringify(text))
    if (sent.status === 201) await ok(call('DELETE', `${path}/${sent.body.source.id}`), 200)
  }
})

test('template names and descriptions keep naughty strings', async t => {
  const {call, org: id} = org
  const {id: template, version} = await makeTemplate(call, id)
  const path = `/orgs/${id}/templates/${template}`
  t.truthy(version)
  const read = async () => (await ok(call('GET', path), 200)).template.name
  const write = (name: string) => call('PUT', path, leadsTemplate({name, description: name}))
  await holds(t, {most: 200, write, written: body => body.template.name, read, kept: trimmed, isRefused: trimmedHasControls})
  const all = strings.join('\n').slice(0, 2000).toWellFormed()
  t.is((await ok(call('PUT', path, leadsTemplate({description: all})), 200)).template.description, all)
})

test('field annotations and the expression context keep naughty strings', async t => {
  const {call, org: id} = org
  const path = `/orgs/${id}/config/fields/Leads/Email`
  const short = strings.filter(text => text.length <= 1000)
  for (let at = 0; at < short.length; at += 100) {
    const some = short.slice(at, at + 100)
    await ok(call('PATCH', path, {examples: some, aliases: some, description: some.join(' '), format: some[7]}), 200)
    const {fields} = await ok(call('GET', `/orgs/${id}/config/fields/Leads`), 200)
    const {annotation: kept} = fields.find((one: any) => one.apiName === 'Email')
    t.deepEqual([kept.examples, kept.aliases, kept.description, kept.format], [some, some, some.join(' '), some[7]])
  }
  const context = Object.fromEntries(strings.filter(text => text.length < 200 && text !== '__proto__').map(text => [text, text]))
  await ok(call('PATCH', `/orgs/${id}/config/settings`, {expressionContext: context}), 200)
  const refused = await call('PATCH', `/orgs/${id}/config/settings`, JSON.parse('{"expressionContext":{"__proto__":1}}'))
  t.like(refused, {status: 400, body: {code: 'BAD_JSON'}})
  const {settings} = await ok(call('GET', `/orgs/${id}/config/settings`), 200)
  t.deepEqual(Object.entries(settings.expressionContext).sort(), Object.entries(context).sort())
})

test('token names keep naughty strings', async t => {
  const {call, org: id} = org
  const names = strings
    .filter((text, at) => at % 10 === 0 && text.trim() && !trimmedHasControls(text) && text.trim().length <= 100)
    .map(trimmed)
  for (const name of names) t.is((await ok(call('POST', `/orgs/${id}/tokens`, {name}), 201)).token.name, name)
  const {tokens} = await ok(call('GET', `/orgs/${id}/tokens`), 200)
  t.deepEqual(tokens.map((one: any) => one.name).sort(), names.sort())
})

/**
 * Each cell passes the file, the sandbox, the CRM and the results. A blank cell stays empty. In the results, an apostrophe precedes
 * formulas.
 */
test('cells with naughty strings reach the CRM and the results unchanged', async t => {
  const {call} = org
  const cells = strings.map((text, n) => [`N-${n}`, text])
  const csv = [['number', 'text'], ...cells].map(row => row.map(cell => `"${cell!.replaceAll('"', '""')}"`).join(',')).join('\n')
  const field = (name: string, more: object) => ({field: name, mode: 'column', source: 'number', ...more})
  const {path, source, run} = await runImport(org, {
    csv,
    flow: [
      {module: 'Accounts', fields: [field('Account_Name', {}), field('Description', {mode: 'expression', transform: 'row.text'})]},
      {module: 'Leads', fields: [field('Last_Name', {}), field('Company', {}), field('Description', {source: 'text'})]},
    ],
  })
  t.is(run.counts.Accounts.created, strings.length, JSON.stringify(run.counts))
  t.is(run.counts.Leads.created, strings.length)
  const seen: string[] = []
  for (let from = 1; seen.length < strings.length; from += 100) {
    const {rows} = await ok(call('GET', `${path}/sources/${source.id}/rows?from=${from}&limit=100`), 200)
    seen.push(...rows.map((row: any) => row.values[1]))
    if (!rows.length) break
  }
  t.deepEqual(seen, strings)
  const results = (await call('GET', `${path}/results.csv?run=${run.id}`)).text
  const rows: string[][] = parse(results, {bom: true, relax_column_count: true})
  t.deepEqual(
    rows.slice(1).map(row => row[1]!.replace(/^'(?=[=+@-])/, '')),
    strings,
  )
  for (const [module, name] of [
    ['Accounts', 'Account_Name'],
    ['Leads', 'Last_Name'],
  ] as const) {
    // Batches reach the CRM in any order.
    const kept = new Map(house.crm.records('example', module).map(one => [one[name], one.Description ?? '']))
    t.deepEqual(
      strings.map((_, n) => kept.get(`N-${n}`)),
      strings.map(text => (text.trim() ? text : '')),
      module,
    )
  }
  const log = await readLog(call, `${path}/runs/${run.id}`)
  t.is(log.length, 2 * strings.length)
})
