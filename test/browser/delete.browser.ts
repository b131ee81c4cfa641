import assert from 'node:assert/strict'
import {test} from 'node:test'
import {accounts, deletion, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {enter, picture, stage} from './stage.ts'
import {runRequested} from './steps.ts'

const here = stage('browser delete')

test('a person chooses to delete matching records, types their number, and can undo it', async () => {
  const org = await openOrg(here.world)
  const {crm} = here.world
  crm.create(
    'example',
    'Accounts',
    ['A-1', 'A-2', 'A-3'].map(number => ({Account_Name: `Firm ${number}`, Account_Number: number})),
  )
  const csv = 'name,number,city\nFirm A-1,A-1,Bern\nFirm A-2,A-2,Bern\nFirm A-9,A-9,Bern\n'
  const {path} = await prepareImport(org, {csv, flow: accounts})
  const id = path.split('/').at(-1)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/imports/${id}/match`)
  await page.getByText('Delete instead of import').click()
  await picture(page, 'delete-offered')
  await page.getByRole('radio', {name: /^Delete matching records/}).check()
  await page.getByText('Removes the other mappings').waitFor()
  await picture(page, 'delete-chosen')
  const city = page.getByLabel('Field for city', {exact: true})
  assert.equal(await city.inputValue(), '')
  await page.reload()
  await page.getByRole('radio', {name: /^Update existing/}).check()
  assert.equal(await city.inputValue(), 'Billing_City', 'the mappings return if the person decides against the deletion')
  await page.getByText('Delete instead of import').click()
  await page.getByRole('radio', {name: /^Delete matching records/}).check()
  await page.getByRole('button', {name: 'Review', exact: true}).click()
  await page.getByRole('button', {name: 'Delete 2 records …'}).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Type 2 to confirm').fill('3')
  await dialog.getByRole('button', {name: 'Delete', exact: true}).click()
  await dialog.getByText('Type 2 to delete these records.').waitFor()
  await picture(page, 'delete-confirm')
  assert.equal(crm.count('example', 'Accounts'), 3)
  await dialog.getByLabel('Type 2 to confirm').fill('2')
  const requested = runRequested(page)
  await dialog.getByRole('button', {name: 'Delete', exact: true}).click()
  assert.deepEqual(await requested, {confirmDeletes: 2, guard: 'usual'})
  await page.getByText('2 records were deleted').waitFor()
  await page.getByRole('heading', {name: 'Undo', exact: true}).waitFor()
  await picture(page, 'delete-done')
  await page.getByText('A run that deletes records is not retried').waitFor()
  await page.getByRole('link', {name: 'Review the rows'}).waitFor()
  assert.equal(await page.getByRole('button', {name: /^Retry/}).count(), 0)
  const left = crm.records('example', 'Accounts').map(({Account_Number}) => Account_Number)
  assert.deepEqual(left, ['A-3'])
  assert.deepEqual(visitor.complaints, [])
})

test('a sealed plan that deletes is applied after its number was typed, and a refused start says where to go', async () => {
  const org = await openOrg(here.world)
  const {crm, hot} = here.world
  crm.create(
    'example',
    'Accounts',
    ['P-1', 'P-2'].map(number => ({Account_Name: `Plan ${number}`, Account_Number: number})),
  )
  const fields = [{field: 'Account_Number', mode: 'column', source: 'number'}]
  const flow = {module: 'Accounts', action: 'delete', match: {by: ['Account_Number'], onOne: 'update', onMany: 'skip'}, fields}
  const {path} = await prepareImport(org, {csv: 'number\nP-1\nP-2\n', flow})
  const {run} = await ok(org.call('POST', `${path}/runs`, {dryRun: true}), 202)
  await untilEnded(org.call, `${path}/runs/${run.id}`)
  await ok(org.call('POST', `${path}/runs/${run.id}/seal`), 200)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/review?run=${run.id}`)
  await page.getByRole('button', {name: 'Apply plan'}).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Type 2 to confirm').fill('2')
  const pause = (paused: boolean) => hot.query('update connectors set writes_paused = $1 where id = $2', [paused, org.connector])
  await pause(true)
  await dialog.getByRole('button', {name: 'Delete', exact: true}).click()
  await dialog.getByRole('link', {name: 'Go to connections'}).waitFor()
  await pause(false)
  await dialog.getByRole('button', {name: 'Delete', exact: true}).click()
  await page.getByText('2 records were deleted').waitFor()
  assert.deepEqual(
    crm.records('example', 'Accounts').filter(({Account_Number}) => String(Account_Number).startsWith('P-')),
    [],
  )
  assert.deepEqual(visitor.complaints, [])
})

test('an import that deletes more records than a run may write is deleted in parts, each after a preview of its rows', async () => {
  const org = await openOrg(here.world)
  const {crm} = here.world
  crm.create(
    'example',
    'Accounts',
    ['L-1', 'L-2', 'L-3'].map(number => ({Account_Name: `Part ${number}`, Account_Number: number})),
  )
  const {path} = await prepareImport(org, {csv: 'number\nL-1\nL-2\nL-3\n', flow: deletion})
  const {run} = await ok(org.call('POST', `${path}/runs`, {dryRun: true, declaredRows: 2}), 202)
  assert.equal((await untilEnded(org.call, `${path}/runs/${run.id}`)).stop.stopped, 'LIMIT_ROWS_PER_RUN')
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/review`)
  await page.getByText('A run would stop before its end').waitFor()
  await page.getByLabel('To row').fill('2')
  await page.getByRole('button', {name: 'Preview these rows'}).click()
  await page.getByText('Only rows 1 to 2.').waitFor()
  await page.getByRole('button', {name: 'Delete 2 records …'}).click()
  await page.getByRole('dialog').getByLabel('Type 2 to confirm').fill('2')
  await page.getByRole('dialog').getByRole('button', {name: 'Delete', exact: true}).click()
  await page.getByText('2 records were deleted').waitFor()
  const left = crm.records('example', 'Accounts').map(({Account_Number}) => String(Account_Number))
  assert.deepEqual(
    left.filter(number => number.startsWith('L-')),
    ['L-3'],
  )
  assert.deepEqual(visitor.complaints, [])
})
