import assert from 'node:assert/strict'
import {after, test} from 'node:test'
import {startSmtp} from '../simulators/smtp.ts'
import {accountRows, accounts, ok, openOrg, prepareImport} from '../support/importing.ts'
import {until} from '../support/until.ts'
import {enter, stage} from './stage.ts'
import * as person from './steps.ts'

const smtp = await startSmtp()
after(() => smtp.stop())
const here = stage('browser leave', async () => {}, {
  environment: {SMTP_URL: smtp.url, MAIL_FROM: 'Lading <notices@lading.example>'},
})

test('a person asks for an e-mail, leaves the page during a run, and gets the e-mail when the run has ended', async () => {
  const org = await openOrg(here.world)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  const {path} = await prepareImport(org, {csv: accountRows(300), flow: accounts})
  const match = {method: 'POST', module: 'Accounts'}
  here.world.crm.faults.add({match, action: {type: 'slow', ms: 300}})
  here.world.crm.faults.add({match, times: 1000, action: {type: 'hold'}})
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/review`)
  await person.reviewed(page)
  await person.writeRows(page)
  const live = page.getByRole('region', {name: 'Run in progress'})
  await live.getByText('You can close this page.').waitFor()
  const others = {emails: ['ana@example.org'], endpoints: [], on: ['plan.waiting']}
  await ok(org.call('PUT', `/orgs/${org.org}/notices`, others), 200)
  await live.getByLabel('E-mail ana@example.org when a run ends').click()
  await live.getByText('You can close this page. We will e-mail ana@example.org when the run ends.').waitFor()
  const {notices} = await ok(org.call('GET', `/orgs/${org.org}/notices`), 200)
  assert.deepEqual(notices.on.toSorted(), ['plan.waiting', 'run.ended'], 'notices set after the page was loaded stay')
  assert.deepEqual(visitor.complaints, [])
  await page.close()
  assert.deepEqual(smtp.letters, [])
  here.world.crm.faults.clear()
  here.world.crm.release()
  const [letter] = await until(
    () => smtp.letters,
    letters => letters.length > 0,
  )
  assert.deepEqual(letter!.to, ['ana@example.org'])
  const text = letter!.text.replaceAll('=\n', '')
  const written = here.world.crm.count('example', 'Accounts')
  assert.equal(written, 300)
  for (const said of [`${written} created`, path.split('/').at(-1)!]) assert.ok(text.includes(said), text)
})
