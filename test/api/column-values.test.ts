import test from 'ava'
import {ok, openOrg} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery']})
  org = await openOrg(here)
})

const add = async (body: string) => {
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Test', connectorId: org.connector}), 201)
  const path = `/orgs/${org.org}/imports/${made.id}`
  const {source} = await ok(org.call('POST', `${path}/sources?name=test.csv`, body), 201)
  return {path, at: `${path}/sources/${source.id}`}
}
const valuesOf = (at: string, column: string, query = '') => org.call('GET', `${at}/columns/${encodeURIComponent(column)}/values${query}`)

test('the distinct values of a column are counted, most frequent first, as a value map compares them', async t => {
  const {at} = await add('id,a/b %\n1,Rot\n2, rot \n3,Blau\n4,\n5,ROT\n6,\\N\n7\n8,Blau,\n')
  const found = await ok(valuesOf(at, 'a/b %'), 200)
  t.deepEqual(found, {
    column: 'a/b %',
    values: [
      {value: 'Rot', count: 3, option: null, suggestion: null},
      {value: 'Blau', count: 2, option: null, suggestion: null},
    ],
    distinct: 2,
    more: false,
    cells: 5,
    rows: 8,
    complete: true,
  })
})

test('values are those after cleaning, without excluded rows', async t => {
  const {at} = await add('id,state\n1,new-a\n1,new-a\n2,new-b\n')
  const cleaning = [
    {step: 'replace', columns: ['state'], find: 'new-', with: ''},
    {step: 'strikeDuplicates', columns: ['id']},
  ]
  await ok(org.call('PATCH', at, {cleaning}), 200)
  const {values, rows} = await ok(valuesOf(at, 'state'), 200)
  t.deepEqual(
    [values.map(({value, count}: any) => [value, count]), rows],
    [
      [
        ['a', 1],
        ['b', 1],
      ],
      3,
    ],
  )
})

test('options are proposed for the values of a field, and a field with several values splits its cells', async t => {
  const {at} = await add('state,paid,ways\nfresh,ja,Netz;web\nstorniert,Nein,"web;Phones;web"\nwhatever,TRUE,Shop\n')
  const of = async (column: string, field: string) =>
    (await ok(valuesOf(at, column, `?module=Orders&field=${field}`), 200)).values.map(({value, count, option, suggestion}: any) => [
      value,
      count,
      option,
      suggestion && `${suggestion.to} ${suggestion.why}`,
    ])
  t.deepEqual(await of('state', 'Status'), [
    ['fresh', 1, true, null],
    ['storniert', 1, false, 'Cancelled alias'],
    ['whatever', 1, false, null],
  ])
  t.deepEqual(await of('paid', 'Paid'), [
    ['ja', 1, false, 'true alias'],
    ['Nein', 1, false, 'false alias'],
    ['TRUE', 1, true, null],
  ])
  t.deepEqual(await of('ways', 'Channels'), [
    ['web', 2, true, null],
    ['Netz', 1, false, null],
    ['Phones', 1, false, 'Phone plural'],
    ['Shop', 1, true, null],
  ])
})

test('of a column with many values, the first thousand are counted and the rest is estimated', async t => {
  const rows = Array.from({length: 30_000}, (_, n) => `${n},${n % 2 ? 'usual' : `value ${n}`}`)
  const {at} = await add(`id,text\n0,${'long'.repeat(100)}\n${rows.join('\n')}\n`)
  const found = await ok(valuesOf(at, 'text'), 200)
  t.like(found, {more: true, cells: 30_001, rows: 30_001, complete: true})
  t.is(found.values.length, 1_000)
  t.like(found.values[0], {value: 'usual', count: 15_000})
  t.true(found.values.every(({value}: {value: string}) => value.length <= 300))
  t.true(Math.abs(found.distinct - 15_002) < 1_500, `${found.distinct}`)
})

test('unknown columns, modules and fields are refused, and so is another org', async t => {
  const {at} = await add('id,text\n1,a\n')
  const refused = async (column: string, query = '') => {
    const {status, body} = await valuesOf(at, column, query)
    return `${status} ${body.code}`
  }
  t.is(await refused('nothing'), '404 COLUMN_NOT_FOUND')
  t.is(await refused('text', '?module=Nothing&field=Name'), '404 MODULE_NOT_FOUND')
  t.is(await refused('text', '?module=Orders&field=Nothing'), '404 FIELD_NOT_FOUND')
  t.is(await refused('text', '?module=Orders'), '400 INVALID')
  const other = await here.signIn('zoe@other.example')
  t.is((await here.as(other)('GET', `${at}/columns/text/values`)).status, 403)
  const own = (await here.as(other)('GET', '/auth/me')).body.org.id as string
  t.is((await here.as(other)('GET', `${at.replace(org.org, own)}/columns/text/values`)).status, 404)
})
