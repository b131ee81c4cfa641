import {mkdir, rm, writeFile} from 'node:fs/promises'
import {dirname, join} from 'node:path'
import {buffer} from 'node:stream/consumers'
import {gunzipSync} from 'node:zlib'
import test from 'ava'
import {readImages} from '../../shared/runs/undo/before-image.ts'
import {findImageSeal} from '../../shared/runs/undo/image-key.ts'
import {findRun} from '../../sql/runs.ts'
import {accountRows, accounts, ok, prepareImport, runImport, untilEnded, untilRun} from '../support/importing.ts'
import {archived, countAll, keysOf, openRetaining} from '../support/retention.ts'

type Here = Awaited<ReturnType<typeof openRetaining>>

const imagesOf = async ({here, org}: Here, id: string) => {
  const run = (await findRun(here.db, {org: org.org, id}))!
  const seal = await findImageSeal({db: here.db, ring: here.config.SECRETS_KEYS}, run)
  const images = []
  if (seal) for await (const part of readImages(here.tools, {run: run.no, seal})) images.push(...part.images)
  return images
}
const imageKeys = async ({here}: Here) => (await keysOf(here)).filter(key => key.includes('/image-'))
const keyRows = ({here}: Here) => countAll(here, ['image_keys'])
const readsById = ({here}: Here) => here.crm.journal({method: 'GET', path: '/crm/v8/Accounts'}).filter(({query}) => query.ids).length
const setUndo = ({org}: Here, undo: string | null) => ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, {undo}), 200)

test('updates store the replaced values once, sealed; creates store none', async t => {
  const place = await openRetaining(t)
  const {here, org} = place
  const made = await runImport(org, {csv: accountRows(3), flow: accounts})
  t.deepEqual(await imagesOf(place, made.run.id), [])
  // Without this wait, the records would be read by id, because a query may not show recent writes.
  await here.ahead('10 minutes')
  here.crm.clearJournal()
  const csv = 'name,number,city\nSecret Name,A-1,Secret City\nCompany 2,A-2,Bern\n'
  const {run} = await runImport(org, {csv, flow: accounts})
  const images = await imagesOf(place, run.id)
  t.is(images.length, 2)
  const one = images.find(({row}) => row === 1)!
  t.like(one, {flow: 1, module: 1, phase: 'write', before: {Account_Name: 'Company 1', Billing_City: 'Town 0'}})
  t.like(one.sent, {Account_Name: 'Secret Name', Billing_City: 'Secret City'})
  t.is(readsById(place), 0, 'the match query already showed the values')
  const [key, ...others] = await imageKeys(place)
  t.deepEqual(others, [])
  const stored = await buffer(await here.storage.read(key!))
  for (const text of ['Company', 'Secret', 'Town']) t.false(stored.includes(text), text)
  t.throws(() => gunzipSync(stored))
})

test('before images are gone when the time to undo has passed, and the rest of the run stays', async t => {
  const place = await openRetaining(t)
  const {here, org, night} = place
  await here.hot.query(`update plan_versions set limits = limits || '{"undoDays": 7}'`)
  await runImport(org, {csv: accountRows(2), flow: accounts})
  const {path, run} = await runImport(org, {csv: accountRows(1).replaceAll('Town', 'City'), flow: accounts})
  await archived(here)
  t.is((await imageKeys(place)).length, 1)
  await here.ahead('6 days')
  await night()
  t.is((await imageKeys(place)).length, 1)
  await here.ahead('8 days')
  await night()
  t.deepEqual([await imageKeys(place), await keyRows(place)], [[], {}])
  t.is((await ok(org.call('GET', `${path}/runs/${run.id}`), 200)).run.counts.Accounts.updated, 1)
})

test('a run of an org that switched undo off stores no before images', async t => {
  const place = await openRetaining(t)
  const {org} = place
  await runImport(org, {csv: accountRows(2), flow: accounts})
  t.is((await setUndo(place, 'off')).settings.undo, 'off')
  await runImport(org, {csv: accountRows(1).replaceAll('Town', 'City'), flow: accounts})
  t.deepEqual([await imageKeys(place), await keyRows(place)], [[], {image_keys: 1}])
  await setUndo(place, null)
  const {run} = await runImport(org, {csv: accountRows(2), flow: accounts})
  t.is((await imagesOf(place, run.id)).length, 2)
})

test('values that a query cannot show whole are read by id before the update', async t => {
  const place = await openRetaining(t)
  const {here, org} = place
  const long = 'x'.repeat(600)
  here.crm.create('example', 'Accounts', [{Account_Name: 'Acme', Account_Number: 'L-1', Description: long}])
  const fields = [...accounts.fields, {field: 'Description', mode: 'static', staticValue: 'short'}]
  const {run} = await runImport(org, {csv: 'name,number,city\nAcme,L-1,Bern\n', flow: {...accounts, fields}})
  t.is((await imagesOf(place, run.id))[0]!.before.Description, long)
  t.is(readsById(place), 1)
})

test('a run pauses before it replaces values that cannot be stored, and goes on once they can', async t => {
  const {here, org} = await openRetaining(t)
  here.crm.create('example', 'Accounts', [{Account_Name: 'Company 1', Account_Number: 'A-1', Billing_City: 'Town 0'}])
  const folder = join(here.config.STORAGE_DIR, org.org, 'runs')
  await mkdir(dirname(folder), {recursive: true})
  await writeFile(folder, '')
  here.crm.clearJournal()
  const {path} = await prepareImport(org, {csv: accountRows(1).replaceAll('Town', 'City'), flow: accounts})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  t.like(await untilRun(org.call, `${path}/runs/${run.id}`, ({state}) => state === 'paused'), {pause: {code: 'UNAVAILABLE'}})
  t.deepEqual(here.crm.journal({method: 'PUT'}), [])
  await rm(folder)
  await here.ahead('1 minute')
  t.like(await untilEnded(org.call, `${path}/runs/${run.id}`), {stop: null, counts: {Accounts: {updated: 1}}})
})
