import assert from 'node:assert/strict'
import {test} from 'node:test'
import {openOrg} from '../support/importing.ts'
import {assertAccessible, assertFits, enter, stage} from './stage.ts'

const here = stage('browser reference')

test('a signed-in reader sends a read from the reference, and sees its response', async () => {
  const {session, org} = await openOrg(here.world)
  const visitor = await here.open()
  const {page} = visitor
  await page.goto(`${here.world.url}/reference/connections#listConnections`)
  const operation = page.locator('#listConnections')
  await operation.getByText('Try it').click()
  const form = operation.getByRole('form', {name: 'Try listConnections'})
  await form.getByLabel('org').fill(org)
  await form.getByRole('button', {name: 'Send request'}).click()
  await operation.getByText('401: sign in to the app in this browser first').waitFor()
  await page.goto(here.world.url)
  await enter(visitor, session)
  await page.goto(`${here.world.url}/reference/connections#listConnections`)
  await operation.getByText('Try it').click()
  await page.waitForFunction(id => (globalThis as any).document.querySelector('#listConnections input[name="org"]').value === id, org)
  await form.getByRole('button', {name: 'Send request'}).click()
  await operation.getByText('Status 200').waitFor()
  const shown = await operation.locator('.try pre').innerText()
  assert.equal(JSON.parse(shown).connectors.length, 1)
  await assertAccessible(page, 'reference')
  await page.setViewportSize({width: 360, height: 740})
  await assertFits(page, 'reference')
  assert.deepEqual(visitor.complaints, [])
})
