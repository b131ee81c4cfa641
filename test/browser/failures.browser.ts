import assert from 'node:assert/strict'
import {test} from 'node:test'
import type {Page} from 'playwright-core'
import {accounts, ok, openOrg, runImport} from '../support/importing.ts'
import {companies, csvOf} from './people.ts'
import {assertAccessible, assertFits, enter, picture, stage} from './stage.ts'
import * as person from './steps.ts'

const here = stage('browser failures')

const heads = ['Company name', 'Account number', 'Industry', 'Employees', 'City']
const trades: Record<string, string> = {'Harbour Foods': 'Food', 'Nordlicht Energie': 'Energy', 'Green Lane Clinics': 'Healthcare'}
/**
 * The rows of a file with 40 companies. Of the first 30, one in ten has an unreadable number of employees, and one in ten an industry that
 * the CRM does not know.
 */
const rows = Array.from({length: 40}, (_, n) => {
  const [name, city] = companies[n % companies.length]!
  const trade = n % 10 === 4 && n < 30 ? 'Agriculture' : (trades[name] ?? 'Manufacturing')
  return [`${name} ${city} ${n + 1}`, `AC-${2000 + n}`, trade, n % 10 === 7 && n < 30 ? 'a few' : String(20 + n * 3), city]
})
rows[12]![0] = `${'Sociedade de Distribuição '.repeat(9)}do Porto`
rows[25]![0] = ''

test('failed rows are shown with their reasons, corrected in the file and the mapping, and written once', async () => {
  const {session} = await openOrg(here.world)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, session)
  await mapCompanies(page)
  await person.writeRows(page)
  await readWhy(page)
  const failed = await person.download(page, /^Download failed\.csv/)
  assert.equal(failed.length, 8)
  await mendMapping(page)
  await person.retryRows(page)
  await person.runEnded(page, /^Imported, 5 need attention$/)
  await person.assertAccount(page, '3 created + 32 already written + 4 failed + 1 refused = 40 rows')
  await mendFile(page, await person.download(page, /^Download failed\.csv/))
  await person.assertAccount(page, '5 created + 35 already written = 40 rows')
  assertEachOnce()
  assert.deepEqual(visitor.complaints, [])
})

const mapCompanies = async (page: Page) => {
  await person.makeImport(page, 'Customers of spring')
  await person.chooseFile(page, person.csvFile('customers.csv', csvOf([heads, ...rows])))
  await person.matchInto(page, 'Accounts')
  await takeColumns(page)
  await person.review(page)
  await page.getByRole('heading', {name: /32 ready · 8 need attention/}).waitFor()
  await page.getByRole('button', {name: 'Fix all 3: Agriculture'}).waitFor()
  await page.getByText(/errors: rows will fail/).click()
  await page.getByText('Match the words to options').waitFor()
  await picture(page, 'check')
}

/** Maps each column explicitly, regardless of the proposals. */
const takeColumns = async (page: Page) => {
  const fields = {
    'Company name': 'Account_Name',
    'Account number': 'Account_Number',
    Industry: 'Industry',
    Employees: 'Employees',
    City: 'Billing_City',
  }
  for (const [column, field] of Object.entries(fields)) await person.mapColumn(page, column, field)
  await page.getByRole('heading', {name: '5 of 5 columns matched'}).waitFor()
  await person.chooseExisting(page, 'Update existing, add new')
  await page.getByLabel('Matched by').selectOption('Account_Number')
}

const readWhy = async (page: Page) => {
  await person.runEnded(page, /^Imported, 8 need attention$/)
  await person.assertAccount(page, '32 created + 7 failed + 1 refused = 40 rows')
  await page.locator('.run-reasons li').nth(3).waitFor()
  const reasons = await page.locator('.run-reasons li').allInnerTexts()
  assert.equal(reasons.length, 4, reasons.join('\n'))
  for (const words of [/Agriculture|list/, /a few|number/i, /200/, /required|mandatory/i])
    assert.ok(
      reasons.some(reason => words.test(reason)),
      `${words}: ${reasons}`,
    )
  await page.getByRole('link', {name: 'Fix 8 rows'}).click()
  await person.onPage(page, 'Results')
  await page.getByLabel('Outcome').selectOption({label: 'Failed (7)'})
  await page.getByText('7 rows shown').waitFor()
  await picture(page, 'results', {height: 1300})
}

/** Replaces the unknown industry in all rows, on the review page. */
const mendMapping = async (page: Page) => {
  await person.stepTo(page, 'Review')
  const values = page.getByRole('region', {name: 'Values of Industry'})
  await values.getByLabel('Option for Agriculture').selectOption('Food')
  await values.getByRole('button', {name: /^Fix all/}).click()
  await values.waitFor({state: 'detached'})
  await person.stepTo(page, 'Run')
}

/** Corrects one failed row on the page and the others in the downloaded file. Then uploads the file and retries the run. */
const mendFile = async (page: Page, failed: person.Row[]) => {
  assert.equal(failed.length, 5)
  await page.getByRole('link', {name: 'Fix 5 rows'}).click()
  await person.onPage(page, 'Results')
  await page.getByLabel('Outcome').selectOption({label: 'Refused (1)'})
  await page.getByText('1 row shown').waitFor()
  await page.locator('.row-toggle').first().click()
  await page.getByLabel('Company name', {exact: true}).fill('Ponte Logistica Genoa')
  await page.getByRole('button', {name: 'Save 1 cell'}).click()
  await page.getByText(/^Row 26 corrected/).waitFor()
  const [heading, ...lines] = failed.map(row => Object.values(row)).toSpliced(0, 0, Object.keys(failed[0]!))
  const corrected = lines.map(([row, error, name, number, trade, staff, city]) => [
    row!,
    error!,
    name!.slice(0, 60),
    number!,
    trade!,
    staff!.replace(/\D+/, '') || '12',
    city!,
  ])
  const file = person.csvFile('failed.csv', csvOf([heading!, ...corrected]))
  await page.getByLabel('Corrected file').setInputFiles(file)
  await page.getByText('4 rows corrected').waitFor()
  await page.getByText('1 cell kept a later correction').waitFor()
  await picture(page, 'fix')
  await person.retryRows(page)
  await person.runEnded(page, /^Imported$/)
}

const assertEachOnce = () => {
  const held = here.world.crm.records('example', 'Accounts')
  assert.deepEqual(held.map(({Account_Number}) => Account_Number).toSorted(), rows.map(([, number]) => number).toSorted())
  for (const {Account_Number, Industry} of held) {
    const trade = rows.find(([, number]) => number === Account_Number)![2]!
    assert.equal(Industry, trade === 'Agriculture' ? 'Food' : trade)
  }
}

/** Returns the labels of the actions that the page emphasises. */
const mainActionsOf = (page: Page): Promise<string[]> => page.locator('main .button.main:visible').allInnerTexts()

const idOf = (entry: unknown): string => String((entry as {details: {id: unknown}}).details.id)

test('a row that matches several records is asked about, and a retry writes to the chosen record', async () => {
  const {session} = await openOrg(here.world, 'zoe@other.example')
  const [older, newer] = here.world.crm.create('other', 'Leads', [
    {Last_Name: 'Brandt', First_Name: 'Jule', Company: 'Nordlicht Energie', Email: 'jule.brandt@nordlicht.example', City: 'Kiel'},
    {Last_Name: 'Brandt', First_Name: 'Jule', Company: 'Nordlicht Energie Nord', Email: 'jule.brandt@nordlicht.example', City: 'Hamburg'},
  ])
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, session)
  await person.makeImport(page, 'Leads of the trade show')
  await person.chooseFile(
    page,
    person.csvFile(
      'leads.csv',
      'Last Name,Email,Phone\nBrandt,jule.brandt@nordlicht.example,+49 40 555 010\nMercier,chloe@atelier.example,+33 4 555 011\n',
    ),
  )
  await person.matchInto(page, 'Leads')
  await person.chooseExisting(page, 'Update existing, add new')
  await person.review(page)
  await person.writeRows(page)
  await page.getByRole('link', {name: 'View rows'}).click()
  await person.onPage(page, 'Results')
  await page.getByText('Needs your answer (1)').waitFor()
  assert.deepEqual(await mainActionsOf(page), ['Answer 1 question'])
  await page.getByRole('link', {name: 'Answer 1 question'}).click()
  await person.onPage(page, 'Questions')
  const question = page.getByRole('group', {name: 'Which record in Leads does row 1 match?'})
  const radio = question.getByRole('radio', {name: /Hamburg/})
  await question.getByText('2 records match').waitFor()
  const row = question.getByRole('region', {name: 'Row 1 of the file'})
  await row.getByText('+49 40 555 010').waitFor()
  assert.deepEqual(await question.locator('.candidate dt', {hasText: 'City'}).count(), 3, 'a field that only the CRM has is compared, too')
  assert.equal(await question.locator('mark').count(), 2, 'the phone of each candidate differs from the row')
  await assertAccessible(page, 'questions')
  await picture(page, 'questions', {height: 1100})
  await page.setViewportSize({width: 360, height: 740})
  await assertFits(page, 'questions on a phone')
  await picture(page, 'questions-360', {height: 1500})
  await page.setViewportSize({width: 1200, height: 860})
  await radio.check()
  await page.reload()
  await page.getByText('1 unsaved answer').waitFor()
  assert.ok(await radio.isChecked(), 'an answer that is not saved outlives a reload')
  await page.getByRole('button', {name: 'Save 1 answer'}).click()
  await page.getByText('Retry the run to write the rows that waited').waitFor()
  await page.getByText('Questions answered', {exact: true}).waitFor()
  await person.stepTo(page, 'Results')
  await page.getByRole('link', {name: 'View questions'}).waitFor()
  assert.deepEqual(await mainActionsOf(page), ['Retry 1 row'])
  await person.retryRows(page)
  await person.runEnded(page, /^Imported$/)
  await person.assertAccount(page, '1 updated + 1 already written = 2 rows')
  const phoneOf = (entry: unknown) => here.world.crm.record('other', 'Leads', idOf(entry))?.Phone ?? null
  assert.deepEqual([phoneOf(older), phoneOf(newer)], [null, '+49 40 555 010'])
  assert.equal(here.world.crm.count('other', 'Leads'), 3)
  assert.deepEqual(visitor.complaints, [])
})

test('a retry refuses a file that replaced the first one, and its advice leads to a run that writes no record twice', async () => {
  const org = await openOrg(here.world)
  const fileOf = (name: string) => `name,number,city\nHarbour Foods,RP-1,Bilbao\n${name},RP-2,Lyon\nPonte Logistica,RP-3,Genoa\n`
  const {path, source, run} = await runImport(org, {csv: fileOf(''), flow: accounts})
  const count = () => here.world.crm.records('example', 'Accounts').filter(record => /^RP-/.test(String(record.Account_Number))).length
  assert.deepEqual([run.counts.Accounts.created, run.counts.Accounts.refused, count()], [2, 1, 2])
  const {source: corrected} = await ok(
    org.call('POST', `${path}/sources?name=b.csv`, fileOf('Petit Atelier'), {'content-type': 'text/csv'}),
    201,
  )
  await ok(org.call('PUT', `${path}/flows`, [{...accounts, id: 'f', sourceId: corrected.id}]), 200)
  await ok(org.call('DELETE', `${path}/sources/${source.id}`), 200)

  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/run?run=${run.id}`)
  await person.retryRows(page)
  await page.getByRole('dialog').getByText('A retry needs the same file').waitFor()
  assert.equal(count(), 2, 'the refused retry wrote nothing')
  await page.getByRole('dialog').getByRole('link', {name: 'start a new run'}).click()
  await person.onPage(page, 'Review')
  await page.getByRole('button', {name: 'Import 3 rows'}).click()
  await person.runEnded(page, /^Imported$/)
  assert.equal(count(), 3, 'the corrected row is new, and the others are updated')
  assert.deepEqual(visitor.complaints, [])
})
