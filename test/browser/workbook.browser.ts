import assert from 'node:assert/strict'
import {test} from 'node:test'
import type {Page} from 'playwright-core'
import {openOrg} from '../support/importing.ts'
import {writeWorkbook} from '../support/workbook.ts'
import {enter, stage} from './stage.ts'
import * as person from './steps.ts'

const here = stage('browser workbook')

const book = async (name: string, companies: string[][], people: string[][]): Promise<person.ChooseFileInput> => ({
  name,
  mimeType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  buffer: await writeWorkbook({
    sheets: [
      {name: 'Companies', rows: [['Account Name', 'Account Number', 'Billing City'], ...companies]},
      {name: 'People', rows: [['First Name', 'Last Name', 'Email', 'Company no.'], ...people]},
    ],
  }),
})

test('a workbook of two sheets is imported into two modules, and its template imports the next workbook', async () => {
  const {session} = await openOrg(here.world)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, session)
  await person.makeImport(page, 'Companies and their people')
  await sendBook(page, await book('march.xlsx', march.companies, march.people))
  await mapCompanies(page)
  await mapPeople(page)
  await saveTemplate(page)
  await person.stepTo(page, 'Review')
  await person.reviewed(page)
  await person.writeRows(page)
  await person.runEnded(page, /^Imported$/)
  await person.assertAccount(page, '5 created = 5 rows')
  await assertOwnCells(page)
  await importWithTemplate(page, await book('april.xlsx', april.companies, april.people))
  assertWritten()
  assert.deepEqual(visitor.complaints, [])
})

/** The rows of another file do not show the cells of the first one, even if their own cannot be read. */
const assertOwnCells = async (page: Page) => {
  await person.stepTo(page, 'Results')
  const table = page.locator('.rows-table')
  const faces = table.getByText(/^m\.arana@/)
  await faces.waitFor()
  await page.route(/\/rows\/cells/, route => route.abort())
  const failed = page.waitForEvent('requestfailed', request => request.url().includes('/rows/cells'))
  await page.getByLabel('File', {exact: true}).selectOption({label: 'march.xlsx'})
  await failed
  await page.getByText('Rows 1 to 2: 2 rows shown').waitFor()
  assert.equal(await faces.count(), 0)
  await page.unroute(/\/rows\/cells/)
}

const march = {
  companies: [
    ['Harbour Foods', 'ACC-1', 'Bilbao'],
    ['Petit Atelier', 'ACC-2', 'Lyon'],
  ],
  people: [
    ['Mikel', 'Arana', 'm.arana@harbour.example', 'ACC-1'],
    ['Chloé', 'Mercier', 'c.mercier@petit.example', 'ACC-2'],
    ['Inés', 'Ruiz', 'i.ruiz@harbour.example', 'ACC-1'],
  ],
}
const april = {
  companies: [
    ['Harbour Foods', 'ACC-1', 'Vigo'],
    ['Ponte Logistica', 'ACC-3', 'Genoa'],
  ],
  people: [['Sofia', 'Marchetti', 's.marchetti@ponte.example', 'ACC-3']],
}

const sendBook = async (page: Page, file: person.ChooseFileInput) => {
  await person.chooseFile(page, file)
  await addSheet(page, /^People 3 rows, not imported$/)
  await person.sourceCard(page, `${file.name}: People`).waitFor()
}

/** Opens the tab of a sheet that is not imported yet, and adds the sheet. */
const addSheet = async (page: Page, name: RegExp) => {
  await page.getByRole('navigation', {name: 'Files and sheets'}).getByRole('link', {name}).click()
  await page.getByRole('button', {name: 'Import this sheet too'}).click()
}

const mapCompanies = async (page: Page) => {
  await page
    .getByRole('navigation', {name: 'Files and sheets'})
    .getByRole('link', {name: /^march\.xlsx 2 rows/})
    .click()
  await person.matchInto(page, 'Accounts')
  await person.chooseExisting(page, 'Update existing, add new')
  await page.getByLabel('Matched by').selectOption('Account_Number')
}

/** Maps people, and links each of them to the company with their company number. */
const mapPeople = async (page: Page) => {
  await page
    .getByRole('navigation', {name: 'Files and sheets'})
    .getByRole('link', {name: /^march\.xlsx: People 3 rows/})
    .click()
  await person.matchInto(page, 'Contacts')
  await page.getByLabel('Link rows').selectOption({label: 'to accounts, by Account Name'})
  await page.getByLabel('Column of the parent’s file').selectOption('Account Number')
  await page.getByLabel('Column of this file').selectOption('Company no.')
  await person.chooseExisting(page, 'Update existing, add new')
  await person.review(page)
  await person.stepTo(page, 'Match')
}

const saveTemplate = async (page: Page) => {
  await page.getByRole('button', {name: 'Save as template'}).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Companies of a month')
  await dialog.getByRole('button', {name: 'Save template'}).click()
  await dialog.getByText('Only you and admins can see Companies of a month until you share it').waitFor()
  await dialog.getByRole('button', {name: 'Close'}).click()
  await dialog.waitFor({state: 'detached'})
}

const importWithTemplate = async (page: Page, file: person.ChooseFileInput) => {
  await page.getByRole('navigation', {name: 'Sections'}).getByRole('link', {name: 'Templates'}).click()
  await page.getByRole('link', {name: 'Import with Companies of a month'}).click()
  await page.getByRole('button', {name: 'Create import'}).click()
  await person.onPage(page, 'Match')
  const slots = page.getByRole('region', {name: 'Files for the template'})
  await person.chooseIn(page, slots.getByRole('button', {name: 'Upload file'}).first(), file)
  await addSheet(page, /^People/)
  await slots.getByLabel('File for File 2').selectOption({label: `${file.name}: People`})
  await slots.getByText('file needed').first().waitFor({state: 'detached'})
  await person.stepTo(page, 'Review')
  await person.reviewed(page)
  await person.writeRows(page)
  await person.runEnded(page, /^Imported$/)
  await person.assertAccount(page, '2 created + 1 updated = 3 rows')
}

const assertWritten = () => {
  const {crm} = here.world
  const accounts = crm
    .records('example', 'Accounts')
    .map(({Account_Number, Account_Name, Billing_City}) => [Account_Name, Account_Number, Billing_City])
  assert.deepEqual(accounts.toSorted(), [april.companies[0]!, march.companies[1]!, april.companies[1]!].toSorted())
  const companyOf: Record<string, string> = Object.fromEntries(
    [...march.companies, ...april.companies].map(([name, number]) => [number, name]),
  )
  const contacts = crm
    .records('example', 'Contacts')
    .map(contact => [contact.First_Name, contact.Last_Name, contact.Email, contact.Account_Name?.name])
  const wanted = [...march.people, ...april.people].map(([first, last, email, number]) => [first, last, email, companyOf[number!]])
  assert.deepEqual(contacts.toSorted(), wanted.toSorted())
}
