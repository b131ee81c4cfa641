import anyTest, {type TestFn} from 'ava'
import {people} from '../support/ai.ts'
import {field} from '../support/discovered.ts'
import {ok} from '../support/importing.ts'
import {discover, openRegistry} from '../support/registry.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

const test = anyTest as TestFn<{house: TestDeployment}>
test.before(async t => void Object.assign(t.context, {house: await startTestDeployment(t)}))

const openOrg = async ({house}: {house: TestDeployment}) => {
  const home = await openRegistry(house)
  const fields = [...people.fields, field('Seen', {type: 'datetime'})]
  await discover(house, home.org, home.connector, [{...people, fields}])
  const rows = [
    ['Anna', '3'],
    ['Bo', ''],
  ]
  return {...home, test: (more: object) => home.call('POST', `/orgs/${home.org}/expressions/test`, {columns: ['Name', 'N'], rows, ...more})}
}

test('an expression test returns unmasked values per row, or the line and column of a compile error', async t => {
  const home = await openOrg(t.context)
  const {results, ...rest} = await ok(home.test({expression: 'helpers.upper(row.Name)'}), 200)
  t.deepEqual(rest, {compiles: true, issue: null})
  t.deepEqual(results, [
    {row: 1, value: 'ANNA', problem: null},
    {row: 2, value: 'BO', problem: null},
  ])
  const broken = await ok(home.test({expression: 'row.Name +\n  )'}), 200)
  t.like(broken, {compiles: false, results: [], issue: {line: 2, column: 3}})
  const unknown = await ok(home.test({expression: 'row.Nmae'}), 200)
  t.regex(unknown.issue.message, /Nmae/)
})

test('a value that the field cannot take and a row that throws are reported for that row', async t => {
  const home = await openOrg(t.context)
  const into = {module: 'People', field: 'Joined', connectorId: home.connector}
  const {results} = await ok(home.test({expression: 'value ? "2026-01-0" + value : JSON.parse("{")', source: 'N', ...into}), 200)
  t.deepEqual(results[0], {row: 1, value: '2026-01-03', problem: null})
  t.is(results[1].error.code, 'EXPRESSION_THROWN')
  const refusedValue = await ok(home.test({expression: 'row.Name', ...into}), 200)
  t.is(refusedValue.results[0].problem.code, 'INVALID_VALUE')
})

test('a value that a run accepts is no problem: the clear token, the e-mail address of a user, a time in the zone of the org', async t => {
  const home = await openOrg(t.context)
  const problemOf = async (field: string, expression: string) => {
    const {results} = await ok(home.test({expression, module: 'People', field, connectorId: home.connector}), 200)
    return results[0].problem?.code ?? null
  }
  t.is(await problemOf('Joined', String.raw`'\\N'`), null)
  t.is(await problemOf('Owner', "'ana@example.org'"), null)
  t.is(await problemOf('Owner', "'Ana'"), 'INVALID_VALUE')
  t.is(await problemOf('Seen', "'2026-03-04T10:00:00'"), 'INVALID_VALUE')
  await ok(home.call('PATCH', home.at('settings'), {timezone: 'Europe/Berlin'}), 200)
  t.is(await problemOf('Seen', "'2026-03-04T10:00:00'"), null)
})

test('an invalid expression test is refused with a hint', async t => {
  const home = await openOrg(t.context)
  for (const [more, status, code] of [
    [{source: 'Nowhere'}, 400, 'INVALID'],
    [{module: 'People'}, 400, 'INVALID'],
    [{module: 'Nobody', field: 'Name'}, 404, 'MODULE_NOT_FOUND'],
  ] as const)
    t.like(await home.test({expression: '1', ...more}), {status, body: {code}})
  const {error} = (await home.test({expression: '1', module: 'People', field: 'Nothing'})).body as {error: string}
  t.regex(error, /config\/fields\/People/)
})
