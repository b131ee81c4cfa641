import assert from 'node:assert/strict'
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {parse} from 'csv-parse/sync'
import type {Locator, Page} from 'playwright-core'
import {allow, settled, type Visitor} from './stage.ts'

/** The steps of a person through an import. They find elements by the words on the page. */

/** Grants access in the pop-up that `press` opens. */
export const allowInPopUp = async ({context}: Visitor, press: () => Promise<void>, user?: string): Promise<void> => {
  const waiting = context.waitForEvent('page')
  await press()
  await allow(await waiting, user)
}

/** A file that a person chooses or drops. */
export type ChooseFileInput = {name: string; mimeType: string; buffer: Buffer}
export const csvFile = (name: string, text: string): ChooseFileInput => ({name, mimeType: 'text/csv', buffer: Buffer.from(text)})

/** Creates an import from the list of imports, and ends on its match page. */
export const makeImport = async (page: Page, name: string): Promise<void> => {
  await page.goto(`${new URL(page.url()).origin}/#/imports/new`)
  await page.getByLabel('Name').fill(name)
  await page.getByRole('button', {name: 'Create import'}).click()
  await page.getByRole('heading', {level: 1, name: 'Match'}).waitFor()
}

/** Drops a file with the events that a browser sends. Waits until the file was read. */
export const dropFile = async (page: Page, onto: Locator, name: string, text: string): Promise<void> => {
  const directory = await mkdtemp(join(tmpdir(), 'lading-drop-'))
  await writeFile(join(directory, name), text)
  const {x, y, width, height} = (await onto.boundingBox())!
  const session = await page.context().newCDPSession(page)
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
    const data = {items: [], files: [join(directory, name)], dragOperationsMask: 1}
    await session.send('Input.dispatchDragEvent', {type, x: x + width / 2, y: y + height / 2, data})
  }
  await session.detach()
  await sourceCard(page, name).waitFor()
  await rm(directory, {recursive: true})
}

/** Chooses a file in the file dialog. Waits until the file was read. */
export const chooseFile = async (page: Page, file: ChooseFileInput): Promise<void> => {
  await chooseIn(page, page.getByRole('button', {name: /^(Choose files|Add another file)$/}), file)
  await sourceCard(page, file.name).waitFor()
}

export const chooseIn = async (page: Page, button: Locator, file: ChooseFileInput): Promise<void> => {
  const waiting = page.waitForEvent('filechooser')
  await button.click()
  await (await waiting).setFiles(file)
}

export const sourceCard = (page: Page, name: string): Locator => page.getByRole('region', {name, exact: true})

/** Opens a step by the navigation of the import. */
export const stepTo = async (page: Page, step: string): Promise<void> => {
  await page
    .getByRole('navigation', {name: 'Steps of this import'})
    .getByRole('link', {name: new RegExp(`^${step}`)})
    .click()
  await onPage(page, step)
}

export const onPage = async (page: Page, title: string): Promise<void> => {
  await page.getByRole('heading', {level: 1, name: title}).waitFor()
  await settled(page)
}

/** Chooses the target module. Waits until its columns are matched. */
export const matchInto = async (page: Page, module: string): Promise<void> => {
  const into = page.getByLabel('Import into', {exact: true})
  await into.waitFor()
  if ((await into.inputValue()) !== module) await into.selectOption(module)
  const add = page.getByRole('button', {name: 'Add destination', exact: true})
  if (await add.isVisible()) await add.click()
  await page.getByRole('button', {name: 'Suggest again'}).waitFor()
  await settled(page)
}

export const mapColumn = async (page: Page, column: string, field: string): Promise<void> => {
  await page.getByLabel(`Field for ${column}`, {exact: true}).selectOption(field)
}

/** Opens the options of a mapped field. */
export const openOptions = async (page: Page, label: string): Promise<Locator> => {
  const options = page.getByRole('group', {name: `Options of ${label}`})
  if (!(await options.isVisible())) await page.getByRole('button', {name: `Options of ${label}`}).click()
  await options.waitFor()
  return options
}

type ExistingChoice = 'Update existing, add new' | 'Add new only' | 'Always add'

export const chooseExisting = (page: Page, choice: ExistingChoice): Promise<void> =>
  page.getByRole('radio', {name: new RegExp(`^${choice}`)}).check()

/** Saves the mapping. Waits until the review has counted every row. */
export const review = async (page: Page): Promise<void> => {
  await page.getByRole('button', {name: 'Review', exact: true}).click()
  await onPage(page, 'Review')
  await reviewed(page)
}

/** Waits until the review has counted every row. */
export const reviewed = async (page: Page): Promise<void> => {
  await page
    .locator('#review-sum')
    .filter({hasText: /^\s*[\d,]+ ready/})
    .waitFor()
}

/** Starts a run from the review. Returns the number of rows on its button, or null if the button shows none. */
export const writeRows = async (page: Page): Promise<number | null> => {
  const button = page.getByRole('button', {name: /^(Import (up to )?[\d,]+ rows?|Start run)$/})
  const digits = (await button.innerText()).replaceAll(/\D/g, '')
  await button.click()
  return digits === '' ? null : Number(digits)
}

export const retryRows = async (page: Page): Promise<void> => {
  await page.getByRole('button', {name: /^Retry [\d,]+ rows?$/}).click()
  await page
    .getByRole('dialog')
    .getByRole('button', {name: /^Write up to [\d,]+ rows?$/})
    .click()
}

/** Waits for the next request of the page that starts a run. Returns its body. */
export const runRequested = async (page: Page): Promise<unknown> =>
  (await page.waitForRequest(request => request.method() === 'POST' && request.url().endsWith('/runs'))).postDataJSON()

/** Waits for the summary of an ended run. */
export const runEnded = async (page: Page, title: RegExp): Promise<void> => {
  await page.getByRole('heading', {level: 2, name: title}).waitFor()
}

/**
 * Asserts the sentence that adds up all rows, such as "3 created + 1 refused = 4 rows". Waits for it, because the page may still show the
 * sentence of an earlier run.
 */
export const assertAccount = async (page: Page, wanted: string): Promise<void> => {
  const sentence = page.locator('.every-row')
  await sentence
    .filter({hasText: `${wanted}. Every row is accounted for.`})
    .waitFor()
    .catch(async () => assert.equal(await sentence.innerText(), wanted))
}

export type Row = Record<string, string>

/** Downloads a file and parses it. */
export const download = async (page: Page, name: RegExp): Promise<Row[]> => {
  const waiting = page.waitForEvent('download')
  await page.getByRole('button', {name}).click()
  const text = await readFile(await (await waiting).path(), 'utf8')
  return parse(text, {bom: true, columns: true})
}
