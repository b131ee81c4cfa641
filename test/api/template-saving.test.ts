import test from 'ava'
import fc from 'fast-check'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {ok, openOrg, untilEnded} from '../support/importing.ts'
import {openRegistry} from '../support/registry.ts'
import {leadsCsv, leadsTemplate, makeTemplate, upload} from '../support/templates.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {writeWorkbook} from '../support/workbook.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t, {workers: ['imports', 'discovery']})
})

type Home = {call: Awaited<ReturnType<typeof openRegistry>>['call']; org: string; connector: string}

const makeImport = async ({call, org}: Home, body: object) => {
  const {import: made} = await ok(call('POST', `/orgs/${org}/imports`, body), 201)
  return {id: made.id as string, at: `/orgs/${org}/imports/${made.id}`}
}
const save = async ({call, org}: Home, fromImport: string, name = 'Saved') =>
  ok(call('POST', `/orgs/${org}/templates`, {fromImport, name}), 201)
const documentOf = ({name, description, connectorId, sources, flows}: any) => ({name, description, connectorId, sources, flows})

const columns = ['surname', 'mail', 'firm', 'when']
const file = (n: number) => `${columns.join(',')}\nName ${n},n${n}@cells.example,Firm,0${n + 1}/02/2026\n`

const mapping = fc.oneof(
  fc.record({mode: fc.constant('column'), source: fc.constantFrom(...columns), empty: fc.constantFrom('leave', 'clear')}),
  fc.record({
    mode: fc.constant('static'),
    staticValue: fc.string({minLength: 1, maxLength: 20}).filter(text => text.isWellFormed() && !text.includes('\0')),
  }),
  fc.record({mode: fc.constant('expression'), transform: fc.constantFrom('row.surname', 'row.mail + "x"', 'row.firm || null')}),
  fc.constant({mode: 'skip'}),
)
const flow = (file: fc.Arbitrary<number>) =>
  fc.record({
    file,
    fields: fc.tuple(mapping, mapping),
    filter: fc.option(fc.constant('row.firm !== "x"'), {nil: undefined}),
    guard: fc.option(fc.constant('row.mail'), {nil: undefined}),
    match: fc.option(fc.constantFrom({by: ['Phone']}, {by: ['Account_Number'], onOne: 'skip', onMany: 'first'}), {nil: undefined}),
  })
const cleaning = fc.uniqueArray(
  fc.constantFrom(
    {step: 'trim'},
    {step: 'collapseSpaces', columns: ['firm']},
    {step: 'split', column: 'surname', separator: ' ', into: ['a', 'b']},
  ),
  {maxLength: 3},
)
const choices = fc.constantFrom({}, {when: {dateOrder: 'dmy'}}, {when: {as: 'text'}, mail: {as: 'text'}})
const imported = fc.integer({min: 1, max: 2}).chain(files =>
  fc.record({
    files: fc.array(fc.record({cleaning, choices}), {minLength: files, maxLength: files}),
    flows: fc.array(flow(fc.nat(files - 1)), {minLength: 1, maxLength: 3}),
  }),
)

type Imported = {files: {cleaning: object[]; choices: object}[]; flows: any[]}

/** Creates an import with files and flows. At least one flow reads each file. */
const prepare = async (home: Home, {files, flows}: Imported) => {
  const {id, at} = await makeImport(home, {connectorId: home.connector})
  const sources: string[] = []
  for (const [n, {cleaning, choices}] of files.entries()) {
    const {source} = await ok(upload(home.call, at, file(n), `name=canary-${n}.csv`), 201)
    await ok(home.call('PATCH', `${at}/sources/${source.id}`, {cleaning, choices}), 200)
    sources.push(source.id)
  }
  const all = [...flows, ...files.map((_, n) => ({...flows[0], file: n}))]
  const written = all.map(({file, fields: [one, two], ...rest}, n) => ({
    ...rest,
    id: `f${n}`,
    sourceId: sources[file],
    module: 'Accounts',
    fields: [
      {field: 'Account_Name', ...one},
      ...(rest.match ? [{field: rest.match.by[0], mode: 'static', staticValue: '7'}] : []),
      ...(rest.match?.by[0] === 'Account_Number' ? [] : [{field: 'Account_Number', ...two}]),
    ],
  }))
  await ok(home.call('PUT', `${at}/flows`, written), 200)
  return {id, at, sources}
}

test('a template saved from an import makes an equal import, which saves an equal template', async t => {
  const home = await openRegistry(house)
  const property = fc.asyncProperty(imported, async given => {
    const first = await prepare(home, given as Imported)
    const {template, leftOut} = await save(home, first.id)
    t.deepEqual(leftOut, [])
    const again = await makeImport(home, {templateId: template.id})
    const placed = new Map<string, string>()
    for (const [n, {slot}] of template.sources.entries()) {
      const {source} = await ok(upload(home.call, again.at, file(n), `name=other.csv&slot=${slot}`), 201)
      placed.set(first.sources[n]!, source.id)
    }
    const [before, after] = [(await ok(home.call('GET', first.at), 200)).import, (await ok(home.call('GET', again.at), 200)).import]
    t.is(after.state, 'ready')
    t.deepEqual(
      after.flows,
      before.flows.map((flow: any) => ({...flow, sourceId: placed.get(flow.sourceId)})),
    )
    const reading = ({sources}: any) => sources.map(({reader, cleaning, choices, columns}: any) => ({reader, cleaning, choices, columns}))
    t.deepEqual(reading(after), reading(before))
    t.deepEqual(documentOf((await save(home, again.id)).template), documentOf(template))
  })
  await fc.assert(property, {numRuns: 10})
})

test('a template saves only rules of a file: labels from its name and rows struck by number are left out', async t => {
  const home = await openRegistry(house)
  const {id, at, sources} = await prepare(home, {
    files: [{cleaning: [], choices: {}}],
    flows: [{file: 0, fields: [{mode: 'skip'}, {mode: 'column', source: 'mail'}]}],
  })
  const strike = {step: 'strikeRows', rows: [{from: 1, to: 1}]}
  await ok(home.call('PATCH', `${at}/sources/${sources[0]}`, {cleaning: [{step: 'trim'}, strike], label: 'The CANARY-0 export'}), 200)
  const {template, leftOut} = await save(home, id)
  t.like(template.sources[0], {slot: 'file1', label: 'File 1', cleaning: [{step: 'trim'}], columns})
  t.is(template.sources[0].reader.encoding, undefined, 'nobody stated it')
  t.is(leftOut.length, 1)
  await ok(home.call('PATCH', `${at}/sources/${sources[0]}`, {label: 'Contacts', reader: {encoding: 'windows-1252'}}), 200)
  t.like((await save(home, id)).template.sources[0], {label: 'Contacts', reader: {encoding: 'windows-1252'}})
  const empty = await makeImport(home, {connectorId: home.connector})
  t.like(await home.call('POST', `/orgs/${home.org}/templates`, {fromImport: empty.id, name: 'x'}), {
    status: 409,
    body: {code: 'NOT_READY'},
  })
  t.like(await home.call('POST', `/orgs/${home.org}/templates`, {fromImport: id}), {status: 400, body: {code: 'INVALID'}})
  await ok(home.call('DELETE', `${at}/sources/${sources[0]}`), 200)
  t.like(await home.call('POST', `/orgs/${home.org}/templates`, {fromImport: id, name: 'x'}), {status: 409, body: {code: 'NOT_READY'}})
})

test('sheets of one workbook fill separate slots, and an only sheet may have another name next time', async t => {
  const home = await openRegistry(house)
  const book = (...names: string[]) =>
    writeWorkbook({
      sheets: names.map(name => ({
        name,
        rows: [
          ['surname', 'mail', 'firm'],
          ['A', 'a@cells.example', 'F'],
        ],
      })),
    })
  const usual = leadsTemplate()
  const [slot] = usual.sources
  const two = {
    connectorId: home.connector,
    sources: [
      {...slot, reader: {format: 'xlsx', sheet: 'One'}},
      {...slot, slot: 'more', reader: {format: 'xlsx', sheet: 'Two'}},
    ],
    flows: [...usual.flows, {...usual.flows[0], id: 'g', sourceId: 'more'}],
  }
  const {id: templateId} = await makeTemplate(home.call, home.org, two)
  const made = await makeImport(home, {templateId})
  const {source} = await ok(upload(home.call, made.at, await book('One', 'Two'), 'name=book.xlsx&slot=leads'), 201)
  const second = await ok(home.call('POST', `${made.at}/sources?slot=more`, {fromSource: source.id, sheet: 'Two'}), 201)
  t.like(second.filled, {state: 'ready', waiting: []})
  t.deepEqual(
    documentOf((await save(home, made.id)).template).sources.map(({slot, reader}: any) => [slot, reader.sheet]),
    [
      ['leads', 'One'],
      ['more', 'Two'],
    ],
  )

  const alone = await makeTemplate(home.call, home.org, {name: 'Alone', connectorId: home.connector})
  const march = await makeImport(home, {templateId: alone.id})
  await ok(upload(home.call, march.at, await book('March'), 'name=march.xlsx'), 201)
  const saved = await save(home, march.id)
  const april = await makeImport(home, {templateId: saved.template.id})
  t.like((await ok(upload(home.call, april.at, await book('April'), 'name=april.xlsx'), 201)).filled, {state: 'ready'})
})

test('a template names the sheet that was read because the first one has no rows', async t => {
  const home = await openRegistry(house)
  const {id: templateId} = await makeTemplate(home.call, home.org, {name: 'Covered', connectorId: home.connector})
  const made = await makeImport(home, {templateId})
  const rows = [
    ['surname', 'mail', 'firm'],
    ['A', 'a@cells.example', 'F'],
  ]
  const covered = await writeWorkbook({
    sheets: [
      {name: 'Cover', rows: [['Report']]},
      {name: 'Data', rows},
    ],
  })
  t.like((await ok(upload(home.call, made.at, covered, 'name=covered.xlsx'), 201)).filled, {state: 'ready'})
  const {template} = await save(home, made.id)
  t.is((documentOf(template).sources as any[])[0].reader.sheet, 'Data')
  const next = await makeImport(home, {templateId: template.id})
  const emptied = await writeWorkbook({
    sheets: [
      {name: 'Other', rows},
      {name: 'Data', rows: rows.slice(0, 1)},
    ],
  })
  t.like(await upload(home.call, next.at, emptied, 'name=emptied.xlsx'), {status: 422, body: {code: 'FILE_NO_ROWS'}})
})

test('a file that two slots read differently can fill only one of them', async t => {
  const home = await openRegistry(house)
  const usual = leadsTemplate()
  const [slot] = usual.sources
  const twice = (more: object) => ({
    connectorId: home.connector,
    sources: [slot, {...slot, slot: 'more', ...more}],
    flows: [...usual.flows, {...usual.flows[0], id: 'g', sourceId: 'more'}],
  })
  for (const [more, status] of [
    [{}, 200],
    [{cleaning: [{step: 'trim'}]}, 400],
  ] as const) {
    const {id: templateId} = await makeTemplate(home.call, home.org, twice(more))
    const {at} = await makeImport(home, {templateId})
    const {source} = await ok(upload(home.call, at, leadsCsv), 201)
    t.is((await home.call('PUT', `${at}/slots`, {leads: source.id, more: source.id})).status, status)
  }
})

/** Lists the tables in which a row contains the text. */
const tablesWith = async (text: string) => {
  const rows = sql.type(z.object({name: z.string()}))
  const query = rows`select table_name as name from information_schema.tables where table_schema = 'public' order by 1`
  const names = await house.db.anyFirst(query)
  const found: string[] = []
  for (const name of names) {
    const match = sql.type(z.object({}))`select from ${sql.identifier([name])} t where strpos(row_to_json(t)::text, ${text}) > 0`
    if (await house.db.exists(match)) found.push(name)
  }
  return found
}

test('no cell, sample or file name is ever stored with a template', async t => {
  const home = await openOrg(house)
  const csv = 'name,number,city\nCanaryName,CANARY-1,CanaryTown\nCanaryName2,CANARY-2,CanaryTown\n'
  const {id, at} = await makeImport(home, {connectorId: home.connector, name: 'First'})
  const {source} = await ok(upload(home.call, at, csv, 'name=canary-file.csv'), 201)
  const match = {by: ['Account_Number'], onOne: 'update', onMany: 'skip'}
  const flow = {
    id: 'f',
    sourceId: source.id,
    module: 'Accounts',
    match,
    fields: [
      {field: 'Account_Name', mode: 'column', source: 'name'},
      {field: 'Account_Number', mode: 'column', source: 'number'},
      {field: 'Billing_City', mode: 'column', source: 'city'},
    ],
  }
  await ok(home.call('PUT', `${at}/flows`, [flow]), 200)
  const {template} = await save(home, id)
  const again = await makeImport(home, {templateId: template.id})
  await ok(upload(home.call, again.at, csv.replaceAll('CANARY-', 'CANARY-2'), 'name=canary-next.csv'), 201)
  const {run} = await ok(home.call('POST', `${again.at}/runs`, {}), 202)
  const ended = await untilEnded(home.call, `${again.at}/runs/${run.id}`)
  t.like(ended, {templateId: template.id, counts: {Accounts: {created: 2}}})
  t.like(await ok(home.call('GET', `/orgs/${home.org}/templates/${template.id}/runs`), 200), {runs: [{id: run.id, importId: again.id}]})
  await save(home, again.id, 'Once more')
  await ok(home.call('PUT', `/orgs/${home.org}/templates/${template.id}`, {...documentOf(template), description: 'x'}), 200)

  for (const cell of ['CanaryName', 'CANARY-1', 'CANARY-22', 'CanaryTown']) {
    const tables = await tablesWith(cell)
    t.true(tables.includes('sources'), 'the scan finds what is there')
    // Only these tables may contain the text of cells. The log has it in the keys of rows.
    const others = tables.filter(name => !['sources', 'log_batches', 'run_snapshots'].includes(name))
    t.deepEqual(others, [], cell)
  }
  t.deepEqual(await tablesWith('canary-'), ['sources'], 'file names')
  t.deepEqual(await tablesWith(template.id), ['accepted_files', 'changes', 'imports', 'runs', 'templates'])
})

test('a write during the saving of a bundle’s templates withholds only the ETag', async t => {
  const home = await openRegistry(house)
  const bundle = {templates: [leadsTemplate({description: 'Newer'})]}
  await ok(home.call('POST', home.at('bundle'), {templates: [leadsTemplate()]}), 200)
  const push = await house.db.transaction(async tx => {
    await tx.query(sql.unsafe`select from templates where org_id = ${home.org} for update`)
    const pushing = home.call('POST', home.at('bundle'), bundle, {'if-match': '1'})
    const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    await until(
      () => house.hot.query(waiting),
      ({rowCount}) => rowCount === 1,
      8,
    )
    await ok(home.call('PATCH', home.at('settings'), {timezone: 'Europe/Berlin'}), 200)
    return {pushing}
  })
  const {status, body, headers} = await push.pushing
  t.deepEqual([status, body.registryVersion, headers.get('etag')], [200, 1, null])
})
