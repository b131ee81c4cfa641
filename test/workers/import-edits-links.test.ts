import test from 'ava'
import {type Org, ok, openOrg, readLog, untilEnded} from '../support/importing.ts'
import {accountOf, column, companies, people, prepareFiles, runFiles} from '../support/lookups.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '3', CRM_LAG_SECONDS: '1'}})
  org = await openOrg(here)
})
test.afterEach.always(() => here.crm.faults.clear())

const matchWith = (more: object = {}) => ({
  by: ['Account_Number'],
  onOne: 'update',
  onMany: 'skip',
  unchanged: 'skip',
  onEdited: 'keep',
  ...more,
})
const parent = {field: 'Parent_Account', flow: 'companies', key: {parentColumn: 'number', childColumn: 'of'}, onMissing: 'leave'}
/** Returns a flow of accounts whose parent may be further down the file, so that the link is written after all rows. */
const linked = (match: object = {}) => companies({match: matchWith(match), parent})
/** Returns a flow of accounts with a link to an account that is found by its name. */
const searching = (match: object = {}) =>
  companies({
    match: matchWith(match),
    fields: [
      column('Account_Name', 'name'),
      column('Account_Number', 'number'),
      {field: 'Parent_Account', mode: 'search', source: 'of', onNone: 'leave'},
    ],
  })

const linkOf = (number: string) => accountOf(here, number).Parent_Account?.id ?? accountOf(here, number).Parent_Account ?? null
const edit = (number: string, to: string) =>
  here.crm.update('example', 'Accounts', [{id: accountOf(here, number).id, Parent_Account: {id: accountOf(here, to).id}}])
const makeAccount = (number: string) => here.crm.create('example', 'Accounts', [{Account_Name: number, Account_Number: number}])

const prepare = async (csv: string, flow: Parameters<typeof prepareFiles>[2][number]) =>
  (await prepareFiles(org, {companies: csv}, [flow])).path
const run = async (path: string, start: object = {}) => {
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, start), 202)
  const ended = await untilEnded(org.call, `${path}/runs/${begun.id}`)
  return {ended, log: await readLog(org.call, `${path}/runs/${begun.id}`)}
}
const runFile = async (csv: string, flow: Parameters<typeof prepareFiles>[2][number], start: object = {}) =>
  run(await prepare(csv, flow), start)
const keptOf = (log: any[]) => log.filter(({code}) => code === 'KEPT_EDIT').map(({phase, target, rowNumber}) => [phase, target, rowNumber])
const csvOf = (prefix: string, of: number) => `name,number,of\nChild,${prefix}-1,${prefix}-${of}\nTwo,${prefix}-2,\nThree,${prefix}-3,\n`

test.serial('a link that is written after all rows is kept if a person edited it, and written if not', async t => {
  for (const onUnknown of ['write', 'keep']) {
    const name = `La${onUnknown}`
    makeAccount(`${name}-mine`)
    const first = await runFile(csvOf(name, 2), linked({onUnknown}))
    t.is(linkOf(`${name}-1`), accountOf(here, `${name}-2`).id, 'a record that the run made has no edits')
    t.is(first.ended.keptEdits, 0)
    await runFile(csvOf(name, 3), linked({onUnknown}))
    t.is(linkOf(`${name}-1`), accountOf(here, `${name}-3`).id, 'the link that was written last is no edit')
    edit(`${name}-1`, `${name}-mine`)
    for (const start of [{dryRun: true}, {}]) {
      const {ended, log} = await runFile(csvOf(name, 2), linked({onUnknown}), start)
      t.is(linkOf(`${name}-1`), accountOf(here, `${name}-mine`).id)
      t.is(ended.keptEdits, 1)
      t.deepEqual(keptOf(log), [
        ['edit', 'Parent_Account', 1],
        ['patch', '', 1],
      ])
    }
    await runFile(csvOf(name, 2), linked({onEdited: 'overwrite'}))
    t.is(linkOf(`${name}-1`), accountOf(here, `${name}-2`).id)
  }
})

test.serial('a question about an edited link that is written after all rows is answered for the retry', async t => {
  makeAccount('Lb-mine')
  await runFile(csvOf('Lb', 2), linked({onEdited: 'ask'}))
  edit('Lb-1', 'Lb-mine')
  const path = await prepare(csvOf('Lb', 3).replace('Child', 'Kid'), linked({onEdited: 'ask'}))
  const dry = await run(path, {dryRun: true})
  const {rows} = await ok(org.call('GET', `${path}/runs/${dry.ended.id}/rows`), 200)
  t.deepEqual(
    rows[0].entries.map(({phase, action, code}: any) => [phase, action, code]),
    [
      ['write', 'update', null],
      ['patch', 'skip', 'EDITED'],
      ['edit', 'ask', 'EDITED'],
    ],
  )
  const first = await run(path)
  t.is(first.ended.questions, 1)
  t.is(accountOf(here, 'Lb-1').Account_Name, 'Kid')
  t.is(linkOf('Lb-1'), accountOf(here, 'Lb-mine').id)
  const {questions} = await ok(org.call('GET', `${path}/runs/${first.ended.id}/questions`), 200)
  t.like(questions[0], {kind: 'edit', field: 'Parent_Account', rows: 1})
  await ok(org.call('POST', `${path}/runs/${first.ended.id}/questions`, {answers: [{key: questions[0].key, choice: 'overwrite'}]}), 200)
  const again = await run(path, {retryOf: first.ended.id})
  t.is(again.ended.questions, 0)
  t.is(linkOf('Lb-1'), accountOf(here, 'Lb-3').id)
})

test.serial('a retry keeps a link that a person filled after the run left it empty', async t => {
  makeAccount('Lc-mine')
  const csv = 'name,number,of\nChild,Lc-1,Lc late\nOther,Lc-2,Lc late\n'
  const path = await prepare(csv, searching())
  const first = await run(path)
  t.deepEqual(first.ended.linksEmpty, [{flowId: 'companies', field: 'Parent_Account', rows: 2}])
  edit('Lc-1', 'Lc-mine')
  const late = String(here.crm.create('example', 'Accounts', [{Account_Name: 'Lc late'}])[0]!.details.id)
  const again = await run(path, {retryOf: first.ended.id})
  t.is(linkOf('Lc-1'), accountOf(here, 'Lc-mine').id)
  t.is(linkOf('Lc-2'), late)
  t.deepEqual(again.ended.linksEmpty, [])
  t.is(again.ended.keptEdits, 1)
  t.deepEqual(keptOf(again.log), [
    ['edit', 'Parent_Account', 1],
    ['patch', '', 1],
  ])
})

test.serial('a row whose patch changes nothing is still counted with its empty link', async t => {
  const files = {people: 'last,mail,company,phone\nLe,le@links.example,Le-none,123\n', companies: 'name,number\nLe,Le-1\n'}
  const flows = (onEdited: string) => [
    people(
      {key: {parentColumn: 'number', childColumn: 'company'}, onMissing: 'leave'},
      {
        match: matchWith({by: ['Email'], onEdited}),
        fields: [column('Last_Name', 'last'), column('Email', 'mail'), column('Phone', 'phone', {patch: {when: ['created', 'updated']}})],
      },
    ),
    companies(),
  ]
  for (const onEdited of ['overwrite', 'keep'])
    for (const start of [{}, {}, {dryRun: true}]) {
      const {run: ended} = await runFiles(org, files, flows(onEdited), start)
      t.deepEqual(ended.linksEmpty, [{flowId: 'people', field: 'Account_Name', rows: 1}], `${onEdited} ${JSON.stringify(start)}`)
    }
})

test.serial('a retry fills only empty links of records that its chain created, even if the setting overwrites edits', async t => {
  makeAccount('Ld-mine')
  const path = await prepare('name,number,of\nChild,Ld-1,Ld late\n', searching({onEdited: 'overwrite'}))
  const first = await run(path)
  edit('Ld-1', 'Ld-mine')
  here.crm.create('example', 'Accounts', [{Account_Name: 'Ld late'}])
  await run(path, {retryOf: first.ended.id})
  t.is(linkOf('Ld-1'), accountOf(here, 'Ld-mine').id)
})
