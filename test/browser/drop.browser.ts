import assert from 'node:assert/strict'
import {test} from 'node:test'
import {openOrg} from '../support/importing.ts'
import {enter, stage} from './stage.ts'
import * as person from './steps.ts'

const here = stage('browser drop')

test('a file dropped anywhere on the list of imports becomes an import of its name', async () => {
  const {session} = await openOrg(here.world)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, session)
  await page.getByText('Drop a spreadsheet anywhere on this page').waitFor()
  await person.dropFile(page, page.locator('header.top'), 'Leads Lisbon fair.csv', 'Last Name,Email\nBrandt,jule@nordlicht.example\n')
  await person.onPage(page, 'Match')
  await page.getByRole('link', {name: 'Leads Lisbon fair', exact: true}).waitFor()
  await person.sourceCard(page, 'Leads Lisbon fair.csv').getByText('1 row, 2 columns').waitFor()
  assert.deepEqual(visitor.complaints, [])
})

test('a file dropped while the connections are still loading becomes an import too', async () => {
  const {session} = await openOrg(here.world, 'zoe@other.example')
  const visitor = await here.open()
  const {page} = visitor
  const answer = Promise.withResolvers<void>()
  await page.route('**/connectors', async route => {
    await answer.promise
    await route.continue()
  })
  await enter(visitor, session)
  const dropped = person.dropFile(page, page.locator('header.top'), 'Early leads.csv', 'Last Name\nBrandt\n')
  await page.getByText('Loading your connections …').waitFor()
  answer.resolve()
  await dropped
  await page.getByRole('link', {name: 'Early leads', exact: true}).waitFor()
  assert.deepEqual(visitor.complaints, [])
})

test('a file dropped while another import is created becomes the next import', async () => {
  const {session} = await openOrg(here.world, 'zoe@other.example')
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, session)
  await page.getByText('Drop a spreadsheet anywhere on this page').waitFor()
  const held = Promise.withResolvers<void>()
  await page.route(
    '**/imports',
    async route => {
      await held.promise
      await route.continue()
    },
    {times: 1},
  )
  const drop = (name: string) => person.dropFile(page, page.locator('header.top'), name, 'Last Name\nBrandt\n')
  const first = drop('First leads.csv')
  await page.getByText('Creating the import …').waitFor()
  const arrived = page.evaluate(() => new Promise<void>(done => (globalThis as any).addEventListener('drop', () => done(), {once: true})))
  const second = drop('Second leads.csv')
  await arrived
  held.resolve()
  await first
  await page.goto(`${here.world.url}/#/imports`)
  await page.getByRole('link', {name: 'Second leads', exact: true}).click()
  await second
  assert.deepEqual(visitor.complaints, [])
})

test('sample data becomes an import of leads, whose three errors are shown in the review', async () => {
  const {session} = await openOrg(here.world)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, session)
  await page.getByRole('button', {name: 'Try sample data'}).click()
  await page.getByRole('link', {name: 'Sample leads', exact: true}).waitFor()
  await page.getByText('7 of 7 columns matched').waitFor()
  await person.chooseExisting(page, 'Always add')
  await person.review(page)
  await page.getByRole('heading', {name: '17 ready · 3 need attention'}).waitFor()
  await page.getByRole('link', {name: 'Fix first'}).click()
  const errors = page.locator('.review-rows tbody tr')
  await errors.first().waitFor()
  assert.deepEqual(await errors.locator('th').allInnerTexts(), ['5', '9', '14'])
  assert.deepEqual(visitor.complaints, [])
})

test('a file dropped beside the drop zone does not leave the page', async () => {
  const {session} = await openOrg(here.world, 'zoe@other.example')
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, session)
  await person.makeImport(page, 'Orders')
  const address = page.url()
  const {width, height} = page.viewportSize()!
  const devtools = await page.context().newCDPSession(page)
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await devtools.send('Input.dispatchDragEvent', {
      type,
      x: width - 5,
      y: height - 5,
      data: {items: [{mimeType: 'text/plain', data: 'x'}], files: [], dragOperationsMask: 1},
    })
  await page.getByRole('heading', {level: 1, name: 'Match'}).waitFor()
  assert.equal(page.url(), address)
  assert.deepEqual(visitor.complaints, [])
})

test('a refused file can be replaced by another one', async () => {
  const {session} = await openOrg(here.world)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, session)
  await person.makeImport(page, 'Replaced')
  await person.chooseIn(page, page.getByRole('button', {name: 'Choose files'}), person.csvFile('empty.csv', ''))
  const refused = page.getByRole('region', {name: 'Uploading empty.csv'})
  await person.chooseIn(page, refused.getByRole('button', {name: 'Choose another file'}), person.csvFile('good.csv', 'Last Name\nBrandt\n'))
  await person.sourceCard(page, 'good.csv').waitFor()
  await refused.waitFor({state: 'detached'})
  assert.deepEqual(visitor.complaints, [])
})
