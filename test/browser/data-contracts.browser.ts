import assert from 'node:assert/strict'
import {after, test} from 'node:test'
import {type Org, ok, openOrg} from '../support/importing.ts'
import {fire, makeSchedule, startFileHost, untilOver} from '../support/schedules.ts'
import {until} from '../support/until.ts'
import {assertAccessible, assertFits, enter, picture, settled, stage} from './stage.ts'

const host = await startFileHost()
after(() => host.stop())
const made = {org: undefined as unknown as Org, template: '', path: ''}
const here = stage(
  'browser contracts',
  async world => {
    made.org = await openOrg(world)
    const {template, path} = await makeSchedule(made.org, host)
    Object.assign(made, {template, path})
  },
  {environment: {PRIVATE_HOSTS: host.place}},
)
const idOf = (path: string) => path.split('/').at(-1)!

test('a contract is edited on the page of its template, holds a file, and the file is accepted with the contract loosened', async () => {
  const {org, template, path} = made
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/templates/${idOf(template)}`)
  await page.getByLabel('No repeats: number').check()
  await page.getByLabel('Type: number').selectOption('number')
  await page.getByLabel('Empty at most (%): city').fill('10')
  await page.getByLabel('Fewest rows').fill('1')
  await page.getByRole('button', {name: 'Save contract'}).click()
  await page.getByText('Data contract saved').waitFor()
  const {contract} = await ok(org.call('GET', `${template}/contract`), 200)
  assert.deepEqual(
    contract.sources[0].columns.map(({name, type, unique, emptyShare}: any) => [name, type, unique, emptyShare]),
    [
      ['number', 'number', true, null],
      ['city', null, false, 0.1],
    ],
  )
  await page.getByRole('button', {name: 'Learn from accepted files'}).click()
  await page.getByText('No file was accepted yet.').waitFor()
  await picture(page, 'contract', {height: 1600})

  host.serve('name,number,city\nHarbour Foods,AC-1,\nPetit Atelier,AC-1,\n')
  const held = await fire(org, path)
  await page.goto(`${here.world.url}/#/templates/${idOf(template)}/schedules/${idOf(path)}`)
  await page.getByText('This file waits for your decision').waitFor()
  await page.getByText('number: 2 cells not of type “number”, first in row 1').waitFor()
  await page.getByText('number: earlier values repeat in 1 cell, first in row 2').waitFor()
  await page.getByText('city: 100% of the cells are empty, at most 10% may be').waitFor()
  await picture(page, 'held-file', {height: 1400})
  await page.getByRole('button', {name: 'Accept and run'}).click()
  await page.getByLabel('Also loosen the contract').check()
  await page.getByRole('dialog').getByRole('button', {name: 'Accept and run'}).click()
  await page.getByText('The file was accepted, and its run has started').waitFor()
  const ended = await untilOver(org, path, held.id)
  assert.deepEqual([ended.outcome, ended.contract.decision], ['done', 'accepted'])
  assert.deepEqual(visitor.complaints, [])
})

test('unsaved expectations stay after another admin changed the contract, and the other changes are kept', async () => {
  const {org, template} = made
  const put = (columns: object[]) => ok(org.call('PUT', `${template}/contract`, {sources: [{slot: 'companies', columns}]}), 200)
  await put([{name: 'city', emptyShare: 0.1}])
  const {page, complaints, ...visitor} = await here.open()
  await enter({page, complaints, ...visitor}, org.session)
  await page.goto(`${here.world.url}/#/templates/${idOf(template)}`)
  await page.getByLabel('No repeats: number').check()
  await put([{name: 'city', emptyShare: 0.2}])
  await page.getByRole('button', {name: 'Save contract'}).click()
  await page.getByRole('button', {name: 'Try again'}).click()
  await page.getByRole('alert').waitFor({state: 'detached'})
  await until(
    () => page.getByLabel('Empty at most (%): city').inputValue(),
    value => value === '20',
  )
  const asked: string[] = []
  page.on('dialog', async box => {
    asked.push(box.message())
    await box.dismiss()
  })
  await page.getByRole('link', {name: 'Templates', exact: true}).first().click()
  assert.deepEqual(asked, ['Leave this page without saving your changes?'])
  await page.getByRole('button', {name: 'Save contract'}).click()
  await page.getByText('Data contract saved').waitFor()
  const {contract} = await ok(org.call('GET', `${template}/contract`), 200)
  assert.deepEqual(
    contract.sources[0].columns.map(({name, unique, emptyShare}: any) => [name, unique, emptyShare]),
    [
      ['number', true, null],
      ['city', false, 0.2],
    ],
  )
  assert.deepEqual(complaints, [])
})

test('a file that waits for a decision is shown also after many later firings', async () => {
  const {org, template, path} = made
  await ok(org.call('PUT', `${template}/contract`, {sources: [{slot: 'companies', columns: [{name: 'city', values: ['Rome']}]}]}), 200)
  host.serve('name,number,city\nHarbour Foods,AC-9,Bilbao\n')
  const held = await fire(org, path)
  assert.equal(held.contract.decision, null)
  await here.world.hot.query(
    `insert into firings (id, schedule_id, org_id, due_at, by, state, outcome)
     select id || n, schedule_id, org_id, due_at + n * interval '1 second', by, 'ended', 'skipped'
     from firings, generate_series(10, 40) n where id = $1`,
    [held.id],
  )
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/templates/${idOf(template)}/schedules/${idOf(path)}`)
  await page.getByText('This file waits for your decision').waitFor()
  const rows = page.getByRole('table', {name: 'Firings, newest first'}).locator('tbody tr')
  await rows.nth(19).waitFor()
  await page.getByRole('button', {name: 'Show older'}).click()
  await rows.nth(31).waitFor()
  await page.getByRole('button', {name: 'Discard file'}).click()
  await page.getByRole('dialog').getByRole('button', {name: 'Discard file'}).click()
  await page.getByText('This file waits for your decision').waitFor({state: 'detached'})
  await here.world.hot.query(`delete from firings where outcome = 'skipped' and id like $1 || '%'`, [held.id])
  assert.deepEqual(visitor.complaints, [])
})

for (const [look, options] of Object.entries({
  light: {},
  dark: {colorScheme: 'dark' as const},
  phone: {viewport: {width: 360, height: 740}},
}))
  test(`a contract and a held file are usable in the look "${look}"`, async () => {
    const {org, template, path} = made
    await ok(org.call('PUT', `${template}/contract`, {sources: [{slot: 'companies', columns: [{name: 'city', values: ['Rome']}]}]}), 200)
    host.serve(`name,number,city\nHarbour Foods,${look},Bilbao\n`)
    await fire(org, path)
    const visitor = await here.open(options)
    await enter(visitor, org.session)
    for (const address of [`templates/${idOf(template)}`, `templates/${idOf(template)}/schedules/${idOf(path)}`]) {
      await visitor.page.goto(`${here.world.url}/#/${address}`)
      await settled(visitor.page)
      await assertAccessible(visitor.page, `${address}, ${look}`)
      await assertFits(visitor.page, `${address}, ${look}`)
    }
    assert.deepEqual(visitor.complaints, [])
  })
