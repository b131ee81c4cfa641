import assert from 'node:assert/strict'
import {after, test} from 'node:test'
import {databaseUrlOf, readConfig} from '../../shared/config.ts'
import {type Org, ok, openOrg} from '../support/importing.ts'
import {makeSchedule, makeTemplate, seldom, startFileHost} from '../support/schedules.ts'
import {assertAccessible, assertFits, enter, picture, settled, stage} from './stage.ts'

const host = await startFileHost()
after(() => host.stop())
const made = {session: '', path: '', call: undefined as unknown as Org['call'], org: undefined as unknown as Org}
const here = stage(
  'browser schedules',
  async world => {
    const org = await openOrg(world)
    Object.assign(made, {session: org.session, call: org.call, org, path: await makeTemplate(org)})
  },
  {environment: {PRIVATE_HOSTS: `${host.place},${new URL(databaseUrlOf(readConfig())).host}`}},
)

test('a weekly schedule is made with pickers, and its file is fetched as a test before it is turned on', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, made.session)
  const template = `#/templates/${made.path.split('/').at(-1)}`
  await page.goto(`${here.world.url}/${template}/schedules/new?repeat=weekly`)
  await page.getByLabel('Name').fill('Companies of the week')
  for (const day of await page.getByRole('group', {name: 'On'}).getByRole('checkbox', {checked: true}).all()) await day.uncheck()
  for (const day of ['Monday', 'Friday']) await page.getByLabel(day).check()
  await page.getByLabel('Time', {exact: true}).fill('06:30')
  await page.getByLabel('Time zone').selectOption('Europe/Berlin')
  await page.getByLabel('URL').fill('http://files.example/companies.csv')
  await page.getByRole('button', {name: 'Create turned off, and test'}).click()
  await page.getByText('Only https is allowed').waitFor()
  await page.getByLabel('URL').fill(host.source.url)
  await picture(page, 'schedule-new', {height: 1400})
  host.serve('name,number,city\nHarbour Foods,AC-1,Bilbao\nPetit Atelier,AC-2,Lyon\n')
  await page.getByRole('button', {name: 'Create turned off, and test'}).click()
  await page.getByText('The columns are those of the template.').waitFor()
  await page.getByRole('cell', {name: 'Petit Atelier'}).waitFor()
  await page.getByText('orders.csv · 67 B · 2 rows · 3 columns').waitFor()
  const {schedules} = await ok(made.call('GET', `${made.path}/schedules`), 200)
  const shape = ({cron, timezone, enabled}: any) => ({cron, timezone, enabled})
  assert.deepEqual(schedules.map(shape), [{cron: '30 6 * * 1,5', timezone: 'Europe/Berlin', enabled: false}])
  await page.getByRole('button', {name: 'Turn on'}).click()
  await page.getByText('Mon, Fri at 06:30. Next:').waitFor()

  host.fail(404)
  await page.getByRole('button', {name: 'Fetch a test file now'}).click()
  await page.getByText('Check the address or path.').waitFor()
  host.serve('name,number\nHarbour Foods,AC-1\n')
  await page.getByRole('button', {name: 'Fetch a test file now'}).click()
  await page.getByText('This file does not fit the template').waitFor()
  await picture(page, 'schedule', {height: 1900})
  const {template: shown} = await ok(made.call('GET', made.path), 200)
  await page.getByRole('navigation', {name: 'Breadcrumbs'}).getByRole('link', {name: shown.name}).click()
  await page
    .locator('details summary')
    .filter({hasText: /fields?$/})
    .first()
    .click()
  await page.getByText('Account Name ← name').waitFor()
  assert.deepEqual(visitor.complaints, [])
})

test('daily and monthly schedules are made with pickers', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, made.session)
  const address = `${here.world.url}/#/templates/${made.path.split('/').at(-1)}/schedules/new`
  const create = async (name: string, repeat: string, choose = async () => {}) => {
    await page.goto(address)
    await page.reload()
    await page.getByLabel('Name').fill(name)
    await page.getByLabel('Repeat').selectOption({label: repeat})
    await choose()
    await page.getByLabel('Time', {exact: true}).fill('23:45')
    await page.getByLabel('Time zone').selectOption('Europe/Berlin')
    await page.getByLabel('URL').fill(host.source.url)
    await page.getByRole('button', {name: 'Create turned off, and test'}).click()
    await page.getByRole('heading', {level: 1, name}).waitFor()
  }
  await create('Every night', 'Every day')
  await create('Month end', 'Every month', async () => {
    await page.getByLabel('Day of the month').selectOption({label: 'Last day of the month'})
  })
  const {schedules} = await ok(made.call('GET', `${made.path}/schedules`), 200)
  const cronOf = (name: string) => schedules.find((one: any) => one.name === name).cron
  assert.deepEqual(['Every night', 'Month end'].map(cronOf), ['45 23 * * *', '45 23 L * *'])
  assert.deepEqual(visitor.complaints, [])
})

test('a schedule is made from a database query, and a mistake in the query is explained and corrected', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, made.session)
  await page.goto(`${here.world.url}/#/templates/${made.path.split('/').at(-1)}/schedules/new?repeat=weekly`)
  await page.getByLabel('Name').fill('Companies of the shop')
  await page.getByLabel('Type').selectOption('PostgreSQL query')
  const {hostname, port, username, password, pathname} = new URL(databaseUrlOf(here.world.config))
  assert.equal(await page.getByLabel('Port').inputValue(), '5432')
  const typed = {
    Host: hostname,
    Port: port,
    Database: pathname.slice(1),
    User: username,
    Password: password,
    Query: 'select name from nowhere',
  }
  for (const [label, value] of Object.entries(typed)) await page.getByLabel(label, {exact: true}).fill(value)
  await page.getByLabel('Encryption').selectOption('None (only in a private network)')
  await page.getByRole('button', {name: 'Create turned off, and test'}).click()
  await page.getByText('relation "nowhere" does not exist').waitFor()
  await page.getByText('Correct the query below').waitFor()
  assert.equal(await page.getByLabel('Password', {exact: true}).inputValue(), '')
  await page.getByLabel('Query', {exact: true}).fill(`select 'Query Foods' as name, 'AC-7' as number, 'Bilbao' as city`)
  await picture(page, 'schedule-query', {height: 1900})
  await page.getByRole('button', {name: 'Save'}).click()
  await page.getByText('Schedule saved').waitFor()
  await page.getByRole('button', {name: 'Fetch a test file now'}).click()
  await page.getByRole('cell', {name: 'Query Foods'}).waitFor()
  assert.deepEqual(visitor.complaints, [])
})

test('a schedule with unsaved settings is not turned on or off, a password needs its user, and a stored query can be removed', async () => {
  const {path, template} = await makeSchedule(made.org, host, {
    source: {kind: 'https', url: `${host.source.url}?signature=old`, basic: {user: 'ana', password: 'old'}},
  })
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, made.session)
  await page.goto(`${here.world.url}/#/templates/${template.split('/').at(-1)}/schedules/${path.split('/').at(-1)}`)
  await page.getByLabel('Name').fill('Renamed')
  await page.getByText('The settings have unsaved changes.').waitFor()
  for (const name of ['Turn off', 'Run now']) assert.ok(await page.getByRole('button', {name}).isDisabled(), name)
  await page.getByLabel('Password').fill('new')
  await page.getByRole('button', {name: 'Save'}).click()
  assert.ok(await page.getByLabel('User', {exact: true}).evaluate(input => (input as any).matches(':invalid')), 'the user is required too')
  await page.getByLabel('User', {exact: true}).fill('ana')
  await page.getByLabel('Keep the stored part of the URL after “?”').uncheck()
  await page.getByRole('button', {name: 'Save'}).click()
  await page.getByText('Schedule saved').waitFor()
  await page.getByRole('button', {name: 'Turn off'}).click()
  await page.getByText('Schedule turned off').waitFor()
  assert.equal(await page.getByLabel('Name').inputValue(), 'Renamed')
  host.serve('name,number,city\nHarbour Foods,AC-1,Bilbao\n')
  await page.getByRole('button', {name: 'Fetch a test file now'}).click()
  await page.getByRole('cell', {name: 'Harbour Foods'}).waitFor()
  const authorization = `Basic ${Buffer.from('ana:new').toString('base64')}`
  assert.deepEqual(host.requests.at(-1), {path: '/orders.csv', authorization})
  assert.deepEqual(visitor.complaints, [])
})

test('unsaved settings of a schedule stay after another admin changed the schedule, and the other changes are kept', async () => {
  const {call} = made.org
  const {path, template} = await makeSchedule(made.org, host)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, made.session)
  await page.goto(`${here.world.url}/#/templates/${template.split('/').at(-1)}/schedules/${path.split('/').at(-1)}`)
  await page.getByLabel('Name').fill('Renamed')
  await ok(call('PUT', path, {name: 'Theirs', ...seldom, source: host.source, declaredRows: 7}), 200)
  await page.getByRole('button', {name: 'Save', exact: true}).click()
  await page.getByRole('button', {name: 'Try again'}).click()
  await page.getByRole('heading', {level: 1, name: 'Theirs'}).waitFor()
  await page.getByRole('button', {name: 'Save', exact: true}).click()
  await page.getByText('Schedule saved').waitFor()
  const {schedule} = await ok(call('GET', path), 200)
  assert.deepEqual([schedule.name, schedule.declaredRows], ['Renamed', 7])
  assert.deepEqual(visitor.complaints, [])
})

test('a schedule whose connection ended is moved to the only other connection', async () => {
  const {world} = here
  const {org, call, connector} = made.org
  const other = await world.connect(made.session, {user: 'zoe@other.example'})
  const template = await makeTemplate(made.org, {name: 'Anywhere', connectorId: null})
  const body = {name: 'Moved', ...seldom, source: host.source, connectorId: connector}
  const {schedule} = await ok(call('POST', `${template}/schedules`, body), 201)
  await world.hot.query(`update connectors set state = 'ended' where id = $1`, [connector])
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, made.session)
  await page.goto(`${world.url}/#/templates/${schedule.templateId}/schedules/${schedule.id}`)
  const options = page.getByLabel('Connection', {exact: true})
  assert.match(await options.locator('option:checked').innerText(), / \(ended\)$/)
  await options.selectOption(other)
  await page.getByRole('button', {name: 'Save'}).click()
  await page.getByText('Schedule saved').waitFor()
  assert.equal((await ok(call('GET', `${template}/schedules/${schedule.id}`), 200)).schedule.connectorId, other)
  await world.hot.query(`update connectors set state = 'connected' where id = $1 and org_id = $2`, [connector, org])
  assert.deepEqual(visitor.complaints, [])
})

test('a schedule whose template no longer names a connection gets one from its form, and loses it once the template names one again', async () => {
  const {world} = here
  const other = await world.connect(made.session, {user: 'zoe@other.example'})
  const {path, template} = await makeSchedule(made.org, host)
  const {name, description, connectorId, sources, flows} = (await ok(made.call('GET', template), 200)).template
  const document = {name, description, sources, flows}
  await ok(made.call('PUT', template, document), 200)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, made.session)
  await page.goto(`${world.url}/#/templates/${template.split('/').at(-1)}/schedules/${path.split('/').at(-1)}`)
  await page.getByLabel('Name').fill('Renamed')
  await page.getByRole('button', {name: 'Save'}).click()
  const select = page.getByLabel('Connection', {exact: true})
  assert.ok(await select.evaluate(input => (input as any).matches(':invalid')), 'a connection is required')
  await select.selectOption(other)
  await page.getByRole('button', {name: 'Save'}).click()
  await page.getByText('Schedule saved').waitFor()
  const readConnector = async () => (await ok(made.call('GET', path), 200)).schedule.connectorId
  assert.equal(await readConnector(), other)
  await ok(made.call('PUT', template, {...document, connectorId}), 200)
  await page.reload()
  await page.getByLabel('Name').fill('Renamed again')
  await page.getByRole('button', {name: 'Save'}).click()
  await page.getByText('Schedule saved').waitFor()
  assert.equal(await readConnector(), null)
  assert.deepEqual(visitor.complaints, [])
})

test('the passphrase of an SFTP key is typed in the form', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, made.session)
  await page.goto(`${here.world.url}/#/templates/${made.path.split('/').at(-1)}/schedules/new`)
  await page.getByLabel('Type').selectOption('SFTP server')
  const typed = {
    Name: 'With a key',
    Host: 'sftp.example.com',
    Path: '/leads.csv',
    'Host key fingerprint': `SHA256:${'A'.repeat(43)}`,
    User: 'ana',
    'Private key': 'key',
    Passphrase: 'open',
  }
  for (const [label, value] of Object.entries(typed)) await page.getByLabel(label, {exact: true}).fill(value)
  await page.getByRole('button', {name: 'Create turned off, and test'}).click()
  await page.getByRole('heading', {level: 1, name: 'With a key'}).waitFor()
  const {schedules} = await ok(made.call('GET', `${made.path}/schedules`), 200)
  assert.deepEqual(schedules.find((one: any) => one.name === 'With a key').source.credentials, ['privateKey', 'passphrase'])
  assert.deepEqual(visitor.complaints, [])
})

test('a page that was left no longer asks for the state of its job', async () => {
  const {path, template} = await makeSchedule(made.org, host)
  const visitor = await here.open()
  const {page, asked} = visitor
  await enter(visitor, made.session)
  await page.clock.install()
  await page.goto(`${here.world.url}/#/templates/${template.split('/').at(-1)}/schedules/${path.split('/').at(-1)}`)
  const held: {end(text: string): unknown}[] = []
  host.answer(response => held.push(response))
  const isJob = (url: string) => url.includes('/jobs/')
  const polled = page.waitForRequest(request => isJob(request.url()))
  await page.getByRole('button', {name: 'Fetch a test file now'}).click()
  await polled
  await page.getByRole('navigation', {name: 'Sections'}).getByRole('link', {name: 'Templates'}).click()
  await page.getByRole('heading', {level: 1, name: 'Templates'}).waitFor()
  const before = asked.filter(isJob).length
  await page.clock.runFor(10_000)
  await page.evaluate(() => fetch('/health').then(answer => answer.text()))
  assert.equal(asked.filter(isJob).length, before)
  host.serve('name,number,city\n')
  for (const response of held) response.end('name,number,city\n')
  assert.deepEqual(visitor.complaints, [])
})

for (const [look, options] of Object.entries({
  light: {},
  dark: {colorScheme: 'dark' as const},
  phone: {viewport: {width: 360, height: 740}},
}))
  test(`the pages of a schedule are usable in the look "${look}"`, async () => {
    const visitor = await here.open(options)
    const {page} = visitor
    await enter(visitor, made.session)
    const {schedules} = await ok(made.call('GET', `${made.path}/schedules`), 200)
    const of = `${here.world.url}/#/templates/${made.path.split('/').at(-1)}`
    for (const address of [of, `${of}/schedules/${schedules[0].id}`, `${of}/schedules/new?repeat=weekly`]) {
      await page.goto(address)
      await page.locator('main form, main table').first().waitFor()
      await settled(page)
      await assertAccessible(page, `${address}, ${look}`)
      await assertFits(page, `${address}, ${look}`)
    }
    await picture(page, `schedule-new-${look}`, {height: 1300})
    assert.deepEqual(visitor.complaints, [])
  })
