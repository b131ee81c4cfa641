import anyTest, {type TestFn} from 'ava'
import {modelEnvironment} from '../simulators/model.ts'
import {people} from '../support/ai.ts'
import {type ApiProcess, startApiProcess} from '../support/api-process.ts'
import {canary, traces, withoutIds} from '../support/canaries.ts'
import {openCalls} from '../support/client.ts'
import {addImport, chat, openImport, openTalking, type Talking} from '../support/conversations.ts'
import {checkFile} from '../support/import-checks.ts'
import {ok} from '../support/importing.ts'
import {discover, moduleOf} from '../support/registry.ts'

/**
 * A deployment and an API with the most verbose log. Personal cells must reach neither the model nor that log, under each policy, question,
 * tool and replay.
 */
type Here = Talking & {api: ApiProcess}
const test = anyTest.serial as TestFn<Here>
test.before(async t => {
  const {house, model} = await openTalking(t, {workers: ['checks']})
  const {DATABASE_URL, CRM_STANDIN_URL, STORAGE_DIR} = house.config
  const own = {NODE_ENV: 'test', LOG_LEVEL: 'trace', DATABASE_URL: DATABASE_URL!, CRM_STANDIN_URL: CRM_STANDIN_URL!, STORAGE_DIR}
  Object.assign(t.context, {house, model, api: await startApiProcess({...own, ...modelEnvironment(model)})})
})
test.after.always(t => t.context.api?.signal('SIGKILL'))

let last = 5_000

/**
 * Returns a file with as many rows as the service samples: annotated fields, mapped columns, values that look personal, and the same values
 * in unexpected columns.
 */
const makeFile = () => {
  const secrets: string[] = []
  const tell = () => {
    secrets.push(canary(++last))
    return secrets.at(-1)!
  }
  const header = ['Last Name', 'Secret Code', 'Joined', 'Qq', 'Ww', 'Phone number', 'Odd', 'Via', 'Vvx', 'Hue']
  const rows = Array.from({length: 5}, (_, at) => {
    const name = tell()
    const looking = [`${tell()}@example.org`, `+49 170 ${1_000_000 + at} ${tell()}`]
    return [name, tell(), tell(), ...looking, tell(), tell(), tell(), `see ${name.toUpperCase()}`, `plain${at}`]
  })
  return {secrets, csv: `${[header, ...rows].map(row => row.join(',')).join('\n')}\n`}
}

const pii = ['Last_Name', 'Secret_Code', 'Joined', 'Phone']
const fields = [
  {field: 'Last_Name', mode: 'column', source: 'Last Name'},
  {field: 'Joined', mode: 'column', source: 'Joined'},
  {field: 'Secret_Code', mode: 'column', source: 'Odd'},
  {field: 'Phone', mode: 'expression', transform: 'row["Via"]'},
  {field: 'Favourite_Color', mode: 'column', source: 'Hue'},
]

const expressions = [
  'row["Last Name"] + row["Odd"].toUpperCase()',
  'row["Secret Code"].split("").reverse().join("")',
  'Array.from(row["Phone number"], one => one.charCodeAt(0).toString(16)).join("")',
  'JSON.parse(row["Via"])',
  'row["Vvx"] + row["Qq"] + row["Ww"] + row["Joined"]',
  'row["Hue"]',
]
/** A model answer that calls every tool at once, as a model may do. */
const everyTool = {
  calls: [
    {name: 'get_schema', input: {module: null}},
    {name: 'get_schema', input: {module: 'People'}},
    {name: 'propose_mapping', input: {modules: ['People']}},
    {name: 'explain_issue', input: {kind: null, module: null, field: null}},
    ...expressions.map(expression => ({name: 'test_expression', input: {expression, value: null, module: 'People', field: 'Joined'}})),
  ],
}

for (const policy of ['allow', 'masked', 'deny'] as const)
  test(`${policy}: personal cells leave by no question, tool or replay, and permitted cells do leave`, async t => {
    const {house, model, api} = t.context
    const talk = await openImport(house, {policy, pii})
    const [one, other] = [makeFile(), makeFile()]
    const {path, source, problems} = await checkFile({...talk, session: talk.token}, one.csv, {module: 'People', fields})
    t.true(
      problems.some(({samples}: {samples: string[]}) => samples.length > 0),
      'there are cells to be told of',
    )
    await ok(talk.call('POST', `${path}/sources?name=other.csv`, other.csv, {'content-type': 'text/csv'}), 201)
    const secrets = [...one.secrets, ...other.secrets]
    const call = openCalls(api.url)(talk.token)
    const importId = path.split('/').at(-1)!
    const quoted = `${secrets.join(' ')}, ${secrets[7]!.toUpperCase()} and ${secrets[3]}@example.org`
    model.clear()
    for (const place of [['source', source.id], ['issue', source.id, 'invalid_value', 'People', secrets[0]!], ['checks'], ['run']]) {
      // The second request sends the first question and its answer to the model again. Both quote personal cells.
      for (let time = 0; time < 2; time++) {
        if (time === 0) model.script(everyTool)
        model.script({text: `There are ${quoted} in it.`})
        const {done, text} = await chat({call}, {message: `Why are ${quoted} refused?`, import: importId, place})
        t.truthy(done, text)
        t.true(text.includes(secrets[7]!), 'who asks is told what the model said')
      }
      for (const action of [{type: 'status', status: 429, echo: true}, {type: 'garbage'}, {type: 'half'}] as const) {
        model.faults.add({action})
        t.is((await chat({call}, {message: quoted, import: importId, place})).done, null)
      }
    }
    const sent = model.received()
    t.is(model.journal.length, 4 * 6)
    t.true(
      /There are/.test(
        JSON.parse(model.journal.at(-1)!.body)
          .messages.map((one: any) => one.content)
          .join(),
      ),
      'answers were sent again',
    )
    t.is(/plain3/.test(sent), policy !== 'deny', 'what is nobody’s is told by the policy')
    const log = withoutIds(api.output())
    for (const secret of secrets) {
      if (traces(secret, sent).length > 0) t.fail(`${secret} left under ${policy}: ${traces(secret, sent)}`)
      if (traces(secret, log).length > 0) t.fail(`${secret} is in the log`)
    }
    t.true(log.includes('the model: '), 'the log was there to look into')
  })

test('columns of a deleted personal field, and columns usually mapped to one, are personal', async t => {
  const {house, model} = t.context
  const talk = await openImport(house, {policy: 'allow'})
  const guests = (...fields: string[]) => discover(house, talk.org, talk.connector, [people, moduleOf('Guests', fields)])
  await guests('Old_Word', 'Nick')
  await ok(talk.call('PATCH', talk.at('fields/Guests/Old_Word'), {pii: true}), 200)
  await ok(talk.call('PATCH', talk.at('fields/Guests/Nick'), {pii: true, defaultMapping: {mode: 'column', source: 'Zzq'}}), 200)
  await guests('Nick')
  const secrets = Array.from({length: 6}, () => canary(++last))
  const rows = [0, 1, 2].map(at => [secrets[at], secrets[at + 3], `plain${at}`].join(','))
  const {importId, source} = await addImport(talk, {csv: `OLD WORD,zzq,Hue\n${rows.join('\n')}\n`})
  model.clear()
  model.script({
    calls: [{name: 'test_expression', input: {expression: 'Object.values(row).join()', value: null, module: null, field: null}}],
  })
  t.truthy((await chat(talk, {message: `What of ${secrets.join()}?`, import: importId, place: ['source', source]})).done)
  const sent = model.received()
  t.is(model.journal.length, 2)
  t.regex(sent, /plain2/)
  for (const secret of secrets) t.deepEqual(traces(secret, sent), [], secret)
})

test('advice on a file without a header quotes no cell', async t => {
  const {house, model} = t.context
  const talk = await openImport(house, {policy: 'allow'})
  const csv = 'anna@example.org,07.08.1980\nbo@example.org,01.02.2003\n'
  const fills = {Last_Name: 'anna@example.org', Joined: '07.08.1980'}
  const flow = {module: 'People', fields: Object.entries(fills).map(([field, source]) => ({field, mode: 'column', source}))}
  const {path, problems} = await checkFile({...talk, session: talk.token}, csv, flow)
  t.true(
    problems.some(({fix}: {fix: string}) => fix.includes('"07.08.1980"')),
    'the advice names the column',
  )
  model.clear()
  model.script({calls: [{name: 'explain_issue', input: {kind: null, module: null, field: null}}]})
  t.truthy((await chat(talk, {message: 'Why?', import: path.split('/').at(-1)})).done)
  t.regex(model.received(), /dateOrder/)
  t.notRegex(model.received(), /1980/)
})
