import test from 'ava'
import {checkImport, ofKind} from '../support/import-checks.ts'
import {leads, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['checks', 'imports', 'discovery']})
  org = await openOrg(here)
})

/** Returns a file of three leads. The last two have a number of employees that cannot be read. */
const fileOf = (name: string) =>
  `name,company,mail,staff\nOne,First,one@${name}.example,10\nTwo,Second,two@${name}.example,many\nThree,Third,three@${name}.example,few\n`

const edit = (path: string, source: string, ...cells: object[]) => org.call('PATCH', `${path}/sources/${source}/cells`, {cells})
const staff = (row: number, value: string | null) => ({row, column: 'staff', value})
const runOf = async (path: string, body: object) => {
  const {run} = await ok(org.call('POST', `${path}/runs`, body), 202)
  return untilEnded(org.call, `${path}/runs/${run.id}`)
}
const held = (name: string) =>
  here.crm
    .records('example', 'Leads')
    .filter(({Email}) => String(Email).endsWith(`@${name}.example`))
    .map(({Last_Name, No_of_Employees}) => [Last_Name, No_of_Employees])
    .toSorted()

test('an edited cell counts in the check, the dry run, plan.csv, the run and failed.csv', async t => {
  const {path, source} = await prepareImport(org, {csv: fileOf('edits'), flow: leads})
  t.is(ofKind((await checkImport(org, path)).problems, 'invalid_value')[0].count, 2)

  const edited = await ok(edit(path, source.id, staff(2, '20'), {row: 2, column: 'company', value: 'Second Ltd'}), 200)
  t.deepEqual(edited.source.cleaning, [{step: 'editCells', cells: [staff(2, '20'), {row: 2, column: 'company', value: 'Second Ltd'}]}])
  const {problems} = await checkImport(org, path)
  t.like(ofKind(problems, 'invalid_value')[0], {count: 1, rows: [3]})

  const dry = await runOf(path, {dryRun: true})
  t.like(dry.counts.Leads, {planned: 2, failed: 1})
  const {text: plan} = await org.call('GET', `${path}/plan.csv?run=${dry.id}`)
  t.regex(plan, /Second Ltd/)

  await ok(edit(path, source.id, {row: 3, column: 'company', value: '=Third'}), 200)
  const run = await runOf(path, {})
  t.like(run.counts.Leads, {created: 2, failed: 1})
  t.deepEqual(held('edits'), [
    ['One', 10],
    ['Two', 20],
  ])
  const {text: failed} = await org.call('GET', `${path}/failed.csv?run=${run.id}`)
  t.regex(failed, /Three,'=Third,three@edits\.example,few/, 'the edit of a failed row is kept in the file to correct')

  await ok(edit(path, source.id, staff(3, '30')), 200)
  const retry = await runOf(path, {retryOf: run.id})
  t.like(retry.counts.Leads, {created: 1, inherited: 2})
  t.deepEqual(held('edits'), [
    ['One', 10],
    ['Three', 30],
    ['Two', 20],
  ])
})

test('an edit can be undone, makes a dry run stale, and follows other cleaning', async t => {
  const {path, source} = await prepareImport(org, {csv: fileOf('undone'), flow: leads})
  const dry = await runOf(path, {dryRun: true})
  await ok(edit(path, source.id, staff(2, ' 20 ')), 200)
  t.true((await ok(org.call('GET', `${path}/runs/${dry.id}`), 200)).run.stale)
  const cleaning = [{step: 'editCells', cells: [staff(2, ' 20 ')]}, {step: 'trim'}]
  const moved = await ok(org.call('PATCH', `${path}/sources/${source.id}`, {cleaning}), 200)
  t.deepEqual(moved.source.cleaning, [{step: 'trim'}, {step: 'editCells', cells: [staff(2, ' 20 ')]}])
  const undone = await ok(edit(path, source.id, staff(2, null)), 200)
  t.deepEqual(undone.source.cleaning, [{step: 'trim'}])
  t.is(ofKind((await checkImport(org, path)).problems, 'invalid_value')[0].count, 2)
})

test('other cleaning keeps edits that it does not name, and edits that it names replace them', async t => {
  const {path, source} = await prepareImport(org, {csv: fileOf('kept'), flow: leads})
  await ok(edit(path, source.id, staff(2, '20'), staff(3, '30')), 200)
  const clean = async (...cleaning: object[]) =>
    (await ok(org.call('PATCH', `${path}/sources/${source.id}`, {cleaning}), 200)).source.cleaning
  const both = {step: 'editCells', cells: [staff(2, '20'), staff(3, '30')]}
  t.deepEqual(await clean({step: 'trim'}), [{step: 'trim'}, both])
  t.deepEqual(await clean(), [both])
  const one = {step: 'editCells', cells: [staff(3, '31')]}
  t.deepEqual(await clean(one, {step: 'trim'}), [{step: 'trim'}, one])
})

test('a change of the reader removes edits, because it renumbers rows, and templates keep none', async t => {
  const {path, source} = await prepareImport(org, {csv: fileOf('reader'), flow: leads})
  await ok(edit(path, source.id, staff(2, 'CANARY')), 200)
  const {template, leftOut} = await ok(
    org.call('POST', `/orgs/${org.org}/templates`, {fromImport: path.split('/').at(-1), name: 'Edited'}),
    201,
  )
  t.deepEqual(template.sources[0].cleaning, [])
  t.is(leftOut.length, 1)
  t.notRegex(JSON.stringify(template), /CANARY/)
  const {source: read} = await ok(org.call('PATCH', `${path}/sources/${source.id}`, {reader: {skipRows: 1, headerRow: false}}), 200)
  t.deepEqual(read.cleaning, [])
})

test('an edit of a row, a column or an uneven row that cannot be edited is refused', async t => {
  const {path, source} = await prepareImport(org, {csv: `${fileOf('refused')}Four,Fourth\n`, flow: leads})
  for (const [cell, said] of [
    [staff(5, 'x'), /4 rows/],
    [{row: 1, column: 'size', value: 'x'}, /no column "size"/],
    [staff(4, 'x'), /Row 4 has more or fewer cells/],
  ] as const) {
    const {status, body} = await edit(path, source.id, cell)
    t.true(status === 400 || status === 422, `${status}`)
    t.regex(body.error, said)
  }
  t.like(await edit(path, source.id, {row: 0, column: 'staff', value: 'x'}), {status: 400, body: {code: 'INVALID'}})
  t.deepEqual((await ok(org.call('GET', `${path}/sources/${source.id}`), 200)).source.cleaning, [])
})

test('a file has at most 10,000 edited cells', async t => {
  const rows = Array.from({length: 10_001}, (_, n) => `L${n},C,l${n}@many.example,1`)
  const {path, source} = await prepareImport(org, {csv: `name,company,mail,staff\n${rows.join('\n')}\n`, flow: leads})
  for (let from = 1; from <= 10_000; from += 1000)
    await ok(edit(path, source.id, ...Array.from({length: 1000}, (_, n) => staff(from + n, '2'))), 200)
  t.like(await edit(path, source.id, staff(10_001, '2')), {status: 400, body: {code: 'INVALID'}})
  await ok(edit(path, source.id, staff(1, null), staff(10_001, '2')), 200)
})
