import assert from 'node:assert/strict'
import {test} from 'node:test'
import {accounts, openOrg, prepareImport} from '../support/importing.ts'
import {enter, picture, stage} from './stage.ts'

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
  await dialog.getByRole('button', {name: 'Delete', exact: true}).click()
  await page.getByText('2 records were deleted').waitFor()
  await page.getByRole('heading', {name: 'Undo', exact: true}).waitFor()
  await picture(page, 'delete-done')
  const left = crm.records('example', 'Accounts').map(({Account_Number}) => Account_Number)
  assert.deepEqual(left, ['A-3'])
  assert.deepEqual(visitor.complaints, [])
})
