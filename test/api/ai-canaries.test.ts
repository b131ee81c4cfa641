import anyTest, {type TestFn} from 'ava'
import type {Question} from '../simulators/model/answers.ts'
import {modelEnvironment} from '../simulators/model.ts'
import {type Assisted, type Home, openAssisted, openHome, people} from '../support/ai.ts'
import {type ApiProcess, startApiProcess} from '../support/api-process.ts'
import {canary, traces, withoutIds} from '../support/canaries.ts'
import {type Call, openCalls} from '../support/client.ts'
import {ok} from '../support/importing.ts'
import {addConnector, discover, moduleOf} from '../support/registry.ts'

/**
 * A deployment and an API with the most verbose log. Personal cells must reach neither the model nor that log, under each policy, route and
 * fault.
 */
type Here = Assisted & {api: ApiProcess}
const test = anyTest.serial as TestFn<Here>
test.before(async t => {
  const {house, model} = await openAssisted(t)
  const {DATABASE_URL, CRM_STANDIN_URL, STORAGE_DIR} = house.config
  const own = {NODE_ENV: 'test', LOG_LEVEL: 'trace', DATABASE_URL: DATABASE_URL!, CRM_STANDIN_URL: CRM_STANDIN_URL!, STORAGE_DIR}
  Object.assign(t.context, {house, model, api: await startApiProcess({...own, ...modelEnvironment(model)})})
})
test.after.always(t => t.context.api?.signal('SIGKILL'))

let last = 0
const next = () => canary(++last)

/** Returns a sample of twenty rows: cells of annotated fields, values that look personal, and the same values in unexpected columns. */
const sampleOf = (width: number) => {
  const secrets: string[] = []
  const tell = () => {
    secrets.push(next())
    return secrets.at(-1)!
  }
  const personal: [string, () => string][] = Array.from({length: width}, (_, at): [string, () => string] => {
    const ways: [string, () => string][] = [
      [`Secret Code ${at}`, tell],
      [`Qq ${at}`, () => `${tell()}@example.org`],
      [`Phone number ${at}`, tell],
      [`Ww ${at}`, () => `+49 170 ${1_000_000 + at} ${tell()}`],
    ]
    return ways[at % ways.length]!
  })
  const rows = Array.from({length: 20}, () => personal.map(([, cell]) => cell()))
  const repeated = rows.map(row => `see ${row[0]!.toUpperCase()}`)
  const columns = [...personal.map(([name]) => name), 'Vvx', `About ${secrets[0]}`, 'Hue']
  return {secrets, sample: {columns, rows: rows.map((row, at) => [...row, repeated[at]!, 'x', `plain${at}`])}}
}

const answers = (question: Question) => {
  if (!JSON.stringify(question.schema).includes('explanation'))
    return {json: {field: 'People.Favourite_Color', confidence: 0.4, why: 'No idea'}}
  const said = question.messages.at(-1)!.text
  // The error of the first attempt quotes a cell; the second attempt returns the cell.
  const expression = /refused/.test(said) ? 'row["Secret Code 0"]' : /failedRows/.test(said) ? 'row[' : 'JSON.parse(row["Secret Code 0"])'
  return {json: {expression, explanation: 'As it is'}}
}

for (const policy of ['allow', 'masked', 'deny'] as const)
  test(`${policy}: personal cells leave by no route, and permitted cells do leave`, async t => {
    const {house, model, api} = t.context
    const home = await openHome(house, {policy, pii: ['Secret_Code', 'Phone', 'Last_Name']})
    const call = openCalls(api.url)(home.token)
    let cells = 0
    for (const action of [null, {type: 'status', status: 429, echo: true}, {type: 'wrongSchema'}, {type: 'half'}] as const) {
      model.clear()
      model.always(answers)
      if (action) model.faults.add({action, times: Number.POSITIVE_INFINITY})
      const {secrets, sample} = sampleOf(24)
      cells += secrets.length
      await askBoth(call, sample)
      const sent = model.received()
      t.true(model.journal.length > 1)
      for (const secret of secrets) if (traces(secret, sent).length > 0) t.fail(`${secret} left under ${policy}: ${traces(secret, sent)}`)
      t.is(/plain3/.test(sent), policy !== 'deny', 'what is nobody’s is told by the policy')
      const log = withoutIds(api.output())
      for (const secret of secrets) if (traces(secret, log).length > 0) t.fail(`${secret} is in the log`)
    }
    t.true(cells >= 1900)
    const {secrets, sample} = sampleOf(12)
    const told = await askTools(call, sample)
    for (const secret of secrets) if (traces(secret, told).length > 0) t.fail(`${secret} went to an MCP client under ${policy}`)
    const log = withoutIds(api.output())
    for (const secret of secrets) if (traces(secret, log).length > 0) t.fail(`${secret} is in the log`)
    t.is(/plain3/.test(told), policy !== 'deny')
    t.true(api.output().includes('the model: '), 'the log was there to look into')
  })

const mcp = {accept: 'application/json, text/event-stream', 'content-type': 'application/json', 'mcp-protocol-version': '2025-06-18'}
const expressions = [
  'row["Secret Code 0"] + row["Qq 1"].toUpperCase() + row["Ww 3"]',
  'value.split("").reverse().join("")',
  'Array.from(row["Secret Code 0"], one => one.charCodeAt(0).toString(16)).join("")',
  'JSON.parse(value)',
  'helpers.date(value, "DD.MM.YYYY")',
  'Object.entries(row).join()',
  'row["Hue"]',
]

/** Calls four MCP tools, with the sample where they take rows, and returns everything that the client receives. */
const askTools = async (call: Call, {columns, rows}: Sample): Promise<string> => {
  const records = rows.map(row => Object.fromEntries(columns.map((name, at) => [name, row[at]!])))
  const tried = expressions.map(expression => [
    'test_expression',
    {expression, rows: records, value: 'Secret Code 0', module: 'People', field: 'Joined'},
  ])
  const asked = [
    ...tried,
    ['propose_mapping', {modules: ['People'], columns, rows: records}],
    ['get_fields', {module: 'People'}],
    ['list_modules', {}],
  ]
  let told = ''
  for (const [name, given] of asked) {
    const message = {jsonrpc: '2.0', id: 1, method: 'tools/call', params: {name, arguments: given}}
    const {status, text} = await call('POST', '/mcp', JSON.stringify(message), mcp)
    if (status !== 200 || /"isError":true/.test(text)) throw new Error(`${name}: ${text}`)
    told += text
  }
  return told
}

type Sample = {columns: string[]; rows: string[][]}

const askBoth = async (call: Call, sample: Sample) => {
  const mapped = await ok(call('POST', '/ai/auto-map', {modules: ['People'], ...sample}), 200)
  if (!['used', 'unavailable'].includes(mapped.model)) throw new Error(`The model was not asked: ${mapped.model}`)
  const question = `Take what stands in Secret Code 0, such as ${sample.rows[3]![0]} or ${sample.rows[4]![1]}`
  const {status, body} = await call('POST', '/ai/formula', {module: 'People', field: 'Secret_Code', question, ...sample})
  if (status === 200 && body.results[0].value !== sample.rows[0]![0]) throw new Error('It was not run on the true rows')
}

test('an annotation elsewhere keeps a column personal: other module or connection, deleted field, learned mapping', async t => {
  const {house, model, api} = t.context
  const home = await openHome(house, {policy: 'allow'})
  const other = await addConnector(house, home.org, 'Two')
  await discover(house, home.org, home.connector, [people, moduleOf('Guests', ['Badge_Word', 'Old_Word', 'Nick'])])
  await discover(house, home.org, other, [moduleOf('Visitors', ['Gate_Word'])])
  await ok(home.call('PATCH', home.at('fields/Guests/Badge_Word'), {pii: true}), 200)
  await ok(home.call('PATCH', home.at('fields/Guests/Old_Word'), {pii: true}), 200)
  await ok(home.call('PATCH', home.at('fields/Visitors/Gate_Word'), {pii: true, aliases: ['Parole']}), 200)
  const defaultMapping = {mode: 'column', source: 'Zzq'}
  await ok(home.call('PATCH', home.at('fields/Guests/Nick'), {pii: true, defaultMapping}), 200)
  await discover(house, home.org, home.connector, [people, moduleOf('Guests', ['Badge_Word', 'Nick'])])
  const columns = ['Badge word', 'OLD WORD', 'gate_word', 'PAROLE', 'zzq', 'Hue']
  const secrets = Array.from({length: 15}, next)
  const rows = [0, 1, 2].map(row => [...Array.from({length: 5}, (_, at) => secrets[row * 5 + at]!), `plain${row}`])
  model.clear()
  model.always(answers)
  const call = openCalls(api.url)(home.token)
  await ok(call('POST', '/ai/auto-map', {modules: ['People'], columns, rows}), 200)
  await call('POST', '/ai/formula', {module: 'People', field: 'City', question: `Take ${secrets[0]}`, columns, rows})
  const records = rows.map(row => Object.fromEntries(columns.map((name, at) => [name, row[at]])))
  const tried = {name: 'test_expression', arguments: {expression: 'Object.values(row).join()', rows: records}}
  const {text} = await call('POST', '/mcp', JSON.stringify({jsonrpc: '2.0', id: 1, method: 'tools/call', params: tried}), mcp)
  const sent = model.received() + text
  t.true(model.journal.length > 2 && text.includes('plain1'))
  for (const secret of secrets) t.deepEqual(traces(secret, sent), [], secret)
  t.regex(sent, /plain2/)
})

for (const [how, transform] of [
  ['by name', 'row["Xyz tone"].length'],
  ['by an escaped name', String.raw`row["Xyz\u0020tone"].length`],
  ['with the whole row', 'Object.values(row).join()'],
  ['through a library', 'marks.first(row)'],
] as const)
  test(`a column that an import’s flow writes to a personal field ${how} leaves neither by formula nor by auto-map`, async t => {
    const {house, model, api} = t.context
    const home = await openHome(house, {policy: 'allow', pii: ['Spend']})
    if (how === 'through a library') await publishLibrary(home)
    const secrets = Array.from({length: 6}, next)
    const columns = ['Xyz tone', 'Last Name']
    const rows = secrets.map((secret, at) => [secret, `plain${at}`])
    const path = `/orgs/${home.org}/imports`
    const {import: made} = await ok(home.call('POST', path, {connectorId: home.connector}), 201)
    const csv = [columns, ...rows].map(row => `${row.join(',')}\n`).join('')
    const {source} = await ok(home.call('POST', `${path}/${made.id}/sources?name=a.csv`, csv, {'content-type': 'text/csv'}), 201)
    const fields = [
      {field: 'Spend', mode: 'expression', transform},
      {field: 'Last_Name', mode: 'column', source: 'Last Name'},
    ]
    const flow = {id: 'f', sourceId: source.id, module: 'People', fields}
    await ok(home.call('PUT', `${path}/${made.id}/flows`, [flow]), 200)
    model.clear()
    model.always(answers)
    const call = openCalls(api.url)(home.token)
    const about = {import: made.id, columns, rows}
    await ok(call('POST', '/ai/auto-map', {modules: ['People'], ...about}), 200)
    await call('POST', '/ai/formula', {module: 'People', field: 'City', question: `Take ${secrets[0]}`, ...about})
    t.true(model.journal.length > 1)
    const sent = model.received()
    for (const secret of secrets) t.deepEqual(traces(secret, sent), [], secret)
    t.is(/plain3/.test(sent), how.includes('name'), 'an expression that reads the whole row makes every column personal')
  })

const publishLibrary = (home: Home) => {
  const source = 'export const first = row => Object.keys(row).length'
  const manifest = {namespace: 'marks', version: '1.0.0', scope: 'org', functions: [{name: 'first', description: 'x'}]}
  return ok(home.call('PUT', `/orgs/${home.org}/libraries/marks`, {manifest, source}), 200)
}

test('no cell leaves while the annotations cannot be read', async t => {
  const {house, model, api} = t.context
  const home: Home = await openHome(house, {policy: 'allow', pii: ['Phone']})
  await house.hot.query(`update curated_modules set annotations = '[{"apiName": "Phone", "pii": "yes, very"}]' where org_id = $1`, [
    home.org,
  ])
  model.clear()
  model.always(answers)
  const answer = await ok(
    openCalls(api.url)(home.token)('POST', '/ai/auto-map', {modules: ['People'], columns: ['Hue'], rows: [['plain1'], ['plain2']]}),
    200,
  )
  t.deepEqual([answer.model, answer.samples], ['used', 'none'])
  t.notRegex(model.received(), /plain/)
})
