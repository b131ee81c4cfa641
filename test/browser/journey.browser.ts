import assert from 'node:assert/strict'
import {test} from 'node:test'
import type {Page} from 'playwright-core'
import {companies, countries, fairFile, type Person, peopleOf} from './people.ts'
import {picture, settled, signIn, stage} from './stage.ts'
import * as person from './steps.ts'

const here = stage('browser journey')
const people = peopleOf(1200)
const file = 'lisbon-fair.csv'

/** Three of the people as records of the CRM with older values. */
const knownBefore = people.slice(0, 3).map(({first, last, email}, n) => ({
  First_Name: first,
  Last_Name: last,
  Email: email,
  Title: 'Assistant',
  Mailing_City: ['Madrid', 'Bremen', 'Nantes'][n],
}))

test('a person signs in with one consent, maps a file, tries and runs it, and sees the outcome of every row', async () => {
  const {crm, url} = here.world
  crm.create(
    'example',
    'Accounts',
    companies.map(([Account_Name]) => ({Account_Name})),
  )
  crm.create('example', 'Contacts', knownBefore)
  const visitor = await here.open()
  const {page} = visitor
  await signIn(visitor)
  await beginImport(page)
  await sendFiles(page)
  await mapColumns(page)
  await checkAndTry(page)
  await runSlowly(page)
  await lookAtResults(page)
  assertWritten()
  const [cookie] = (await visitor.context.cookies()).filter(({name}) => name === 'lading-session')
  const token = cookie!.value
  assert.ok(token.length > 20)
  assert.deepEqual(
    [page.url(), ...visitor.asked].filter(address => address.includes(token)),
    [],
    'the session stands in no address',
  )
  assert.ok(visitor.asked.some(asked => asked.startsWith(`${url}/auth/zoho/callback`)))
  assert.deepEqual(visitor.complaints, [])
})

const beginImport = async (page: Page) => {
  await page.getByText('No imports yet').waitFor()
  await page.getByRole('link', {name: 'New import'}).click()
  await page.getByLabel('Name').fill('Contacts of the Lisbon fair')
  assert.equal(await page.getByLabel('Connection').count(), 0, 'the only connection is no choice')
  await page.getByRole('button', {name: 'Create import'}).click()
  await page.getByText('Drop one or more files here').waitFor()
}

/** Chooses one file and removes it, then drops another one. */
const sendFiles = async (page: Page) => {
  await person.chooseFile(page, person.csvFile('wrong-list.csv', 'Name\nNobody\n'))
  await page.getByRole('button', {name: 'Remove wrong-list.csv'}).click()
  await page.getByRole('dialog').getByRole('button', {name: 'Remove'}).click()
  await person.sourceCard(page, 'wrong-list.csv').waitFor({state: 'detached'})
  await person.dropFile(page, page.locator('.drop-zone'), file, fairFile(people))
  await person.sourceCard(page, file).getByText('1,200 rows, 9 columns').waitFor()
}

/** Answers the only question of the page. The readings of other columns' values make no difference. */
const answerDates = async (page: Page) => {
  const answers = page.getByRole('group', {name: /^How to read/})
  await answers.getByRole('button', {name: /^Month, day, year/}).waitFor()
  assert.equal(await answers.count(), 1)
  await answers.getByRole('button', {name: /^Day, month, year/}).click()
  await answers.waitFor({state: 'detached'})
  await page.getByRole('button', {name: 'Change: Birthday'}).waitFor()
}

const expression = `({${Object.entries(countries)
  .map(([code, name]) => `${code}: '${name}'`)
  .join(', ')}})[row['Country']]`

const mapColumns = async (page: Page) => {
  await person.matchInto(page, 'Contacts')
  await page.locator('.match-columns > li').nth(8).waitFor()
  await person.mapColumn(page, 'Company', 'Account_Name')
  await person.mapColumn(page, 'Birthday', 'Date_of_Birth')
  await answerDates(page)
  await person.mapColumn(page, 'Country', 'Mailing_Country')
  await person.chooseExisting(page, 'Update existing, add new')
  await settled(page)
  await picture(page, 'mapping', {height: 1300})
  const country = await person.openOptions(page, 'Mailing Country')
  await country.getByLabel('Source', {exact: true}).selectOption('expression')
  await country.getByLabel('Expression', {exact: true}).fill(expression)
  const results = country.getByRole('list', {name: 'Results on sample rows'})
  await results.getByText('Spain').first().waitFor()
  await country.getByText(/^Works on all \d+ sample rows$/).waitFor()
  await country.scrollIntoViewIfNeeded()
  await picture(page, 'expression')
}

const checkAndTry = async (page: Page) => {
  await person.review(page)
  await page.getByRole('heading', {name: '1,200 ready'}).waitFor()
  await page.getByRole('link', {name: 'Updates 3'}).click()
  const rows = page.locator('.review-rows tbody tr')
  await rows.nth(2).waitFor()
  await rows.nth(3).waitFor({state: 'detached'})
  const city = rows.first().locator('.plan-changes div').filter({hasText: 'Mailing City'})
  assert.deepEqual([await city.locator('del').innerText(), await city.locator('ins').innerText()], ['Madrid', people[0]!.city])
  await settled(page)
  await picture(page, 'try', {height: 940})
  assert.equal(here.world.crm.count('example', 'Contacts'), 3, 'a dry run writes nothing')
}

/** Makes the CRM answer calls one after another, and the last ones only after the test has looked at the active run. */
const runSlowly = async (page: Page) => {
  const {crm} = here.world
  await page.getByText('by Email: update it').waitFor()
  const match = {method: 'POST', module: 'Contacts'}
  for (let calls = 1; calls <= 8; calls++) crm.faults.add({match, action: {type: 'slow', ms: 700 * calls}})
  crm.faults.add({match, times: 1000, action: {type: 'hold'}})
  const promised = await person.writeRows(page)
  const live = page.getByRole('region', {name: 'Run in progress'})
  await live.getByText(/^80\d of 1,200 rows · 6[67]% · [\d.]+ rows\/s · about \d+ s left$/).waitFor()
  await live.locator('.chart-frame canvas').waitFor()
  await live.getByRole('row', {name: /^Created/}).waitFor()
  await picture(page, 'run', {height: 600})
  crm.faults.clear()
  crm.release()
  await person.runEnded(page, /^Imported$/)
  await person.assertAccount(page, '1,197 created + 3 updated = 1,200 rows')
  assert.equal(promised, crm.records('example', 'Contacts').length, 'the button named the rows that the run wrote')
}

const lookAtResults = async (page: Page) => {
  await page.getByRole('link', {name: 'View rows'}).click()
  await person.onPage(page, 'Results')
  await page.getByText('Rows 1 to 50: 50 rows shown').waitFor()
  await page.getByLabel('Outcome').selectOption({label: 'Updated (3)'})
  await page.getByText('Rows 1 to 3: 3 rows shown').waitFor()
  await page.getByRole('button', {name: 'Row 2, show details'}).click()
  await page.locator('.row-cells').getByText(people[1]!.email).waitFor()
  await page.getByRole('button', {name: 'Clear filters'}).click()
  await page.getByLabel('From row').fill('1151')
  await page.getByText('Rows 1,151 to 1,200: 50 rows shown').waitFor()
  const results = await person.download(page, /^Download results\.csv/)
  assert.equal(results.length, 1200)
  const ids = new Set(here.world.crm.records('example', 'Contacts').map(({id}) => id))
  assert.deepEqual(new Set(results.map(row => row[recordColumn(row)])), ids, 'each row names its record, and each record has its row')
}

const recordColumn = (row: person.Row) => Object.keys(row).find(name => /record/i.test(name))!

/** Asserts that the CRM holds the values of the file, each row once. */
const assertWritten = () => {
  const held = here.world.crm.records('example', 'Contacts').map(contact => ({
    first: contact.First_Name,
    last: contact.Last_Name,
    company: contact.Account_Name?.name,
    email: contact.Email,
    title: contact.Title,
    phone: contact.Phone,
    birthday: contact.Date_of_Birth,
    city: contact.Mailing_City,
    country: contact.Mailing_Country,
  }))
  const byEmail = (list: {email: string}[]) => list.toSorted((a, b) => (a.email < b.email ? -1 : 1))
  assert.deepEqual(byEmail(held), byEmail(people.map(asTheCrmHasIt)))
}

const asTheCrmHasIt = ({birthday, country, ...rest}: Person) => {
  const [day, month, year] = birthday.split('/')
  return {...rest, birthday: `${year}-${month}-${day}`, country: countries[country]}
}
