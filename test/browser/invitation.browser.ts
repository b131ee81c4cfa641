import assert from 'node:assert/strict'
import {test} from 'node:test'
import {ok, openOrg} from '../support/importing.ts'
import {enter, picture, signIn, stage} from './stage.ts'

const here = stage('browser invitation')

test('an invited person who has an org of their own sees the invitation, accepts it, works in the inviting org, switches back, and leaves a closed org', async () => {
  const inviting = await openOrg(here.world)
  const admin = await here.open()
  await enter(admin, inviting.session)
  await admin.page.goto(`${here.world.url}/#/settings/members`)
  await admin.page.getByLabel('Role').last().selectOption('builder')
  const toasts = admin.page.locator('.toast')
  for (const email of ['bo@other.example', 'zoe@other.example']) {
    await admin.page.getByLabel('E-mail').fill(email)
    await admin.page.getByRole('button', {name: 'Invite', exact: true}).click()
    await toasts.filter({hasText: email}).waitFor()
    assert.ok((await toasts.count()) <= 1, 'one message at a time')
  }
  const link = await admin.page.locator('.hint .copy code').innerText()
  const {org} = await ok(inviting.call('GET', `/orgs/${inviting.org}`), 200)

  const invited = await here.open()
  const {page} = invited
  await page.goto(link)
  await signIn(invited, 'zoe@other.example')
  await page.getByText(`${org.name} invites you as builder`).waitFor()
  await page.getByRole('button', {name: /^Accept/}).click()
  await page.locator('details.account .menu').getByText(org.name, {exact: true}).waitFor({state: 'attached'})
  assert.equal(await page.getByText('You are invited').count(), 0)
  const {members} = await ok(inviting.call('GET', `/orgs/${inviting.org}/members`), 200)
  assert.equal(members.find(({email}: {email: string}) => email === 'zoe@other.example')?.role, 'builder')

  await page.locator('details.account summary').click()
  const orgs = page.getByLabel('Organisation')
  await orgs.waitFor()
  await picture(page, 'org-switcher')
  const own = (await orgs.locator('option:not(:checked)').innerText()).replace(/ \(owner\)$/, '')
  await orgs.selectOption({label: `${own} (owner)`})
  await page.locator('details.account .menu strong').getByText(own, {exact: true}).waitFor({state: 'attached'})
  assert.notEqual(own, org.name)

  await here.world.hot.query('update orgs set closed_at = lading_now() where name = $1', [own])
  await page.reload()
  await page.locator('details.account summary').click()
  assert.equal(await orgs.locator('option:checked').innerText(), own, 'the closed org of the session')
  await orgs.selectOption({label: `${org.name} (builder)`})
  await page.locator('details.account .menu strong').getByText(org.name, {exact: true}).waitFor({state: 'attached'})
  assert.deepEqual([...admin.complaints, ...invited.complaints], [])
})
