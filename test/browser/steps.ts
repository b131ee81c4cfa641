import assert from 'node:assert/strict'
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {parse} from 'csv-parse/sync'
import type {Locator, Page} from 'playwright-core'
import {allow, settled, type Visitor} from './stage.ts'

/** Steps of a person through an import, found by the words on the page. */

/** Grants access in the window that `press` opens. */
export const allowInPopUp = async ({context}: Visitor, press: () => Promise<void>, user?: string): Promise<void> => {
  const waiting = context.waitForEvent('page')
  await press()
  await allow(await waiting, user)
}

/** A file that a person chooses or drops. */
export type ChooseFileInput = {name: string; mimeType: string; buffer: Buffer}
export const csvFile = (name: string, text: string): ChooseFileInput => ({name, mimeType: 'text/csv', buffer: Buffer.from(text)})

/** Creates an import from the list of imports, and ends on its files page. */
export const makeImport = async (page: Page, name: string): Promise<void> => {
  await page.goto(`${new URL(page.url()).origin}/#/imports/new`)
  await page.getByLabel('Name').fill(name)
  await page.getByRole('button', {name: 'Create import'}).click()
  await page.getByRole('heading', {level: 1, name: 'Files'}).waitFor()
}

/** Drops a file with the events that a browser sends, and waits until it was read. */
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

/** Chooses a file in the file dialog, and waits until it was read. */
export const chooseFile = async (page: Page, file: ChooseFileInput): Promise<void> => {
  await chooseIn(page, page.getByRole('button', {name: 'Choose files'}), file)
  await sourceCard(page, file.name).waitFor()
}

export const chooseIn = async (page: Page, button: Locator, file: ChooseFileInput): Promise<void> => {
  const waiting = page.waitForEvent('filechooser')
  await button.click()
  await (await waiting).setFiles(file)
}

export const sourceCard = (page: Page, name: string): Locator => page.getByRole('region', {name, exact: true})

/** Follows the link to the next step of the import, and waits for its page. */
export const goOn = async (page: Page, step: 'Columns' | 'Mapping' | 'Check' | 'Dry run' | 'Run'): Promise<void> => {
  await page
    .locator('main')
    .getByRole('link', {name: new RegExp(`^Continue to ${step}`, 'i')})
    .first()
    .click()
  await onPage(page, step)
}

/** Opens a step by the navigation at the top. */
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

/** Chooses the target module, and ends on the proposals. */
export const proposeInto = async (page: Page, module: string): Promise<void> => {
  await page.getByLabel('Module', {exact: true}).selectOption(module)
  await page.getByRole('button', {name: 'Add flow'}).click()
  await page.getByRole('button', {name: /^Accept \d/}).waitFor()
}

export const acceptSure = (page: Page): Promise<void> => page.getByRole('button', {name: /^Accept \d/}).click()

/** Opens the settings of one field if they are closed. */
export const openField = async (page: Page, label: string): Promise<Locator> => {
  const mapping = fieldOf(page, label)
  if (!(await mapping.evaluate(details => (details as unknown as {open: boolean}).open))) await mapping.locator('summary').first().click()
  return mapping
}
export const fieldOf = (page: Page, label: string): Locator =>
  page.locator('details.mapping').filter({has: page.locator('.mapping-field', {hasText: new RegExp(`^${label}: `)})})

export const saveMapping = async (page: Page): Promise<void> => {
  await page.getByRole('button', {name: 'Save mapping'}).click()
  await page.locator('.save-bar').getByText('Saved', {exact: true}).waitFor()
}

export const checkRows = async (page: Page): Promise<void> => {
  await page.getByRole('button', {name: /^(Check all rows|Check again)$/}).click()
  await page
    .getByRole('status')
    .filter({hasText: / in [\d,]+ rows?, /})
    .waitFor()
}

export const tryRows = async (page: Page): Promise<void> => {
  await page.getByRole('button', {name: /^Start dry run of [\d,]+ rows?$/}).click()
  await page.getByRole('heading', {name: 'Plan', exact: true}).waitFor()
}

/** Starts a run and confirms it. Returns the number of rows on the button. */
export const writeRows = async (page: Page): Promise<number> => {
  const button = page.getByRole('button', {name: /^Import (up to )?[\d,]+ rows?$/})
  const promised = Number((await button.innerText()).replaceAll(/\D/g, ''))
  await button.click()
  await page
    .getByRole('dialog')
    .getByRole('button', {name: /^Import (up to )?[\d,]+ rows?$/})
    .click()
  return promised
}

export const retryRows = async (page: Page): Promise<void> => {
  await page.getByRole('button', {name: /^Retry [\d,]+ rows?$/}).click()
  await page
    .getByRole('dialog')
    .getByRole('button', {name: /^Write up to [\d,]+ rows?$/})
    .click()
}

/** Waits for the summary of an ended run. */
export const runEnded = async (page: Page, title: RegExp): Promise<void> => {
  await page.getByRole('heading', {level: 2, name: title}).waitFor()
}

/**
 * Asserts the sentence that adds up all rows, such as "3 created + 1 refused = 4 rows". It waits, because the page may still show the
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
